"""The exact power of the sign-flip test under independent clusters of one law.

Legend of dims: a = size of a difference (ascending, the first is 0), g = cluster, k = sign pattern.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["flip_power"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@kernel
def _multiplicity(index: Ints) -> float:
    """How many orders does this ascending list have?"""
    ways, run = 1.0, 0
    for g in range(index.size):
        run = run + 1 if g > 0 and index[g] == index[g - 1] else 1
        ways *= (g + 1) / run
    return ways


@kernel
def flip_power(
    sizes: Ints, plus: Floats, minus: Floats, clusters: int, allowed: int, side: int, out: Floats
) -> None:
    """Add to `out`: P(reject, sum > 0), P(reject, sum < 0), E[|sum| ; reject], total probability.

    plus[a] and minus[a] are the probabilities of +sizes[a] and -sizes[a]; that of 0 is halved
    between them. A pattern is rejected if at most `allowed` of the 2^G patterns are as extreme.
    `side` is 0 for a two-sided test, 1 for greater, -1 for less.
    """
    n_patterns = 1 << clusters
    sums = np.zeros((clusters + 1, n_patterns), np.int64)
    shares = np.zeros((clusters + 1, n_patterns), np.float64)
    shares[0, 0] = 1.0
    index = np.zeros(clusters, np.int64)
    extreme = np.empty(n_patterns, np.int64)
    changed = 0
    while True:
        for g in range(changed, clusters):
            size, up, down = sizes[index[g]], plus[index[g]], minus[index[g]]
            half = 1 << g
            for k in range(half):
                sums[g + 1, k] = sums[g, k] + size
                shares[g + 1, k] = shares[g, k] * up
                sums[g + 1, half + k] = sums[g, k] - size
                shares[g + 1, half + k] = shares[g, k] * down
        for k in range(n_patterns):
            value = sums[clusters, k]
            extreme[k] = abs(value) if side == 0 else side * value
        ordered = np.sort(extreme)
        # A pattern is rejected if it is beyond the first one that is not allowed.
        bound = ordered[n_patterns - 1 - allowed] if allowed < n_patterns else ordered[0] - 1
        above = below = size_of = total = 0.0
        for k in range(n_patterns):
            share, value = shares[clusters, k], sums[clusters, k]
            total += share
            if extreme[k] > bound:
                size_of += share * abs(value)
                if value > 0:
                    above += share
                elif value < 0:
                    below += share
        ways = _multiplicity(index)
        out[0] += ways * above
        out[1] += ways * below
        out[2] += ways * size_of
        out[3] += ways * total
        changed = clusters - 1
        while changed >= 0 and index[changed] == sizes.size - 1:
            changed -= 1
        if changed < 0:
            return
        place = index[changed] + 1
        for g in range(changed, clusters):
            index[g] = place
