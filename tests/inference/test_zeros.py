"""No event among so many trials: printed bounds, exact counterparts, and what clusters change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.binomial import clopper_pearson
from simtrack.inference.rates.pooled import rule_of_three_pooled, zeros_pooled
from simtrack.inference.rates.zeros import (
    rule_of_three,
    rule_of_three_clustered,
    zero_bound,
    zeros_clustered,
)

ROUNDING = 1e-12


@pytest.mark.parametrize(
    ("n", "percent", "digits"),
    [(2968, 0.10, 2), (600, 0.5, 1), (594, 0.51, 2), (200, 1.50, 2), (195, 1.54, 2),
     (199, 1.51, 2), (378, 0.8, 1)],
)  # fmt: skip
def test_rebind_printed_rule_of_three_bounds(n, percent, digits):
    bound = 100 * float(rule_of_three(n))
    assert round(bound, digits) == percent
    found = rule_of_three_pooled(Totals.from_arrays([0], [n]))
    assert (100 * found.high[0], found.low[0]) == (bound, 0.0)


@pytest.mark.parametrize("n", [1, 3, 20, 600])
def test_the_exact_bound_leaves_alpha_for_no_event(n):
    assert (1 - float(zero_bound(n))) ** n == pytest.approx(0.05, rel=1e-11)
    assert (1 - float(zero_bound(n, level=0.9))) ** n == pytest.approx(0.1, rel=1e-11)
    assert (1 - float(zero_bound(n, side="two-sided"))) ** n == pytest.approx(0.025, rel=1e-11)


def test_three_is_a_little_more_than_minus_log_alpha():
    # -log 0.05 = 2.9957..., and 1 - 0.05^(1/n) is below 3/n for every n.
    n = np.arange(1, 5000)
    assert (zero_bound(n) < rule_of_three(n)).all()
    assert float(zero_bound(10**6)) * 10**6 == pytest.approx(2.995732, abs=1e-5)


def test_h01_the_two_sided_convention_is_clopper_pearsons():
    assert float(zero_bound(23, side="two-sided")) == pytest.approx(0.1481851289, abs=5e-11)
    assert float(zero_bound(23, side="two-sided")) == pytest.approx(
        float(clopper_pearson(0, 23)[1]), rel=ROUNDING
    )
    assert float(zero_bound(23)) == pytest.approx(
        float(clopper_pearson(0, 23, side="upper")[1]), rel=ROUNDING
    )


def test_scipy_gives_the_same_one_sided_bound():
    from scipy.stats import binomtest

    right = binomtest(0, 600, alternative="less").proportion_ci(0.95, method="exact").high
    assert float(zero_bound(600)) == pytest.approx(right, rel=1e-10)
    found = zeros_pooled(Totals.from_arrays([0, 0], [300, 300]))
    assert found.high[0] == pytest.approx(right, rel=1e-10)
    assert "treats trials as independent" in found.notes[0][0]


def test_clusters_as_the_unit_are_exact_at_the_worst_case():
    # All-or-nothing clusters (ICC 1) show no event with chance (1-p)^G: at the bound exactly alpha.
    none = Totals.from_arrays([0] * 12, [20] * 12)
    found = zeros_clustered(none, unit="clusters")
    bound = Fraction(found.high[0])
    assert float((1 - bound) ** 12) == pytest.approx(0.05, rel=1e-11)
    assert (found.guarantee, found.effective_n[0]) == ("finite-sample", 12.0)
    assert "each of 12 clusters counts once" in found.notes[0][-1]
    assert not any("ICC" in line for line in found.notes[0])


def test_the_effective_n_stands_between_clusters_and_trials():
    none = Totals.from_arrays([0] * 12, [20] * 12)
    at = {icc: zeros_clustered(none, icc=icc).high[0] for icc in (0.0, 0.3, 1.0)}
    assert at[0.0] == pytest.approx(float(zero_bound(240)), rel=ROUNDING)
    assert at[0.3] == pytest.approx(float(zero_bound(240 / 6.7)), rel=ROUNDING)
    assert at[1.0] == pytest.approx(float(zero_bound(12)), rel=ROUNDING)
    assumed = zeros_clustered(none)
    assert assumed.high[0] == at[0.3]
    assert "assumed ICC 0.3" in assumed.notes[0][-1]
    assert rule_of_three_clustered(none).high[0] == pytest.approx(3 * 6.7 / 240, rel=ROUNDING)
    assert rule_of_three_clustered(none, unit="clusters").high[0] == 0.25


def test_all_successes_are_the_mirror_image():
    full, none = (Totals.from_arrays([k] * 6, [10] * 6) for k in (10, 0))
    for method in (zeros_clustered, rule_of_three_clustered, zeros_pooled, rule_of_three_pooled):
        a, b = method(full), method(none)
        assert (a.high[0], b.low[0]) == (1.0, 0.0)
        assert a.low[0] == pytest.approx(1 - b.high[0], rel=ROUNDING)


def test_two_clusters_of_one_trial_leave_everything_open():
    found = rule_of_three_clustered(Totals.from_arrays([0, 0], [1, 1]), unit="clusters")
    assert (found.low[0], found.high[0]) == (0.0, 1.0)  # 3/2 is cut off at 1
    full = rule_of_three_clustered(Totals.from_arrays([1, 1], [1, 1]), unit="clusters")
    assert (full.low[0], full.high[0]) == (0.0, 1.0)


def test_both_outcomes_one_cluster_and_no_trial_are_refused_with_the_reason():
    totals = Totals.from_arrays([[0, 0, 1], [0, 0, 0]], [[5, 0, 5], [0, 0, 5]])
    found = zeros_clustered(totals)
    assert np.isnan(found.high).all()
    assert "no interval: one cluster" in found.notes[0][-1]
    assert "no trial" in found.notes[1][-1]
    assert "both outcomes occur" in found.notes[2][-1]
    clusters = zeros_clustered(totals, unit="clusters")
    assert clusters.high[0] == pytest.approx(0.95, rel=ROUNDING)  # one cluster says that much
    assert np.isnan(zeros_pooled(totals).high[1:]).all()


def test_other_levels_and_sides_are_refused_by_name():
    none = Totals.from_arrays([0] * 3, [5] * 3)
    for method in (rule_of_three_clustered, rule_of_three_pooled):
        with pytest.raises(InputError, match=r"level must be 0\.95 for the rule of three, got 0.9"):
            method(none, level=0.9)
    with pytest.raises(InputError, match="no event bounds no rate from below"):
        zero_bound(5, side="lower")
    with pytest.raises(InputError, match="unit must be one of effective, clusters"):
        zeros_clustered(none, unit="trials")
    with pytest.raises(InputError, match="n must be above 0"):
        rule_of_three(0)
