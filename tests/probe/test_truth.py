"""Truth labels in exact arithmetic, and what they make of a grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.probe import STATES, StoppingRule, characteristics
from simtrack.probe.summary import correct_probability, grid_summary
from simtrack.probe.truth import grid, true_state, truths


@pytest.mark.parametrize(
    ("p", "q", "state"),
    [
        (0.9, 0.1, "adopted"),
        (0.9, 0.7, "redundant"),  # the ends of the zero band belong to it
        ("0.81", "0.61", "redundant"),
        ("0.81", "0.6099", "adopted"),
        (0.8, 0.5, "weak"),  # at the threshold the level is low
        (0.8, 0.6, "dead"),
        (0.3, 0.1, "dead"),
        (0.3, 0.5, "dead"),
        (0.3, 0.51, "adverse"),
        (0.8, 1, "dead"),
        (0.79, 1, "adverse"),
    ],
)
def test_labels_and_their_boundaries(p, q, state):
    assert true_state(StoppingRule(), p, q) == state


def test_integers_in_hundredths_give_every_label():
    # the definition in whole hundredths, where floats p - q > 0.2 get several wrong
    labels = truths(StoppingRule(), grid(100), grid(100))
    wrong_in_floats = 0
    for p, q in np.ndindex(101, 101):
        high, difference = p > 80, p - q
        zone = "zero" if abs(difference) <= 20 else ("positive" if difference > 0 else "negative")
        expected = {
            "positive": "adopted" if high else "weak",
            "zero": "redundant" if high else "dead",
            "negative": "adverse",
        }[zone]
        assert labels[p, q].state == expected
        wrong_in_floats += abs(difference) == 20 and (abs(p / 100 - q / 100) > 0.2)
    assert wrong_in_floats > 0


def test_a_margin_accepts_the_states_across_near_boundaries():
    rule = StoppingRule()

    def accepted(p, q, margin):
        truth = truths(rule, p, q, margin=margin, paired=True)[0]
        return {STATES[code] for code in truth.accepted}

    assert accepted("0.82", "0.6", "0.05") == {"adopted", "redundant", "weak", "dead"}
    assert accepted("0.82", "0.3", "0.05") == {"adopted", "weak"}
    assert accepted("0.5", "0.68", "0.05") == {"dead", "adverse"}
    assert accepted("0.5", "0.72", "0.05") == {"dead", "adverse"}
    assert accepted("0.85", "0.3", "0.05") == {"adopted"}  # at the margin itself: not nearer
    assert accepted("0.8", "0.6", "0") == {"dead"}


def test_both_ends_of_a_narrow_zero_band_are_tested_by_themselves():
    rule = StoppingRule(zero_band="0.02")

    def accepted(p, q, margin="0.05"):
        return {STATES[code] for code in truths(rule, p, q, margin=margin, paired=True)[0].accepted}

    # at p = q both ends lie .02 away
    assert accepted("0.5", "0.5") == {"dead", "weak", "adverse"}
    # an effect of .01 lies .01 from +.02 and .03 from -.02
    assert accepted("0.5", "0.49") == {"dead", "weak", "adverse"}
    assert accepted("0.5", "0.49", "0.03") == {"dead", "weak"}
    # .05 lies .03 from +.02 and .07 from -.02; and the mirror image
    assert accepted("0.5", "0.45") == {"dead", "weak"}
    assert accepted("0.45", "0.5") == {"dead", "adverse"}
    # a positive effect of .025 lies .045 from -.02
    assert accepted("0.5", "0.475") == {"dead", "weak", "adverse"}
    assert accepted("0.8", "0.8") == {"adopted", "redundant", "weak", "dead", "adverse"}


def test_the_threshold_is_no_boundary_of_adverse_truths():
    rule = StoppingRule()
    far, near = truths(rule, ("0.79", "0.78"), ("1", "0.99"), margin="0.05", paired=True)
    assert (far.state, far.distance, near.state) == ("adverse", Fraction(1, 100), "adverse")
    # with a band of .1, (.79, .99) lies .01 from the threshold and .1 from the band
    truth = truths(rule.with_(zero_band="0.1"), "0.79", "0.99", margin="0.05", paired=True)[0]
    assert truth.distance == Fraction(1, 10)
    assert [STATES[code] for code in truth.accepted] == ["adverse"]
    # within the margin of the band the level matters: both states of no effect are accepted
    truth = truths(rule.with_(zero_band="0.1"), "0.79", "0.92", margin="0.05", paired=True)[0]
    assert truth.distance == Fraction(3, 100)
    assert {STATES[code] for code in truth.accepted} == {"redundant", "dead", "adverse"}


hundredths = st.integers(0, 100).map(lambda n: Fraction(n, 100))


@given(hundredths, hundredths, st.integers(1, 60), st.integers(1, 12), st.integers(1, 99))
@settings(max_examples=150, deadline=None)
def test_the_distance_is_where_other_states_begin(p, q, band, margin, threshold):
    rule = StoppingRule(Fraction(threshold, 100), zero_band=Fraction(band, 100))
    wide = Fraction(margin, 100)
    truth = truths(rule, p, q, margin=wide, paired=True)[0]
    # by search: the states of all levels and effects nearer than the margin, in half hundredths
    # (the plane of p and d = p - q, without its edges), and the nearest other state
    steps = [Fraction(n, 200) for n in range(-2 * margin + 1, 2 * margin)]
    seen = {label(rule, p + a, p - q + b) for a in steps for b in steps}
    assert {STATES[code] for code in truth.accepted} == seen
    assert (truth.distance >= wide) == (len(seen) == 1)


def label(rule, p, d):
    if d < -rule.zero_band:
        return "adverse"
    names = ("redundant", "dead") if d <= rule.zero_band else ("adopted", "weak")
    return names[0] if p > rule.threshold else names[1]


def test_distance_to_the_nearest_boundary_is_exact():
    truth = truths(StoppingRule(), "0.83", "0.6", paired=True)[0]
    assert truth.distance == Fraction(3, 100)


def test_a_negative_margin_is_refused():
    with pytest.raises(InputError, match="margin must be 0 or more"):
        truths(StoppingRule(), 0.1, 0.1, margin=-0.1)


@pytest.fixture(scope="module")
def found():
    return characteristics(StoppingRule(), grid(20), grid(20))


def test_correctness_is_the_probability_of_the_true_state(found):
    correct, counted = correct_probability(found)
    assert counted.all()
    for p, q in ((18, 2), (18, 18), (0, 0), (5, 20), (16, 12)):
        code = STATES.index(true_state(StoppingRule(), Fraction(p, 20), Fraction(q, 20)))
        assert correct[p, q] == found.probability[code, p, q]


def test_summary_of_the_frozen_rule(found):
    summary = grid_summary(found)
    assert summary.mean_rounds == pytest.approx(14.084167, abs=5e-7)
    assert abs(summary.largest_bias_effect.value) == pytest.approx(0.144103, abs=5e-7)
    where = summary.largest_bias_effect
    assert (where.full, where.ablated) == (Fraction(3, 10), Fraction(7, 10))
    assert summary.worst_not_confident.value == pytest.approx(0.495, abs=5e-4)
    worst = summary.worst_not_confident
    assert (worst.full, worst.ablated) == (Fraction(4, 5), Fraction(11, 20))
    # at (.8, 1) the truth is dead by the stated sides of both boundaries, and no probe ends there:
    # with q = 1 and p = .8 every decided effect of a low level is negative or the level is high
    assert summary.worst_correct.value < 1e-6
    assert summary.n_counted == summary.n_truths == 441


def kept_at_a_margin_of_two(band):
    """In steps of 1/20: off the band's ends by 2, and off the threshold by 2 unless adverse."""
    return [
        (p, q)
        for p in range(21)
        for q in range(21)
        if abs(abs(p - q) - band) > 1 and (abs(p - 16) > 1 or p - q < -band)
    ]


