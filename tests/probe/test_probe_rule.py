"""The rule: refusals, round trips, its English, and what it warns of."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from simtrack.errors import DataError, InputError
from simtrack.plain import decimal_text
from simtrack.probe import Beta, StoppingRule, characteristics
from simtrack.probe.posterior import difference_masses

thousandths = st.integers(1, 999).map(lambda n: Fraction(n, 1000))
inner = st.fractions(min_value=0, max_value=1, max_denominator=999).filter(lambda x: 0 < x < 1)
priors = st.builds(
    Beta,
    st.fractions(Fraction(1, 50), 50, max_denominator=60),
    st.integers(1, 9),
)


@st.composite
def rules(draw: st.DrawFn) -> StoppingRule:
    k_max = draw(st.integers(1, 200))
    return StoppingRule(
        threshold=draw(inner),
        confidence=draw(inner.map(lambda x: (1 + x) / 2)),
        zero_band=draw(thousandths),
        k_min=draw(st.integers(1, k_max)),
        k_max=k_max,
        prior=draw(priors),
        prior_ablated=draw(st.none() | priors),
    )


@given(rules())
def test_json_toml_and_dict_read_back_the_same_rule(rule):
    assert StoppingRule.from_json(rule.to_json()) == rule
    assert StoppingRule.from_toml(rule.to_toml()) == rule
    assert StoppingRule.from_dict(rule.to_dict()) == rule
    assert hash(StoppingRule.from_json(rule.to_json())) == hash(rule)


@given(st.decimals(0, 1, places=30).filter(lambda d: 0 < d < 1))
def test_a_long_decimal_is_kept_to_the_last_digit(typed):
    rule = StoppingRule(threshold=str(typed))
    assert rule.threshold == Fraction(str(typed))
    assert StoppingRule.from_toml(f"threshold = {typed:f}").threshold == rule.threshold
    assert StoppingRule.from_json(rule.to_json()).threshold == rule.threshold


@given(st.fractions(max_denominator=10**6))
def test_decimal_text_reads_back(value):
    assert Fraction(decimal_text(value)) == value


def test_floats_are_read_as_typed():
    assert StoppingRule(0.8, 0.8, 0.2) == StoppingRule("0.8", "4/5", Fraction(1, 5))
    assert len({StoppingRule(0.8), StoppingRule("0.80")}) == 1


def test_a_rule_cannot_be_changed():
    with pytest.raises(AttributeError):
        StoppingRule().k_max = 4  # type: ignore[misc]


def test_with_changes_and_checks_again():
    rule = StoppingRule().with_(k_max=40, prior=Beta(2, 3))
    assert (rule.k_max, rule.prior, rule.threshold) == (40, Beta(2, 3), Fraction(4, 5))
    with pytest.raises(InputError, match="k_min must be at most k_max = 2, got 3"):
        StoppingRule().with_(k_max=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 0}, "threshold must be above 0 and below 1, got 0. A rate is never below"),
        ({"threshold": "1.0"}, "threshold must be above 0 and below 1, got 1."),
        ({"threshold": "high"}, "threshold must be a decimal number or a fraction, got 'high'"),
        ({"threshold": float("nan")}, "threshold must be a decimal number"),
        ({"confidence": "1/2"}, "confidence must be above 1/2 and below 1, got 0.5. At 1/2"),
        ({"confidence": 1}, "confidence must be above 1/2 and below 1, got 1."),
        ({"zero_band": 0}, "zero_band must be above 0 and below 1, got 0. At 0 no effect"),
        ({"zero_band": 1}, "zero_band must be above 0 and below 1, got 1."),
        ({"k_min": 0}, "k_min must be an integer >= 1, got 0."),
        ({"k_min": 2.0}, "k_min must be an integer >= 1, got 2.0."),
        ({"k_min": 31}, "k_min must be at most k_max = 30, got 31. Lower k_min or raise k_max."),
        ({"k_max": 201}, "k_max must be an integer from 1 to 200, got 201."),
        ({"k_max": True}, "k_max must be an integer from 1 to 200, got True."),
        ({"prior": 1}, "prior must be a Beta or a pair of numbers"),
        ({"prior": (0, 1)}, "prior alpha must be from 0.01 to 1000, got 0."),
        ({"prior_ablated": (1, "x")}, "prior beta must be a decimal number"),
    ],
)
def test_degenerate_rules_are_refused_with_the_reason(arguments, message):
    with pytest.raises(InputError) as refusal:
        StoppingRule(**arguments)
    assert str(refusal.value).startswith(message)


def test_unknown_keys_are_named_with_the_nearest_valid_one():
    with pytest.raises(InputError, match=r"got 'kmax'\. Did you mean k_max\?"):
        StoppingRule.from_toml("kmax = 40")
    with pytest.raises(InputError, match=r"got 'alfa'\. Did you mean alpha\?"):
        StoppingRule.from_json('{"prior": {"alfa": 1, "beta": 1}}')
    with pytest.raises(InputError, match="schema must be"):
        StoppingRule.from_json('{"schema": "other/1"}')


@pytest.mark.parametrize("text", ["{", "[1, 2]", "3"])
def test_broken_json_is_refused(text):
    with pytest.raises(DataError, match="The rule"):
        StoppingRule.from_json(text)


def test_broken_toml_is_refused():
    with pytest.raises(DataError, match="not valid TOML"):
        StoppingRule.from_toml("k_max = ")


def test_a_prior_may_be_a_table():
    text = "[prior]\nalpha = 0.5\nbeta = 2\n"
    assert StoppingRule.from_toml(text).prior == Beta("1/2", 2)


def test_an_equal_ablated_prior_is_no_second_prior():
    assert StoppingRule(prior_ablated=(1, 1)) == StoppingRule()


def test_the_protocol_states_every_number_of_the_rule():
    rule = StoppingRule("0.7", "0.85", "0.15", 4, 25, prior=(2, 3), prior_ablated=("0.5", 1))
    text = str(rule)
    for phrase in (
        "P(F > 0.7) is 0.85 or more",
        "P(F - S > 0.15) is 0.85 or more",
        "from round 4 on",
        "after round 25 in any case",
        "Beta(2 + i, 3 + k - i)",
        "Beta(0.5 + j, 1 + k - j)",
        "At most 50 replies",
    ):
        assert phrase in text
    assert "Draw 10 rounds, whatever is seen" in str(StoppingRule(k_min=10, k_max=10))


def test_the_protocol_promises_no_more_of_the_unbiased_estimates_than_holds():
    # at (.9, .9) the plain effect is nearer in root mean square, .106 against .125
    found = characteristics(StoppingRule(), "0.9", "0.9")
    assert found.rmse_effect[0, 0] == pytest.approx(0.1055, abs=5e-5)
    assert found.rmse_effect_unbiased[0, 0] == pytest.approx(0.1253, abs=5e-5)
    text = " ".join(str(StoppingRule()).split())
    assert "at some truths lie further from the truth than the plain ones" in text
    assert "the share whose first full draw is a pass" in text
    assert "Computed by simtrack" in text
    assert "estimate_after_stop(rule, k, i, j)" in text
    # a fixed depth has nothing to correct
    fixed = " ".join(str(StoppingRule(k_min=10, k_max=10)).split())
    assert "they are unbiased" in fixed
    assert "biases them" not in fixed
    assert max(map(len, str(StoppingRule()).splitlines())) <= 100


def test_the_mass_of_the_protocol_is_the_mass_of_the_rule():
    # the integral that step 5 spells out, by SciPy, for k = 5, i = 4, j = 1
    full, ablated = stats.beta(5, 2), stats.beta(2, 5)
    mass, _ = integrate.quad(lambda s: ablated.pdf(s) * full.sf(s + 0.2), 0, 0.8)
    *_, last = difference_masses(Beta(), Beta(), Fraction(1, 5), 5)
    assert last.positive[4, 1] == pytest.approx(mass, abs=1e-10)


def test_a_k_min_that_never_binds_is_pointed_out():
    # k_min 2: at threshold .8 no record of one round decides both sides, so round 2 is the first
    assert any("k_min = 2 never binds" in line for line in StoppingRule(k_min=2).warnings())
    assert not any("never binds" in line for line in StoppingRule().warnings())


def test_states_out_of_reach_are_pointed_out():
    # high needs 7 passes of 7 (.8^8 < .2 < .8^7): neither adopted nor redundant before round 7
    lines = StoppingRule(k_max=6).warnings()
    assert any("too few rounds to reach: adopted, redundant" in line for line in lines)
    assert not any("reach" in line for line in StoppingRule(k_max=30).warnings())
    # a band of .5 and a threshold of .4: a low rate can hardly exceed another by more than .5, and
    # the rule with high confidence never says so
    narrow = StoppingRule("0.3", "0.9", "0.6", 3, 60).warnings()
    assert any("can never be reached: weak" in line for line in narrow)


def test_a_rule_that_decides_nothing_is_pointed_out():
    lines = StoppingRule(confidence="0.999999", k_max=3).warnings()
    assert any("No record decides both sides" in line for line in lines)


def test_what_the_prior_alone_decides_is_pointed_out():
    # the uniform prior puts exactly .8 below .8
    assert "P(F <= 0.8) at 0.8" in StoppingRule().warnings()[0]
    strong = StoppingRule(prior=(90, 10), prior_ablated=(10, 90)).warnings()
    assert any("A side as high" in line for line in strong)
    assert any("B side as positive" in line for line in strong)
    assert StoppingRule("0.7").warnings() == ()
