"""Degrees of freedom: published formulas, whole matrices, size measured at few clusters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from simtrack.inference.models.degrees import between_within, is_between, sandwich_degrees
from simtrack.inference.models.gee import gee
from simtrack.inference.models.gee_equations import scores
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.many import gee_many
from simtrack.inference.models.table import ModelTable

ARM = np.array([[1.0, 0.0], [1.0, 1.0]])
#: intercept, stage, arm, stage:arm
BOTH = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]])
DENSE = 1e-9


def arms(first, second, size=10):
    return np.array([[size, 0]] * first + [[0, size]] * second)


def flat(n, design, alpha=0.0):
    """Information by cluster if all trials had one variance."""
    table = ModelTable.from_arrays(n, np.zeros_like(n), design)
    return scores(table, np.zeros(design.shape[1]), alpha)[1]


@pytest.mark.parametrize(("first", "second"), [(3, 3), (2, 10), (27, 3), (4, 9)])
def test_two_groups_by_the_published_formula(first, second):
    """Welch's at equal variances, which Bell and McCaffrey's are for a binary regressor.

    Imbens and Kolesár (2016), Review of Economics and Statistics 98, 701-712, section III.
    """
    a, b = first, second
    published = (a + b) ** 2 * (a - 1) * (b - 1) / (a**2 * (a - 1) + b**2 * (b - 1))
    found = sandwich_degrees(flat(arms(first, second), ARM, 0.3))
    assert found == pytest.approx([first - 1.0, published])


def test_balanced_designs_have_the_numbers_of_textbooks():
    """Reference arm: G/2 - 1; arms and what interacts with them: G - 2; within all: G - 1."""
    n = np.array([[5, 5, 0, 0]] * 3 + [[0, 0, 5, 5]] * 3)
    assert sandwich_degrees(flat(n, BOTH, 0.2)) == pytest.approx([2, 2, 4, 4])
    within = np.full((6, 2), 5)
    assert sandwich_degrees(flat(within, ARM, 0.2)) == pytest.approx([5, 5])


def whole(n, design, alpha):
    """Bell and McCaffrey as they write it: 2 E(v)² / Var(v) of a quadratic form in all trials."""
    cells = [(g, k) for g in range(n.shape[0]) for k in range(n.shape[1]) for _ in range(n[g, k])]
    groups, x = np.array([g for g, _ in cells]), design[[k for _, k in cells]]
    cov = np.where(groups[:, None] == groups, alpha, 0.0) + (1 - alpha) * np.eye(len(x))
    weight = np.linalg.inv(cov)
    bread = np.linalg.inv(x.T @ weight @ x)
    rest = np.eye(len(x)) - x @ bread @ x.T @ weight
    out = []
    for c in range(x.shape[1]):
        form = np.zeros_like(cov)
        for g in np.unique(groups):
            own = groups == g
            values, vectors = np.linalg.eig(rest[np.ix_(own, own)])
            root = np.real(vectors @ np.diag(values**-0.5) @ np.linalg.inv(vectors))
            row = bread[c] @ x[own].T @ weight[np.ix_(own, own)] @ root @ rest[own]
            form += np.outer(row, row)
        mean = np.trace(form @ cov)
        out.append(2 * mean**2 / (2 * np.trace(form @ cov @ form @ cov)))
    return out


@pytest.mark.parametrize("alpha", [0.0, 0.35, -0.02])
def test_whole_matrices(alpha):
    rng = np.random.default_rng(5)
    n = rng.integers(0, 6, (7, 4))
    assert sandwich_degrees(flat(n, BOTH, alpha)) == pytest.approx(whole(n, BOTH, alpha), rel=DENSE)


def test_a_cluster_that_alone_has_a_level_leaves_the_count():
    assert sandwich_degrees(flat(arms(5, 1), ARM)).tolist() == [5.0, 5.0]


def test_between_and_within():
    """Schluchter and Elashoff: clusters less the columns between them, and clusters less one."""
    n = np.array([[5, 5, 0, 0]] * 3 + [[0, 0, 5, 5]] * 3)
    assert is_between(n, BOTH).tolist() == [True, False, True, False]
    assert between_within(n, BOTH).tolist() == [4.0, 5.0, 4.0, 5.0]
    many = np.stack([n, n])
    many[1, 0] = 0  # a cluster without trials is none
    assert between_within(many, BOTH).tolist() == [[4.0, 5.0, 4.0, 5.0], [3.0, 4.0, 3.0, 4.0]]


def sites():
    """Three sites an arm, 12 trials each: 7, 8, 6 of the new arm pass, and 3, 5, 2 of the old."""
    total = [[7, 0], [8, 0], [6, 0], [0, 3], [0, 5], [0, 2]]
    return ModelTable.from_arrays(
        arms(3, 3, 12), total, ARM, names=("intercept", "arm[old]"),
        patterns=[("new",), ("old",)], by=["arm"],
    )  # fmt: skip


def test_six_sites_and_the_least_p_of_their_permutations():
    fit = gee(sites())
    assert fit.coefficients.df[1] == pytest.approx(4.0)
    t = fit.coefficients.statistic[1]
    assert fit.coefficients.pvalue[1] == pytest.approx(2 * stats.t.sf(abs(t), 4))
    rates = np.array([7, 8, 6, 3, 5, 2])
    gaps = [
        abs(2 * rates[list(s)].sum() - rates.sum()) for s in itertools.combinations(range(6), 3)
    ]
    least = np.mean(np.array(gaps) >= max(gaps))
    (note,) = [note for note in fit.notes if note.code == "permutation-floor"]
    assert note.where == "arm[old]"
    assert note.n == 6
    assert f"no p below 2/20 = {least:g}" in note
    assert fit.coefficients.pvalue[1] < least


@pytest.mark.parametrize("model", [logistic_mixed, linear_mixed])
def test_mixed_models_say_it_too_and_count_columns_between(model):
    fit = model(sites())
    assert [n.code for n in fit.notes].count("permutation-floor") == 1
    assert fit.coefficients.df == pytest.approx([4.0, 4.0])


def test_many_clusters_need_no_such_note():
    rng = np.random.default_rng(2)
    total = rng.binomial(12, 0.5, (16, 2)) * (arms(8, 8, 1))
    table = ModelTable.from_arrays(arms(8, 8, 12), total, ARM, names=("intercept", "arm[b]"),
                                   patterns=[("a",), ("b",)], by=["arm"])  # fmt: skip
    assert not [n for n in gee(table).notes if n.code == "permutation-floor"]


def test_size_of_tests_between_three_and_three_clusters():
    """4,000 studies without a difference; outside [.035, .060] once in 10,000 if the size is .047.

    By t(G - 1) the arms reject .055 to .06 and the coefficients of the reference arm .11.
    """
    rng = np.random.default_rng(11)
    n = np.array([[20, 20, 0, 0]] * 3 + [[0, 0, 20, 20]] * 3)
    eta = 0.9 * rng.normal(size=(4000, 6, 1)) + 0.6 * rng.normal(size=(4000, 6, 1)) * [0, 1, 0, 1]
    fits = gee_many(n, rng.binomial(n, 1 / (1 + np.exp(-eta))), BOTH)
    t = fits.estimate / np.sqrt(np.einsum("rjj->rj", fits.covariance))
    p = 2 * stats.t.sf(np.abs(t), fits.df)[fits.answered]
    rejected = (p < 0.05).mean(axis=0)
    assert ((rejected > 0.035) & (rejected < 0.060)).all()
