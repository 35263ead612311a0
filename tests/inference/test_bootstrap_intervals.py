"""Ends of bootstrap intervals: exact enumeration, SciPy, published laws, and degenerate data."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.estimands import RATE, equal_weight, factorial_effect
from simtrack.inference.resampling.bootstrap import bootstrap
from simtrack.inference.resampling.intervals import acceleration

#: Ends are values of the statistic; they are the same but for rounding.
END_TOLERANCE = 1e-12
NORMAL = NormalDist()


def all_values(top, bottom, statistic):
    """The statistic of every resample of the rows, exactly, in the order of `product`."""
    rows = range(len(top))
    return [
        statistic([top[i] for i in draw], [bottom[i] for i in draw])
        for draw in itertools.product(rows, repeat=len(top))
    ]


def ratio(x, m):
    return Fraction(sum(r[0] for r in x), sum(r[0] for r in m))


def difference(x, m):
    return ratio(x, m) - Fraction(sum(r[1] for r in x), sum(r[1] for r in m))


def at(ordered, p):
    """The order statistic inf{x : F(x) >= p}."""
    return ordered[max(0, math.ceil(p * len(ordered) - 1e-9) - 1)]


RATIO = ([[3], [1], [0], [2], [4]], [[4], [5], [1], [2], [6]])
EQUAL = ([[3], [1], [0], [2], [4]], [[4], [4], [4], [4], [4]])
PAIRED = ([[3, 1], [1, 4], [0, 2], [2, 0], [4, 3]], [[4, 2], [5, 4], [1, 3], [2, 2], [6, 5]])
DATA = [(EQUAL, ratio), (RATIO, ratio), (PAIRED, difference)]


def bca_by_hand(top, bottom, statistic, alpha):
    """Efron 1987 with ties counted half, from all resamples and the jackknife, in fractions."""
    values = sorted(all_values(top, bottom, statistic))
    here = statistic(top, bottom)
    share = Fraction(
        2 * sum(v < here for v in values) + sum(v == here for v in values), 2 * len(values)
    )
    left_out = [
        statistic(top[:g] + top[g + 1 :], bottom[:g] + bottom[g + 1 :]) for g in range(len(top))
    ]
    mean = sum(left_out) / len(left_out)
    cubes, squares = sum((mean - v) ** 3 for v in left_out), sum((mean - v) ** 2 for v in left_out)
    a, z0 = float(cubes) / (6 * float(squares) ** 1.5), NORMAL.inv_cdf(float(share))
    critical = (NORMAL.inv_cdf(alpha), -NORMAL.inv_cdf(alpha))
    places = [NORMAL.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in critical]
    return z0, a, [at(values, p) for p in places]


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("data", "statistic"), DATA)
def test_bca_is_that_of_full_enumeration(data, statistic, level):
    found = bootstrap(Totals.from_arrays(*data), kind="bca", level=level)
    z0, a, ends = bca_by_hand(*data, statistic, (1 - level) / 2)
    assert found.bias_correction == pytest.approx(z0, abs=1e-11)
    assert found.acceleration == pytest.approx(a, abs=1e-12)
    assert [found.low, found.high] == pytest.approx([float(e) for e in ends], abs=END_TOLERANCE)


@pytest.mark.parametrize(("data", "statistic"), DATA)
def test_basic_mirrors_the_percentile_interval(data, statistic):
    found = bootstrap(Totals.from_arrays(*data), kind="basic", level=0.8)
    values, here = sorted(all_values(*data, statistic)), statistic(*data)
    right = 2 * here - at(values, 0.9), 2 * here - at(values, 0.1)
    low, high = found.to_dict()["low"], found.high
    bound = 0.0 if statistic is ratio else -1.0
    assert [low, high] == pytest.approx(
        [max(bound, float(right[0])), min(1.0, float(right[1]))], abs=END_TOLERANCE
    )


def test_basic_ends_stay_where_rates_are():
    found = bootstrap(Totals.from_arrays([4, 4, 4, 1], [4, 4, 4, 4]), kind="basic")
    assert found.high == 1.0
    assert "the interval is cut off at 0 and 1" in found.notes


def linearised(x, m, weights):
    """Σ (influence)² G/(G-1), cluster by cluster."""
    x, m, w = np.array(x, float), np.array(m, float), np.array(weights, float)
    rates = x.sum(axis=0) / m.sum(axis=0)
    influence = ((x - rates * m) / m.sum(axis=0) * w).sum(axis=1)
    return rates @ w, (len(x) / (len(x) - 1) * (influence**2).sum()) ** 0.5


@pytest.mark.parametrize(("data", "statistic"), DATA)
def test_studentized_equals_enumeration(data, statistic):
    weights = (1,) if statistic is ratio else (1, -1)
    found = bootstrap(Totals.from_arrays(*data), kind="studentized", level=0.8)
    here, error = linearised(*data, weights)
    ts = []
    for draw in itertools.product(range(5), repeat=5):
        value, e = linearised([data[0][i] for i in draw], [data[1][i] for i in draw], weights)
        gap = value - here
        if e > 1e-9:
            ts.append(gap / e)
        elif abs(gap) > 1e-12:
            ts.append(math.copysign(math.inf, gap))
    ts.sort()
    assert found.t_law.undefined == pytest.approx(1 - len(ts) / 5**5, abs=1e-12)
    ends = here - error * at(ts, 0.9), here - error * at(ts, 0.1)
    low, high = (0.0, 1.0) if statistic is ratio else (-1.0, 1.0)
    right = [max(low, ends[0]), min(high, ends[1])]
    assert [found.low, found.high] == pytest.approx(right, abs=1e-9)


def test_the_linearised_error_is_the_clustered_one():
    from simtrack.inference.rates.clustered import clustered_rates
    from simtrack.inference.resampling.sample import checked_sample, standard_errors, with_products

    totals = Totals.from_arrays(*RATIO)
    sample = checked_sample(totals, None, "contrast", None, None)
    sums = with_products(sample.pools[0]).sum(axis=0)[:, None]
    right = clustered_rates(totals).clustered_se[0]
    assert standard_errors(sample, sums)[0] == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("kind", ["contrast", "ratio"])
def test_the_error_of_independent_arms_adds_up(kind):
    """Variances of both arms, each with its own G/(G-1); for a ratio on its relative scale."""
    from simtrack.inference.rates.clustered import clustered_rates
    from simtrack.inference.resampling.sample import checked_sample, standard_errors, with_products

    top, bottom = [[3, 1], [1, 4], [0, 2], [2, 0]], [[4, 2], [5, 4], [1, 3], [2, 0]]
    totals = Totals.from_arrays(top, bottom)
    sample = checked_sample(totals, None, kind, ["a", "b"], None)
    sums = sum(with_products(pool).sum(axis=0) for pool in sample.pools)
    found = standard_errors(sample, sums[:, None])[0]
    rates = clustered_rates(totals)
    (p, q), (e, f) = rates.rate, rates.clustered_se
    right = math.hypot(e, f) if kind == "contrast" else p / q * math.hypot(e / p, f / q)
    assert found == pytest.approx(right, rel=1e-12)


RESAMPLES = 20_000


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("case", ["rate", "ratio", "difference"])
def test_scipy_agrees_within_its_monte_carlo_error(case, kind):
    """SciPy's ends must stand within 6 standard errors of where they should in the exact law."""
    from scipy.stats import bootstrap as scipy_bootstrap

    x = np.array([[3, 9], [8, 2], [5, 5], [9, 4], [2, 1], [7, 3], [6, 6], [9, 2], [10, 7]])
    m = np.array([[12, 11], [9, 8], [8, 6], [12, 9], [4, 3], [7, 7], [11, 8], [10, 5], [13, 9]])
    if case == "rate":
        m = np.full_like(m, 13)
    columns = 2 if case == "difference" else 1
    parts = [*x[:, :columns].T.astype(float), *m[:, :columns].T.astype(float)]

    def statistic(*sums, axis=-1):
        total = [s.sum(axis=axis) for s in sums]
        if columns == 1:
            return total[0] / total[1]
        return total[0] / total[2] - total[1] / total[3]

    theirs = scipy_bootstrap(
        parts,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        method={"bca": "BCa"}.get(kind, kind),
        rng=np.random.default_rng(11),
    )
    ours = bootstrap(Totals.from_arrays(x[:, :columns], m[:, :columns]), kind=kind)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.03)  # 6 / sqrt(2 R)
    ends = theirs.confidence_interval
    mirror = (lambda v: 2 * ours.estimate - v) if kind == "basic" else (lambda v: v)
    for mine, other in ((ours.low, ends.low), (ours.high, ends.high)):
        p = ours.law.cdf(mirror(mine))
        below, mass = ours.law.shares(mirror(float(other)))
        # BCa's place in the law is random too: its error is about three times the quantile's.
        error = 6 * (3 if kind == "bca" else 1) * (p * (1 - p) / RESAMPLES) ** 0.5
        step = ours.law.shares(mirror(mine)).at  # SciPy interpolates between two values
        assert below - error - step <= p <= below + mass + error + step


