"""Estimating equations: their solution, and the covariances that go with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.models.separation import expit, logistic_start
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, forward, inverse, solve, symmetric_eigen
from simtrack.options import Correlation

__all__ = ["BOUND", "Solved", "covariances", "largest_share", "scores", "solve_equations"]


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


# Covariances of estimating equations, corrected for few clusters.
#: Fay and Graubard's limit to the leverage of a cluster.
BOUND = 0.75


def covariances(solved: Solved) -> dict[str, Floats]:
    """Give all five covariances by name; NaN where a cluster alone determines a coefficient.

    References
    ----------
    Liang and Zeger (1986), Biometrika 73, 13-22, eq. 7 (sandwich). Mancl and DeRouen (2001),
    Biometrics 57, 126-134. Kauermann and Carroll (2001), JASA 96, 1387-1396. Fay and Graubard
    (2001), Biometrics 57, 1198-1206, with b = .75.
    """
    whole = solved.information.sum(axis=0)
    lower = cholesky(whole)
    bread = inverse(lower)
    return {
        "model": bread,
        "sandwich": _outer(bread, solved.score),
        "mancl-derouen": _outer(bread, _mancl_derouen(solved, whole)),
        "kauermann-carroll": _outer(bread, _kauermann_carroll(solved, lower)),
        "fay-graubard": _outer(bread, _fay_graubard(solved, bread)),
    }


def largest_share(solved: Solved) -> tuple[float, int]:
    """Which cluster carries most of the information on some combination of coefficients?

    Gives the largest eigenvalue of B⁻¹ B_g over clusters, from 1/G to 1, and its cluster.
    """
    lower = cholesky(solved.information.sum(axis=0))
    shares = []
    for part in solved.information:
        half = forward(lower, part.T)
        shares.append(float(symmetric_eigen(_symmetric(forward(lower, half.T)))[0].max()))
    place = int(np.argmax(shares))
    return shares[place], place


def _outer(bread: Floats, score: Floats) -> Floats:
    turned = np.einsum("ij,gj->gi", bread, score)
    return np.asarray(np.einsum("gi,gj->ij", turned, turned))


def _mancl_derouen(solved: Solved, whole: Floats) -> Floats:
    rest = inverse(cholesky(whole - solved.information))
    return np.asarray(np.einsum("ij,gjk,gk->gi", whole, rest, solved.score))


def _kauermann_carroll(solved: Solved, lower: Floats) -> Floats:
    """With B = L Lᵀ and M = L⁻¹ B_g L⁻ᵀ the factor is L (I - M)^-½ L⁻¹."""
    out = np.empty_like(solved.score)
    for g, (part, score) in enumerate(zip(solved.information, solved.score, strict=True)):
        half = forward(lower, part.T)  # rows: L⁻¹ times the columns of B_g
        values, vectors = symmetric_eigen(_symmetric(forward(lower, half.T)))
        grown = np.where(values < 1.0 - 1e-12, 1.0 - values, np.nan) ** -0.5
        turned = forward(lower, score)
        turned = np.einsum("ij,j,kj,k->i", vectors, grown, vectors, turned)
        out[g] = np.einsum("ij,j->i", lower, turned)
    return out


def _fay_graubard(solved: Solved, bread: Floats) -> Floats:
    leverage = np.einsum("gij,ji->gi", solved.information, bread)
    return np.asarray(solved.score / np.sqrt(1.0 - np.minimum(BOUND, leverage)))


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray(0.5 * (matrix + matrix.T))