def test_a_margin_leaves_truths_near_a_boundary_out(found):
    kept = kept_at_a_margin_of_two(4)
    summary = grid_summary(found, margin="0.1")
    assert summary.n_counted == len(kept)
    correct, _ = correct_probability(found)
    assert summary.worst_correct.value == min(correct[at] for at in kept)
    assert summary.mean_correct == pytest.approx(np.mean([correct[at] for at in kept]), abs=1e-15)
    ratio = [correct[at] / found.probability_confident[at] for at in kept]
    assert summary.worst_correct_if_confident.value == pytest.approx(min(ratio), abs=1e-15)
    assert summary.mean_not_confident == grid_summary(found).mean_not_confident


def test_adverse_truths_at_the_threshold_are_judged():
    # the frozen rule has none: an effect below -.2 - margin leaves p below .8 - margin
    rule = StoppingRule(zero_band="0.1", k_max=5)
    found = characteristics(rule, grid(20), grid(20))
    kept = kept_at_a_margin_of_two(2)
    assert grid_summary(found, margin="0.1").n_counted == len(kept)
    assert (15, 20) in kept


def test_silence_away_from_the_boundaries(found):
    kept = kept_at_a_margin_of_two(4)
    worst = grid_summary(found, margin="0.1").worst_not_confident_counted
    assert worst.value == max(found.probability[(-1, *at)] for at in kept)
    zero = grid_summary(found)
    assert zero.worst_not_confident_counted == zero.worst_not_confident
    with pytest.raises(InputError, match="leaves a truth to judge"):
        grid_summary(found, margin=3)


