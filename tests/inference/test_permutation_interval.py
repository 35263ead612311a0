"""The inverted permutation interval: what the test rejects, and enumeration in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from simtrack.inference.exact.permutation import permutation_test
from simtrack.inference.exact.permutation_interval import _by_law, _by_listing, permutation_interval
from simtrack.inference.exact.signflip_interval import ends_of_draws

ONE, TWO = [12, 15, 11, 19, 16, 14], [8, 11, 9, 7, 10]


def exchange_gaps(a, b):
    return sorted(
        Fraction(sum(x), k) - Fraction(sum(y), k)
        for k in range(1, min(len(a), len(b)) + 1)
        for x in itertools.combinations(a, k)
        for y in itertools.combinations(b, k)
    )


def test_there_is_one_difference_for_every_other_assignment():
    assert len(exchange_gaps(ONE, TWO)) == math.comb(11, 5) - 1


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_listing_and_law_equal_enumeration(level):
    gaps = exchange_gaps(ONE, TWO)
    rank = math.floor((1 - level) / 2 * math.comb(11, 5) + 1e-9)
    ends = float(gaps[rank - 1]), float(gaps[-rank])
    assert _by_listing(ONE, TWO, rank) == pytest.approx(ends, rel=1e-14)
    assert _by_law(ONE, TWO, rank) == ends
    found = permutation_interval(ONE, TWO, level=level)
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-14)


def test_it_holds_the_shifts_that_neither_one_sided_test_rejects():
    found, step = permutation_interval(ONE, TWO), Fraction(1, 10**6)
    for end, side, out in ((found.low, "greater", -1), (found.high, "less", 1)):
        exact = Fraction(end).limit_denominator(60)
        for shift, rejected in ((exact + out * step, True), (exact - out * step, False)):
            moved = [x - shift for x in ONE]
            p = permutation_test(moved, TWO, alternative=side).exact
            assert (p <= Fraction(1, 40)) is rejected


def test_typed_decimals_keep_their_scale():
    tenths = [x / 10 for x in ONE], [x / 10 for x in TWO]
    rank = 11
    whole = _by_law(ONE, TWO, rank)
    assert _by_law(*tenths, rank) == pytest.approx([w / 10 for w in whole], rel=1e-14)


def test_many_clusters_of_counts_are_exact_and_near_the_t_interval():
    rng = np.random.default_rng(1)
    one, two = rng.integers(2, 11, 20), rng.integers(0, 9, 18)
    found = permutation_interval(one, two)
    assert found.computation == "convolution"
    se = math.sqrt(one.var(ddof=1) / 20 + two.var(ddof=1) / 18)
    gap, half = one.mean() - two.mean(), 2.03 * se  # t(36) at .975
    assert found.low == pytest.approx(gap - half, abs=0.1 * half)
    assert found.high == pytest.approx(gap + half, abs=0.1 * half)
    drawn = permutation_interval(one, two, n_resamples=20_000, seed=2)
    for end, right, error in zip((drawn.low, drawn.high), (found.low, found.high), drawn.mcse,
                                 strict=True):  # fmt: skip
        assert abs(end - right) < 5 * error + 0.05  # ends of counts are fractions, close together


def test_reals_beyond_the_list_are_drawn():
    rng = np.random.default_rng(3)
    found = permutation_interval(rng.normal(size=30), rng.normal(size=30))
    assert (found.computation, found.n_resamples) == ("monte-carlo", 99_999)
    assert found.attained == 1 - Fraction(2 * 2500, 100_000)


def test_drawn_intervals_hold_what_the_same_size_of_test_does_not_reject():
    """A few draws: the level is that of (b + 1) / (m + 1), so 39 draws take the extremes."""
    found = permutation_interval(ONE, TWO, n_resamples=39, seed=4)
    assert found.attained == 1 - Fraction(2, 40)
    few = permutation_interval(ONE, TWO, n_resamples=19)
    assert (few.low, few.notes) == (None, ("19 draws have no interval at 0.95: draw more",))


def test_drawing_the_own_assignment_counts_beyond_either_end():
    """Of 70 assignments the data's own comes up in 1 of 70 draws: it shifts the rank by one."""
    one, two = [12.0, 15.5, 11.25, 19.7], [8.0, 11.1, 9.3, 7.6]
    gaps = exchange_gaps([Fraction(str(x)) for x in one], [Fraction(str(x)) for x in two])
    found = permutation_interval(one, two, level=0.9, n_resamples=20_000, seed=5)
    assert found.low == pytest.approx(float(gaps[2]), rel=1e-12)  # floor(.05 x 70) = 3
    assert found.high == pytest.approx(float(gaps[-3]), rel=1e-12)


def test_ends_of_draws_are_order_statistics():
    low, high, errors = ends_of_draws(np.arange(100.0, 0.0, -1.0), 10)
    assert (low, high) == (10.0, 91.0)
    assert errors == (3.0, 3.0)  # sqrt(10 x .9) = 3 ranks to either side, each rank 1 apart


def test_too_few_assignments_are_refused():
    found = permutation_interval([1, 2, 3], [4, 5, 6])
    assert found.low is None
    assert found.notes == ("20 assignments have no interval at 0.95: the widest has 0.9",)
    assert "refused" in repr(found)
    plain = permutation_interval(ONE, TWO).to_dict()
    assert plain["schema"] == "simtrack.permutation-interval/1"
    assert plain["clusters"] == 11