def test_the_acceleration_of_a_mean_is_its_skewness():
    x = np.array([3.0, 8, 5, 9, 2, 7])
    found = acceleration((np.array([np.delete(x, g).mean() for g in range(6)]),))
    centred = x - x.mean()
    assert found == pytest.approx((centred**3).sum() / (6 * (centred**2).sum() ** 1.5), rel=1e-12)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_scipy_agrees_on_two_independent_samples(kind):
    from scipy.stats import bootstrap as scipy_bootstrap

    x, y = [13, 8, 15, 9, 2, 7, 19], [1, 4, 3, 19, 0, 2]
    theirs = scipy_bootstrap(
        (np.array(x) / 20, np.array(y) / 20),
        lambda a, b, axis=-1: a.mean(axis=axis) - b.mean(axis=axis),
        n_resamples=RESAMPLES,
        method="BCa" if kind == "bca" else kind,
        rng=np.random.default_rng(5),
    )
    arms = Totals.from_arrays(
        [[v, 0] for v in x] + [[0, v] for v in y], [[20, 0]] * 7 + [[0, 20]] * 6
    )
    ours = bootstrap(arms, kind=kind, groups=["a", "b"])
    assert ours.route == "convolution-1d"
    for mine, other in zip((ours.low, ours.high), theirs.confidence_interval, strict=True):
        p, step = ours.law.cdf(mine), ours.law.shares(mine).at
        below, mass = ours.law.shares(float(other))
        error = 6 * (3 if kind == "bca" else 1) * (p * (1 - p) / RESAMPLES) ** 0.5
        assert below - error - step <= p <= below + mass + error + step


