"""The sums over clusters that a linear mixed model needs, and its profiled deviance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.model_algebra import cholesky, forward, log_det, solve
from simtrack.inference.model_table import ModelTable

__all__ = ["MixedSums", "Profile", "mixed_sums", "profile"]

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
