"""Two-way clustered errors against statsmodels, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from simtrack.errors import InputError
from simtrack.inference.models.table import ModelTable
from simtrack.inference.models.two_way import two_way

#: Two routes to the same sums.
PEER = 1e-9


def crossed(seed=1, binary=True):
    """Rows of 9 scenarios by 5 models, two arms, 0 to 4 trials a cell; and their table."""
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 5, (9, 10))
    design = np.array([[1, k % 2] for k in range(10)], float)
    eta = (
        0.3 + 0.5 * design[:, 1] + np.repeat(rng.normal(0, 0.7, 5), 2) + rng.normal(0, 0.8, (9, 1))
    )
    rows = [(g, k) for g in range(9) for k in range(10) for _ in range(n[g, k])]
    noise = rng.normal(size=len(rows))
    shares = np.array([1 / (1 + np.exp(-eta[g, k])) for g, k in rows])
    y = (rng.random(len(rows)) < shares) * 1.0 if binary else shares + noise
    total, square = np.zeros((2, 9, 10))
    for (g, k), value in zip(rows, y, strict=True):
        total[g, k] += value
        square[g, k] += value**2
    patterns = [(f"m{k // 2}", f"a{k % 2}") for k in range(10)]
    table = ModelTable.from_arrays(
        n, total, design, squares=square, patterns=patterns, by=["model", "arm"]
    )
    groups = np.array([(g, k // 2) for g, k in rows])
    return table, y, design[[k for _, k in rows]], groups


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_statsmodels_in_both_directions(family):
    table, y, x, groups = crossed(binary=family == "logistic")
    ours = two_way(table, "model", family=family)
    if family == "linear":
        fit, factor = sm.OLS(y, x).fit(), 1.0
    else:
        # statsmodels has (N-1)/(N-p) in both families.
        fit = sm.Logit(y, x).fit(disp=0, tol=1e-12, method="newton")
        factor = (len(y) - 2) / (len(y) - 1)
    both, first, second = cov_cluster_2groups(fit, groups[:, 0], groups[:, 1])
    assert ours.coefficients.estimate == pytest.approx(fit.params, abs=PEER)
    assert ours.coefficients.covariance == pytest.approx(both * factor, abs=PEER)
    assert ours.by_cluster.covariance == pytest.approx(first * factor, abs=PEER)
    assert ours.by_second.covariance == pytest.approx(second * factor, abs=PEER)
    assert ours.by_cluster.covariance == pytest.approx(
        cov_cluster(fit, groups[:, 0]) * factor, abs=PEER
    )
    both_df = np.minimum(ours.by_cluster.df, ours.by_second.df)
    assert ours.coefficients.df.tolist() == both_df.tolist()
    assert (ours.by_cluster.df < 8).all()
    assert (ours.by_second.df < 4).all()
    assert ours.groups[:2] == (9, 5)


def test_a_mean_worked_by_hand():
    """Cells of one trial, 3 × 3, intercept only: sums of rows, of columns, of single squares."""
    y = np.array([[3.0, 1, 2], [5, 4, 6], [7, 5, 9]])
    table = ModelTable.from_arrays(
        np.ones((3, 3)), y, np.ones((3, 1)), squares=y * y,
        patterns=[("a",), ("b",), ("c",)], by=["model"],
    )  # fmt: skip
    left = y - y.mean()
    rows, columns = (left.sum(axis=1) ** 2).sum(), (left.sum(axis=0) ** 2).sum()
    # 3/2 and 9/8 for groups; (N-1)/(N-p) is 1; the bread is 1/9.
    wanted = (1.5 * rows + 1.5 * columns - 9 / 8 * (left**2).sum()) / 81
    fit = two_way(table, "model", family="linear")
    assert fit.coefficients.covariance[0, 0] == pytest.approx(wanted, rel=1e-12)
    assert any("3 groups" in note for note in fit.notes)


def test_one_cell_a_cluster_leaves_the_one_way_sandwich_of_the_second_factor():
    """Clusters nested in models: cells are clusters, so their parts cancel but for factors."""
    n, total = np.zeros((2, 6, 3))
    for g in range(6):
        n[g, g // 2], total[g, g // 2] = 5, [1, 4, 2, 3, 5, 2][g]
    table = ModelTable.from_arrays(
        n, total, np.ones((3, 1)), patterns=[("a",), ("b",), ("c",)], by=["model"]
    )
    fit = two_way(table, "model")
    assert fit.coefficients.covariance == pytest.approx(fit.by_second.covariance, rel=1e-12)


def test_a_negative_eigenvalue_takes_nothing_off_and_is_said():
    y = np.array([[2.0, 0], [0, 2]])
    table = ModelTable.from_arrays(
        np.ones((2, 2)), y, np.ones((2, 1)), squares=y * y, patterns=[("a",), ("b",)], by=["m"]
    )
    fit = two_way(table, "m", family="linear")
    assert fit.coefficients.covariance[0, 0] == 0.0
    assert np.isnan(fit.coefficients.standard_error[0])
    assert "negative eigenvalue" in fit.notes[0]


def test_errors_are_never_less_than_both_kinds_of_clusters_say():
    # Models of opposite effects within each cluster: the cells vary more than either sum.
    rng = np.random.default_rng(1)
    sign = np.where((np.arange(12)[:, None] + np.arange(2)) % 2, 1.0, -1.0)
    total = rng.binomial(10, np.clip(0.5 + 0.4 * sign[:, [0, 1, 0, 1]], 0, 1)).astype(float)
    design = [[1, 0], [1, 0], [1, 1], [1, 1]]
    patterns = [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]
    table = ModelTable.from_arrays(
        np.full((12, 4), 10), total, design, patterns=patterns, by=["arm", "model"]
    )
    fit = two_way(table, "model")
    assert "negative eigenvalue" in fit.notes[0]
    both, one, two = (c.covariance for c in (fit.coefficients, fit.by_cluster, fit.by_second))
    assert both == pytest.approx(one + two, rel=1e-12)


def test_h34_separation_and_bad_factors_are_refused():
    table = ModelTable.from_arrays(
        [[5, 5]] * 4, [[0, 3], [0, 2], [0, 4], [0, 1]], [[1, 0], [1, 1]],
        patterns=[("a",), ("b",)], by=["arm"],
    )  # fmt: skip
    fit = two_way(table, "arm")
    assert fit.status == "separated"
    assert np.isnan(fit.coefficients.estimate).all()
    with pytest.raises(InputError, match="factor must be one of arm"):
        two_way(table, "model")
    lone = ModelTable.from_arrays(
        [[5]] * 4, [[1], [2], [3], [4]], [[1]], patterns=[("a",)], by=["m"]
    )
    with pytest.raises(InputError, match="second must be a factor of two levels"):
        two_way(lone, "m")


def test_an_error_that_is_rounding_is_none():
    # Pattern a is of one cluster, and the second factor is in the design.
    table = ModelTable.from_arrays(
        [[164, 106, 24], [0, 112, 120]], [[28, 29, 5], [0, 105, 97]],
        [[1, 0, 0], [1, 1, 0], [1, 0, 1]], patterns=[("a",), ("b",), ("c",)], by=["m"],
        names=["first", "b", "c"],
    )  # fmt: skip
    fit = two_way(table, "m")
    assert np.isnan(fit.coefficients.standard_error[0])
    assert np.isnan(fit.coefficients.pvalue[0])
    assert any(note.startswith("no error of first") for note in fit.notes)