def test_h15_nan_is_never_counted_as_data():
    x = np.array([[1.0], [np.nan], [0.0], [np.nan], [1.0]])
    ones = np.ones((5, 1))
    spoiled = Totals(x, ones, x, tuple("abcde"))
    with pytest.raises(InputError, match="totals must be finite, got NaN or infinity"):
        bootstrap(spoiled)
    opposite = Totals(np.array([[np.inf], [-np.inf]]), ones[:2], ones[:2], ("a", "b"))
    with pytest.raises(InputError, match="totals must be finite"):
        bootstrap(opposite)
    here = ~np.isnan(x[:, 0])
    assert int((~here).sum()) == 2
    kept = bootstrap(Totals.from_arrays(x[here], ones[here]))
    assert kept.estimate == 2 / 3


def test_h16_equal_scores_are_degenerate():
    data = Totals.from_arrays([1] * 30, [1] * 30)
    for kind in ("percentile", "basic", "bca", "studentized"):
        found = bootstrap(data, kind=kind)
        assert found.status == "degenerate"
        assert (found.low, found.high, found.bias_correction) == (None, None, None)
        assert found.notes[0].startswith("degenerate: every resample gives 1")
        assert "0.8842966918 to 1" in found.notes[1]  # 0.025^(1/30)
    failed = bootstrap(Totals.from_arrays([0] * 30, [1] * 30))
    assert "0 to 0.1157033082" in failed.notes[1]


