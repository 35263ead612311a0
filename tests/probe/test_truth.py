"""Truth labels in exact arithmetic, and what they make of a grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

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


def test_a_margin_leaves_truths_near_a_boundary_out(found):
    # in steps of 1/20: |p - 16| >= 2 and ||p - q| - 4| >= 2 counted by hand with plain integers
    kept = [
        (p, q) for p in range(21) for q in range(21) if abs(p - 16) >= 2 and abs(abs(p - q) - 4) > 1
    ]
    summary = grid_summary(found, margin="0.1")
    assert summary.n_counted == len(kept)
    correct, _ = correct_probability(found)
    assert summary.worst_correct.value == min(correct[at] for at in kept)
    assert summary.mean_correct == pytest.approx(np.mean([correct[at] for at in kept]), abs=1e-15)
    ratio = [correct[at] / found.probability_confident[at] for at in kept]
    assert summary.worst_correct_if_confident.value == pytest.approx(min(ratio), abs=1e-15)
    assert summary.mean_not_confident == grid_summary(found).mean_not_confident


def test_silence_away_from_the_boundaries(found):
    kept = [
        (p, q) for p in range(21) for q in range(21) if abs(p - 16) >= 2 and abs(abs(p - q) - 4) > 1
    ]
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
