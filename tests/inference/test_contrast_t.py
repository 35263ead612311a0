"""A contrast of pooled ratios: against SciPy, against the paired difference, and at its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import paired_difference
from simtrack.inference.contrasts import contrast_t

#: Sums in another order differ in the last digits.
ROUNDING = 1e-12


def test_equal_sizes_give_the_paired_t_interval_of_scipy() -> None:
    passed = np.array([[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]])
    found = contrast_t(Totals.from_arrays(passed, np.full((7, 2), 4)), [1, -1])
    differences = (passed[:, 0] - passed[:, 1]) / 4
    low, high = stats.t.interval(0.95, 6, differences.mean(), stats.sem(differences))
    assert found.estimate == pytest.approx(differences.mean(), abs=ROUNDING)
    assert (found.low, found.high) == pytest.approx((low, high), abs=ROUNDING)


def test_unequal_sizes_give_the_pooled_standard_error_of_the_paired_difference() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, (15, 2))
    totals = Totals.from_arrays(rng.binomial(sizes, 0.6), sizes)
    found, known = contrast_t(totals, [1, -1]), paired_difference(totals)
    assert found.estimate == pytest.approx(known.pooled_difference, abs=ROUNDING)
    assert found.se == pytest.approx(known.pooled_se, abs=ROUNDING)


def test_three_terms_agree_with_the_jackknife_of_linear_contributions() -> None:
    # With equal denominators the pooled contrast is the mean of cluster contrasts.
    passed = np.array([[5, 1, 2], [4, 0, 2], [5, 3, 3], [2, 2, 1]])
    weights = np.array([1.0, -0.5, -0.5])
    found = contrast_t(Totals.from_arrays(passed, np.full((4, 3), 5)), weights, level=0.9)
    each = (weights * passed / 5).sum(axis=1)
    assert found.se == pytest.approx(stats.sem(each), abs=ROUNDING)
    half = stats.t.ppf(0.95, 3) * stats.sem(each)
    assert found.high == pytest.approx(each.mean() + half, abs=ROUNDING)


def test_limits_are_said_not_computed() -> None:
    empty = contrast_t(Totals.from_arrays([[1, 0], [2, 0]], [[2, 0], [2, 0]]), [1, -1])
    assert empty.estimate is None
    assert "no trial" in empty.notes[0]
    alone = contrast_t(Totals.from_arrays([[1, 0]], [[2, 2]]), [1, -1])
    assert alone.estimate == 0.5
    assert alone.low is None
    assert "one cluster" in alone.notes[0]
    flat = contrast_t(Totals.from_arrays([[1, 0], [1, 0]], [[2, 2], [2, 2]]), [1, -1])
    assert flat.low is None
    assert "no spread" in flat.notes[0]
    with pytest.raises(InputError, match="weights must be 2 finite numbers"):
        contrast_t(Totals.from_arrays([[1, 0]], [[2, 2]]), [1])


def test_clusters_that_lack_a_term_cost_degrees_of_freedom() -> None:
    # Four clusters have the first term, three the second as well.
    totals = Totals.from_arrays([[4, 1], [3, 0], [2, 2], [4, 0]], [[5, 3], [5, 4], [5, 3], [5, 0]])
    found = contrast_t(totals, [1, -1])
    half = stats.t.ppf(0.975, 2) * found.se
    assert (found.low, found.high) == pytest.approx((found.estimate - half, found.estimate + half))
    assert found.notes == ("a term has trials in 3 of 4 clusters: t(2)",)


def test_a_term_in_one_cluster_has_no_standard_error() -> None:
    totals = Totals.from_arrays([[4, 1], [3, 0], [2, 0]], [[5, 3], [5, 0], [5, 0]])
    found = contrast_t(totals, [1, -1])
    assert found.estimate == pytest.approx(0.6 - 1 / 3)
    assert (found.se, found.low, found.high) == (None, None, None)
    assert "one cluster only" in found.notes[0]


def test_clusters_of_terms_without_weight_are_no_clusters() -> None:
    passed = [[4, 1, 0], [3, 2, 0], [0, 0, 2], [0, 0, 1]]
    size = [[5, 3, 0], [5, 3, 0], [0, 0, 4], [0, 0, 4]]
    found = contrast_t(Totals.from_arrays(passed, size), [1, -1, 0])
    known = contrast_t(Totals.from_arrays([[4, 1], [3, 2]], [[5, 3]] * 2), [1, -1])
    assert (found.clusters, found.low, found.high) == (2, known.low, known.high)