def test_h16_clusters_of_one_rate_are_degenerate_too():
    found = bootstrap(Totals.from_arrays([1, 2, 3, 4], [2, 4, 6, 8]))
    assert (found.status, found.low, found.standard_error) == ("degenerate", None, 0.0)
    assert not any("exact" in note for note in found.notes[:1])


def test_h17_clusters_drawn_twice_count_twice():
    five = Totals.from_arrays([2, 0, 1, 2, 0], [2, 2, 2, 2, 2])
    for method in ("convolution-1d", "convolution-2d", "multisets"):
        found = bootstrap(five, method=method)
        assert found.standard_error == pytest.approx(0.2, rel=1e-14)  # de-duplicated: .168285
        exact = sum(
            Fraction(round(w)) * (Fraction(round(v * 10), 10) - Fraction(1, 2)) ** 2
            for v, w in zip(found.law.values, found.law.probabilities * 5**5, strict=True)
        )
        assert exact / 5**5 == Fraction(1, 25)


def test_a_mean_over_models_and_an_effect_of_a_factorial():
    """The standard error of a contrast of constant denominators in closed form: sd / sqrt(G)."""
    from simtrack.counts import Counts

    rng = np.random.default_rng(3)
    cells, labels = [], {name: [] for name in ("cluster", "gate", "note", "order")}
    for g, a, b, c in itertools.product(range(9), "01", "01", "01"):
        hits = int(rng.binomial(10, 0.3 + 0.4 * (a == "1")))
        cells.append([10 - hits, hits])
        for name, value in zip(labels, (f"s{g}", a, b, c), strict=True):
            labels[name].append(value)
    cluster = labels.pop("cluster")
    table = Counts.from_cells(cells, outcomes=("FAIL", "PASS"), cluster=cluster, conditions=labels)
    effect = factorial_effect(RATE, dict.fromkeys(labels, ("0", "1")), "gate")
    mean = equal_weight(RATE, "gate", ("0", "1"))
    rates = {}
    for k, (_, hits) in enumerate(cells):
        key = cluster[k], labels["gate"][k]
        rates.setdefault(key, []).append(Fraction(hits, 10))
    for contrast, sign in ((effect, -1), (mean, 1)):
        found = bootstrap(*contrast.stacked(table))
        half = 1 if sign < 0 else Fraction(1, 2)
        per_cluster = [
            half * (sum(rates[f"s{g}", "1"]) + sign * sum(rates[f"s{g}", "0"])) / 4
            for g in range(9)
        ]
        centre = sum(per_cluster) / 9
        variance = sum((v - centre) ** 2 for v in per_cluster) / 9 / 9
        assert found.route == "convolution-1d"
        assert found.estimate == pytest.approx(float(centre), abs=1e-15)
        assert found.standard_error**2 == pytest.approx(float(variance), rel=1e-12)
        assert abs(found.bias) < 1e-15
        listed = bootstrap(*contrast.stacked(table), method="multisets")
        assert [listed.low, listed.high] == pytest.approx([found.low, found.high], abs=1e-12)


def test_the_ideal_standard_error_of_the_mouse_data():
    """Efron and Tibshirani 1993, table 2.2: the bootstrap standard errors for B = infinity."""
    treated = [94, 197, 16, 38, 99, 141, 23]
    mean = bootstrap(Totals.from_arrays(treated, [1] * 7, square=treated))
    assert round(mean.estimate, 2) == 86.86
    assert round(mean.standard_error, 2) == 23.36


def test_the_law_of_two_clusters():
    """Rates 1/4 and 3/4: the law is 1/4, 1/2, 3/4 with masses 1, 2, 1 of 4."""
    found = bootstrap(Totals.from_arrays([1, 3], [4, 4]), level=0.5)
    assert found.law.table()[0].tolist() == [0.25, 0.5, 0.75]
    assert found.law.table()[1].tolist() == [0.25, 0.5, 0.25]
    assert (found.low, found.high) == (0.25, 0.5)  # F reaches 1/4 and 3/4 exactly there


