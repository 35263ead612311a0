"""Separation against linear programming; Firth's penalty against closed forms and a free search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.optimize import linprog

from simtrack.inference.models.firth import firth
from simtrack.inference.models.separation import separation
from simtrack.inference.models.table import ModelTable


def two_by_two(a, b, n=10):
    return ModelTable.from_arrays([[n, n]], [[a, b]], [[1, 0], [1, 1]], names=["intercept", "arm"])


def test_h34_the_slope_is_infinite_and_firth_is_finite():
    table = two_by_two(0, 6)
    found = separation(table)
    assert found.infinite == {"intercept": -math.inf, "arm": math.inf}
    assert found.kind == "quasi-complete"
    assert found.patterns == (("0",),)
    assert firth(table).coefficients.estimate[1] == pytest.approx(3.412247, abs=5e-7)
    likelihood_ratio = 2 * (6 * math.log(6 / 6) + 6 * math.log(0.6) + 4 * math.log(0.4))
    likelihood_ratio -= 2 * (6 * math.log(0.3) + 14 * math.log(0.7))
    assert likelihood_ratio == pytest.approx(10.974339, abs=5e-7)
    assert firth(table).profile_pvalue[1] < 0.01


@pytest.mark.parametrize(("a", "b"), [(0, 6), (3, 7), (0, 10), (5, 5)])
def test_firth_of_a_2_by_2_table_adds_a_half(a, b):
    odds = [(k + 0.5) / (10 - k + 0.5) for k in (a, b)]
    fit = firth(two_by_two(a, b))
    wanted = [math.log(odds[0]), math.log(odds[1] / odds[0])]
    assert fit.coefficients.estimate == pytest.approx(wanted, abs=1e-9)
    # The information at that fit.
    shares = [(k + 0.5) / 11 for k in (a, b)]
    parts = [1 / (10 * p * (1 - p)) for p in shares]
    assert fit.coefficients.covariance[1, 1] == pytest.approx(sum(parts), rel=1e-9)


def test_firth_is_the_top_of_the_penalised_likelihood():
    design = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 2, 1]], float)
    n, total = np.array([5, 8, 3, 9, 4.0]), np.array([0, 3, 0, 7, 4.0])
    fit = firth(ModelTable.from_arrays(n[None], total[None], design))

    def lost(beta):
        eta = design @ beta
        mu = 1 / (1 + np.exp(-eta))
        info = design.T @ (design * (n * mu * (1 - mu))[:, None])
        top = (total * eta - n * np.logaddexp(0, eta)).sum() + 0.5 * np.linalg.slogdet(info)[1]
        return -top

    best = optimize.minimize(lost, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    assert fit.penalised_log_likelihood == pytest.approx(-best.fun, abs=1e-9)
    assert fit.coefficients.estimate == pytest.approx(best.x, abs=1e-5)
    for end in (fit.profile_low[1], fit.profile_high[1]):
        rest = optimize.minimize(
            lambda b, e=end: lost(np.array([b[0], e, b[1]])), best.x[[0, 2]], method="BFGS"
        )
        assert 2 * (rest.fun - best.fun) == pytest.approx(3.841458820694124, abs=1e-5)


def test_firth_says_what_clusters_do_to_it():
    n = np.full((6, 2), 5)
    total = np.array([[1, 5], [0, 1], [2, 4], [0, 0], [1, 5], [0, 2]])
    fit = firth(ModelTable.from_arrays(n, total, [[1, 0], [1, 1]]))
    assert fit.clustered.df == pytest.approx([5.0, 5.0])
    # Each pattern alone: ½ is added to its cells, and scores of clusters go over 30 μ(1-μ).
    moved = []
    for k in (0, 1):
        mu = (total[:, k].sum() + 0.5) / 31
        pull = mu * (1 - mu) * 1 / (30 * mu * (1 - mu)) * (0.5 - mu)
        moved.append((total[:, k] - 5 * mu + 5 * pull) / (30 * mu * (1 - mu)))
    wanted = 1.2 * ((moved[1] - moved[0]) ** 2).sum()
    assert fit.clustered.covariance[1, 1] == pytest.approx(wanted, rel=1e-6)
    assert "independent" in fit.notes[0]


def by_linear_programming(design, n, total):
    """How many unmixed patterns can a direction tell apart?"""
    sides = np.concatenate([design[total == n], -design[total == 0]])
    mixed = design[(total > 0) & (total < n)]
    if not len(sides):
        return 0
    bound = {"A_eq": mixed, "b_eq": np.zeros(len(mixed))} if len(mixed) else {}
    limits = [(-1, 1)] * design.shape[1]
    return sum(
        -linprog(-row, -sides, np.zeros(len(sides)), bounds=limits, **bound).fun > 1e-7
        for row in sides
    )


def test_linear_programming_on_random_tables():
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(120):
        p, k = rng.integers(1, 5), rng.integers(4, 11)
        design = np.concatenate([np.ones((k, 1)), rng.integers(-1, 2, (k, p - 1))], axis=1) * 1.0
        if np.linalg.matrix_rank(design) < p:
            continue
        n = rng.integers(1, 4, k)
        total = rng.binomial(n, rng.choice([0.02, 0.2, 0.5, 0.9], k))
        found = separation(ModelTable.from_arrays(n[None], total[None], design))
        apart = by_linear_programming(design, n, total)
        assert len(found.patterns) == apart
        assert found.found == (apart > 0)
        product = (design * found.direction).sum(axis=1)
        assert (np.where(total == n, product, -product)[(total == 0) | (total == n)] > -1e-7).all()
        assert np.abs(product[(total > 0) & (total < n)]).max(initial=0.0) < 1e-7
        kinds.add(found.kind)
    assert kinds == {"none", "quasi-complete", "complete"}


def test_a_term_that_separates_leaves_the_rest_finite():
    """Agresti's form: one covariate level fails always, the other covariate is mixed."""
    design = [[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    found = separation(
        ModelTable.from_arrays([[5, 5, 5, 5]], [[2, 3, 0, 0]], design, names=["a", "b", "c"])
    )
    assert found.infinite == {"b": -math.inf}
    assert found.to_dict()["infinite"] == {"b": "-inf"}


def test_columns_of_any_scale():
    design = np.array([[1, 1e-6, 2e6], [1, 3e-6, 5e6], [1, 2e-6, 9e6], [1, 7e-6, 1e6]])
    found = separation(ModelTable.from_arrays([[2, 2, 2, 2]], [[0, 2, 0, 2]], design))
    assert found.kind == "complete"
