"""The interval of the bounded mean: exact laws in fractions, SciPy, enumeration, coverage."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import (
    bounded_mean,
    bounded_mean_limits,
    bounded_mean_p,
    cluster_t,
    default_method,
    wilson_guarded,
)
from simtrack.inference.numerics.roots import crossing
from simtrack.rng import Stream


def below(scores: list[int], sizes: list[int], theta: Fraction) -> Fraction:
    """P(Σ E x ≤ θ (E_0 M + Σ E m)) by partial fractions: the law of a sum of exponentials."""
    pulls = [-theta * max(sizes), *(x - theta * m for x, m in zip(scores, sizes, strict=True))]
    above = Fraction(0)
    for i, a in enumerate(pulls):
        if a > 0:
            term = Fraction(1)
            for j, b in enumerate(pulls):
                term *= a / (a - b) if i != j else 1
            above += term
    return 1 - above


# All x - θ m differ, as partial fractions need: no two clusters are alike.
TABLES = [
    ([3, 9, 5, 8, 10], [10, 10, 10, 10, 10]),
    ([1, 0, 7, 4, 19], [2, 1, 9, 4, 20]),
    ([97, 98, 99, 96, 95, 94, 3], [100] * 7),
    ([1, 2, 3], [1, 30, 3]),
]


@pytest.mark.parametrize(("scores", "sizes"), TABLES)
def test_both_ends_solve_the_law_computed_in_fractions(scores, sizes):
    low, high = bounded_mean_limits([scores], [sizes])
    failed = [m - x for x, m in zip(scores, sizes, strict=True)]
    assert float(below(scores, sizes, Fraction(float(low[0])))) == pytest.approx(0.025, rel=1e-9)
    upper = below(failed, sizes, 1 - Fraction(float(high[0])))
    assert float(upper) == pytest.approx(0.025, rel=1e-9)


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (30, 30), (7, 34), (81, 263), (13999, 14000)])
def test_single_trials_give_clopper_and_pearsons_interval(hits, n):
    x = np.array([[1.0] * hits + [0.0] * (n - hits)])
    right = stats.binomtest(hits, n).proportion_ci(0.95, "exact")
    for size in (1.0, 20.0):  # and so do clusters that pass or fail as a whole
        low, high = bounded_mean_limits(size * x, np.full(x.shape, size))
        assert (low[0], high[0]) == pytest.approx((right.low, right.high), rel=1e-10)


def test_it_is_the_test_turned_round():
    scores = [0.2, 0.45, 0.5, 0.91, 1.0, 0.0, 0.75, 0.5]
    low, high = bounded_mean_limits([scores], [[1.0] * 8], level=0.9)
    for end in (low[0], high[0]):
        assert bounded_mean_p(scores, end) == pytest.approx(0.1, rel=1e-9)


def test_order_scale_and_absent_clusters_change_nothing():
    top, bottom = np.array([3.0, 0.0, 5.0, 2.0]), np.array([4.0, 3.0, 5.0, 4.0])
    base = [float(end[0]) for end in bounded_mean_limits(top, bottom)]
    for x, m in (
        (top[::-1], bottom[::-1]),
        (np.append(top, 0.0), np.append(bottom, 0.0)),
        (top / 8.0, bottom / 8.0),
    ):
        assert [float(end[0]) for end in bounded_mean_limits(x, m)] == base
    many = bounded_mean_limits(np.stack([top, bottom, 0 * top]), np.stack([bottom] * 3))
    assert (many[0][0], many[1][0]) == tuple(base)
    assert (many[1][1], many[0][2]) == (1.0, 0.0)  # all passed, none passed
    assert np.isnan(bounded_mean_limits([[0.0]], [[0.0]])[0][0])


def miss(laws: list[tuple[list[float], list[float]]], sizes: list[int]) -> tuple[float, float]:
    """Enumerate all outcomes: how often does each end of the 95 % interval miss the mean?"""
    every = list(itertools.product(*(range(len(values)) for values, _ in laws)))
    x = np.array([[laws[g][0][i] * sizes[g] for g, i in enumerate(one)] for one in every])
    p = np.array([np.prod([laws[g][1][i] for g, i in enumerate(one)]) for one in every])
    low, high = bounded_mean_limits(x, np.broadcast_to(np.array(sizes, float), x.shape))
    means = [float(np.dot(values, shares)) for values, shares in laws]
    truth = float(np.dot(means, sizes) / sum(sizes))
    assert p.sum() == pytest.approx(1.0)
    return float(p[low > truth + 1e-9].sum()), float(p[high < truth - 1e-9].sum())


@pytest.mark.parametrize(
    ("laws", "sizes"),
    [
        ([([0.0, 1.0], [0.03, 0.97])] * 9, [1] * 9),
        ([([0.0, 1.0], [0.1, 0.9])] * 8, [1, 1, 2, 2, 3, 5, 5, 20]),
        ([([0.0, 0.95], [0.05, 0.95])] * 9, [4] * 9),
        ([([0.0, 0.9, 1.0], [0.1, 0.5, 0.4])] * 6, [1, 1, 3, 3, 3, 4]),
        ([([0.2, 0.8], [0.45, 0.55])] * 8, [1, 2, 2, 2, 2, 3, 3, 3]),
        # Clusters of their own laws: the mean is that over trials.
        ([([0.0, 1.0], [1 - q, q]) for q in (0.05, 0.3, 0.6, 0.6, 0.9, 0.98, 0.5)],
         [7, 1, 1, 2, 2, 3, 9]),
    ],
)  # fmt: skip
def test_no_enumerated_law_is_missed_too_often(laws, sizes):
    assert max(miss(laws, sizes)) <= 0.025 + 1e-12


@pytest.mark.slow
def test_no_random_law_is_missed_too_often():
    draw = np.random.Generator(np.random.Philox(key=20261))
    worst = 0.0
    for _ in range(250):
        clusters = int(draw.integers(2, 8))
        sizes = draw.integers(1, int(draw.choice([2, 4, 21])), clusters).tolist()
        values = np.sort(draw.random(int(draw.choice([2, 3])))) * draw.choice([1.0, 1.0, 0.0], 1)
        values[-1] = draw.choice([1.0, values[-1], 0.7])
        law = values.tolist(), draw.dirichlet(np.full(values.size, 0.5)).tolist()
        worst = max(worst, *miss([law] * clusters, sizes))
    assert 0.02 < worst <= 0.025 + 1e-12


def test_skewed_scores_are_held_as_often_as_promised():
    """0 in 3 % of clusters and uniform on (.9, 1) else: most samples of 12 show no 0 at all."""
    runs, truth = 2_000, 0.97 * 0.95
    drawn = Stream(2, "skewed scores").uniform(replicates=runs, clusters=12, draws_each=2)
    scores = np.where(drawn[:, :, 0] < 0.03, 0.0, 0.9 + 0.1 * drawn[:, :, 1])
    totals = Totals.from_arrays(scores.T, np.ones(scores.T.shape), square=scores.T**2)
    held = {}
    for method in (bounded_mean, wilson_guarded, cluster_t):
        ends = method(totals)
        held[method] = int(((ends.low <= truth) & (truth <= ends.high)).sum())
    # Too rare to be chance if 95 % were promised in vain: one false alarm in 1000 seeds.
    promised = {m: stats.binomtest(k, runs, 0.95, "less").pvalue > 1e-3 for m, k in held.items()}
    assert promised == {bounded_mean: True, wilson_guarded: False, cluster_t: False}


def test_one_cluster_or_scores_out_of_range_get_no_interval():
    alone = bounded_mean(Totals.from_arrays([3], [4]))
    assert np.isnan([alone.low[0], alone.high[0]]).all()
    assert "no interval: one cluster cannot say how much clusters differ" in alone.notes[0]
    large = bounded_mean(Totals.from_arrays([3, 1, 50], [4, 4, 92]))
    assert "one cluster holds 92% of the trials" in large.notes[0][-1]
    with pytest.raises(InputError, match="scores must be between 0 and 1"):
        bounded_mean(Totals.from_arrays([3.0, 1.0], [2, 2], square=[5.0, 1.0]))


def test_the_default_is_told_by_the_range_of_scores():
    rate = Totals.from_arrays([3, 1], [4, 4])
    assert default_method(rate, True)[0] == "bounded-mean"
    name, why = default_method(rate, False)
    assert (name, "outside [0, 1]" in why) == ("cluster-t", True)


def test_a_crossing_is_where_scipy_finds_it():
    powers = np.array([2.0, 3.0, 9.0, 41.0])

    def function(x):
        return x**powers - 0.3

    found = crossing(function, np.zeros(4), np.ones(4), -0.3, 0.7)
    right = [optimize.brentq(lambda x, k=k: x**k - 0.3, 0, 1, xtol=1e-15) for k in powers]
    assert found == pytest.approx(right, rel=1e-13)