def test_what_is_refused_and_why():
    one = Totals.from_arrays([3], [4])
    with pytest.raises(InputError, match="clusters must be at least 2 in each pool"):
        bootstrap(one)
    arms = Totals.from_arrays([[3, 1], [2, 0]], [[4, 2], [4, 0]])
    with pytest.raises(InputError, match=r"got 1 \(group b\)"):
        bootstrap(arms, groups=["a", "b"])
    with pytest.raises(InputError, match=r"totals must be with trials in each column, got none"):
        bootstrap(Totals.from_arrays([[1, 0], [1, 0]], [[2, 0], [2, 0]]))
    with pytest.raises(InputError, match="clusters crossed with model"):
        bootstrap(arms, crossed_with="model")
    with pytest.raises(InputError, match="weights must be given, got none for 3 columns"):
        bootstrap(Totals.from_arrays([[1, 1, 1]] * 2, [[2, 2, 2]] * 2))
    with pytest.raises(InputError, match="weights must be not all 0"):
        bootstrap(arms, [0, 0])
    with pytest.raises(InputError, match="above 0 for the upper and below 0 for the lower"):
        bootstrap(arms, [1, 1], statistic="ratio")
    with pytest.raises(InputError, match="kind must be one of percentile, basic, bca, studentized"):
        bootstrap(arms, kind="normal")
    with pytest.raises(InputError, match="strata must be given without groups"):
        bootstrap(arms, strata="ab", groups="ab")
    with pytest.raises(InputError, match="strata must be None for a studentized interval"):
        bootstrap(arms, strata="ab", kind="studentized")
    zero = Totals.from_arrays([[3, 0], [2, 0]], [[4, 2], [4, 2]])
    with pytest.raises(InputError, match="totals must be such that the ratio is defined"):
        bootstrap(zero, statistic="ratio")


def test_a_route_that_does_not_fit_is_refused():
    uneven = Totals.from_arrays([[1, 2], [2, 2], [3, 1]], [[2, 3], [4, 3], [3, 3]])
    with pytest.raises(InputError, match="1-D takes whole scores over denominators that are"):
        bootstrap(uneven, method="convolution-1d")
    with pytest.raises(InputError, match="2-D takes one ratio of sums of whole numbers"):
        bootstrap(uneven, method="convolution-2d")
    many = Totals.from_arrays(np.arange(14), np.arange(14) + 1)
    with pytest.raises(InputError, match="lists at most 1,352,078 multisets, got 20,058,300"):
        bootstrap(many, method="multisets")


def test_bca_refusals_are_stated():
    """All but one cluster alike: the jackknife is defined, but deleting it leaves one value."""
    flat = Totals.from_arrays([[1, 1], [0, 1], [0, 0]], [[2, 2], [0, 2], [0, 2]])
    found = bootstrap(flat, kind="bca")
    assert (found.status, found.low, found.high) == ("refused", None, None)
    assert "no BCa interval: the jackknife is not defined or flat" in found.notes


def test_the_result_says_what_it_is():
    found = bootstrap(Totals.from_arrays([3, 1, 0, 2], [4, 5, 1, 2]))
    assert found.method == "percentile cluster bootstrap, law computed exactly"
    assert found.notes == (
        "4 clusters: bootstrap intervals cover too little below 20: an exact law is not exact "
        "coverage",
    )
    assert (found.guarantee, found.computation, found.seed) == ("asymptotic", "enumeration", None)
    plain = found.to_dict()
    assert plain["schema"] == "simtrack.cluster-bootstrap/1"
    assert plain["why"] == "4 clusters have 35 multisets"
    two = bootstrap(Totals.from_arrays([1, 3], [4, 4]), level=0.5)
    assert repr(two) == "BootstrapInterval(0.5000, 50%: 0.2500 to 0.5000, convolution-1d)"


def test_clusters_without_a_trial_are_left_out_and_counted():
    found = bootstrap(Totals.from_arrays([3, 0, 1, 2], [4, 0, 5, 2]))
    assert found.clusters == 3
    assert "clusters without a trial left out: 1" in found.notes
    partial = bootstrap(Totals.from_arrays([[3, 1], [1, 0], [2, 2]], [[4, 2], [2, 0], [3, 3]]))
    assert "clusters with trials in some conditions only, resampled as such: 1" in partial.notes
