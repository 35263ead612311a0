"""Logistic mixed models: cbpp as published, brute-force integrals, edges, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from simtrack.inference.models.linear_mixed import INTERCEPT_ONLY
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.logistic_mixed_likelihood import minus_log_likelihood
from simtrack.inference.models.logistic_mixed_marginal import logistic_normal_mean
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import gauss_hermite, gradient

#: Asked of the published digits.
PUBLISHED = 1e-5
#: An integral by 4001 points against adaptive nodes at convergence.
BRUTE = 1e-8

# Contagious bovine pleuropneumonia: new cases over size of 15 herds in four periods (lme4's cbpp);
# 0/0 where a herd was not seen.
CBPP = """
2/14 3/12 4/9 0/5|3/22 1/18 1/21 0/0|8/22 2/16 0/16 2/20|2/10 0/10 2/9 0/6|5/18 0/25 0/24 1/4
3/17 0/17 0/18 1/20|8/16 1/10 3/9 0/5|12/34 0/0 0/0 0/0|2/9 0/6 0/8 0/6|1/22 1/22 0/18 2/22
0/25 5/27 3/22 1/22|2/10 1/8 0/6 0/5|1/21 2/24 0/19 0/23|11/19 0/2 0/3 0/2|1/19 1/15 1/15 0/15
"""
DESIGN = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]


def cbpp():
    herds = [
        [[int(v) for v in cell.split("/")] for cell in herd.split()]
        for herd in CBPP.strip().replace("\n", "|").split("|")
    ]
    cells = np.array(herds, dtype=float)
    names = ["intercept", "period 2", "period 3", "period 4"]
    return ModelTable.from_arrays(cells[:, :, 1], cells[:, :, 0], DESIGN, names=names)


@pytest.mark.shared
def test_cbpp_is_the_file(shared):
    lines = (shared / "reference" / "external" / "cbpp.csv").read_text().split()[1:]
    table = cbpp()
    rows = [[int(v) for v in line.split(",")] for line in lines]
    assert len(rows) == 56
    assert table.size == sum(size for *_, size in rows)
    for herd, period, cases, size in rows:
        assert table.totals[herd - 1, period - 1] == cases
        assert table.n[herd - 1, period - 1] == size


def test_r37_cbpp_by_laplace():
    """MixedModels.jl (test/pirls.jl): log likelihood -92.02628187; lme4's estimates, tighter."""
    fit = logistic_mixed(cbpp(), nodes=1)
    assert fit.log_likelihood == pytest.approx(-92.02628187, abs=2e-8)
    wanted = [-1.39853, -0.99233, -1.12867, -1.58031]
    assert fit.coefficients.estimate == pytest.approx(wanted, abs=PUBLISHED)
    assert fit.random_sd[0] == pytest.approx(0.642261, abs=PUBLISHED)
    assert fit.status == "converged"
    assert any("Laplace" in note for note in fit.notes)
    # lme4 at its default tolerance prints -1.3983 -0.9919 -1.1282 -1.5797 and a variance of .4123.
    assert fit.random_covariance[0, 0] == pytest.approx(0.4123, abs=5e-4)


def test_r37_cbpp_by_adaptive_quadrature():
    fit = logistic_mixed(cbpp(), nodes=25)
    wanted = [-1.39923042, -0.99140369, -1.12781948, -1.57947071]
    assert fit.coefficients.estimate == pytest.approx(wanted, abs=1e-7)
    assert fit.random_sd[0] == pytest.approx(0.64751847, abs=1e-7)
    assert fit.log_likelihood == pytest.approx(-91.98336904, abs=1e-8)
    assert abs(fit.quadrature_change) < 1e-9
    assert INTERCEPT_ONLY in fit.notes
    assert logistic_mixed(cbpp()).coefficients.estimate == pytest.approx(wanted, abs=PUBLISHED)


def brute(table, point, effects):
    """-log L by the trapezoidal rule on a fixed grid, no mode anywhere."""
    q = effects.shape[1]
    factor = np.zeros((q, q))
    factor[np.tril_indices(q)] = point[table.design.shape[1] :]
    line = np.linspace(-9, 9, 4001 if q == 1 else 161)
    z = np.stack(np.meshgrid(*[line] * q, indexing="ij"), axis=-1).reshape(-1, q)
    weight = (
        np.exp(-0.5 * (z * z).sum(axis=1)) * ((line[1] - line[0]) / math.sqrt(2 * math.pi)) ** q
    )
    eta = table.design @ point[: table.design.shape[1]] + z @ (effects @ factor).T
    total = 0.0
    for n, s in zip(table.n, table.totals, strict=True):
        logs = (s * eta - n * np.logaddexp(0, eta)).sum(axis=1)
        top = logs.max()
        total -= top + math.log((weight * np.exp(logs - top)).sum())
    return total


