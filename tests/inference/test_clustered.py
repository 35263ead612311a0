"""Standard errors against hand arithmetic, other formulas and published values."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.inference import clustered_rates, design_effect_from_icc, paired_difference

#: Sums of up to a hundred products of doubles.
ROUNDING = 1e-12


def totals_of(clusters: list[list[float]]) -> Totals:
    return Totals.from_arrays(
        [sum(c) for c in clusters],
        [len(c) for c in clusters],
        square=[sum(x * x for x in c) for c in clusters],
    )


scores = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5, -1.0]), min_size=1, max_size=6),
    min_size=2,
    max_size=8,
)


@settings(max_examples=80, deadline=None)
@given(scores)
def test_standard_errors_are_those_of_inspect(clusters):
    """naive: sd(ddof=1)/√n; clustered: √(Σ_c (Σ_i (s - mean))² · C/(C-1)) / n."""
    flat = [x for c in clusters for x in c]
    mean = sum(flat) / len(flat)
    found = clustered_rates(totals_of(clusters))
    naive = statistics.stdev(flat) / math.sqrt(len(flat))
    between = sum(sum(x - mean for x in c) ** 2 for c in clusters)
    right = math.sqrt(between * len(clusters) / (len(clusters) - 1)) / len(flat)
    assert found.naive_se[0] == pytest.approx(naive, rel=1e-9, abs=1e-12)
    assert found.clustered_se[0] == pytest.approx(right, rel=1e-9, abs=1e-9)


def test_inspects_popularity_log_has_its_standard_error():
    # 8 of 10: √(.8·.2/9) = .13333
    found = clustered_rates(Totals.from_arrays([1] * 8 + [0] * 2, [1] * 10))
    assert found.naive_se[0] == pytest.approx(0.4 / 3, rel=ROUNDING)


def test_one_trial_a_cluster_makes_both_errors_equal():
    found = clustered_rates(Totals.from_arrays([1, 0, 0, 1, 1], [1] * 5))
    assert found.clustered_se[0] == pytest.approx(found.naive_se[0], rel=ROUNDING)
    assert found.effective_n[0] == pytest.approx(5, rel=ROUNDING)
    assert np.isnan(found.icc[0])
    assert found.notes[0] == ()


def test_h18_own_clusters_for_the_unlabelled_give_the_stated_error():
    # Clusters [1,1], [0,0] and four of one trial: Σ deviation² = 2·(2·.25)² … = 11/256·64.
    found = clustered_rates(Totals.from_arrays([2, 0, 1, 1, 1, 1], [2, 2, 1, 1, 1, 1]))
    without_factor = 0.2072890494
    assert found.clustered_se[0] == pytest.approx(without_factor * math.sqrt(6 / 5), rel=1e-9)


def test_h17_the_ideal_bootstrap_error_without_the_factor():
    # a=[1,1], b=[0,0], c=[1,0], d=[1,1], e=[0,0]: variance of the means / 5 = 1/25.
    found = clustered_rates(Totals.from_arrays([2, 0, 1, 2, 0], [2] * 5))
    assert found.clustered_se[0] * math.sqrt(4 / 5) == pytest.approx(0.2, rel=ROUNDING)


def test_h40_the_design_effect_of_unequal_clusters():
    assert design_effect_from_icc(0.2, np.array([2.0, 4.0, 12.0])) == pytest.approx(2.6222222222)


def test_the_icc_is_that_of_the_analysis_of_variance():
    """Hand: clusters (1,1,0), (0,0,0), (1,1,1): SSB = 3·2·(1/9)+... = 14/9, SSW = 2/3."""
    found = clustered_rates(totals_of([[1, 1, 0], [0, 0, 0], [1, 1, 1]]))
    msb, msw = (14 / 9) / 2, (2 / 3) / 6
    assert found.icc[0] == pytest.approx((msb - msw) / (msb + 2 * msw), rel=ROUNDING)


def test_the_icc_of_unequal_clusters_takes_their_effective_size():
    """Hand: (1,1,1,1), (0,0), (1,0,1): SSB = 4/9 + 8/9 + 0, SSW = 2/3, m0 = (9 - 29/9)/2 = 26/9.

    (MSB - MSW) / (MSB + (m0 - 1) MSW) = (5/9) / (6/9 + 17/81) = 45/71; the mean size 3 gives 5/8.
    """
    found = clustered_rates(totals_of([[1, 1, 1, 1], [0, 0], [1, 0, 1]]))
    assert found.icc[0] == pytest.approx(45 / 71, rel=ROUNDING)


def test_the_pooled_difference_of_unequal_trials_by_hand():
    """3/4, 1/1, 0/3 against 1/2, 0/2, 3/12: 4/8 - 4/16 = 1/4.

    Residuals x - p m are (1, 1/2, -3/2) over 8 and (1/2, -1/2, 0) over 16, so the gaps of the
    clusters are (3, 3, -6)/32 and se^2 = 3/2 * 54/1024 = (9/32)^2.
    """
    found = paired_difference(
        Totals.from_arrays([[3, 1], [1, 0], [0, 3]], [[4, 2], [1, 2], [3, 12]])
    )
    assert found.pooled_difference == pytest.approx(1 / 4, rel=ROUNDING)
    assert found.pooled_se == pytest.approx(9 / 32, rel=ROUNDING)


def test_a_random_denominator_is_linearised():
    """Delete-one jackknife of a ratio tends to the same variance: compare on a large sample."""
    m = np.arange(1, 401) % 7 + 1.0
    x = np.floor(m * (0.3 + 0.4 * (np.arange(400) % 3 == 0)))
    found = clustered_rates(Totals.from_arrays(x, m))
    jack = (x.sum() - x) / (m.sum() - m)
    se = math.sqrt(399 / 400 * ((jack - jack.mean()) ** 2).sum())
    assert found.clustered_se[0] == pytest.approx(se, rel=5e-3)  # they differ by O(1/G)


def test_the_effective_number_is_never_above_n():
    found = clustered_rates(Totals.from_arrays([10, 10, 11, 10], [20] * 4))
    assert found.design_effect[0] < 0.1
    assert found.effective_n[0] == 80


def test_equal_rates_in_unequal_clusters_are_no_spread_in_spite_of_rounding():
    # One in 49 everywhere: in doubles x - p m comes to 1e-16 to 9e-16.
    found = clustered_rates(Totals.from_arrays([1, 2, 3, 6, 7], [49, 98, 147, 294, 343]))
    assert found.no_spread[0]
    assert found.clustered_se[0] == 0.0
    assert "no sign of precision" in found.notes[0][0]


def test_a_cluster_without_trials_is_no_cluster():
    with_empty = clustered_rates(Totals.from_arrays([3, 0, 1], [4, 0, 4]))
    without = clustered_rates(Totals.from_arrays([3, 1], [4, 4]))
    assert with_empty.clusters[0] == 2
    assert with_empty.clustered_se[0] == without.clustered_se[0]


@pytest.mark.parametrize(
    ("top", "bottom", "why"),
    [
        ([0, 0], [0, 0], "no trial"),
        ([1, 0], [1, 0], "one trial"),
        ([3, 0], [4, 0], "one cluster"),
    ],
)
def test_what_is_not_defined_is_missing_with_a_reason(top, bottom, why):
    found = clustered_rates(Totals.from_arrays(top, bottom))
    assert np.isnan(found.clustered_se[0])
    assert why in found.notes[0][0]
