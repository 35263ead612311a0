"""Estimating equations of a logistic marginal model, solved from a cluster table.

With a_k = √(μ_k(1-μ_k)), cluster g has h_g = Σ n a x and e_g = Σ (s - nμ)/a over its patterns. The
inverse of the exchangeable correlation is (I - c_g J)/(1-α), c_g = α/(1 + (n_g-1)α). So its score
is U_g = (Σ x(s - nμ) - c_g h_g e_g)/(1-α), and its information is
B_g = (Σ n a² x xᵀ - c_g h_g h_gᵀ)/(1-α).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.model_algebra import cholesky, solve
from simtrack.inference.model_logistic import expit, logistic_start
from simtrack.inference.model_table import ModelTable
from simtrack.options import Correlation

__all__ = ["Solved", "scores", "solve_equations"]

Floats = NDArray[np.float64]
_MOST = 200
_LONGEST = 2.0
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """Where do the equations vanish?

    `score` and `information` are by cluster: shapes (clusters, columns), (clusters, columns,
    columns). `problem` says what went wrong.
    """

    beta: Floats
    alpha: float
    scale: float
    score: Floats
    information: Floats
    iterations: int
    problem: str = ""


#: Why there is no answer, where fitted rates run to 0 or 1.
_RUN_AWAY = (
    "fitted rates run to 0 or 1, so that the equations have no finite solution with this working "
    "correlation; correlation = independence has one unless patterns are separated"
)


def solve_equations(table: ModelTable, correlation: Correlation) -> Solved:
    """Alternate Fisher scoring and the moment estimates of α and the scale until both stand still.

    References
    ----------
    Liang and Zeger (1986), Biometrika 73, 13-22, eq. 6 and section 3.3 (moments, with N - p and
    pairs - p below).
    """
    beta = logistic_start(table.n.sum(axis=0), table.totals.sum(axis=0), table.design)
    alpha, scale, problem = 0.0, 1.0, "the estimating equations did not settle"
    before = math.inf
    for count in range(1, _MOST + 1):
        rates = expit(np.einsum("kj,j->k", table.design, beta))
        if not (np.isfinite(rates) & (rates > 0.0) & (rates < 1.0)).all():
            score, information = np.full((2, 1, 1), np.nan)
            return Solved(beta, math.nan, math.nan, score, information, count, _RUN_AWAY)
        alpha, scale = _moments(table, beta, correlation)
        bound = _alpha_problem(table, alpha)
        if bound:
            score, information = scores(table, beta, 0.0)
            return Solved(beta, alpha, scale, score, information, count, bound)
        score, information = scores(table, beta, alpha)
        step = solve(cholesky(information.sum(axis=0)), score.sum(axis=0))
        size = math.sqrt(float((step * step).sum()))
        if not math.isfinite(size):
            problem = "the information is singular"
            break
        if size <= _TOLERANCE * (1.0 + float(np.abs(beta).max())) or (
            size < 1e-9 and size >= 0.5 * before
        ):
            problem = ""
            break
        before = size
        beta = beta + step * min(1.0, _LONGEST / size)
    return Solved(beta, alpha, scale, score, information, count, problem)


def scores(table: ModelTable, beta: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Give U_g and B_g at these coefficients and this correlation."""
    x = table.design
    mu = expit(np.einsum("kj,j->k", x, beta))
    a = np.sqrt(mu * (1.0 - mu))
    left = table.totals - table.n * mu
    h = np.einsum("gk,k,kj->gj", table.n, a, x)
    e = (left / a).sum(axis=1)
    c = alpha / (1.0 + (table.n.sum(axis=1) - 1.0) * alpha)
    score = np.einsum("gk,kj->gj", left, x) - (c * e)[:, None] * h
    information = np.einsum("gk,k,ki,kj->gij", table.n, a * a, x, x)
    information = information - np.einsum("g,gi,gj->gij", c, h, h)
    return score / (1.0 - alpha), information / (1.0 - alpha)


def _moments(table: ModelTable, beta: Floats, correlation: Correlation) -> tuple[float, float]:
    p = len(table.names)
    mu = expit(np.einsum("kj,j->k", table.design, beta))
    a = np.sqrt(mu * (1.0 - mu))
    squares = table.totals * (1.0 - mu) / mu + (table.n - table.totals) * mu / (1.0 - mu)
    scale = float(squares.sum()) / (table.size - p)
    if correlation == "independence":
        return 0.0, scale
    e = ((table.totals - table.n * mu) / a).sum(axis=1)
    size = table.n.sum(axis=1)
    pairs = float((size * (size - 1.0)).sum()) / 2.0
    both = float((e * e - squares.sum(axis=1)).sum()) / 2.0
    return (both / scale / (pairs - p) if pairs > p else math.nan), scale


def _alpha_problem(table: ModelTable, alpha: float) -> str:
    largest = float(table.n.sum(axis=1).max())
    if math.isnan(alpha):
        return (
            "too few pairs of trials within clusters to estimate their correlation; correlation = "
            "independence needs none"
        )
    low = -1.0 / (largest - 1.0) if largest > 1.0 else -1.0
    if not low < alpha < 1.0:
        return f"the correlation came to {alpha:.3g}, which clusters of {largest:.0f} cannot have"
    return ""
