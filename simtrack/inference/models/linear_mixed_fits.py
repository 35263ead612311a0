"""Profiled likelihoods of the linear mixed model: sums, random intercept, random slope."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.models.search import hessian, minimise, root_between
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, forward, gradient, inverse, log_det, solve

__all__ = [
    "MixedSums",
    "Profile",
    "RatioFit",
    "SlopeFit",
    "fit_ratio",
    "fit_slope",
    "mixed_sums",
    "profile",
    "satterthwaite_intercept",
    "satterthwaite_slope",
]


Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class MixedSums:
    """Sums of products after least squares; q random effects a cluster.

    Attributes
    ----------
    zz, zx, zr : float64 arrays, shapes (clusters, q, q), (clusters, q, columns), (clusters, q)
        Random effects with themselves, with the design, with the residuals of least squares.
    xx, xr : float64 arrays, shapes (columns, columns), (columns,)
    rr : float
        Residual sum of squares of least squares.
    start : float64 array, shape (columns,)
        The coefficients of least squares.
    trials : float
    spread : float
        The sum of squares about the mean; what `rr` is small or not small beside.
    """

    zz: Floats
    zx: Floats
    zr: Floats
    xx: Floats
    xr: Floats
    rr: float
    start: Floats
    trials: float
    spread: float


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The deviance at given variance ratios, with all else at its best; leading axis: points."""

    deviance: Array
    rss: Array
    shift: Array
    information: Array
    lower: Array


def mixed_sums(table: ModelTable, effects: Floats) -> MixedSums:
    """Add up what is needed; `effects` are the columns of the random effects, (patterns, q)."""
    n, x = table.n, table.design
    mean = np.divide(table.totals, n, out=np.zeros_like(n), where=n > 0)
    inside = np.where(n > 0, table.squares - table.totals * mean, 0.0)
    inside = np.where(inside > 1e-14 * table.squares, inside, 0.0)
    weight = n.sum(axis=0)
    xx = np.einsum("k,ki,kj->ij", weight, x, x)
    ones = (x[weight > 0] == 1.0).all(axis=0)
    centre = float(table.totals.sum() / n.sum()) if ones.any() else 0.0
    gap = np.where(n > 0, mean - centre, 0.0)
    # Twice: the second pass takes away the rounding of the first.
    start = np.zeros(x.shape[1])
    left = gap
    for _ in range(2):
        right = np.einsum("gk,gk,kj->j", n, left, x)
        start = start + solve(cholesky(xx), right)
        left = np.where(n > 0, gap - np.einsum("kj,j->k", x, start), 0.0)
    return MixedSums(
        zz=np.einsum("gk,ka,kb->gab", n, effects, effects),
        zx=np.einsum("gk,ka,kj->gaj", n, effects, x),
        zr=np.einsum("gk,gk,ka->ga", n, left, effects),
        xx=xx,
        xr=np.einsum("gk,gk,kj->j", n, left, x),
        rr=float(inside.sum() + (n * left * left).sum()),
        start=start + centre * (np.cumsum(ones) == 1) * ones,
        trials=table.size,
        spread=float(inside.sum() + (n * gap * gap).sum()),
    )


def profile(sums: MixedSums, factor: Array, reml: bool) -> Profile:
    """Give the deviance, -2 log likelihood, at factors of the relative covariance of the effects.

    Parameters
    ----------
    factor : array, shape (points, q, q)
        Lower triangles L: the effects of a cluster have covariance σ² L Lᵀ. Complex is allowed.

    References
    ----------
    Bates, Maechler, Bolker and Walker (2015), J. Statistical Software 67(1), eq. 34 and 42.
    """
    q = factor.shape[-1]
    turned = np.einsum("bca,gcd,bde->bgae", factor, sums.zz, factor)
    lower = cholesky(turned + np.eye(q))
    tx = np.swapaxes(_through(lower, np.einsum("bca,gcj->bgja", factor, sums.zx)), -1, -2)
    tr = forward(lower, np.einsum("bca,gc->bga", factor, sums.zr))
    a = sums.xx - np.einsum("bgai,bgaj->bij", tx, tx)
    b = sums.xr - np.einsum("bgaj,bga->bj", tx, tr)
    c = sums.rr - np.einsum("bga,bga->b", tr, tr)
    chol = cholesky(a)
    shift = solve(chol, b)
    rss = c - (b * shift).sum(axis=-1)
    free = sums.trials - (sums.xx.shape[0] if reml else 0)
    deviance = free * (1.0 + math.log(2.0 * math.pi / free) + np.log(rss))
    deviance = deviance + log_det(lower).sum(axis=-1) + (log_det(chol) if reml else 0.0)
    return Profile(deviance, rss, shift, a, chol)


def _through(lower: Array, right: Array) -> Array:
    return forward(lower[..., None, :, :], right)


