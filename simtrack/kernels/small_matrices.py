"""Cholesky factors of matrices of a few columns, by loops: no BLAS, the same bytes everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["back", "factorise", "front", "invert", "jacobi"]

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
def jacobi(a: Floats, vectors: Floats) -> None:
    """Turn a symmetric matrix into its eigenvalues, on its diagonal; vectors in columns."""
    size = a.shape[0]
    for i in range(size):
        for j in range(size):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):
        off = 0.0
        largest = 1e-300
        for i in range(size):
            largest = max(largest, abs(a[i, i]))
            for j in range(i):
                off = max(off, abs(a[i, j]))
        if off <= 1e-16 * largest:
            return
        for p in range(size - 1):
            for q in range(p + 1, size):
                _rotate(a, vectors, p, q)


@kernel
def _rotate(a: Floats, vectors: Floats, p: Any, q: Any) -> None:
    if a[p, q] == 0.0:
        return
    ratio = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
    t = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        t = -t
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = t * c
    size = a.shape[0]
    for k in range(size):
        x, y = a[k, p], a[k, q]
        a[k, p], a[k, q] = c * x - s * y, s * x + c * y
    for k in range(size):
        x, y = a[p, k], a[q, k]
        a[p, k], a[q, k] = c * x - s * y, s * x + c * y
    a[p, q] = 0.0
    a[q, p] = 0.0
    for k in range(size):
        x, y = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * x - s * y, s * x + c * y
