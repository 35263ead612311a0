"""Decisions at every record: exact ties, exact arithmetic, published bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.probe import STATES, StoppingRule
from simtrack.probe.decisions import build_table, decide, decision_table
from simtrack.probe.parameters import Beta
from simtrack.probe.posterior import high_masses
from simtrack.probe.review import first_stop

#: The published values carry nine or more decimals.
PUBLISHED = 1e-8


def test_an_exact_tie_is_decided():
    # one pass of one: F ~ Beta(2, 1), P(F > 1/2) = 1 - 1/4 = 3/4 exactly
    rule = StoppingRule(threshold=0.5, confidence=0.75, k_min=1)
    assert decide(rule, 1, 1, 0).a_side == "high"
    assert decide(rule, 1, 0, 0).a_side == "low"
    table = decision_table(rule)
    assert table.n_ties >= 2
    assert table.n_unresolved == 0
    assert decide(rule.with_(confidence="0.7500000000000001"), 1, 1, 0).a_side == "undecided"


def test_an_exact_tie_of_the_effect_is_decided():
    # uniform priors, k = 1, one pass against none: F ~ Beta(2, 1), S ~ Beta(1, 2), z = 1/2:
    # P(F - S > z) = int_0^(1-z) 2(1-s)(1 - (s+z)^2) ds = 11/32 at z = 1/2, and P(S - F > z) =
    # int_0^(1-z) 2f (1/2 - f)^2 df = 1/96; the zero zone has 1 - 33/96 - 1/96 = 62/96 = 31/48
    rule = StoppingRule("0.5", Fraction(31, 48), "0.5", k_min=1, k_max=2)
    assert decide(rule, 1, 1, 0).b_side == "zero"
    above = rule.with_(confidence=Fraction(31, 48) + Fraction(1, 10**15))
    assert decide(above, 1, 1, 0).b_side == "undecided"


@given(
    threshold=st.integers(1, 19),
    confidence=st.integers(11, 19),
    band=st.integers(1, 19),
    prior=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
@settings(max_examples=25, deadline=None)
def test_every_decision_is_that_of_exact_arithmetic(oracle, threshold, confidence, band, prior):
    rule = StoppingRule(
        Fraction(threshold, 20),
        Fraction(confidence, 20),
        Fraction(band, 20),
        k_min=1,
        k_max=4,
        prior=prior,
    )
    state = build_table(rule).state
    for k in range(1, 5):
        for i in range(k + 1):
            for j in range(k + 1):
                assert STATES[state[k, i, j]] == oracle.state(rule, k, i, j)


def test_natural_ties_are_all_decided_as_fractions(oracle):
    # confidences that some mass of two rounds equals exactly, one after another
    base = StoppingRule("0.5", "0.6", "0.5", k_min=1, k_max=2)
    ties = 0
    for numerator in range(49, 96):
        rule = base.with_(confidence=Fraction(numerator, 96))
        table = build_table(rule)
        ties += table.n_ties
        for k, i, j in np.ndindex(3, 3, 3):
            if k >= 1 and max(i, j) <= k:
                assert STATES[table.state[k, i, j]] == oracle.state(rule, k, i, j)
    assert ties >= 8


def test_no_mass_of_the_frozen_rule_is_near_its_confidence():
    table = decision_table(StoppingRule())
    assert table.margin == pytest.approx(1.1e-4, rel=0.01)
    assert (table.n_ties, table.n_unresolved) == (0, 0)


def test_published_bounds_of_the_level():
    # passes from which the frozen rule calls the level high, n : s, by two published routes
    bounds = (
        "7:7 8:8 9:9 10:10 11:11 12:12 13:12 14:13 15:14 16:15 17:16 18:17 19:18 20:18 21:19 22:20 "
        "23:21 24:22 25:23 26:23 27:24 28:25 29:26 30:27"
    )
    a_side = decision_table(StoppingRule()).a_side
    for pair in bounds.split():
        n, s = map(int, pair.split(":"))
        assert np.flatnonzero(a_side[n] == 1).tolist() == list(range(s, n + 1))
    for n in range(7):
        assert not (a_side[n] == 1).any()
    jeffreys = decision_table(StoppingRule(prior=(0.5, 0.5))).a_side
    assert next(n for n in range(31) if (jeffreys[n] == 1).any()) == 4


def first_passage(stops, p, n_first, n_last):
    """P(stop) and E[n] of one sequence of draws that stops at the first n where stops(n, s)."""
    alive, stopped, mean = {0: Fraction(1)}, Fraction(0), Fraction(0)
    for n in range(1, n_last + 1):
        grown: dict[int, Fraction] = {}
        for s, weight in alive.items():
            grown[s] = grown.get(s, 0) + weight * (1 - p)
            grown[s + 1] = grown.get(s + 1, 0) + weight * p
        alive = {s: w for s, w in grown.items() if not (n >= n_first and stops(n, s))}
        leaving = sum(grown.values()) - sum(alive.values())
        stopped += leaving
        mean += n * (leaving if n < n_last else leaving + sum(alive.values()))
    return stopped, mean


@pytest.mark.parametrize(
    ("prior", "p", "stop", "mean"),
    [
        ((1, 1), "0.5", 0.008737608790, 29.80514318),
        ((1, 1), "0.6", 0.035469652, 29.24086577),
        ((1, 1), "0.7", 0.125878528, 27.49848842),
        ((1, 1), "0.8", 0.384705883, 22.95351549),
        ((1, 1), "0.9", 0.833218168, 14.44201972),
        ((1, 1), "0.95", 0.977187245, 9.98883646),
    ],
)
def test_published_first_passage_of_the_level(prior, p, stop, mean):
    a_side = decision_table(StoppingRule(prior=prior)).a_side
    found = first_passage(lambda n, s: a_side[n, s] == 1, Fraction(p), 3, 30)
    assert float(found[0]) == pytest.approx(stop, abs=PUBLISHED)
    assert float(found[1]) == pytest.approx(mean, abs=PUBLISHED)


@pytest.mark.parametrize(
    ("p", "stop", "mean"), [("0.8", 0.58089, 17.0960), ("0.5", 0.064609, 28.3362)]
)
def test_published_first_passage_with_a_jeffreys_prior(p, stop, mean):
    a_side = decision_table(StoppingRule(prior=(0.5, 0.5))).a_side
    found = first_passage(lambda n, s: a_side[n, s] == 1, Fraction(p), 3, 30)
    assert float(found[0]) == pytest.approx(stop, abs=5e-6)
    assert float(found[1]) == pytest.approx(mean, abs=5e-5)


def test_peeking_at_a_fair_coin_is_wrong_as_often_as_published():
    # hand case H36: stop at the first n <= 20 with P(theta > 1/2) > .95, uniform prior
    half = Fraction(1, 2)
    above = high_masses(Beta(1, 1), half, 20)
    one_sided, _ = first_passage(lambda n, s: above[n, s] > 0.95, half, 1, 20)
    assert one_sided == Fraction(173319, 1048576)
    two_sided, _ = first_passage(lambda n, s: above[n, s] > 0.95 or above[n, s] < 0.05, half, 1, 20)
    assert float(two_sided) == pytest.approx(0.3301963806, abs=5e-11)
    short, _ = first_passage(lambda n, s: above[n, s] > 0.95, half, 1, 10)
    assert short == Fraction(57, 512)


def test_k_min_binds_for_the_paired_frozen_rule():
    assert first_stop(StoppingRule()) < 3
    # the level alone could not be high before round 7
    assert not (decision_table(StoppingRule()).a_side[:7] == 1).any()


def test_real_priors_say_when_floating_point_decides():
    # F ~ Beta(1.5 + i, 1.5 + k - i) is symmetric at i = k - i: P(F > 1/2) = 1/2, never near .75
    assert build_table(StoppingRule("0.5", "0.75", prior=("1.5", "1.5"), k_max=8)).n_unresolved == 0
    # Beta(1/2, 1/2) has P(F > 1/4) = 2/3 exactly (arcsine law); k = 1, i = j: no such tie, but with
    # Beta(1/2, 1) one round and no pass keeps P(F <= x) = sqrt(x) shapes: Beta(1/2, 1 + 1) is
    # (3 sqrt(x) - x^1.5) / 2 = 11/16 at x = 1/4
    table = build_table(StoppingRule("0.25", "0.6875", prior=("0.5", 1), k_min=1, k_max=1))
    assert table.n_unresolved == 1