# The variance ratio of a random intercept: the root of the exact profile score, or the boundary.
#: Where the score is looked at first; beyond the last, spread within clusters is next to nothing.
_GRID = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 65)])
_FLAT, _MODERATE = 1e-10, 200.0


@dataclass(frozen=True, slots=True, eq=False)
class RatioFit:
    """Where is the deviance least? `problem` says why nowhere."""

    theta: float
    score: float
    evaluations: int
    problem: str = ""


def fit_ratio(sums: MixedSums, reml: bool) -> RatioFit:
    """Find the variance ratio of least deviance, over all of [0, ∞).

    Every change of sign of the score on a wide grid is followed to a root, to 1e-13 of θ; the one
    of least deviance is taken, or 0 if the deviance is less there.
    """
    at = profile(sums, _factor(_GRID), reml)
    deviance = np.asarray(at.deviance)
    inner = deviance[_GRID < _MODERATE]
    if float(np.ptp(inner)) < _FLAT * (1.0 + float(np.abs(inner).max())):
        return RatioFit(math.nan, math.nan, _GRID.size, "no data tell the two variances apart")
    score = _score(sums, _GRID, at, reml)
    if not np.isfinite(deviance).all() or score[-1] < 0.0:
        return RatioFit(math.nan, math.nan, _GRID.size, "there is no spread within clusters")
    count = _GRID.size
    best, least = 0.0, float(deviance[0])

    def slope(log_theta: float) -> float:
        nonlocal count
        count += 1
        theta = np.array([math.exp(log_theta)])
        return float(_score(sums, theta, profile(sums, _factor(theta), reml), reml)[0]) * float(
            theta[0]
        )

    for k in np.flatnonzero((score[:-1] < 0.0) & (score[1:] >= 0.0)).tolist():
        low = math.log(_GRID[k]) if k > 0 else math.log(_GRID[1]) - 30.0
        theta = math.exp(root_between(slope, low, math.log(_GRID[k + 1])))
        value = float(profile(sums, _factor(np.array([theta])), reml).deviance[0])
        if value < least:
            best, least = theta, value
    left = slope(math.log(best)) if best > 0.0 else 0.0
    return RatioFit(best, left, count)


def satterthwaite_intercept(sums: MixedSums, theta: float, reml: bool) -> Floats:
    """How many degrees of freedom has the variance of each coefficient, after Satterthwaite?

    df = 2 v² / (gᵀ V g) with v the variance, g its derivatives by (σ², θ), and V the inverse of the
    observed information of (σ², θ).

    References
    ----------
    Giesbrecht and Burns (1985), Biometrics 41, 477-486. Kuznetsova, Brockhoff and Christensen
    (2017), J. Statistical Software 82(13), section 2.3.
    """
    at = profile(sums, _factor(np.array([theta])), reml)
    n, sx = sums.zz[:, 0, 0], sums.zx[:, 0, :]
    free = sums.trials - (sums.xx.shape[0] if reml else 0)
    rss, ainv = float(at.rss[0]), inverse(at.lower[0])
    s = sums.zr[:, 0] - np.einsum("gj,j->g", sx, at.shift[0])
    first, second = (1.0 + n * theta) ** -2.0, -2.0 * n * (1.0 + n * theta) ** -3.0
    a1 = -np.einsum("g,gi,gj->ij", first, sx, sx)
    a2 = -np.einsum("g,gi,gj->ij", second, sx, sx)
    q = np.einsum("g,gj->j", first * s, sx)
    rss1 = -float((first * s * s).sum())
    rss2 = -float((second * s * s).sum()) - 2.0 * float(np.einsum("i,ij,j->", q, ainv, q))
    turned = np.einsum("ij,jk->ik", ainv, a1)
    sigma2 = rss / free
    h_tt = -float((n * n / (1.0 + n * theta) ** 2).sum()) + rss2 / sigma2
    if reml:
        h_tt += float(np.einsum("ij,ji->", ainv, a2) - np.einsum("ij,ji->", turned, turned))
    h_ss, h_st = free / sigma2**2, -rss1 / sigma2**2
    det = h_ss * h_tt - h_st * h_st
    if not det > 0.0:
        return np.full(sums.xx.shape[0], math.nan)
    v = sigma2 * np.diag(ainv)
    g_s = np.diag(ainv)
    g_t = -sigma2 * np.einsum("ij,jk,ki->i", ainv, a1, ainv)
    spread = 2.0 * (g_s * g_s * h_tt - 2.0 * g_s * g_t * h_st + g_t * g_t * h_ss) / det
    return np.asarray(2.0 * v * v / spread)


def _factor(theta: Floats) -> Floats:
    return np.sqrt(theta)[:, None, None]


