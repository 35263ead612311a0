"""Estimating equations: statsmodels, corrections by whole matrices, limits, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm

from simtrack.errors import InputError
from simtrack.inference.models.gee import gee
from simtrack.inference.models.table import ModelTable

#: Two solvers at the same root.
PEER = 1e-9
#: Dense and small matrices of the same numbers.
DENSE = 1e-10

# Wheeze (1) of 537 children at ages 7 to 10, Steubenville, by mother's smoking: how many children
# have each of the 16 histories, 0000 to 1111 (Fitzmaurice and Laird 1993; geepack's ohio).
NO_SMOKE = [237, 10, 15, 4, 16, 2, 7, 3, 24, 3, 3, 2, 6, 2, 5, 11]
SMOKE = [118, 6, 8, 2, 11, 1, 6, 4, 7, 3, 3, 1, 4, 2, 4, 7]


def ohio():
    rows, n, total = [], [], []
    for smoke, counts in enumerate((NO_SMOKE, SMOKE)):
        for history, children in enumerate(counts):
            for _ in range(children):
                n.append([1 - smoke] * 4 + [smoke] * 4)
                wheeze = [(history >> (3 - k)) & 1 for k in range(4)]
                total.append([w * (1 - smoke) for w in wheeze] + [w * smoke for w in wheeze])
                rows.append(wheeze)
    design = [[1, age, s, age * s] for s in (0, 1) for age in (-2, -1, 0, 1)]
    names = ["intercept", "age", "smoke", "age:smoke"]
    return ModelTable.from_arrays(n, total, design, names=names)


def study(seed):
    """12 scenarios × 5 checkpoints × 2 encodings × 20 repetitions; rows and table."""
    rng = np.random.default_rng(seed)
    cells = [(c, e) for c in range(5) for e in range(2)]
    design = np.array([[1, *(c == j for j in range(1, 5)), e] for c, e in cells], float)
    eta = (design * [0.4, -0.3, 0.2, 0.5, -0.8, 0.4]).sum(axis=1)
    eta = eta + rng.normal(0, 0.8, 12)[:, None]
    return sampled(rng, np.full((12, 10), 20), eta, design)


def uneven(seed):
    rng = np.random.default_rng(seed)
    design = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], float)
    eta = (design * [0.3, -0.6, 0.5]).sum(axis=1) + rng.normal(0, 0.9, 8)[:, None]
    return sampled(rng, rng.integers(1, 7, (8, 4)), eta, design)


def sampled(rng, n, eta, design):
    total = rng.binomial(n, 1 / (1 + np.exp(-eta)))
    cells = [(g, k) for g in range(n.shape[0]) for k in range(n.shape[1])]
    y = np.concatenate([[1.0] * total[c] + [0.0] * (n[c] - total[c]) for c in cells])
    sizes = [n[c] for c in cells]
    x = np.repeat(design[[k for _, k in cells]], sizes, axis=0)
    groups = np.repeat([g for g, _ in cells], sizes)
    return ModelTable.from_arrays(n, total, design), y, x, groups


def peer(y, x, groups, correlation, cov_type="robust"):
    kinds = {"exchangeable": sm.cov_struct.Exchangeable, "independence": sm.cov_struct.Independence}
    model = sm.GEE(
        y, x, groups=groups, family=sm.families.Binomial(), cov_struct=kinds[correlation]()
    )
    return model.fit(maxiter=500, ctol=1e-13, cov_type=cov_type)


@pytest.mark.parametrize("correlation", ["exchangeable", "independence"])
@pytest.mark.parametrize("make", [study, uneven])
def test_statsmodels(correlation, make):
    table, y, x, groups = make(3)
    ours, theirs = gee(table, correlation=correlation), peer(y, x, groups, correlation)
    assert ours.coefficients.estimate == pytest.approx(theirs.params, abs=PEER)
    assert ours.covariances["sandwich"] == pytest.approx(theirs.cov_robust, abs=PEER)
    assert ours.covariances["model"] == pytest.approx(theirs.cov_naive, abs=PEER)
    if correlation == "exchangeable":
        assert ours.alpha == pytest.approx(float(theirs.cov_struct.dep_params), abs=PEER)
    corrected = peer(y, x, groups, correlation, "bias_reduced")
    assert ours.covariances["mancl-derouen"] == pytest.approx(corrected.cov_params(), abs=PEER)


def test_ohio_as_geepack_prints_it():
    """geese(..., corstr="exch", scale.fix=TRUE): the scale is 1 there and 1.00 here."""
    fit = gee(ohio(), covariance="sandwich")
    assert fit.coefficients.estimate == pytest.approx([-1.900, -0.141, 0.314, 0.071], abs=6e-4)
    assert fit.coefficients.standard_error == pytest.approx([0.119, 0.058, 0.188, 0.088], abs=1e-3)
    assert fit.alpha == pytest.approx(0.354, abs=1.5e-3)


def dense(table, y, x, groups, correlation):
    """The corrections as their papers write them, with matrices of the size of each cluster."""
    fit = gee(table, correlation=correlation)
    alpha, p = fit.alpha or 0.0, x.shape[1]
    mu = 1 / (1 + np.exp(-x @ fit.coefficients.estimate))
    parts = []
    for g in np.unique(groups):
        m, xg, left = mu[groups == g], x[groups == g], (y - mu)[groups == g]
        d = xg * (m * (1 - m))[:, None]
        a = np.sqrt(m * (1 - m))
        v = a[:, None] * ((1 - alpha) * np.eye(len(m)) + alpha) * a[None, :]
        parts.append((d, np.linalg.inv(v), left))
    bread = np.linalg.inv(sum(d.T @ w @ d for d, w, _ in parts))
    meat = {name: np.zeros((p, p)) for name in ("mancl-derouen", "kauermann-carroll")}
    meat["fay-graubard"] = np.zeros((p, p))
    for d, w, left in parts:
        h = d @ bread @ d.T @ w
        values, vectors = np.linalg.eig(np.eye(len(left)) - h)
        root = np.real(vectors @ np.diag(values**-0.5) @ np.linalg.inv(vectors))
        lever = np.diag(d.T @ w @ d @ bread)
        found = {
            "mancl-derouen": d.T @ w @ np.linalg.solve(np.eye(len(left)) - h, left),
            "kauermann-carroll": d.T @ w @ root @ left,
            "fay-graubard": (1 - np.minimum(0.75, lever)) ** -0.5 * (d.T @ w @ left),
        }
        for name, u in found.items():
            meat[name] += np.outer(u, u)
    return fit, {name: bread @ m @ bread for name, m in meat.items()}


@pytest.mark.parametrize("correlation", ["exchangeable", "independence"])
@pytest.mark.parametrize("name", ["mancl-derouen", "kauermann-carroll", "fay-graubard"])
def test_corrections_with_whole_matrices(correlation, name):
    fit, wanted = dense(*uneven(5), correlation)
    assert fit.covariances[name] == pytest.approx(wanted[name], abs=DENSE)


def test_corrections_of_one_mean_in_closed_form():
    """G equal clusters, intercept only: leverage 1/G, so the corrections are powers of G/(G-1)."""
    k, n, groups = np.array([1, 4, 3, 2, 5, 3]), 6.0, 6
    fit = gee(ModelTable.from_arrays([[n]] * groups, k[:, None], [[1.0]]))
    p = k.sum() / (n * groups)
    sandwich = ((k - n * p) ** 2).sum() / (n * groups * p * (1 - p)) ** 2
    factor = groups / (groups - 1)
    assert fit.covariances["sandwich"][0, 0] == pytest.approx(sandwich)
    assert fit.covariances["kauermann-carroll"][0, 0] == pytest.approx(sandwich * factor)
    assert fit.covariances["fay-graubard"][0, 0] == pytest.approx(sandwich * factor)
    assert fit.covariances["mancl-derouen"][0, 0] == pytest.approx(sandwich * factor**2)
    assert fit.coefficients.estimate[0] == pytest.approx(math.log(p / (1 - p)))


def test_t_stands_beside_z():
    """The published interval of an odds ratio from 12 scenarios is by z; by t(11) it is wider."""
    table, *_ = study(3)
    c = gee(table, covariance="sandwich").coefficients
    assert c.df == pytest.approx([11.0] * 6)
    assert (c.pvalue > c.pvalue_normal).all()
    ratio = (c.high - c.low) / (2 * c.standard_error)
    assert ratio == pytest.approx(np.full(6, 2.200985160082949), rel=1e-9)


def test_h34_separation_is_no_success():
    n = [[2, 0]] * 5 + [[0, 2]] * 5
    total = [[0, 0]] * 5 + [[0, 2], [0, 2], [0, 2], [0, 0], [0, 0]]
    table = ModelTable.from_arrays(n, total, [[1, 0], [1, 1]], names=["intercept", "arm"])
    for correlation in ("exchangeable", "independence"):
        fit = gee(table, correlation=correlation)
        assert fit.status == "separated"
        assert np.isnan(fit.coefficients.estimate).all()
        assert np.isnan(fit.coefficients.pvalue).all()
        assert "arm = +∞" in fit.notes[0]


def test_a_cluster_that_alone_has_a_pattern_has_no_correction():
    n = [[5, 0], [5, 0], [5, 5]]
    table = ModelTable.from_arrays(n, [[2, 0], [3, 0], [1, 2]], [[1, 0], [1, 1]])
    fit = gee(table, correlation="independence")
    assert fit.status == "converged"
    assert np.isnan(fit.coefficients.standard_error).all()
    assert any("no covariance by mancl-derouen" in note for note in fit.notes)
    assert np.isfinite(fit.with_covariance("sandwich").standard_error).all()


def test_a_correlation_that_cannot_be_is_said():
    n, total = [[1, 1]] * 4, [[1, 0], [0, 1], [1, 0], [0, 1]]
    fit = gee(ModelTable.from_arrays(n, total, [[1, 0], [1, 1]]))
    assert fit.status == "not-converged"
    assert "cannot have" in fit.notes[0]


@pytest.mark.parametrize(
    ("n", "total", "status"), [([[5.0]], [[2.0]], "not-estimable"), ([[1], [0]], [[1], [0]], None)]
)
def test_what_cannot_be_estimated_is_said(n, total, status):
    fit = gee(ModelTable.from_arrays(n, total, [[1.0]]))
    assert fit.status == (status or "not-estimable")
    assert fit.to_dict()["coefficients"][0]["estimate"] is None


def test_scores_are_refused():
    table = ModelTable.from_arrays([[2], [2]], [[1.5], [0.5]], [[1]], squares=[[1.3], [0.2]])
    with pytest.raises(InputError, match="table must be of 0/1 outcomes for a logistic model"):
        gee(table)


def test_a_cluster_that_carries_most_of_what_is_known_is_named():
    n = [[200, 200]] + [[10, 10]] * 8
    total = [[90, 120], *([4, 6], [5, 7], [2, 5], [7, 6], [1, 4], [8, 9], [4, 3], [6, 8])]
    names = [f"c{g}" for g in range(9)]
    fit = gee(ModelTable.from_arrays(n, total, [[1, 0], [1, 1]], clusters=names))
    assert any(note.startswith("cluster c0 carries") for note in fit.notes)
    even = ModelTable.from_arrays([[10, 10]] * 8, total[1:], [[1, 0], [1, 1]])
    assert not any("carries" in note for note in gee(even).notes)
    # Two clusters against many: each carries half of what is known of their arm.
    apart = [[10, 0]] * 2 + [[0, 10]] * 7
    total = [[4, 0], [7, 0], [0, 5], [0, 6], [0, 3], [0, 8], [0, 2], [0, 5], [0, 7]]
    assert any("50%" in note for note in gee(ModelTable.from_arrays(
        apart, total, [[1, 0], [1, 1]])).notes)  # fmt: skip
