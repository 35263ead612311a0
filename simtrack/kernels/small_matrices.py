"""Cholesky factors of matrices of a few columns, by loops: no BLAS, the same bytes everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["back", "factorise", "front", "invert", "root_inverse_times"]

Floats = NDArray[np.float64]

#: A pivot that is so little of its diagonal entry is none.
_TINY = 1e-12


@kernel
def factorise(a: Floats, lower: Floats) -> bool:
    """Fill `lower` with L of a = L Lᵀ; say False where a pivot is not clearly above 0."""
    size = a.shape[0]
    for i in range(size):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                if not total > _TINY * a[i, i]:
                    return False
                lower[i, i] = np.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]
    return True


@kernel
def front(lower: Floats, right: Floats, out: Floats) -> None:
    """Solve L x = right."""
    for i in range(lower.shape[0]):
        total = right[i]
        for k in range(i):
            total -= lower[i, k] * out[k]
        out[i] = total / lower[i, i]


@kernel
def back(lower: Floats, right: Floats, out: Floats) -> None:
    """Solve Lᵀ x = right; `out` may be `right`."""
    for i in range(lower.shape[0] - 1, -1, -1):
        total = right[i]
        for k in range(i + 1, lower.shape[0]):
            total -= lower[k, i] * out[k]
        out[i] = total / lower[i, i]


@kernel
def invert(lower: Floats, out: Floats) -> None:
    """Fill `out` with the inverse of L Lᵀ."""
    size = lower.shape[0]
    unit = np.zeros(size)
    for j in range(size):
        for i in range(size):
            unit[i] = 1.0 if i == j else 0.0
        front(lower, unit, out[j])
        back(lower, out[j], out[j])


@kernel
def root_inverse_times(matrix: Floats, vector: Floats, out: Floats, work: Floats) -> bool:
    """Fill `out` with matrix^-½ times a vector; False where an eigenvalue is not clearly above 0.

    Lanczos' steps from the vector on, each made orthogonal to all before, give a tridiagonal
    matrix T of at most as many rows, and matrix^-½ v = |v| Q T^-½ e₁. `work` is (3, j, j), or
    (3, 3, j) with fewer than three columns.
    """
    size = vector.size
    basis, turns = work[0], work[1]
    diagonal, beside, w = work[2, 0], work[2, 1], work[2, 2]
    length = 0.0
    for i in range(size):
        length += vector[i] * vector[i]
    length = np.sqrt(length)
    out[:] = 0.0
    if length == 0.0:
        return True
    for i in range(size):
        basis[0, i] = vector[i] / length
    steps = _lanczos(matrix, basis, diagonal, beside, w)
    _tridiagonal(diagonal, beside, turns, steps)
    for j in range(steps):
        if not diagonal[j] > _TINY:
            return False
    for m in range(steps):
        along = 0.0
        for j in range(steps):
            along += turns[m, j] * turns[0, j] / np.sqrt(diagonal[j])
        for i in range(size):
            out[i] += length * along * basis[m, i]
    return True


@kernel
def _lanczos(matrix: Floats, basis: Floats, diagonal: Floats, beside: Floats, w: Floats) -> int:
    size = w.size
    for m in range(size):
        for i in range(size):
            w[i] = 0.0
            for j in range(size):
                w[i] += matrix[i, j] * basis[m, j]
        diagonal[m] = 0.0
        for i in range(size):
            diagonal[m] += w[i] * basis[m, i]
        for _ in range(2):
            for q in range(m + 1):
                along = 0.0
                for i in range(size):
                    along += w[i] * basis[q, i]
                for i in range(size):
                    w[i] -= along * basis[q, i]
        left = 0.0
        for i in range(size):
            left += w[i] * w[i]
        left = np.sqrt(left)
        beside[m] = left
        if m == size - 1 or left <= 1e-13 * abs(diagonal[0]):
            beside[m] = 0.0
            return int(m + 1)
        for i in range(size):
            basis[m + 1, i] = w[i] / left
    return int(size)


@kernel
def _tridiagonal(d: Floats, e: Floats, turns: Floats, size: Any) -> None:
    """Eigenvalues into d and vectors into the columns of turns, by implicit QL steps."""
    for i in range(size):
        for j in range(size):
            turns[i, j] = 1.0 if i == j else 0.0
    for low in range(size):
        for _ in range(60):
            high = low
            while high < size - 1 and abs(e[high]) > 1e-16 * (abs(d[high]) + abs(d[high + 1])):
                high += 1
            if high == low:
                break
            _ql_step(d, e, turns, low, high, size)


@kernel
def _ql_step(d: Floats, e: Floats, turns: Floats, low: Any, high: Any, size: Any) -> None:
    """Chase one shifted rotation from the foot of a block to its head."""
    g = (d[low + 1] - d[low]) / (2.0 * e[low])
    r = np.sqrt(g * g + 1.0)
    g = d[high] - d[low] + e[low] / (g + (r if g >= 0.0 else -r))
    s, c, p = 1.0, 1.0, 0.0
    for i in range(high - 1, low - 1, -1):
        f, b = s * e[i], c * e[i]
        r = np.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:
            d[i + 1] -= p
            e[high] = 0.0
            return
        s, c = f / r, g / r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        for k in range(size):
            x, y = turns[k, i], turns[k, i + 1]
            turns[k, i], turns[k, i + 1] = c * x - s * y, s * x + c * y
    d[low] -= p
    e[low] = g
    e[high] = 0.0
