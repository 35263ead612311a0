"""Exact sign-flip p-values of many vectors of differences, for loops over simulated data.

Legend of dims: r = replicate, g = cluster, s = sum of a subset.

A pattern that makes the clusters of a subset negative has sum Σ|d| - 2 Σ_subset |d|, so a tail is
a count of subsets with a small sum. `side` is 0 for a two-sided test, 1 for greater, -1 for less.
Counts are held in doubles: each law is a sum of positive terms, halved with every cluster, so its
relative error is at most 2^-52 a cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["flip_integers", "flip_reals"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@kernel
def _sort(sizes: Ints, n: int) -> None:
    """Sort the first n in place by insertion: a few dozen small numbers."""
    for k in range(1, n):
        value = sizes[k]
        place = k - 1
        while place >= 0 and sizes[place] > value:
            sizes[place + 1] = sizes[place]
            place -= 1
        sizes[place + 1] = value


@kernel
def _gcd(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a


@kernel
def _convolve(sizes: Ints, n: int, bound: int, old: Floats, new: Floats) -> float:
    """Give the share of subsets of the first n (ascending) sizes whose sum is at most `bound`."""
    old[0] = 1.0
    reach = 0
    for k in range(n):
        size = sizes[k]
        last = min(reach, bound)
        reach = min(reach + size, bound)
        for s in range(last + 1, reach + 1):
            old[s] = 0.0
        for s in range(min(size, reach + 1)):
            new[s] = 0.5 * old[s]
        for s in range(size, reach + 1):
            new[s] = 0.5 * (old[s] + old[s - size])
        old, new = new, old
    total = 0.0
    for s in range(reach + 1):
        total += old[s]
    return total


@kernel
def flip_integers(differences: Ints, side: int, out: Floats) -> None:
    """Set `out` (r) to the exact p of each row of `differences` (r, g)."""
    n_rows, n_clusters = differences.shape
    sizes = np.empty(n_clusters, np.int64)
    old = np.empty(1, np.float64)
    new = np.empty(1, np.float64)
    for r in range(n_rows):
        n, total, observed, factor = 0, 0, 0, 0
        for g in range(n_clusters):
            value = differences[r, g]
            if value != 0:
                sizes[n] = abs(value)
                n += 1
                total += abs(value)
                observed += value
                factor = _gcd(abs(value), factor)
        far = abs(observed) if side == 0 else side * observed
        if n == 0 or (side == 0 and observed == 0) or far <= -total:
            out[r] = 1.0
            continue
        if factor > 1:
            for g in range(n):
                sizes[g] //= factor
            total //= factor
            far //= factor
        _sort(sizes, n)
        bound = (total - far) // 2
        # The law is symmetric: of two tails the lighter one is counted.
        is_heavy = far < 0
        if is_heavy:
            bound = (total + far - 1) // 2
        if old.size <= bound:
            old = np.empty(bound + 1, np.float64)
            new = np.empty(bound + 1, np.float64)
        tail = _convolve(sizes, n, bound, old, new) if bound >= 0 else 0.0
        if side == 0:
            out[r] = min(1.0, 2.0 * tail)
        else:
            out[r] = 1.0 - tail if is_heavy else tail


@kernel
def _subset_sums(values: Floats, first: int, n: int, old: Floats, new: Floats) -> Floats:
    """Give the sorted sums of all subsets of every second value from `first`, by merging."""
    old[0] = 0.0
    size = 1
    for k in range(first, n, 2):
        value = values[k]
        i = j = 0
        for s in range(2 * size):
            if j >= size or (i < size and old[i] <= old[j] + value):
                new[s] = old[i]
                i += 1
            else:
                new[s] = old[j] + value
                j += 1
        size *= 2
        old, new = new, old
    return old[:size]


@kernel
def flip_reals(differences: Floats, side: int, tolerance: float, out: Floats) -> None:
    """Set `out` (r) to the exact p of each row of `differences` (r, g); NaN is a missing cluster.

    The sorted subset sums of two halves are matched; sums within `tolerance` of Σ|d| are ties.
    """
    n_rows, n_clusters = differences.shape
    sizes = np.empty(n_clusters, np.float64)
    width = 1 << ((n_clusters + 1) // 2)
    a, b = np.empty(width), np.empty(width)
    c, d = np.empty(width), np.empty(width)
    for r in range(n_rows):
        n, total, observed = 0, 0.0, 0.0
        for g in range(n_clusters):
            value = differences[r, g]
            if value != 0.0 and not np.isnan(value):
                sizes[n] = abs(value)
                n += 1
                total += abs(value)
                observed += value
        slack = tolerance * total
        far = abs(observed) if side == 0 else side * observed
        if n == 0 or (side == 0 and far <= slack):
            out[r] = 1.0
            continue
        left = _subset_sums(sizes, 0, n, a, b)
        right = _subset_sums(sizes, 1, n, c, d)
        bound = 0.5 * (total - far + slack)
        count = 0
        j = right.size
        for i in range(left.size):
            while j > 0 and left[i] + right[j - 1] > bound:
                j -= 1
            if j == 0:
                break
            count += j
        share = float(count) * 0.5**n
        out[r] = min(1.0, 2.0 * share) if side == 0 else share
