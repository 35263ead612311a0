"""The variance ratio of a random intercept: the root of the exact profile score, or the boundary.

With θ = τ²/σ², cluster sizes n_g and w_g = θ/(1 + n_g θ), all that depends on θ is a sum over
clusters: A = Σ x xᵀ - Σ w_g s_g s_gᵀ with s_g the sum of the design rows of a cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.linear_mixed_sums import MixedSums, Profile, profile
from simtrack.inference.model_algebra import inverse
from simtrack.inference.model_search import root_between

__all__ = ["RatioFit", "fit_ratio", "satterthwaite_intercept"]

Floats = NDArray[np.float64]
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