def test_either_side_is_never_worse_than_the_true_side_alone(found):
    strict, _ = correct_probability(found)
    lenient, counted = correct_probability(found, margin="0.1", indifference="either")
    assert counted.all()
    assert (lenient >= strict - 1e-15).all()
    assert grid_summary(found, margin="0.1", indifference="either").n_counted == 441


def test_a_margin_that_leaves_nothing_is_refused(found):
    with pytest.raises(InputError, match="margin must be one that leaves a truth to judge, got 2"):
        grid_summary(found, margin=2)
    with pytest.raises(InputError, match="indifference must be one of exclude, either"):
        grid_summary(found, indifference="drop")  # type: ignore[arg-type]


def test_a_mean_of_ratios_and_a_ratio_of_means_by_hand():
    # two rounds, uniform priors, threshold 1/2, band 1/2, confidence .7. Level: two passes give
    # Beta(3, 1), P(F > 1/2) = 7/8, high; none 1/8, low; one 1/2, open. Effect at (i, j), P(F - S >
    # 1/2) by integrating a polynomial over [0, 1/2]: 49/1280 at (2, 2), 137/640 at (2, 1),
    # 697/1280 at (2, 0); and P(F - S < -1/2): 49/1280, 1/128, 1/1280. So no effect is decided at
    # (2, 2) and (2, 1), nothing at (2, 0), and (0, 0), (0, 1), (0, 2) are their mirror images.
    # The rule calls (2, 2) and (2, 1) redundant, (0, 0) and (0, 1) dead, and is silent else.
    rule = StoppingRule("0.5", "0.7", "0.5", k_min=2, k_max=2)
    redundant = [Fraction(81, 100) * Fraction(84, 100), Fraction(1, 4) * Fraction(3, 4)]
    dead = [Fraction(1, 100) * Fraction(64, 100), Fraction(1, 4) * Fraction(3, 4)]
    rates = (("0.9", "0.6"), ("0.5", "0.5"))  # truly redundant; dead, at the threshold
    right = [redundant[0], dead[1]]
    confident = [a + b for a, b in zip(redundant, dead, strict=True)]
    mean = sum(a / b for a, b in zip(right, confident, strict=True)) / 2
    pooled = sum(right) / sum(confident)
    assert float(mean) == pytest.approx(0.74534, abs=5e-6)
    assert float(pooled) == pytest.approx(0.81739, abs=5e-6)
    points = characteristics(rule, *zip(*rates, strict=True), paired=True)
    summary = grid_summary(points)
    assert summary.mean_correct_if_confident == pytest.approx(float(mean), abs=1e-14)
    assert summary.pooled_correct_if_confident == pytest.approx(float(pooled), abs=1e-14)
    assert summary.worst_correct_if_confident.value == pytest.approx(0.5, abs=1e-14)
    assert summary.mean_correct == pytest.approx(float(sum(right) / 2), abs=1e-14)


def test_plain_data_has_a_schema_and_rates_as_typed(found):
    data = grid_summary(found, margin="0.05").to_dict()
    assert data["schema"] == "simtrack.probe-grid-summary/1"
    assert data["margin"] == "0.05"
    assert data["largest_bias_effect"]["full"] == "0.3"


def test_points_are_summarised_too():
    points = characteristics(StoppingRule(), ("0.9", "0.5"), ("0.1", "0.5"), paired=True)
    summary = grid_summary(points)
    assert summary.n_truths == 2
    assert summary.worst_rounds.value == points.expected_rounds.max()
