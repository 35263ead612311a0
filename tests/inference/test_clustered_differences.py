"""Differences and ratios of clustered rates against R's survey package, SciPy and their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.analysis import METHODS
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import effective_size, wilson_clustered
from simtrack.inference.differences.cluster_difference import (
    cluster_difference,
    correlation,
    covariance,
)
from simtrack.inference.differences.log_ratio import cluster_ratio
from simtrack.inference.differences.newcombe import newcombe_clustered
from simtrack.inference.differences.score_interval import (
    miettinen_nurminen_clustered,
    miettinen_nurminen_ratio_clustered,
)
from simtrack.inference.differences.two_rates import two_columns
from simtrack.method import Ask, Layout

R_DIGITS = 1e-9
ROUNDING = 1e-10
T14 = 2.144786687917804  # t(14) at .975

# Schools by district, apiclus1 of R's survey package (R 4.2.2, survey 4.1-1, no correction for a
# finite population): English learners below 10 %, no emergency credentials, awards.
SIZES = [13, 34, 4, 13, 16, 2, 1, 4, 12, 21, 9, 11, 37, 2, 4]
ELL = [0, 1, 0, 4, 2, 0, 0, 0, 0, 5, 9, 0, 4, 0, 4]
EMER = [0, 9, 0, 1, 5, 0, 0, 1, 1, 8, 7, 1, 1, 0, 1]
AWARD = [10, 26, 3, 9, 13, 2, 1, 3, 11, 14, 4, 9, 24, 1, 0]


def columns(first, second, sizes=SIZES, others=None):
    return Totals.from_arrays(
        np.stack([first, second], axis=1), np.stack([sizes, others or sizes], axis=1)
    )


@pytest.mark.parametrize(
    ("first", "second", "gap", "se", "low", "high"),
    [
        (EMER, ELL, 0.032786885245902, 0.058008728123666, -0.09162946261678, 0.15720323310858),
        (AWARD, EMER, 0.519125683060109, 0.067132042826641, 0.3751417712728, 0.66310959484742),
    ],
)
def test_shared_clusters_r_survey_svycontrast(first, second, gap, se, low, high):
    found = cluster_difference(columns(first, second))
    assert (found.estimate, found.se) == pytest.approx((gap, se), rel=R_DIGITS)
    assert (found.low, found.high) == pytest.approx((low, high), rel=R_DIGITS)
    assert (found.df, found.shared) == (14, 15)


@pytest.mark.parametrize(
    ("first", "second", "ratio", "se"),
    [(EMER, ELL, 1.20689655172414, 0.41186591040923),
     (AWARD, EMER, 3.7142857142857, 1.1327121566807)],
)  # fmt: skip
def test_shared_clusters_r_survey_svyratio(first, second, ratio, se):
    found = cluster_ratio(columns(first, second))
    assert found.estimate == pytest.approx(ratio, rel=R_DIGITS)
    assert found.se * ratio == pytest.approx(se, rel=R_DIGITS)  # the delta method
    right = [ratio * math.exp(sign * T14 * se / ratio) for sign in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(right, rel=R_DIGITS)


def test_partly_shared_clusters_r_survey_domains():
    # Awards among other and elementary schools; three districts have elementary schools only. R
    # takes G/(G-1) over all 15 districts for both domains, we over those that have any: 12 and 15.
    hits = [[1, 9], [0, 26], [1, 2], [0, 9], [3, 10], [0, 2], [0, 1], [2, 1], [2, 9], [2, 12],
            [2, 2], [3, 6], [3, 21], [0, 1], [0, 0]]  # fmt: skip
    sizes = [[3, 10], [0, 34], [2, 2], [3, 10], [3, 13], [0, 2], [0, 1], [2, 2], [3, 9], [5, 16],
             [5, 4], [3, 8], [7, 30], [1, 1], [2, 2]]  # fmt: skip
    totals = Totals.from_arrays(hits, sizes)
    ours, theirs = 12 / 11, 15 / 14
    var_other, var_elementary = 0.007157242022968 * ours / theirs, 0.000860717701674
    cov = 0.000128614411467 * (ours / theirs) ** 0.5
    two = two_columns(totals, 0, 1)
    assert two.rates.clustered_se**2 == pytest.approx([var_other, var_elementary], rel=R_DIGITS)
    assert covariance(two) == pytest.approx(cov, rel=R_DIGITS)
    found = cluster_difference(totals)
    assert found.se**2 == pytest.approx(var_other + var_elementary - 2 * cov, rel=R_DIGITS)
    assert (found.df, found.shared) == (11, 12)  # the smaller number of clusters, less one


def apart(first, second, size=20):
    """Put equal clusters of two conditions that share none side by side."""
    g1, g2 = len(first), len(second)
    hits = [[x, 0] for x in first] + [[0, x] for x in second]
    return Totals.from_arrays(hits, [[size, 0]] * g1 + [[0, size]] * g2)


def test_separate_clusters_are_welch_on_cluster_rates_by_scipy():
    from scipy.stats import ttest_ind

    first, second = [18, 20, 15, 12, 19], [14, 15, 10, 3]
    right = ttest_ind(np.divide(first, 20), np.divide(second, 20), equal_var=False)
    interval = right.confidence_interval(0.9)
    found = cluster_difference(apart(first, second), level=0.9)
    assert (found.df, found.pvalue) == pytest.approx((right.df, right.pvalue), rel=ROUNDING)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=ROUNDING)
    assert found.shared == 0


def test_equal_shared_clusters_are_the_paired_t_by_scipy():
    from scipy.stats import ttest_rel

    first, second = [18, 20, 15, 19, 12], [14, 15, 12, 18, 13]
    right = ttest_rel(np.divide(first, 20), np.divide(second, 20))
    interval = right.confidence_interval(0.95)
    found = cluster_difference(columns(first, second, [20] * 5))
    assert found.pvalue == pytest.approx(right.pvalue, rel=ROUNDING)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=ROUNDING)


def test_newcombe_clustered_adds_two_clustered_wilsons():
    totals = apart([18, 17, 15, 12, 19], [14, 15, 10, 3, 12])
    found, each = newcombe_clustered(totals), wilson_clustered(totals)
    p, q = 81 / 100, 54 / 100
    (l1, l2), (u1, u2) = each.low, each.high
    right = (
        p - q - math.hypot(p - l1, u2 - q),
        p - q + math.hypot(u1 - p, q - l2),
    )
    assert (found.low, found.high) == pytest.approx(right, rel=ROUNDING)
    assert (found.n_first, found.n_second) == pytest.approx(tuple(each.effective_n))


def test_newcombe_clustered_of_single_trials_has_the_phi_of_the_pairs():
    # 8 both, 3 and 2 discordant, 6 neither: phi = (8·6 - 3·2) / sqrt(11·8·10·9), t(18) for z.
    pairs = [[1, 1]] * 8 + [[1, 0]] * 3 + [[0, 1]] * 2 + [[0, 0]] * 6
    totals = Totals.from_arrays(pairs, [[1, 1]] * 19)
    phi = 42 / (11 * 8 * 10 * 9) ** 0.5
    assert correlation(two_columns(totals, 0, 1)) == pytest.approx(phi, rel=ROUNDING)
    each, p, q = wilson_clustered(totals), 11 / 19, 10 / 19
    a, b = p - each.low[0], each.high[1] - q
    low = p - q - (a * a - 2 * phi * a * b + b * b) ** 0.5
    assert newcombe_clustered(totals).low == pytest.approx(low, rel=ROUNDING)


def test_score_clustered_is_the_score_interval_at_effective_counts():
    from scipy.stats import norm, t

    from simtrack.inference.differences.score_interval import (
        miettinen_nurminen,
        miettinen_nurminen_ratio,
    )

    totals = apart([18, 17, 15, 12, 19], [14, 15, 10, 3, 12, 9])
    n, p = effective_size(totals).trials, np.array([81 / 100, 63 / 120])
    hits = n * p
    v = p * (1 - p) / n
    df = v.sum() ** 2 / (v**2 / [4, 5]).sum()
    level = 1 - 2 * norm.sf(t.ppf(0.975, df))  # the normal level with the t quantile
    for clustered, plain in (
        (miettinen_nurminen_clustered, miettinen_nurminen),
        (miettinen_nurminen_ratio_clustered, miettinen_nurminen_ratio),
    ):
        found = clustered(totals)
        right = plain(hits[0], n[0], hits[1], n[1], level=level)
        assert (found.low, found.high) == pytest.approx(tuple(map(float, right)), rel=1e-8)
        assert found.df == pytest.approx(df)


def test_zeros_and_ones_have_a_score_interval_and_no_t_interval():
    totals = apart([0] * 9, [20] * 9)
    refused = cluster_difference(totals)
    assert (refused.low, refused.high) == (None, None)
    assert "width would be 0" in refused.notes[-1]
    for method in (newcombe_clustered, miettinen_nurminen_clustered):
        found = method(totals)
        assert found.low == -1.0
        assert -1.0 < found.high < 0.0
        assert any(line.startswith("first: ") and "assumed ICC 0.3" in line for line in found.notes)
        assert method(totals, icc=0.0).high < found.high
    none = apart([0, 0, 0], [0, 0, 0])
    found = newcombe_clustered(none)
    width = wilson_clustered(none).high[0]
    assert (found.low, found.high) == pytest.approx((-width, width))
    assert cluster_ratio(none).low is None
    assert any("no logarithm" in line for line in cluster_ratio(none).notes)


def test_one_flat_condition_is_named():
    found = cluster_difference(apart([0, 0, 0], [3, 9, 12]))
    assert found.df == 2  # the flat condition adds no variance: the smaller number, less one
    assert "first: a rate of 0 adds no variance, so the interval is too narrow" in found.notes


def test_equal_columns_have_no_width_and_are_refused():
    same = columns([3, 9, 12], [3, 9, 12], [20] * 3)
    for method in (cluster_difference, cluster_ratio):
        found = method(same)
        assert (found.low, found.pvalue) == (None, None)
        assert "no spread" in found.notes[-1]


def test_ends_are_cut_off_where_a_difference_ends():
    found = cluster_difference(apart([20, 19], [2, 9]))
    assert found.high == 1.0
    assert "cut off" in found.notes[-1]


def test_what_cannot_be_is_refused_or_named():
    both = columns([3, 9, 12], [2, 8, 13], [20] * 3)
    for method in (miettinen_nurminen_clustered, miettinen_nurminen_ratio_clustered):
        with pytest.raises(InputError, match="without shared clusters, got 3 clusters with both"):
            method(both)
    single = apart([5], [3, 9])
    for method in (cluster_difference, newcombe_clustered, miettinen_nurminen_clustered):
        found = method(single)
        assert (found.low, found.high) == (None, None)
        assert any("one cluster" in line for line in found.notes)
    with pytest.raises(InputError, match="icc must be"):
        cluster_difference(both, icc=-1.0)


@pytest.mark.parametrize("method", [cluster_difference, newcombe_clustered])
def test_one_sided_bounds(method):
    totals = apart([18, 20, 15, 12, 19], [14, 15, 10, 3])
    both = method(totals, level=0.9)
    lower, upper = method(totals, side="lower"), method(totals, side="upper")
    assert (lower.low, lower.high) == (pytest.approx(both.low), 1.0)
    assert (upper.low, upper.high) == (-1.0, pytest.approx(both.high))


counts = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    min_size=2,
    max_size=8,
).map(lambda rows: np.array([[min(a, m), min(b, n), m, n] for a, b, m, n in rows], dtype=float))


@settings(max_examples=150, deadline=None)
@given(counts)
def test_any_sharing_of_clusters_gives_ends_within_reach_or_a_reason(rows):
    totals = Totals.from_arrays(rows[:, :2], rows[:, 2:])
    for method in (cluster_difference, newcombe_clustered):
        found, back = method(totals), method(totals, 1, 0)
        if found.low is None:
            assert found.notes
            assert back.low is None
            continue
        assert -1.0 <= found.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.high <= 1.0
        assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


OF_TWO_RATES = (
    "cluster-t-difference", "newcombe-clustered", "miettinen-nurminen-clustered", "newcombe",
    "miettinen-nurminen", "newcombe-pairs", "tango", "cluster-t-ratio",
    "miettinen-nurminen-ratio-clustered", "miettinen-nurminen-ratio", "katz",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_TWO_RATES)
def test_the_catalogue_says_what_the_answers_say(name):
    method = METHODS[name]
    rng = [[1, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 1], [0, 1]]
    shape = [[1, 0]] * 3 + [[0, 1]] * 4
    pairs = Totals.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]], [[1, 1]] * 5)
    totals = pairs if method.pairing == "trials" else Totals.from_arrays(rng, shape)
    found = method.one(Layout.of_totals(totals, (1.0, -1.0), method.pairing), Ask())
    assert (found.computation, found.guarantee) == (method.computation, method.guarantee)
    assert found.low < found.estimate < found.high
    assert found.method == name
    assert found.to_dict()["notes"] == [note.to_dict() for note in found.notes]
