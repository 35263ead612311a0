"""Intervals for independent trials: published values, exact ends, coverage by enumeration."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.inference.rates.binomial import clopper_pearson, jeffreys, mid_p

FOUR = 5e-5  # published to four decimals
TEN = 5e-11  # published to ten decimals
ROUNDING = 1e-12  # the beta quantile against another implementation


def ends(found):
    return tuple(float(end) for end in found)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684),
     (1, 29, 0.0009, 0.1776)],
)  # fmt: skip
def test_clopper_pearson_newcombe_1998(k, n, low, high):
    assert ends(clopper_pearson(k, n)) == pytest.approx((low, high), abs=FOUR)


def test_clopper_pearson_r_binom_test():
    right = (0.1660633298, 0.2752683640)  # R: binom.test(51, 235, 1/6)
    assert ends(clopper_pearson(51, 235)) == pytest.approx(right, abs=TEN)


def test_clopper_pearson_simr_power_interval():
    right = (0.554983882971805, 0.997471421455538)  # simr's own unit test, 9 of 10
    assert ends(clopper_pearson(9, 10)) == pytest.approx(right, rel=ROUNDING)


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [(416, 38.52, 44.73), (334, 30.48, 36.42)],  # simr issue 169; Green and MacLeod (2016)
)
def test_clopper_pearson_simr_percentages(k, low, high):
    assert [100 * e for e in ends(clopper_pearson(k, 1000))] == pytest.approx([low, high], abs=5e-3)


def test_fagerland_lydersen_laake_2017_chapter_2():
    # 13 of 16 (Ligarden et al. 2010), as the R package contingencytables prints them.
    assert ends(clopper_pearson(13, 16)) == pytest.approx((0.5435, 0.9595), abs=FOUR)
    assert ends(mid_p(13, 16)) == pytest.approx((0.5699, 0.9500), abs=FOUR)
    assert ends(jeffreys(13, 16)) == pytest.approx((0.5792, 0.9442), abs=FOUR)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2544, 0.3658), (15, 148, 0.0601, 0.1581), (0, 20, 0.0, 0.1391),
     (1, 29, 0.0017, 0.1585)],
)  # fmt: skip
def test_mid_p_newcombe_1998(k, n, low, high):
    assert ends(mid_p(k, n)) == pytest.approx((low, high), abs=FOUR)


@pytest.mark.parametrize(
    ("k", "n", "level", "low", "high"),
    [
        (81, 263, 0.95, 0.2545219349910236, 0.36564749917408246),
        (15, 148, 0.95, 0.060448517009296425, 0.15764314347874112),
        (1, 29, 0.95, 0.003746173649057073, 0.15007768600223176),
        (7, 34, 0.9, 0.11172785677190983, 0.33562199968472795),
    ],
)
def test_jeffreys_statsmodels_0_15(k, n, level, low, high):
    assert ends(jeffreys(k, n, level=level)) == pytest.approx((low, high), rel=ROUNDING)


def test_h01_the_closed_ends_are_exactly_zero_and_one():
    low, high = clopper_pearson([0, 23], [23, 23])
    assert (low[0], high[1]) == (0.0, 1.0)
    assert (high[0], low[1]) == pytest.approx((0.1481851289, 0.8518148711), abs=TEN)
    assert not np.isnan([low, high]).any()


def test_h16_thirty_of_thirty_have_an_exact_interval():
    low, high = ends(clopper_pearson(30, 30))
    assert low == pytest.approx(0.025 ** (1 / 30), rel=ROUNDING)
    assert (round(low, 10), high) == (0.8842966918, 1.0)


@pytest.mark.parametrize(("k", "n"), [(1, 10), (5, 12), (30, 33), (999, 1000)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_ends_solve_their_equations_by_scipy(k, n, level):
    from scipy.stats import binom

    tail = (1 - level) / 2
    low, high = ends(clopper_pearson(k, n, level=level))
    assert binom.sf(k - 1, n, low) == pytest.approx(tail, rel=1e-9)
    assert binom.cdf(k, n, high) == pytest.approx(tail, rel=1e-9)
    low, high = ends(mid_p(k, n, level=level))
    assert binom.sf(k, n, low) + binom.pmf(k, n, low) / 2 == pytest.approx(tail, rel=1e-9)
    assert binom.cdf(k - 1, n, high) + binom.pmf(k, n, high) / 2 == pytest.approx(tail, rel=1e-9)


def test_mid_p_of_none_and_all_is_the_one_sided_exact_bound():
    # (1 - p)^n / 2 = 0.025 is (1 - p)^n = 0.05.
    low, high = mid_p([0, 40], 40)
    assert (low[0], high[1]) == (0.0, 1.0)
    assert (1 - high[0]) ** 40 == pytest.approx(0.05, rel=1e-12)
    assert low[1] ** 40 == pytest.approx(0.05, rel=1e-12)


def coverage(found, n, rate):
    """Give the exact chance that the interval covers, with binomial weights as fractions."""
    low, high = found
    return sum(
        comb(n, k) * rate**k * (1 - rate) ** (n - k)
        for k in range(n + 1)
        if low[k] <= float(rate) <= high[k]
    )


GRID = [Fraction(j, 60) for j in range(1, 60)]


@pytest.mark.parametrize("n", [1, 2, 5, 13, 30])
def test_clopper_pearson_covers_everywhere(n):
    for side in ("two-sided", "lower", "upper"):
        found = clopper_pearson(np.arange(n + 1), n, side=side)
        assert min(coverage(found, n, p) for p in GRID) >= Fraction(95, 100)


@pytest.mark.parametrize(("limits", "n"), [(mid_p, 20), (mid_p, 50), (jeffreys, 50)])
def test_mid_p_and_jeffreys_cover_near_the_level_on_average(limits, n):
    interval = limits(np.arange(n + 1), n)
    found = [float(coverage(interval, n, p)) for p in GRID]
    assert 0.945 < np.mean(found) < 0.965
    assert 0.88 < min(found) < 0.95  # and, unlike the exact interval, not everywhere


@pytest.mark.parametrize("limits", [clopper_pearson, jeffreys, mid_p])
def test_one_sided_bounds_are_ends_of_the_wider_tail(limits):
    both = limits([3, 0, 10], 10, level=0.9)
    lower, upper = (limits([3, 0, 10], 10, level=0.95, side=s) for s in ("lower", "upper"))
    assert lower[0] == pytest.approx(both[0], rel=ROUNDING)
    assert upper[1] == pytest.approx(both[1], rel=ROUNDING)
    assert (lower[1] == 1.0).all()
    assert (upper[0] == 0.0).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.integers(1, 400), st.floats(0.02, 0.999))
def test_intervals_nest_and_mirror(k, n, level):
    k = min(k, n)
    inner, outer = ends(mid_p(k, n, level=level)), ends(clopper_pearson(k, n, level=level))
    assert 0.0 <= outer[0] <= inner[0] + ROUNDING
    assert inner[1] - ROUNDING <= outer[1] <= 1.0
    for limits in (clopper_pearson, jeffreys, mid_p):
        low, high = ends(limits(k, n, level=level))
        assert (1 - high, 1 - low) == pytest.approx(ends(limits(n - k, n, level=level)), abs=1e-11)


def test_fractional_counts_follow_the_beta_law():
    from scipy.stats import beta

    low, high = ends(clopper_pearson(4.5, 17.25))
    assert low == pytest.approx(beta.ppf(0.025, 4.5, 13.75), rel=1e-10)
    assert high == pytest.approx(beta.ppf(0.975, 5.5, 12.75), rel=1e-10)


def test_arrays_broadcast_and_keep_their_shape():
    low, high = mid_p(np.array([[1], [2]]), np.array([5, 6, 7]))
    assert low.shape == high.shape == (2, 3)
    assert low[1, 2] == mid_p(2, 7)[0]


@pytest.mark.parametrize("limits", [clopper_pearson, jeffreys, mid_p])
def test_what_is_no_count_is_refused(limits):
    with pytest.raises(InputError, match="n must be above 0"):
        limits(0, 0)
    with pytest.raises(InputError, match=r"successes must be between 0 and n, got 4\.0"):
        limits([1, 4], 3)
    with pytest.raises(InputError, match="successes must be between 0 and n, got nan"):
        limits(float("nan"), 3)
    with pytest.raises(InputError, match="shape"):
        limits([1, 2], [3, 4, 5])
    with pytest.raises(InputError, match=r"level must be above 0\.5 for a one-sided bound"):
        limits(1, 3, level=0.3, side="upper")
    with pytest.raises(InputError, match="side must be one of two-sided, lower, upper"):
        limits(1, 3, side="greater")
    with pytest.raises(InputError, match="level must be strictly between 0 and 1"):
        limits(1, 3, level=95)
