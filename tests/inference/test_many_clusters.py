"""Tests at the sizes of benchmarks: 1,319 items (GSM8K) and 14,042 (MMLU), and at their limits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, norm

from simtrack.inference import (
    mcnemar,
    mcnemar_midp,
    mcnemar_stratified,
    sign_flip,
    sign_flip_stratified,
    sign_test,
    sign_test_counts,
    sign_test_interval,
)
from simtrack.inference.exact.signflip import sign_flip_bounds

SIZES = [1_023, 1_024, 1_319, 14_042]
SIDES = ["two-sided", "greater", "less"]


def binomial_tail(most: int, tosses: int) -> Fraction:
    """Add up Pascal's row in whole numbers."""
    ways = term = 1
    for k in range(most):
        term = term * (tosses - k) // (k + 1)
        ways += term
    return Fraction(ways, 2**tosses)


def share_as_extreme(whole, alternative) -> Fraction:
    """Convolve the signs of whole numbers, ways as Python integers: 2^14042 has no float."""
    reach = sum(map(abs, whole))
    ways = [0] * (2 * reach + 1)
    ways[reach] = 1
    low = high = reach
    for size in map(abs, whole):
        new = [0] * (2 * reach + 1)
        for place in range(low, high + 1):
            if ways[place]:
                new[place + size] += ways[place]
                new[place - size] += ways[place]
        low, high, ways = low - size, high + size, new
    seen = sum(whole)
    extreme = {
        "two-sided": lambda s: abs(s) >= abs(seen),
        "greater": lambda s: s >= seen,
        "less": lambda s: s <= seen,
    }[alternative]
    hits = sum(w for place, w in enumerate(ways) if extreme(place - reach))
    return Fraction(hits, 2 ** len(whole))


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("items", SIZES)
def test_differences_of_one_size_are_tosses_of_a_coin(items, alternative):
    """A tenth of the items differ, or all: the sign-flip, sign and McNemar tests are one test."""
    for live in (items // 10, items):
        up = live // 2 + 3 * math.isqrt(live) // 2
        d = [1] * up + [-1] * (live - up) + [0] * (items - live)
        tail = {"two-sided": live - up, "greater": live - up, "less": up}[alternative]
        sides = 2 if alternative == "two-sided" else 1
        right = float(min(Fraction(1), sides * binomial_tail(tail, live)))
        by_scipy = min(1.0, sides * float(binom.cdf(tail, live, 0.5)))
        assert right == pytest.approx(by_scipy, rel=1e-9)
        for test in (
            sign_flip(d, alternative=alternative),
            sign_test(d, alternative=alternative),
            mcnemar(up, live - up, alternative=alternative),
        ):
            assert test.pvalue == pytest.approx(right, rel=1e-11)
            assert (test.exact is None) == (live > 1_000)
            assert test.exact is None or float(test.exact) == right
            assert test.refusal(0.05) is None


@pytest.mark.parametrize("items", [1_100, 14_042])
def test_mid_p_takes_half_of_what_is_as_extreme(items):
    up = items // 2 + math.isqrt(items)
    half = (binomial_tail(items - up, items) + binomial_tail(items - up - 1, items)) / 2
    assert mcnemar_midp(up, items - up).pvalue == pytest.approx(float(2 * half), rel=1e-10)


def test_a_p_value_too_small_for_a_float_is_not_zero():
    for test in (sign_test_counts(14_000, 42), mcnemar(14_042, 0), sign_flip([1] * 14_042)):
        assert 0.0 < test.pvalue <= 2e-300
        assert test.floor == Fraction(2, 2**14_042)
        test.to_dict()


@pytest.mark.parametrize("alternative", SIDES)
def test_graded_whole_numbers_equal_a_convolution_in_big_integers(alternative):
    rng = np.random.default_rng(4)
    d = [int(x) for x in rng.integers(-3, 4, 1_319)]
    d[:60] = [abs(x) for x in d[:60]]
    found = sign_flip(d, alternative=alternative)
    assert found.exact is None  # 1,130 differences: 2^1130 in a fraction helps nobody
    assert found.pvalue == pytest.approx(float(share_as_extreme(d, alternative)), rel=1e-11)


def test_graded_scores_of_14042_items_come_near_the_normal_limit():
    rng = np.random.default_rng(7)
    d = [int(x) for x in rng.integers(-9, 10, 14_042)]
    found = sign_flip([x / 10 for x in d])
    deviation = math.sqrt(sum(x * x for x in d))
    # The lattice has steps of 2, so the limit is taken half a step nearer to 0.
    limit = 2 * norm.sf((abs(sum(d)) - 1) / deviation)
    assert found.route == "convolution"
    assert found.pvalue == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize("alternative", SIDES)
@pytest.mark.parametrize("items", [60, 300, 1_319, 14_042])
def test_reals_lie_between_bounds_that_hold_the_exact_p(items, alternative):
    """Whole numbers times pi have the p-value of the whole numbers, and no lattice."""
    rng = np.random.default_rng(items)
    whole = rng.integers(-9, 10, items)
    whole[: 2 * math.isqrt(items)] = np.abs(whole[: 2 * math.isqrt(items)])
    right = sign_flip(whole, alternative=alternative).pvalue
    real = (whole * math.pi).tolist()
    assert sign_flip(real, alternative=alternative).route == "inversion"
    for width in (2.0**-3, 2.0**-10):
        low, high = sign_flip_bounds([x for x in real if x], alternative, width)
        assert low <= right <= high
    # A lattice has atoms, which the bounds of reals leave on both sides of a tie.
    atom = 2 * 2 / math.sqrt(2 * math.pi * float((whole.astype(float) ** 2).sum()))
    assert high - low <= 0.002 + 2 * atom


@pytest.mark.parametrize("items", [1_319, 14_042])
def test_reals_come_near_the_normal_limit(items):
    d = np.random.default_rng(items).normal(0.2 / math.sqrt(items), 0.1, items)
    found = sign_flip(d)
    limit = 2 * norm.sf(abs(d.sum()) / math.sqrt((d * d).sum()))
    assert found.pvalue == pytest.approx(limit, rel=0.01)
    assert found.exact is None
    assert f"{items} differences are too many to count" in found.notes[0]


def test_far_tails_of_reals_are_bounded_by_chernoff():
    whole = [3] * 900 + [-2] * 300 + [1] * 119
    right = sign_flip(whole).pvalue
    low, high = sign_flip_bounds([x * math.pi for x in whole], "two-sided")
    assert right < 1e-60
    assert low <= right <= high <= 100 * right


def test_many_strata_that_count_alike_are_bounded():
    """57 subjects of unequal size, as in MMLU: their weights share no small denominator."""
    rng = np.random.default_rng(57)
    sizes = rng.integers(100, 400, 57)
    strata = np.repeat([f"s{k}" for k in range(57)], sizes).tolist()
    d = rng.choice([-1, 0, 1], sizes.sum(), p=[0.067, 0.86, 0.073])
    found = sign_flip_stratified(d, strata)
    weight = np.repeat(sizes.sum() / (57 * sizes), sizes)
    limit = 2 * norm.sf(abs((weight * d).sum()) / math.sqrt(((weight * d) ** 2).sum()))
    assert found.pvalue == pytest.approx(limit, rel=0.02)
    b, c = (np.bincount(np.repeat(range(57), sizes), d == side).astype(int) for side in (1, -1))
    pairs = mcnemar_stratified(b, c, pairs=sizes, weights="equal")
    assert pairs.pvalue == pytest.approx(found.pvalue, rel=1e-9)


@pytest.mark.parametrize("items", SIZES)
def test_the_interval_of_the_median_has_the_rank_of_the_binomial_law(items):
    d = np.arange(items) * math.pi
    found = sign_test_interval(d)
    rank = int(binom.ppf(0.025, items, 0.5))  # the least k with P(X <= k) >= .025
    assert found.rank == rank
    assert (found.low, found.high) == (d[rank - 1], d[items - rank])
    assert float(found.attained) == pytest.approx(1 - 2 * binom.cdf(rank - 1, items, 0.5))