def test_brute_force_integrals_of_an_intercept():
    table = cbpp()
    function = minus_log_likelihood(table, np.ones((4, 1)), 41)
    for point in ([-1.4, -1, -1.1, -1.6, 0.65], [-1, 0.2, -2, 0.3, 2.5], [-2, 0, 0, 0, -0.1]):
        at = np.array(point)
        assert function(at[None])[0] == pytest.approx(brute(table, at, np.ones((4, 1))), abs=BRUTE)


def slopes(seed=2):
    rng = np.random.default_rng(seed)
    design = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], float)
    eta = (design * [0.2, 0.7, -0.5]).sum(axis=1) + rng.normal(0, 0.8, (14, 1))
    eta = eta + rng.normal(0, 1.1, (14, 1)) * design[:, 1]
    n = rng.integers(3, 12, (14, 4))
    total = rng.binomial(n, 1 / (1 + np.exp(-eta)))
    return ModelTable.from_arrays(n, total, design, names=["intercept", "arm", "stage"])


def test_brute_force_integrals_and_optimum_with_a_slope():
    table = slopes()
    effects = table.design[:, :2]
    fit = logistic_mixed(table, slope="arm", nodes=15)
    assert fit.status == "converged"
    sd = fit.random_sd
    factor = np.linalg.cholesky(fit.random_covariance)
    at = np.array([*fit.coefficients.estimate, factor[0, 0], factor[1, 0], factor[1, 1]])
    assert brute(table, at, effects) == pytest.approx(-fit.log_likelihood_trials, abs=1e-7)
    # No way is down from there: a simplex of the brute integral ends where it began.
    step = 0.02 * np.concatenate([np.zeros((1, 6)), np.eye(6)])
    free = optimize.minimize(
        lambda v: brute(table, v, effects), at, method="Nelder-Mead",
        options={"initial_simplex": at + step, "maxfev": 30},
    )  # fmt: skip
    assert free.fun >= -fit.log_likelihood_trials - 1e-7
    assert sd.min() > 0.3
    assert INTERCEPT_ONLY not in fit.notes


def test_brute_force_optimum_and_standard_errors():
    """SciPy on the brute integral, and its second differences as the observed information."""
    table, one = cbpp(), np.ones((4, 1))
    fit = logistic_mixed(table, nodes=25)
    at = np.append(fit.coefficients.estimate, fit.random_sd)
    found = optimize.minimize(lambda v: brute(table, v, one), at + 0.05, method="BFGS",
                              options={"gtol": 1e-6})  # fmt: skip
    assert fit.coefficients.estimate == pytest.approx(found.x[:4], abs=5e-6)
    assert fit.random_sd[0] == pytest.approx(found.x[4], abs=5e-6)
    h, eye = 1e-3, np.eye(5)
    information = np.array([
        [
            sum(
                a * b * brute(table, at + h * (a * eye[i] + b * eye[j]), one)
                for a in (1, -1)
                for b in (1, -1)
            )
            / (4 * h * h)
            for j in range(5)
        ]
        for i in range(5)
    ])  # fmt: skip
    covariance = np.linalg.inv(information)
    assert fit.coefficients.covariance == pytest.approx(covariance[:4, :4], rel=1e-4)
    assert fit.random_sd_error[0] == pytest.approx(math.sqrt(covariance[4, 4]), rel=1e-4)


def test_a_correlation_at_its_edge_is_said():
    fit = logistic_mixed(slopes(7), slope="arm")
    assert fit.status == "singular"
    assert "correlation" in fit.notes[0]
    sd = fit.random_sd
    assert fit.random_covariance[0, 1] / sd.prod() == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(fit.coefficients.standard_error).all()


@pytest.mark.parametrize(("nodes", "q"), [(1, 1), (7, 1), (1, 2), (3, 2)])
def test_derivatives_go_through_mode_and_nodes(nodes, q):
    table = slopes()
    function = minus_log_likelihood(table, table.design[:, :q], nodes)
    at = np.array([0.1, 0.5, -0.2, 0.9, 0.3, 0.7])[: 4 if q == 1 else 6]
    h = 1e-5
    numeric = [(function((at + h * e)[None]) - function((at - h * e)[None]))[0] / (2 * h)
               for e in np.eye(at.size)]  # fmt: skip
    assert gradient(function, at) == pytest.approx(numeric, abs=1e-7)


# R36: E[expit(μ + σZ)] by numerical integration.
MEANS = [(0, 1, 0.5), (1, 1, 0.6967346701), (math.log(4), 1, 0.7612562437),
         (math.log(4), 0.5, 0.7886657272), (2, 2, 0.7752002454)]  # fmt: skip


@pytest.mark.parametrize(("mu", "sd", "mean"), MEANS)
def test_r36_logistic_normal_means(mu, sd, mean):
    found = logistic_normal_mean(np.array([float(mu)]), np.array([float(sd)]))
    assert float(found[0]) == pytest.approx(mean, abs=5e-11)


