"""Nodes and weights on an interval: Gauss-Legendre, plain or behind an end-point map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Nodes", "gauss_legendre", "plain_nodes", "smooth_nodes"]

NEWTON_STEPS = 8


@dataclass(frozen=True, slots=True)
class Nodes:
    """Quadrature on [0, width]: `x` from the left end, `y = width - x` from the right end.

    Both distances are formed without subtraction, so that a singular end loses no digits.
    Arrays have shape (m,); `weight` sums to the width. `is_polynomial` says that the nodes were
    chosen to be exact for the polynomial at hand, with no end-point map.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64]
    is_polynomial: bool


@lru_cache(maxsize=64)
def gauss_legendre(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Which n points and weights on [0, 1] integrate every polynomial to degree 2n - 1 exactly?

    Newton steps on the three-term recurrence in the angle, from Tricomi's first guess; the lower
    half only, as the rule is symmetric: point m from the left is point m from the right.

    Parameters
    ----------
    n : int
        Number of points, at least 1.

    Returns
    -------
    x, weight : arrays, shape (n,)
        Ascending points in (0, 1) and weights that sum to 1. Read-only.

    References
    ----------
    Hale and Townsend (2013), SIAM J. Sci. Comput. 35, A652, section 2 (Newton in the angle).

    Examples
    --------
    >>> x, weight = gauss_legendre(3)
    >>> round(float((weight * x**4).sum()), 15)
    0.2
    """
    half = (n + 1) // 2
    rank = np.arange(1, half + 1, dtype=np.float64)
    theta = np.pi * (4.0 * rank - 1.0) / (4.0 * n + 2.0)
    slope = np.ones(half)
    for _ in range(NEWTON_STEPS):
        value, slope = _legendre(n, theta)
        step = value / slope
        theta = theta - step
        if np.abs(step).max() < 1e-16:
            break
    _, slope = _legendre(n, theta)
    low = np.sin(0.5 * theta) ** 2  # (1 - cos theta) / 2 without subtraction
    weight = 1.0 / slope**2
    x = np.concatenate([low, (1.0 - low[: n // 2])[::-1]])
    both = np.concatenate([weight, weight[: n // 2][::-1]])
    x.setflags(write=False)
    both.setflags(write=False)
    return x, both


def plain_nodes(n: int, width: float) -> Nodes:
    """Gauss-Legendre on [0, width]: exact for polynomials to degree 2n - 1."""
    x, weight = gauss_legendre(n)
    return Nodes(width * x, width * x[::-1], width * weight, True)


def smooth_nodes(n: int, width: float) -> Nodes:
    """Gauss-Legendre behind the degree-7 smoothstep x = u^4 (35 - 84 u + 70 u^2 - 20 u^3).

    Its first three derivatives vanish at both ends, which tames the algebraic ends of Beta
    densities with real parameters.
    """
    u, weight = gauss_legendre(n)
    low = u[: (n + 1) // 2]
    low = low**4 * (35.0 + low * (-84.0 + low * (70.0 - 20.0 * low)))
    left = np.concatenate([low, (1.0 - low[: n // 2])[::-1]])
    slope = 140.0 * (u * u[::-1]) ** 3
    return Nodes(width * left, width * left[::-1], width * weight * slope, False)


def _legendre(
    n: int, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P_n(cos theta) and its derivative in theta."""
    c, s = np.cos(theta), np.sin(theta)
    before, value = np.ones_like(c), c
    for degree in range(2, n + 1):
        before, value = value, ((2 * degree - 1) * c * value - (degree - 1) * before) / degree
    return value, n * (c * value - before) / s
