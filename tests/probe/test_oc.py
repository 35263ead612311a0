"""Operating characteristics: the check table, every sequence, a twin in fractions, symmetries."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.probe import STATES, Characteristics, StoppingRule, characteristics
from simtrack.probe.truth import grid

#: What issue 2 asks of the check table; its figures carry fifteen digits or nine.
RELATIVE, ABSOLUTE = 1e-11, 1e-13
NINE_DIGITS = 6e-9
#: Sums of some thousand positive doubles.
ROUNDING = 1e-13

# p, q, E[k], bias of the effect, then adopted, redundant, weak, dead, adverse, not confident:
# two independent programs, uniform priors, frozen rule
CHECKS = [
    (
        (".95", ".05", 9.39365525401011, 0.0156879232005735),
        (0.956937719390762, 5.53456055e-10, 0.0315181348636191, 1.15835885e-08),
        (2.10639975e-08, 0.0115441125445768),
    ),
    (
        (".9", ".1", 11.9983036115886, 0.0203711101643651),
        (0.802804152889476, 5.02273411e-08, 0.121769825789851, 5.68704839e-07),
        (1.77451136e-06, 0.0754236278771308),
    ),
    (
        (".9", ".9", 16.4923423572268, 0.00644661989223024),
        (0.00682100479507489, 0.798949010530306, 8.99803642e-07, 0.0070408146851764),
        (0.0134363485248013, 0.173751921661),
    ),
    (
        (".8", ".6", 23.0956404626406, 0.0176857858460658),
        (0.229656420273263, 0.0276493175248541, 0.0208456654852791, 0.218821155947544),
        (0.0120500589629951, 0.490977381806064),
    ),
    (
        (".983", ".2", 7.83274144270306, 0.00980376806320386),
        (0.998056584501681, 1.39358275e-05, 0.00157176068498452, 3.68352743e-10),
        (7.78235522e-08, 0.000357640793890659),
    ),
]


def agrees(found, expected):
    """To the digits given: the small ones are printed with nine."""
    relative = NINE_DIGITS if 0 < abs(expected) < 1e-4 else RELATIVE
    return found == pytest.approx(expected, rel=relative, abs=ABSOLUTE)


@pytest.mark.parametrize(("head", "first", "last"), CHECKS, ids=[f"{c[0][0]}" for c in CHECKS])
def test_check_table_of_the_frozen_rule(head, first, last):
    p, q, rounds, bias = head
    found = characteristics(StoppingRule(), p, q)
    assert agrees(found.expected_rounds[0, 0], rounds)
    assert agrees(found.bias_effect[0, 0], bias)
    for value, expected in zip(found.probability[:, 0, 0], first + last, strict=True):
        assert agrees(value, expected)


@pytest.fixture(scope="module")
def frozen_grid():
    return characteristics(StoppingRule(), grid(20), grid(20))


def test_grid_values_of_the_frozen_rule(frozen_grid):
    assert frozen_grid.expected_rounds.mean() == pytest.approx(14.084167, abs=5e-7)
    size = np.abs(frozen_grid.bias_effect)
    assert size.max() == pytest.approx(0.144103, abs=5e-7)
    at = np.unravel_index(size.argmax(), size.shape)
    assert (frozen_grid.full[at[0]], frozen_grid.ablated[at[1]]) == (
        Fraction(3, 10),
        Fraction(7, 10),
    )
    assert frozen_grid.probability[-1].max() == pytest.approx(0.495, abs=5e-4)


def test_bias_on_a_finer_grid():
    found = characteristics(StoppingRule(), grid(100), grid(100))
    assert np.abs(found.bias_effect).max() == pytest.approx(0.144752, abs=5e-7)


def test_unbiased_estimates_are_unbiased(frozen_grid):
    p, q = frozen_grid.true_full, frozen_grid.true_ablated
    assert np.abs(frozen_grid.unbiased_full - p).max() < ROUNDING
    assert np.abs(frozen_grid.unbiased_ablated - q).max() < ROUNDING


@pytest.mark.parametrize(
    ("p", "q", "naive"), [("0.9", "0.1", 0.9157269), ("0.6", "0.3", 0.6110333)]
)
def test_naive_estimates_average_to_the_published_values(p, q, naive):
    found = characteristics(StoppingRule(), p, q)
    assert found.expected_full[0, 0] == pytest.approx(naive, abs=5e-8)
    assert found.unbiased_full[0, 0] == pytest.approx(float(p), abs=ROUNDING)


RATES = (Fraction(1, 3), Fraction(4, 5))


@pytest.mark.parametrize(
    "rule",
    [
        StoppingRule("0.5", "0.6", "0.2", 1, 3),
        StoppingRule("0.8", "0.7", "0.3", 2, 4),
        StoppingRule("0.5", "0.75", "0.5", 1, 4, prior=(1, 2), prior_ablated=(2, 1)),
        StoppingRule("0.6", "0.55", "0.1", 4, 4),
    ],
)
def test_every_sequence_enumerated_in_fractions(oracle, rule):
    p, q = RATES
    state = dict.fromkeys(STATES, Fraction(0))
    rounds = full = ablated = square = Fraction(0)
    for weight, k, i, j, name in oracle.sequences(rule, p, q):
        state[name] += weight
        rounds += weight * k
        full += weight * Fraction(i, k)
        ablated += weight * Fraction(j, k)
        square += weight * (Fraction(i - j, k) - (p - q)) ** 2
    found = characteristics(rule, p, q)
    at = (0, 0)
    assert sum(state.values()) == 1
    assert found.expected_rounds[at] == pytest.approx(float(rounds), abs=ROUNDING)
    assert found.expected_full[at] == pytest.approx(float(full), abs=ROUNDING)
    assert found.expected_ablated[at] == pytest.approx(float(ablated), abs=ROUNDING)
    assert found.rmse_effect[at] ** 2 == pytest.approx(float(square), abs=ROUNDING)
    for code, name in enumerate(STATES):
        assert found.probability[code][at] == pytest.approx(float(state[name]), abs=ROUNDING)


@pytest.mark.parametrize(
    "rule",
    [
        StoppingRule("0.5", "0.6", "0.2", 1, 3),
        StoppingRule("0.8", "0.7", "0.3", 2, 4),
        StoppingRule("0.5", "0.75", "0.5", 1, 4, prior=(1, 2), prior_ablated=(2, 1)),
    ],
)
def test_the_error_of_the_unbiased_effect_enumerated_in_fractions(oracle, rule):
    # all sequences weigh the same: among those that end first at a record, the share that begins
    # with a full pass less the share that begins with an ablated pass is the unbiased effect
    ended = [
        (draws[0], *stop_of(oracle, rule, draws))
        for draws in itertools.product(itertools.product((0, 1), repeat=2), repeat=rule.k_max)
    ]
    total, excess = Counter(), Counter()
    for (f, s), _, record in ended:
        total[record] += 1
        excess[record] += f - s
    p, q = RATES
    effect = {record: Fraction(excess[record], n) for record, n in total.items()}
    square = mean = Fraction(0)
    for _, draws, record in ended:
        weight = math.prod((p if f else 1 - p) * (q if s else 1 - q) for f, s in draws)
        # the draws after the stop are summed over: they have total weight 1 among 4^rest
        share = weight / 4 ** (rule.k_max - len(draws))
        mean += share * effect[record]
        square += share * (effect[record] - (p - q)) ** 2
    found = characteristics(rule, p, q)
    assert mean == p - q
    assert found.rmse_effect_unbiased[0, 0] ** 2 == pytest.approx(float(square), abs=ROUNDING)
    assert abs(found.rmse_effect_unbiased[0, 0] - found.rmse_effect[0, 0]) > 1e-4


def stop_of(oracle, rule, draws):
    """The draws up to the stop, and the record there."""
    for k in range(rule.k_min, rule.k_max + 1):
        i, j = sum(f for f, _ in draws[:k]), sum(s for _, s in draws[:k])
        if k == rule.k_max or oracle.state(rule, k, i, j) != "not_confident":
            return draws[:k], (k, i, j)
    raise AssertionError


def test_a_forward_recursion_in_fractions_is_a_twin(oracle):
    rule = StoppingRule("0.7", "0.75", "0.25", 2, 7)
    for p, q in ((Fraction(9, 10), Fraction(1, 5)), (Fraction(1, 2), Fraction(1, 2))):
        ends = oracle.forward(rule, p, q)
        found = characteristics(rule, p, q)
        assert sum(ends.values()) == 1
        for code, name in enumerate(STATES):
            expected = sum(weight for (_, _, _, state), weight in ends.items() if state == name)
            assert found.probability[code, 0, 0] == pytest.approx(float(expected), abs=ROUNDING)
        for k in range(8):
            expected = sum(weight for (rounds, *_), weight in ends.items() if rounds == k)
            assert found.rounds_probability[k, 0, 0] == pytest.approx(float(expected), abs=ROUNDING)
        mean = sum(k * weight for (k, *_), weight in ends.items())
        spread = sum((k - mean) ** 2 * weight for (k, *_), weight in ends.items())
        assert found.sd_rounds[0, 0] ** 2 == pytest.approx(float(spread), abs=ROUNDING * 10)


def test_exactness_is_conditional_on_independent_draws(oracle):
    # two rounds with the rule of the hand-computed summary: pairs that are equal as often as their
    # rates allow (common random numbers) reach other states than independent ones, and the
    # docstrings say that the second are meant
    rule = StoppingRule("0.5", "0.7", "0.5", k_min=2, k_max=2)
    half = Fraction(1, 2)
    same = sum(
        Fraction(1, 4)
        for f in (0, 1)
        for g in (0, 1)
        if oracle.state(rule, 2, f + g, f + g) == "redundant"
    )
    code = STATES.index("redundant")
    independent = characteristics(rule, half, half).probability[code, 0, 0]
    assert (same, independent) == (Fraction(1, 4), pytest.approx(3 / 16, abs=ROUNDING))
    for documented in (StoppingRule, Characteristics, characteristics):
        text = " ".join(str(documented.__doc__).split())
        assert "rounds are independent" in text or "independent rounds" in text
        assert "constant" in text or "the same in every round" in text
        assert "ablated draw" in text or "two draws of a round are independent" in text


def test_fixed_depth_is_a_pair_of_binomials():
    rule = StoppingRule(k_min=10, k_max=10)
    found = characteristics(rule, ("0.3", "0.9"), "0.5")
    assert np.allclose(found.expected_rounds, 10.0, rtol=1e-14)
    assert np.abs(found.bias_full).max() < ROUNDING
    assert np.abs(found.bias_effect).max() < ROUNDING
    variance = np.array([0.3 * 0.7, 0.9 * 0.1]) / 10 + 0.25 / 10
    assert found.rmse_effect[:, 0] == pytest.approx(np.sqrt(variance), abs=1e-12)


unit = st.fractions(0, 1, max_denominator=100)
small_rules = st.builds(
    StoppingRule,
    threshold=st.just("0.5"),
    confidence=st.sampled_from(["0.6", "0.75", "0.8", "0.9"]),
    zero_band=st.sampled_from(["0.1", "0.2", "0.45"]),
    k_min=st.integers(1, 3),
    k_max=st.integers(3, 14),
    prior=st.sampled_from([(1, 1), (0.5, 0.5), (2, 2)]),
)


@given(small_rules, unit, unit)
@settings(max_examples=60, deadline=None)
def test_probabilities_sum_to_one_and_lie_in_range(rule, p, q):
    found = characteristics(rule, p, q)
    assert found.probability.sum() == pytest.approx(1.0, abs=ROUNDING)
    assert found.rounds_probability.sum() == pytest.approx(1.0, abs=ROUNDING)
    assert (found.probability >= 0).all()
    assert rule.k_min - ROUNDING <= found.expected_rounds[0, 0] <= rule.k_max + ROUNDING
    assert np.abs(found.unbiased_full[0, 0] - float(p)) < ROUNDING


@given(small_rules, unit, unit)
@settings(max_examples=40, deadline=None)
def test_exchanging_pass_and_fail_mirrors_the_rule(rule, p, q):
    # threshold 1/2 and symmetric priors: high and low, positive and negative change places
    here, there = characteristics(rule, p, q), characteristics(rule, 1 - p, 1 - q)
    assert here.expected_rounds == pytest.approx(there.expected_rounds, abs=1e-12)
    assert here.probability[-1] == pytest.approx(there.probability[-1], abs=1e-12)
    zero = STATES.index("redundant"), STATES.index("dead")
    assert here.probability[zero[0]] == pytest.approx(there.probability[zero[1]], abs=1e-12)
    assert here.bias_full == pytest.approx(-there.bias_full, abs=1e-12)
    assert here.bias_effect == pytest.approx(-there.bias_effect, abs=1e-12)
    adverse = here.probability[STATES.index("adverse")]
    positive = there.probability[STATES.index("adopted")] + there.probability[STATES.index("weak")]
    assert adverse == pytest.approx(positive, abs=1e-12)


def test_points_and_grid_agree():
    p, q = ("0.2", "0.5", "1"), ("0", "0.7", "0.9")
    outer = characteristics(StoppingRule(), p, q)
    points = characteristics(StoppingRule(), p, q, paired=True)
    for name in ("probability", "rounds_probability"):
        diagonal = np.diagonal(getattr(outer, name), axis1=1, axis2=2)
        assert np.abs(getattr(points, name) - diagonal).max() < ROUNDING
    for name in ("expected_rounds", "bias_effect", "rmse_effect", "rmse_effect_unbiased"):
        assert np.abs(getattr(points, name) - np.diag(getattr(outer, name))).max() < 1e-7
    assert np.array_equal(points.rounds_quantile(), np.diagonal(outer.rounds_quantile(), 0, 1, 2))


def test_certain_outcomes():
    # p = 1, q = 0: passes 7 of 7 are the first high level, and the effect is positive by then
    found = characteristics(StoppingRule(), 1, 0)
    assert found.expected_rounds[0, 0] == 7.0
    assert found.probability[STATES.index("adopted"), 0, 0] == 1.0
    assert found.rounds_quantile([0.0, 0.5, 1.0]).ravel().tolist() == [0, 7, 7]


def test_quantiles_are_the_first_round_that_reaches_the_level():
    found = characteristics(StoppingRule(), "0.9", "0.1")
    below = np.cumsum(found.rounds_probability[:, 0, 0])
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        k = int(found.rounds_quantile([level])[0, 0, 0])
        assert below[k] >= level > below[k - 1]


def test_two_hundred_rounds_keep_their_sums():
    found = characteristics(StoppingRule(k_max=200), ("0.05", "0.5", "0.8"), ("0.01", "0.6"))
    assert np.abs(found.probability.sum(axis=0) - 1.0).max() < 1e-12
    assert np.abs(found.unbiased_full - found.true_full).max() < 1e-12


@pytest.mark.parametrize("bad", ["1.2", -0.1, "x", [], [0.1, 2]])
def test_rates_outside_the_unit_interval_are_refused(bad):
    with pytest.raises(InputError, match="full must be"):
        characteristics(StoppingRule(), bad, 0.5)


def test_unequal_points_are_refused():
    with pytest.raises(InputError, match=r"ablated must be as many rates as full \(2\), got 1"):
        characteristics(StoppingRule(), (0.1, 0.2), 0.5, paired=True)


def test_dataset_labels_and_attributes():
    data = StoppingRule().operating_characteristics((0.9, 0.95), (0.05, 0.1, 0.5))
    assert data.probability.dims == ("state", "full", "ablated")
    assert data.sizes == {
        "state": 6,
        "full": 2,
        "ablated": 3,
        "rounds": 31,
        "quantile": 5,
    }
    at = data.sel(full=0.9, ablated=0.1)
    assert float(at.expected_rounds) == pytest.approx(11.9983036115886, rel=RELATIVE)
    assert float(at.bias_effect) == pytest.approx(0.0203711101643651, rel=RELATIVE)
    assert data.attrs["schema"] == "simtrack.operating-characteristics/1"
    assert (data.attrs["computation"], data.attrs["guarantee"]) == ("enumeration", "finite-sample")
    assert StoppingRule.from_json(data.attrs["rule"]) == StoppingRule()
    assert all("units" in variable.attrs for variable in data.data_vars.values())


def test_plain_data_is_json_with_a_schema():
    found = characteristics(StoppingRule(), ("0.9", "2/3"), "0.1", paired=False)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["schema"] == "simtrack.operating-characteristics/1"
    assert data["full"] == ["0.9", "2/3"]
    assert data["expected_rounds"][0][0] == found.expected_rounds[0, 0]
    assert StoppingRule.from_dict(data["rule"]) == StoppingRule()
    assert repr(found).endswith("2 x 1 truths, exact)")


def test_the_same_bytes_twice():
    first = characteristics(StoppingRule(), grid(7), grid(5)).to_dict()
    assert first == characteristics(StoppingRule(), grid(7), grid(5)).to_dict()