def test_marginal_effects_are_nearer_to_zero_and_their_errors_are_those_of_the_delta_method():
    fit = logistic_mixed(cbpp(), nodes=25)
    sd, beta = float(fit.random_sd[0]), fit.coefficients.estimate
    rates = [float(logistic_normal_mean(np.array([v]), np.array([sd]))[0])
             for v in np.array(DESIGN) @ beta]  # fmt: skip
    assert fit.marginal.rates.estimate == pytest.approx(rates)
    logits = [math.log(p / (1 - p)) for p in rates]
    wanted = [logits[0], *(v - logits[0] for v in logits[1:])]
    assert fit.marginal.log_odds.estimate == pytest.approx(wanted, abs=1e-10)
    assert (np.abs(fit.marginal.log_odds.estimate) < np.abs(beta)).all()
    gap = fit.marginal.difference("0", "3")
    assert gap.estimate[0] == pytest.approx(rates[0] - rates[3])
    assert 0 < gap.standard_error[0] < 0.1
    assert [row["name"] for row in fit.marginal.to_dict()["rates"]] == ["0", "1", "2", "3"]


def test_clusters_that_do_not_differ_are_singular_and_give_the_plain_regression():
    n, total = np.full((6, 2), 10), np.array([[5, 7], [5, 7], [6, 7], [5, 6], [5, 7], [4, 8]])
    fit = logistic_mixed(ModelTable.from_arrays(n, total, [[1, 0], [1, 1]]))
    assert fit.status == "singular"
    assert fit.random_covariance[0, 0] < 1e-8
    odds = [math.log(k / (60 - k)) for k in total.sum(axis=0).tolist()]
    assert fit.coefficients.estimate == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-8)
    parts = [1 / k + 1 / (60 - k) for k in total.sum(axis=0).tolist()]
    errors = [math.sqrt(parts[0]), math.sqrt(sum(parts))]
    assert fit.coefficients.standard_error == pytest.approx(errors, abs=1e-7)
    assert "singular" in fit.notes[0]
    assert np.isnan(fit.random_sd_error).all()


def test_h34_separation_is_said_and_no_number_given():
    n, total = [[2, 2]] * 5, [[0, 2], [0, 1], [0, 2], [0, 1], [0, 0]]
    fit = logistic_mixed(
        ModelTable.from_arrays(n, total, [[1, 0], [1, 1]], names=["intercept", "arm"])
    )
    assert fit.status == "separated"
    assert "arm = +∞" in fit.notes[0]
    assert np.isnan(fit.coefficients.estimate).all()
    assert fit.marginal is None
    assert fit.to_dict()["coefficients"][1]["pvalue"] is None


@pytest.mark.parametrize(
    ("n", "total", "status", "why"),
    [
        ([[5, 5]], [[2, 3]], "not-estimable", "one cluster"),
        ([[1, 0], [0, 1], [1, 0], [0, 1]], [[1, 0], [0, 1], [0, 0], [0, 0]], "not-estimable",
         "one trial a cluster"),
        ([[4, 4]] * 4, [[4, 4], [0, 0], [4, 4], [0, 0]], "separated", "every cluster only"),
        ([[40, 40]] * 4, [[40, 40], [0, 0], [40, 40], [1, 0]], "implausible", "implausible"),
    ],
)  # fmt: skip
def test_nonsense_is_said(n, total, status, why):
    fit = logistic_mixed(ModelTable.from_arrays(n, total, [[1, 0], [1, 1]]))
    assert fit.status == status
    assert why in fit.notes[0]
    assert np.isnan(fit.coefficients.estimate).all()


def test_nodes_and_weights_are_numpys():
    for nodes in (1, 2, 7, 25, 60):
        x, log_w = gauss_hermite(nodes)
        theirs = np.polynomial.hermite.hermgauss(nodes)
        assert x == pytest.approx(theirs[0], abs=1e-13)
        assert np.exp(log_w) == pytest.approx(theirs[1], rel=1e-11)


def test_intervals_of_marginal_rates_stay_within_0_and_1():
    total = [[10, 9], [9, 10], [10, 10], [8, 10], [10, 10], [9, 9], [5, 8], [10, 10]]
    table = ModelTable.from_arrays(np.full((8, 2), 10), total, [[1, 0], [1, 1]])
    rates = logistic_mixed(table).marginal.rates
    plain = rates.estimate + 2.3646242510 * rates.standard_error  # t(7)
    assert plain.max() > 1.0
    assert (rates.high < 1.0).all()
    # By the logit and its delta-method error.
    logit = np.log(rates.estimate / (1 - rates.estimate))
    half = 2.3646242510 * rates.standard_error / (rates.estimate * (1 - rates.estimate))
    assert rates.low == pytest.approx(1 / (1 + np.exp(half - logit)), rel=1e-9)
    assert rates.high == pytest.approx(1 / (1 + np.exp(-half - logit)), rel=1e-9)
    gap = logistic_mixed(table).marginal.difference("1", "0")
    assert gap.scale == "difference"
    assert gap.high[0] == pytest.approx(gap.estimate[0] + 2.364624251 * gap.standard_error[0])
