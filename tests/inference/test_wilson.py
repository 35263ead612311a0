"""Wilson intervals: published values, exact ends, and the effective sample size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import ASSUMED_ICC, clustered_rates, wilson, wilson_clustered, wilson_limits

Z = 1.959963984540054
PRINTED = 5e-5  # published to four decimals
ROUNDING = 1e-12


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611),
     (1, 29, 0.0061, 0.1718)],
)  # fmt: skip
def test_newcombe_1998_table_1(successes, n, low, high):
    assert wilson(successes, n) == (
        pytest.approx(low, abs=PRINTED),
        pytest.approx(high, abs=PRINTED),
    )


def test_h02_the_ends_never_leave_zero_and_one():
    low, high = wilson(46, 46)
    assert (round(low, 10), high) == (0.9229264369, 1.0)
    low, high = wilson(0, 27)
    assert (low, round(high, 10)) == (0.0, 0.1245550297)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 10**6), st.floats(0.01, 50))
def test_ends_enclose_the_rate_exactly(k, n, critical):
    p = min(k, n) / n
    low, high = wilson_limits(p, n, critical)
    assert 0.0 <= low <= p <= high <= 1.0
    assert (low == 0.0) or k > 0
    assert (high == 1.0) or k < n


def test_a_small_low_end_keeps_its_digits():
    # 50-digit decimal arithmetic of the textbook formula; in doubles that loses six digits.
    low, _ = wilson_limits(1e-6, 10, 2)
    assert float(low) == pytest.approx(2.4999875000843743594e-12, rel=ROUNDING, abs=0)


@pytest.mark.parametrize(("k", "n"), [(1, 10), (5, 12), (30, 33), (999, 1000)])
def test_each_end_solves_the_score_equation(k, n):
    for end in wilson(k, n, level=0.9):
        score = (k / n - end) / math.sqrt(end * (1 - end) / n)
        assert abs(score) == pytest.approx(1.6448536269514722, rel=1e-9)


def test_statsmodels_is_not_needed_scipy_agrees():
    from scipy.stats import binomtest

    right = binomtest(7, 34).proportion_ci(0.95, method="wilson")
    assert wilson(7, 34) == pytest.approx((right.low, right.high), rel=ROUNDING)


def by_hand(p, se, g, n_over=1.0):
    from scipy import stats

    n, t = p * (1 - p) / se**2 * n_over, stats.t.ppf(0.975, g - 1)
    middle, half = p + t * t / (2 * n), t * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n))
    return (middle - half) / (1 + t * t / n), (middle + half) / (1 + t * t / n)


def test_clusters_shrink_the_sample_and_bring_t():
    totals = Totals.from_arrays([18, 20, 9, 15, 4, 12], [20, 21, 19, 20, 18, 22])
    found, rates = wilson_clustered(totals), clustered_rates(totals)
    right = by_hand(rates.rate[0], rates.clustered_se[0], 6, 120 / 119)
    assert (found.low[0], found.high[0]) == pytest.approx(right, rel=1e-10)
    assert found.effective_n[0] == pytest.approx(rates.effective_n[0], rel=ROUNDING)
    assert found.df[0] == 5


def test_one_trial_a_cluster_is_plain_wilson_with_t_for_z():
    found = wilson_clustered(Totals.from_arrays([1] * 14 + [0] * 6, [1] * 20))
    assert found.effective_n[0] == pytest.approx(20, rel=ROUNDING)
    low, high = wilson_limits(0.7, 20.0, 2.093024054408263)  # t(19) at .975, printed in tables
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), rel=1e-10)


def test_clusters_more_alike_than_chance_buy_nothing():
    found = wilson_clustered(Totals.from_arrays([10, 10, 11, 10], [20] * 4))
    assert found.effective_n[0] == pytest.approx(80, rel=ROUNDING)
    assert "the naive standard error is used" in found.notes[0][-1]


@pytest.mark.parametrize("k", [0, 20])
def test_without_spread_an_icc_is_assumed_and_said(k):
    totals = Totals.from_arrays([k] * 12, [20] * 12)
    found = wilson_clustered(totals)
    n = 240 / (1 + ASSUMED_ICC * 19)
    t2 = 2.200985160091640**2  # t(11) at .975
    width = t2 / (n + t2)
    ends = (0.0, width) if k == 0 else (1 - width, 1.0)
    assert (found.low[0], found.high[0]) == pytest.approx(ends, rel=1e-9)
    assert "assumed ICC 0.3" in found.notes[0][-1]


def test_a_given_icc_is_used_and_named_where_there_is_no_spread():
    found = wilson_clustered(Totals.from_arrays([2, 4, 12], [2, 4, 12]), icc=0.2)
    assert found.effective_n[0] == pytest.approx(18 / 2.6222222222, rel=1e-9)  # H40
    assert "given ICC 0.2: design effect 2.62" in found.notes[0][-1]
    ignored = wilson_clustered(Totals.from_arrays([2, 3, 12], [2, 4, 12]), icc=0.9)
    assert ignored.low[0] == wilson_clustered(Totals.from_arrays([2, 3, 12], [2, 4, 12])).low[0]


def test_equal_rates_inside_the_range_count_as_no_spread_too():
    found = wilson_clustered(Totals.from_arrays([1, 2, 3], [3, 6, 9]))
    assert "assumed ICC" in found.notes[0][-1]
    assert found.high[0] - found.low[0] > 0.5


def test_fractional_scores_use_their_own_spread():
    # All scores within .4 to .6 in clusters of two: narrower than 0/1 scores could be.
    x = np.array([[0.4, 0.5], [0.6, 0.5], [0.5, 0.5], [0.4, 0.6], [0.6, 0.6]])
    totals = Totals.from_arrays(x.sum(1), [2] * 5, square=(x * x).sum(1))
    found, rates = wilson_clustered(totals), clustered_rates(totals)
    se = max(rates.clustered_se[0], rates.naive_se[0])
    assert (found.low[0], found.high[0]) == pytest.approx(
        by_hand(rates.rate[0], se, 5, 10 / 9), rel=1e-10
    )


def test_equal_fractional_scores_get_the_widest_spread_such_scores_can_have():
    totals = Totals.from_arrays([1.0] * 3, [2] * 3, square=[0.5] * 3)
    found = wilson_clustered(totals, icc=0.5)
    assert found.effective_n[0] == pytest.approx(6 / 1.5)
    assert "all scores are equal" in found.notes[0][0]


def test_one_cluster_and_no_trial_have_no_interval_but_a_reason():
    found = wilson_clustered(Totals.from_arrays([[3, 0], [0, 0]], [[4, 0], [0, 0]]))
    assert np.isnan(found.low).all()
    assert "no interval: one cluster" in found.notes[0][-1]
    assert "no trial" in found.notes[1][0]


def test_options_out_of_range_are_refused():
    totals = Totals.from_arrays([1, 2], [4, 4])
    with pytest.raises(InputError, match="level must be strictly between 0 and 1, got 95"):
        wilson_clustered(totals, level=95)
    with pytest.raises(InputError, match="icc must be a finite number from 0 to 1"):
        wilson_clustered(totals, icc=-0.1)
    with pytest.raises(InputError, match="n must be above 0"):
        wilson(0, 0)
