"""The covariance of a random intercept and slope: Newton on the Cholesky factor of its ratio to σ².

The factor's diagonal may have either sign: the deviance is even in it, so a variance of 0 is an
ordinary stationary point. On a log scale it would lie at minus infinity, where searches get stuck.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.linear_mixed_sums import MixedSums, profile
from simtrack.inference.model_algebra import cholesky, gradient, inverse
from simtrack.inference.model_search import hessian, minimise

__all__ = ["SlopeFit", "fit_slope", "satterthwaite_slope"]

Floats = NDArray[np.float64]
Array = NDArray[Any]


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
        return np.asarray(profile(sums, _factor(point, unit), reml).deviance)

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
    factor = np.real(_factor(best.point[None, :], unit))[0]
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
        found = profile(sums, _factor(point[:, :3], 1.0), reml)
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
            found = profile(sums, _factor(point[:, :3], 1.0), reml)
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


def _factor(point: Array, unit: float) -> Array:
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
