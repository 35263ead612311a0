"""Small symmetric systems by loops over their few columns: no BLAS, and complex numbers allowed.

Arrays have any number of leading axes; the matrix stands in the last two. Nothing is conjugated, so
an analytic function of the entries stays one: derivatives come by complex steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "cholesky",
    "forward",
    "gauss_hermite",
    "gradient",
    "inverse",
    "jacobian",
    "log_det",
    "solve",
    "symmetric_eigen",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]
_STEP = 1e-20
_SWEEPS = 60


def cholesky(matrix: Array) -> Array:
    """Give the lower triangle L with L Lᵀ = matrix; NaN where a pivot is not above 0.

    Examples
    --------
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    size = matrix.shape[-1]
    lower = np.zeros_like(matrix)
    for j in range(size):
        row = lower[..., j, :j]
        pivot = matrix[..., j, j] - (row * row).sum(axis=-1)
        pivot = np.where(np.real(pivot) > 0.0, pivot, np.nan)
        root = np.sqrt(pivot)
        lower[..., j, j] = root
        below = matrix[..., j + 1 :, j] - (lower[..., j + 1 :, :j] * row[..., None, :]).sum(axis=-1)
        lower[..., j + 1 :, j] = below / root[..., None]
    return lower


def forward(lower: Array, right: Array) -> Array:
    """Solve L x = right for vectors right, shape (..., size)."""
    out = np.zeros(np.broadcast_shapes(lower.shape[:-1], right.shape), np.result_type(lower, right))
    for j in range(lower.shape[-1]):
        done = (lower[..., j, :j] * out[..., :j]).sum(axis=-1)
        out[..., j] = (right[..., j] - done) / lower[..., j, j]
    return out


def backward(lower: Array, right: Array) -> Array:
    """Solve Lᵀ x = right for vectors right, shape (..., size)."""
    out = np.zeros(np.broadcast_shapes(lower.shape[:-1], right.shape), np.result_type(lower, right))
    for j in range(lower.shape[-1] - 1, -1, -1):
        done = (lower[..., j + 1 :, j] * out[..., j + 1 :]).sum(axis=-1)
        out[..., j] = (right[..., j] - done) / lower[..., j, j]
    return out


def solve(lower: Array, right: Array) -> Array:
    """Solve L Lᵀ x = right for vectors right, shape (..., size).

    Examples
    --------
    >>> solve(cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])), np.array([8.0, 12.0])).tolist()
    [1.0, 2.0]
    """
    return backward(lower, forward(lower, right))


def inverse(lower: Array) -> Array:
    """Give the inverse of L Lᵀ."""
    eye = np.eye(lower.shape[-1], dtype=lower.dtype)
    return solve(lower[..., None, :, :], np.broadcast_to(eye, lower.shape))


def log_det(lower: Array) -> Array:
    """Give the logarithm of the determinant of L Lᵀ."""
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    return np.asarray(2.0 * np.log(diagonal).sum(axis=-1))


def symmetric_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Give eigenvalues and eigenvectors (columns) of one symmetric matrix, by Jacobi's rotations.

    Examples
    --------
    >>> values, _ = symmetric_eigen(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> sorted(values.round(12).tolist())
    [1.0, 3.0]
    """
    a, size = matrix.astype(np.float64, copy=True), matrix.shape[0]
    vectors = np.eye(size)
    for _ in range(_SWEEPS):
        off = math.sqrt(float((np.tril(a, -1) ** 2).sum()))
        if off <= 1e-17 * max(float(np.abs(np.diag(a)).max()), 1e-300):
            break
        for p in range(size - 1):
            for q in range(p + 1, size):
                _rotate(a, vectors, p, q)
    return np.diag(a).copy(), vectors


def jacobian(function: Callable[[Array], Array], at: Floats) -> Floats:
    """Give the derivatives of all outputs of an analytic function, shape (outputs, size).

    `function` maps points, shape (points, size), to values, shape (points, outputs).
    """
    values = function(at + 1j * _STEP * np.eye(at.size))
    return np.asarray(np.imag(values).T / _STEP)


def gradient(function: Callable[[Array], Array], at: Floats) -> Floats:
    """Give the derivatives of an analytic function at a point, to rounding, by complex steps.

    `function` maps points, shape (points, size), to values, shape (points,). `at` may hold several
    points, shape (..., size); the answer has its shape.

    References
    ----------
    Squire and Trapp (1998), SIAM Review 40, 110-112.
    """
    size = at.shape[-1]
    points = at[..., None, :] + 1j * _STEP * np.eye(size)
    values = function(points.reshape(-1, size))
    return np.asarray(np.imag(values) / _STEP).reshape(at.shape)


@lru_cache(maxsize=64)
def gauss_hermite(nodes: int) -> tuple[Floats, Floats]:
    """Give nodes x and log weights for ∫ exp(-x²) f(x) dx, by bisection between interlaced roots.

    Examples
    --------
    >>> x, log_w = gauss_hermite(3)
    >>> (x.round(9) + 0.0).tolist(), round(float((np.exp(log_w) * x**2).sum() / np.sqrt(np.pi)), 12)
    ([-1.224744871, 0.0, 1.224744871], 0.5)
    """
    roots: list[float] = []
    for order in range(1, nodes + 1):
        edge = math.sqrt(2.0 * order + 1.0)
        # Roots of lower orders only have to keep those of the next apart.
        halvings = 80 if order == nodes else 24
        roots = [_root(order, *ends, halvings) for ends in pairwise([-edge, *roots, edge])]
    x = np.array(roots)
    x = 0.5 * (x - x[::-1])  # symmetric to the last bit
    below = np.array([_hermite(nodes - 1, v) for v in x.tolist()])
    log_w = -np.log(nodes * below * below)
    x.flags.writeable = log_w.flags.writeable = False
    return x, log_w


def _hermite(order: int, x: float) -> float:
    """The orthonormal Hermite polynomial of this order."""
    before: float = 0.0
    value: float = math.pi**-0.25
    for k in range(order):
        up, down = math.sqrt(2.0 / (k + 1)), math.sqrt(k / (k + 1.0))
        before, value = value, x * up * value - down * before
    return value


def _root(order: int, low: float, high: float, halvings: int) -> float:
    rising = _hermite(order, high) > 0.0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if (_hermite(order, middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def _rotate(a: Floats, vectors: Floats, p: int, q: int) -> None:
    if a[p, q] == 0.0:
        return
    ratio = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
    t = math.copysign(1.0, ratio) / (abs(ratio) + math.hypot(ratio, 1.0))
    c = 1.0 / math.hypot(t, 1.0)
    s = t * c
    for m in (a.T, a, vectors.T):
        # Rows first, then columns; of the vectors, columns.
        row_p, row_q = m[p].copy(), m[q].copy()
        m[p], m[q] = c * row_p - s * row_q, s * row_p + c * row_q
    a[p, q] = a[q, p] = 0.0
