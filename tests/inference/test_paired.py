"""Paired differences: SciPy's paired t, hand arithmetic, and stated outcomes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import clustered_rates, paired_difference

ROUNDING = 1e-10

TOP = [[3, 1], [4, 2], [2, 2], [4, 1], [3, 3], [1, 0]]
BOTTOM = [[4, 4], [4, 5], [4, 4], [4, 3], [4, 4], [2, 6]]


def test_the_interval_and_p_are_those_of_scipys_paired_t():
    from scipy.stats import ttest_rel

    rates = np.array(TOP) / np.array(BOTTOM)
    right = ttest_rel(rates[:, 0], rates[:, 1])
    found = paired_difference(Totals.from_arrays(TOP, BOTTOM))
    ends = right.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=ROUNDING)
    assert found.t_pvalue == pytest.approx(right.pvalue, rel=ROUNDING)
    assert found.difference == pytest.approx(rates[:, 0].mean() - rates[:, 1].mean(), rel=ROUNDING)


def test_the_sign_flip_p_sits_beside_it_on_exact_fractions():
    found = paired_difference(Totals.from_arrays(TOP, BOTTOM))
    # In sixtieths: 30, 36, 0, 40, 0, 30. All signs equal or none: 2 of 2^4 patterns.
    assert found.test.exact == Fraction(2, 16)
    assert found.test.statistic == pytest.approx((30 + 36 + 40 + 30) / 60 / 6, rel=ROUNDING)


def test_a_difference_of_rates_ends_at_one():
    totals = Totals.from_arrays([[4, 0], [2, 0]], [[4, 4]] * 2)
    free, held = paired_difference(totals), paired_difference(totals, bounded=True)
    assert free.high == pytest.approx(0.75 + 12.706204736 * 0.25, rel=1e-9)  # t(1) at .975
    assert (held.low, held.high) == (-1.0, 1.0)
    assert held.notes[-1] == "the interval is cut off where a difference of rates ends"


def test_the_order_of_the_columns_only_turns_the_sign():
    there = paired_difference(Totals.from_arrays(TOP, BOTTOM), 0, 1)
    back = paired_difference(Totals.from_arrays(TOP, BOTTOM), 1, 0)
    assert (back.difference, back.low, back.high) == (-there.difference, -there.high, -there.low)
    assert back.test.exact == there.test.exact


def test_the_pooled_difference_weights_by_trials():
    found = paired_difference(Totals.from_arrays(TOP, BOTTOM))
    assert found.pooled_difference == pytest.approx(17 / 22 - 9 / 26, rel=ROUNDING)


def test_with_equal_trials_pooled_and_equal_weight_are_one():
    found = paired_difference(Totals.from_arrays(TOP, [[4, 4]] * 6))
    assert found.pooled_difference == pytest.approx(found.difference, rel=ROUNDING)
    assert found.pooled_se == pytest.approx(found.se, rel=ROUNDING)


def test_the_unpaired_error_is_that_of_two_independent_rates():
    totals = Totals.from_arrays(TOP, BOTTOM)
    found, apart = paired_difference(totals), clustered_rates(totals).clustered_se
    assert found.unpaired_se == pytest.approx(math.hypot(*apart), rel=ROUNDING)


def test_unpaired_clusters_are_dropped_and_counted():
    found = paired_difference(
        Totals.from_arrays([*TOP, [2, 0], [0, 3], [0, 1]], [*BOTTOM, [4, 0], [0, 4], [0, 4]])
    )
    whole = paired_difference(Totals.from_arrays(TOP, BOTTOM))
    assert (found.clusters, found.only_first, found.only_second) == (6, 1, 2)
    assert (found.difference, found.low) == (whole.difference, whole.low)
    assert found.notes[0] == "unpaired clusters left out: 3 (1 only in 0, 2 only in 1)"


@pytest.mark.parametrize(("top", "mean"), [([3, 1], 0.5), ([2, 2], 0.0)])
def test_equal_differences_give_no_interval_of_width_zero(top, mean):
    found = paired_difference(Totals.from_arrays([top] * 7, [[4, 4]] * 7))
    assert (found.difference, found.se, found.low, found.high) == (mean, 0.0, None, None)
    assert found.notes == (
        f"all 7 cluster differences equal {mean:g}: no interval, its width would be 0",
    )
    assert found.test.exact == (Fraction(2, 128) if mean else 1)


def test_equal_differences_of_tenths_are_recognised_in_spite_of_rounding():
    top, bottom = [[3, 2], [1, 0], [6, 4]], [[10, 10], [10, 10], [20, 20]]
    assert 0.3 - 0.2 != 0.1 - 0.0
    assert paired_difference(Totals.from_arrays(top, bottom)).low is None


def test_one_cluster_and_none():
    one = paired_difference(Totals.from_arrays([[3, 1]], [[4, 4]]))
    assert (one.difference, one.se, one.low) == (0.5, None, None)
    assert "one paired cluster" in one.notes[-1]
    none = paired_difference(Totals.from_arrays([[3, 0], [0, 2]], [[4, 0], [0, 4]]))
    assert (none.difference, none.test) == (None, None)
    assert none.notes[-1] == "no paired cluster"


def test_real_scores_are_paired_too():
    top = [[1.25, 0.7], [2.1, 0.3], [0.9, 1.4], [1.7, 1.1]]
    found = paired_difference(Totals.from_arrays(top, [[2, 2]] * 4, square=np.square(top)))
    gaps = [(a - b) / 2 for a, b in top]
    assert found.difference == pytest.approx(sum(gaps) / 4, rel=ROUNDING)
    # |d| = .275 .9 .25 .3: the observed 1.225 is reached with ± both, and by |sum| 1.225 or more:
    # all plus (1.725), d3 flipped (1.225): times two.
    assert found.test.exact == Fraction(4, 16)


def test_a_condition_is_not_compared_with_itself():
    with pytest.raises(InputError, match="another condition"):
        paired_difference(Totals.from_arrays(TOP, BOTTOM), 1, 1)
