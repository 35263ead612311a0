"""Random resamples: the same bytes however they are made, and errors that are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack import _jit
from simtrack.counts import Totals
from simtrack.inference.resampling.bootstrap import bootstrap
from simtrack.inference.resampling.draws import drawn_sums, quantile_error, sums_in_numpy
from simtrack.kernels.bootstrap import draw_place, resample_sums

ARRAYS = [
    np.array([[3.0, 4.0], [1.0, 5.0], [0.0, 1.0], [2.0, 2.0], [4.0, 6.0]]),  # packed in one column
    np.array([[0.1, 4.0], [1 / 3, 5.0], [0.0, 1.0], [2.0, 2.0]]),  # reals: as they are
    np.array([[3e9, 4e9], [1e9, 5e9], [0.0, 1.0]]),  # too long to share a column
]


@pytest.mark.parametrize("rows", ARRAYS)
def test_kernel_arrays_threads_and_chunks_give_the_same_bytes(rows):
    pools = (rows, rows[:3] * 2.0)
    plain = drawn_sums(pools, 700, 3, compiled=False)
    for threads, chunk in ((1, None), (2, 64), (3, 129), (1, 1000)):
        assert np.array_equal(plain, drawn_sums(pools, 700, 3, threads=threads, chunk=chunk))
    if _jit.enabled():
        assert plain.tobytes() == drawn_sums(pools, 700, 3, compiled=True).tobytes()
        assert plain.tobytes() == drawn_sums(pools, 700, 3, compiled=True, threads=2).tobytes()
    more = drawn_sums(pools, 900, 3)
    assert np.array_equal(more[:700], plain)
    assert not np.array_equal(drawn_sums(pools, 700, 4), plain)


def test_the_kernel_as_plain_python_is_its_twin():
    columns = np.ascontiguousarray(ARRAYS[1].T)
    key = np.uint64(5), np.uint64(6), np.uint64(2**32 - 3), np.array([1], np.uint64)
    a, b = np.zeros((9, 2)), np.zeros((9, 2))
    resample_sums.py_func(*key, columns, 3, a)
    sums_in_numpy(*key, columns, 3, b)
    assert a.tobytes() == b.tobytes()


def test_a_draw_is_the_next_digit_of_the_number():
    """floor(x G), then the same of what is left: the digits of x in base G, in whole numbers."""
    for number, clusters in ((0xDEADBEEF12345678, 67), (2**64 - 1, 12), (0, 5), (1 << 63, 2)):
        high, low, rest = np.uint64(number >> 32), np.uint64(number & 0xFFFFFFFF), number
        for _ in range(5):
            place, high, low = draw_place.py_func(high, low, np.uint64(clusters))
            assert int(place) == rest * clusters >> 64
            rest = rest * clusters % 2**64


def test_a_resample_draws_each_cluster_alike():
    """With one column a cluster the sums are the multinomial counts."""
    counts = drawn_sums((np.eye(7),), 20_000, 1)
    assert np.array_equal(counts.sum(axis=1), np.full(20_000, 7.0))
    # 140,000 draws: each cluster's share has a standard error of 7^-1 · 6/7 / 374
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * (6 / 7 / 20_000) ** 0.5
    products = np.einsum("ri,rj->ij", counts - 1, counts - 1) / 20_000
    right = np.eye(7) - 1 / 7  # covariance of multinomial counts of 7 draws
    assert np.abs(products - right).max() < 6 * (2.5 / 20_000) ** 0.5


def test_pools_are_independent():
    eye = np.eye(4)
    first, second = np.hstack([eye, 0 * eye]), np.hstack([0 * eye, eye])
    counts = drawn_sums((first, second), 20_000, 2)
    across = np.einsum("ri,rj->ij", counts[:, :4] - 1, counts[:, 4:] - 1) / 20_000
    assert np.abs(across).max() < 5 * (0.75**2 / 20_000) ** 0.5


def test_h15_nan_survives_the_kernel():
    """Resamples that hold the spoiled cluster are NaN, compiled or not: none is counted as data."""
    rows = np.array([[1.0], [np.nan], [0.0], [np.nan], [1.0]])
    hit = drawn_sums((np.isnan(rows).astype(float),), 500, 9)[:, 0] > 0
    for compiled in {False, _jit.enabled()}:
        sums = drawn_sums((rows,), 500, 9, compiled=compiled)[:, 0]
        assert np.array_equal(np.isnan(sums), hit)
        assert 0 < hit.sum() < 500


PAIR = Totals.from_arrays(
    [[3, 1], [5, 4], [2, 2], [6, 3], [4, 4], [7, 2], [1, 0], [3, 3]],
    [[4, 3], [6, 7], [5, 2], [6, 8], [9, 5], [7, 6], [3, 3], [5, 4]],
)


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca", "studentized"])
def test_ends_lie_within_their_stated_error(kind):
    """Over 60 seeds: unbiased for the exact end, and as spread as the mean stated error."""
    exact = bootstrap(PAIR, kind=kind)
    assert exact.route == "multisets"
    runs = [
        bootstrap(PAIR, kind=kind, method="monte-carlo", n_resamples=2_000, seed=s)
        for s in range(60)
    ]
    for end in ("low", "high"):
        ends = np.array([getattr(r, end) for r in runs])
        stated = np.mean([getattr(r, f"mcse_{end}") for r in runs])
        assert abs(ends.mean() - getattr(exact, end)) < 5 * stated / 60**0.5 + 2e-3
        # A standard deviation of 60 runs has a relative error of .09; the law is a bit lumpy.
        assert 0.6 < ends.std(ddof=1) / stated < 1.6
    assert np.mean([r.standard_error for r in runs]) == pytest.approx(
        exact.standard_error, rel=5 / (2 * 2_000 * 60) ** 0.5
    )


def test_many_clusters_without_a_common_denominator_are_drawn():
    rng = np.random.default_rng(8)
    m = rng.integers(5, 13, (40, 2))
    totals = Totals.from_arrays(rng.binomial(m, [0.8, 0.6]), m)
    found = bootstrap(totals, seed=4, n_resamples=3_000)
    assert (found.route, found.computation) == ("monte-carlo", "monte-carlo")
    assert found.why == (
        "too many multisets, and the statistic is no ratio of two sums of whole numbers"
    )
    assert (found.n_resamples, found.seed) == (3_000, 4)
    assert found.method == "percentile cluster bootstrap, law estimated by Monte Carlo"
    assert found.mcse_low > 0
    assert found.mcse_high > 0
    again = bootstrap(totals, seed=4, n_resamples=3_000, threads=2)
    assert again.to_dict() == found.to_dict()
    assert again.law.cells.tobytes() == found.law.cells.tobytes()
    t = bootstrap(totals, seed=4, n_resamples=500, kind="studentized")
    assert t.why == "too many multisets, and a t value is no ratio of two sums"


def test_the_error_of_a_normal_quantile():
    """n · p(1-p)/φ² is the asymptotic variance; at p = .025 of 40,000 values it is close."""
    from statistics import NormalDist

    normal = NormalDist()
    n, p = 40_000, 0.025
    ordered = np.array([normal.inv_cdf((k + 0.5) / n) for k in range(n)])
    right = (p * (1 - p) / n) ** 0.5 / normal.pdf(normal.inv_cdf(p))
    assert quantile_error(ordered, p, p * (1 - p)) == pytest.approx(right, rel=0.01)
    assert quantile_error(np.ones(100), p, p * (1 - p)) == 0.0
    assert quantile_error(ordered, p, 0.0) == 0.0
