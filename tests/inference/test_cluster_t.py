"""The cluster t interval against SciPy's t on cluster means, which it equals at equal sizes."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.inference import cluster_t


def test_with_equal_sizes_it_is_the_t_interval_of_the_means():
    from scipy import stats

    x = np.array([[2.0, 3.5], [4.0, 1.0], [6.0, 2.0], [0.5, 0.0]])
    means = x.mean(axis=1)
    right = stats.ttest_1samp(means, 0).confidence_interval(0.9)
    totals = Totals.from_arrays(x.sum(1), [2] * 4, square=(x * x).sum(1))
    found = cluster_t(totals, level=0.9)
    assert (found.low[0], found.high[0]) == pytest.approx((right.low, right.high), rel=1e-10)


def test_no_spread_and_one_cluster_are_refused_with_the_reason():
    totals = Totals.from_arrays(
        [[4.0, 4.0], [4.0, 0.0]], [[2, 2], [2, 0]], square=[[8.0, 8.0], [8.0, 0.0]]
    )
    found = cluster_t(totals)
    assert np.isnan(found.low).all()
    assert "width would be 0" in found.notes[0][-1]
    assert "one cluster" in found.notes[1][-1]
