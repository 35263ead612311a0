"""Newton's method with exact derivatives by complex steps, held to downhill steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.numerics.algebra import cholesky, gradient, solve, symmetric_eigen

__all__ = ["Search", "hessian", "minimise", "root_between"]

Floats = NDArray[np.float64]
Array = NDArray[Any]
Function = Callable[[Array], Array]
_STEP, _ROUGH_STEP = 1e-3, 1e-4
_LONGEST, _NEAR = 2.0, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Where did a search end, and was it at a minimum?

    `gradient` is the largest derivative left, `hessian` the second derivatives there.
    """

    point: Floats
    value: float
    gradient: float
    hessian: Floats
    evaluations: int
    converged: bool


def minimise(
    function: Function, start: Floats, *, tolerance: float = 1e-9, most: int = 60
) -> Search:
    """Find a minimum of an analytic function.

    Parameters
    ----------
    function : callable
        From points, shape (points, size), real or complex, to values, shape (points,). NaN where
        it is not defined; such steps are shortened.
    start : float64 array, shape (size,)
    tolerance : float
        How large the promise of a Newton step, half gᵀ H⁻¹ g, may be left.

    Notes
    -----
    Directions of negative curvature are turned round and all steps are at most 2 long, so a search
    leaves saddles and settles in a minimum.
    """
    x, count = start.astype(np.float64), 0
    value, g = _real(function, x), gradient(function, x)
    h = hessian(function, x, base=g)
    for _ in range(most):
        step, promise = _newton(g, h)
        if promise <= tolerance * tolerance * (1.0 + abs(value)):
            break
        moved, next_value = _shorten(function, x, step, value, promise)
        if moved is None:
            break
        count += 1
        x, value = moved, next_value
        g = gradient(function, x)
        h = hessian(function, x, base=g)
    h = hessian(function, x)
    step, promise = _newton(g, h)
    if promise <= _NEAR * (1.0 + abs(value)):
        x = x + step  # the last digits, by the exact second derivatives
        value, g = _real(function, x), gradient(function, x)
        _, promise = _newton(g, h)
    convex = bool(np.isfinite(cholesky(h + 1e-9 * np.eye(x.size) * np.abs(h).max())).all())
    done = convex and math.isfinite(value) and promise <= _NEAR * (1.0 + abs(value))
    return Search(x, value, float(np.abs(g).max()), h, count, done)


def hessian(function: Function, at: Floats, *, base: Floats | None = None) -> Floats:
    """Give second derivatives: differences of exact first ones.

    Central ones to fourth order; or, with the first derivatives `base` at hand, forward ones to
    about 1e-4 at a quarter of the cost, which is enough for the steps of a search.
    """
    size, scale = at.size, np.maximum(1.0, np.abs(at))
    if base is not None:
        steps = _ROUGH_STEP * scale
        out = (gradient(function, at + np.diag(steps)) - base) / steps[:, None]
    else:
        steps = _STEP * scale
        eye = np.diag(steps)
        points = np.concatenate([at + eye, at - eye, at + 2.0 * eye, at - 2.0 * eye])
        g = gradient(function, points).reshape(4, size, size)
        near, far = (g[0] - g[1]) / 2.0, (g[2] - g[3]) / 4.0
        out = (4.0 * near - far) / 3.0 / steps[:, None]
    return np.asarray(0.5 * (out + out.T))


def root_between(
    function: Callable[[float], float], low: float, high: float, precision: float = 1e-13
) -> float:
    """Find where a function changes sign, to `precision` of 1 + |x|.

    References
    ----------
    Chandrupatla (1997), Advances in Engineering Software 28, 145-149.
    """
    x1, x2, f1, f2 = high, low, function(high), function(low)
    if f1 == 0.0 or f2 == 0.0 or (f1 > 0.0) == (f2 > 0.0):
        return x1 if f1 == 0.0 else x2
    t, x3, f3 = 0.5, x1, f1
    for _ in range(200):
        x = x1 + t * (x2 - x1)
        f = function(x)
        if (f > 0.0) == (f1 > 0.0):
            x3, f3 = x1, f1
        else:
            x2, x3, f2, f3 = x1, x2, f1, f2
        x1, f1 = x, f
        near = x1 if abs(f1) < abs(f2) else x2
        tolerance = precision * (1.0 + abs(near))
        if f1 == 0.0 or abs(x2 - x1) <= tolerance:
            return near
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        else:
            t = 0.5
        least = 0.5 * tolerance / abs(x2 - x1)
        t = min(max(t, least), 1.0 - least)
    return near


def _newton(g: Floats, h: Floats) -> tuple[Floats, float]:
    """The step -|H|⁻¹ g and half of what it promises, for a length of at most 2."""
    if not (np.isfinite(g).all() and np.isfinite(h).all()):
        return np.zeros(g.size), 0.0
    lower = cholesky(h)
    if np.isfinite(lower).all():
        step = -solve(lower, g)
    else:
        values, vectors = symmetric_eigen(h)
        size = np.maximum(np.abs(values), 1e-6 * max(1.0, float(np.abs(values).max())))
        step = -np.einsum("ij,j,kj,k->i", vectors, 1.0 / size, vectors, g)
    promise = -0.5 * float((g * step).sum())
    longest = float(np.sqrt((step * step).sum()))
    return step * min(1.0, _LONGEST / max(longest, 1e-300)), promise


def _shorten(
    function: Function, x: Floats, step: Floats, value: float, promise: float
) -> tuple[Floats | None, float]:
    """Halve the step until the function falls by a part of what was promised."""
    t = 1.0
    slack = 1e-13 * (1.0 + abs(value))
    for _ in range(40):
        next_value = _real(function, x + t * step)
        if math.isfinite(next_value) and next_value <= value - 1e-4 * t * promise + slack:
            return x + t * step, next_value
        t *= 0.5
    return None, value


def _real(function: Function, x: Floats) -> float:
    return float(np.real(function(x[None, :]))[0])
