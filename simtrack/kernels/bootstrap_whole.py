"""The percentile bootstrap of sums of whole numbers, for many data sets at once.

Legend of dims: r = data set, g = cluster, s = sum of a resample.

The law of one draw from G values is raised to the G-th power by squaring. All terms are positive,
so no digit is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["percentile_whole"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: A quantile is reached within this of its probability, as everywhere else.
_TOLERANCE = 1e-12


@kernel
def _gcd(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a


@kernel
def _convolve(a: Floats, size_a: int, b: Floats, size_b: int, out: Floats) -> int:
    """Convolve two laws; returns the size of the result."""
    size = size_a + size_b - 1
    for s in range(size):
        out[s] = 0.0
    for i in range(size_a):
        share = a[i]
        if share != 0.0:
            for j in range(size_b):
                out[i + j] += share * b[j]
    return size


@kernel
def _power(base: Floats, size: int, exponent: int, one: Floats, two: Floats) -> int:
    """Set `one` to the law of a sum of so many draws; returns its size."""
    top = 0
    while (exponent >> (top + 1)) > 0:
        top += 1
    for s in range(size):
        one[s] = base[s]
    have = size
    for bit in range(top - 1, -1, -1):
        grown = _convolve(one, have, one, have, two)
        if (exponent >> bit) & 1:
            have = _convolve(base, size, two, grown, one)
        else:
            for s in range(grown):
                one[s] = two[s]
            have = grown
    return have


@kernel
def percentile_whole(values: Ints, tail: float, low: Floats, high: Floats) -> None:
    """Set the sums of G draws at probabilities `tail` and 1 - tail, for each row (r, g)."""
    n_rows, clusters = values.shape
    capacity = 0
    one, two, base = np.empty(1), np.empty(1), np.empty(1)
    for r in range(n_rows):
        least, most = values[r, 0], values[r, 0]
        for g in range(clusters):
            least, most = min(least, values[r, g]), max(most, values[r, g])
        step = 0
        for g in range(clusters):
            step = _gcd(values[r, g] - least, step)
        if step == 0:
            low[r] = high[r] = float(least * clusters)
            continue
        size = (most - least) // step + 1
        needed = (size - 1) * clusters + 1
        if needed > capacity:
            one, two, base = np.empty(needed), np.empty(needed), np.empty(needed)
            capacity = needed
        for s in range(size):
            base[s] = 0.0
        for g in range(clusters):
            base[(values[r, g] - least) // step] += 1.0 / clusters
        have = _power(base, size, clusters, one, two)
        total = 0.0
        for s in range(have):
            total += one[s]
        reached, is_low = 0.0, False
        for s in range(have):
            reached += one[s] / total
            if not is_low and reached >= tail - _TOLERANCE:
                low[r] = float(s * step + least * clusters)
                is_low = True
            if reached >= 1.0 - tail - _TOLERANCE or s == have - 1:
                high[r] = float(s * step + least * clusters)
                break