def _score(sums: MixedSums, theta: Floats, at: Profile, reml: bool) -> Floats:
    """The derivative of the deviance by θ, at each of several."""
    n, sx = sums.zz[:, 0, 0], sums.zx[:, 0, :]
    grown = 1.0 + theta[:, None] * n
    s = sums.zr[:, 0] - np.einsum("gj,bj->bg", sx, at.shift)
    free = sums.trials - (sums.xx.shape[0] if reml else 0)
    score = (n / grown).sum(axis=1) - free * (s * s / grown**2).sum(axis=1) / at.rss
    if reml:
        a1 = np.einsum("bg,gi,gj->bij", grown**-2.0, sx, sx)
        score = score - np.einsum("bij,bji->b", inverse(at.lower), a1)
    return np.asarray(score)


# The covariance of a random intercept and slope: Newton on the Cholesky factor of its ratio to σ².
@dataclass(frozen=True, slots=True, eq=False)
class SlopeFit:
    """Which factor (of the covariance over σ²) has the least deviance, and is it on the edge?"""

    factor: Floats
    score: float
    evaluations: int
    singular: bool
    problem: str = ""


def fit_slope(sums: MixedSums, start: float, reml: bool) -> SlopeFit:
    """Find the factor of least deviance from three starts; the best is taken.

    `start` is the variance ratio of the random intercept alone.
    """
    # The slope in units in which its column is of size 1, so that starts and steps fit any scale.
    unit = math.sqrt(float(sums.zz[:, 1, 1].sum() / sums.zz[:, 0, 0].sum()))

    def deviance(point: Array) -> Array:
        return np.asarray(profile(sums, _factor_of_slope(point, unit), reml).deviance)

    size = math.sqrt(max(start, 1e-3))
    starts = ([size, 0.0, 0.5 * size], [0.3, 0.0, 1.0], [1.0, -0.5, 0.3])
    found = [minimise(deviance, np.array(s)) for s in starts]
    count = sum(f.evaluations for f in found)
    ended = [f for f in found if f.converged]
    if not ended:
        return SlopeFit(np.full((2, 2), math.nan), math.nan, count, False, "no search converged")
    best = min(ended, key=lambda f: f.value)
    if np.abs(best.point).max() > 1e4:
        why = "there is no spread within clusters"
        return SlopeFit(np.full((2, 2), math.nan), math.nan, count, False, why)
    factor = np.real(_factor_of_slope(best.point[None, :], unit))[0]
    factor = factor * np.where(np.diag(factor) < 0.0, -1.0, 1.0)
    scaled = factor * np.array([[1.0], [unit]])
    covariance = np.einsum("ac,bc->ab", scaled, scaled)
    least = float(covariance[0, 0] * covariance[1, 1] - covariance[0, 1] ** 2)
    singular = least <= 1e-10 * max(1.0, float(covariance[0, 0] * covariance[1, 1]))
    singular = singular or min(covariance[0, 0], covariance[1, 1]) <= 1e-10
    return SlopeFit(factor, best.gradient, count, singular)


def satterthwaite_slope(sums: MixedSums, factor: Floats, sigma2: float, reml: bool) -> Floats:
    """How many degrees of freedom has each variance, by derivatives in (factor, log σ²)?"""
    free = sums.trials - (sums.xx.shape[0] if reml else 0)
    at = np.array([factor[0, 0], factor[1, 0], factor[1, 1], math.log(sigma2)])

    def full(point: Array) -> Array:
        found = profile(sums, _factor_of_slope(point[:, :3], 1.0), reml)
        # The deviance before σ² is put at its best.
        log_s2 = point[:, 3]
        return np.asarray(
            found.deviance
            - free * (1.0 + np.log(found.rss / free))
            + free * log_s2
            + found.rss * np.exp(-log_s2)
        )

    def variance(j: int) -> Callable[[Array], Array]:
        def of(point: Array) -> Array:
            found = profile(sums, _factor_of_slope(point[:, :3], 1.0), reml)
            return np.asarray(np.exp(point[:, 3]) * inverse(found.lower)[:, j, j])

        return of

    h = hessian(full, at)
    try:
        v = 2.0 * _inverse_or_raise(h)
    except ValueError:
        return np.full(sums.xx.shape[0], math.nan)
    out = []
    for j in range(sums.xx.shape[0]):
        g = gradient(variance(j), at)
        value = float(np.real(variance(j)(at[None, :]))[0])
        out.append(2.0 * value * value / float(np.einsum("i,ij,j->", g, v, g)))
    return np.array(out)


def _factor_of_slope(point: Array, unit: float) -> Array:
    out = np.zeros((len(point), 2, 2), point.dtype)
    out[:, 0, 0] = point[:, 0]
    out[:, 1, 0] = point[:, 1] / unit
    out[:, 1, 1] = point[:, 2] / unit
    return out


def _inverse_or_raise(matrix: Floats) -> Floats:
    lower = cholesky(matrix)
    if not np.isfinite(lower).all():
        raise ValueError
    return inverse(lower)
