"""The laws of counts as 64-bit thresholds, from + - * / alone, so that draws agree everywhere.

Weights follow from the ratio of neighbours, outward from the mode; sums run from both ends, so both
tails keep their relative accuracy; the result is rounded down to multiples of 2^-64.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Thresholds", "beta_binomial_thresholds", "binomial_thresholds"]

_TWO_64 = 2.0**64
_GUIDE_BITS = (8, 14)


@dataclass(frozen=True, slots=True, eq=False)
class Thresholds:
    """The law of a count K, ready for inversion.

    K = lowest + the number of thresholds that a uniform 64-bit number has reached, so
    P(K <= lowest + i) = thresholds[i] / 2^64 exactly, as drawn.

    Attributes
    ----------
    lowest : int
        The smallest count that can be drawn.
    values : uint64 (m,)
        Strictly between 0 and 2^64, not decreasing.
    guide : int64 (2^(64 - shift),)
        How many thresholds any number with these first bits has reached; only saves time.
    shift : int
    """

    lowest: int
    values: NDArray[np.uint64]
    guide: NDArray[np.int64]
    shift: int


@functools.lru_cache(maxsize=1024)
def binomial_thresholds(n: int, p: float) -> Thresholds:
    """Return P(K <= k) of Binomial(n, p) as thresholds.

    Examples
    --------
    >>> law = binomial_thresholds(2, 0.5)
    >>> law.lowest, [int(value) / 2**64 for value in law.values]
    (0, [0.25, 0.75])
    """
    if n == 0 or p in (0.0, 1.0):
        return _law(np.ones(1), n if p == 1.0 else 0)
    k = np.arange(n, dtype=np.float64)
    return _from_ratios((n - k) * p, (k + 1.0) * (1.0 - p))


@functools.lru_cache(maxsize=1024)
def beta_binomial_thresholds(n: int, a: float, b: float) -> Thresholds:
    """Return P(K <= k) of Beta-Binomial(n, a, b), the Binomial with a Beta(a, b) share.

    Examples
    --------
    >>> law = beta_binomial_thresholds(3, 1.0, 1.0)
    >>> [int(value) / 2**64 for value in law.values]
    [0.25, 0.5, 0.75]
    """
    if n == 0:
        return _law(np.ones(1), 0)
    k = np.arange(n, dtype=np.float64)
    up = (n - k) * (a + k)
    down = (k + 1.0) * ((n - k) - 1.0 + b)
    return _from_ratios(up, down)


def _from_ratios(up: NDArray[np.float64], down: NDArray[np.float64]) -> Thresholds:
    """f(k + 1) / f(k) = up[k] / down[k]; from the first mode on, which is 0 for J and U shapes."""
    falls = np.flatnonzero(up < down)
    mode = int(falls[0]) if falls.size else up.size
    weights = np.ones(up.size + 1)
    # `accumulate` runs in index order: the same roundings on every machine.
    np.multiply.accumulate(up[mode:] / down[mode:], out=weights[mode + 1 :])
    below = np.multiply.accumulate((down[:mode] / up[:mode])[::-1])
    weights[:mode] = below[::-1]
    return _law(weights, 0)


def _law(weights: NDArray[np.float64], lowest: int) -> Thresholds:
    head = np.add.accumulate(weights)
    tail = np.append(np.add.accumulate(weights[:0:-1])[::-1], 0.0)
    total = head[-1]
    from_left = head <= 0.5 * total
    share = np.where(from_left, head, np.minimum(tail, 0.5 * total)) / total
    steps = np.floor(share * _TWO_64).astype(np.uint64)
    reached = np.where(from_left, steps, np.uint64(0) - steps)  # 2^64 wraps to 0
    is_one = ~from_left & (steps == 0)
    never = from_left & (steps == 0)
    values = np.maximum.accumulate(reached[~is_one & ~never])
    # Four buckets and more to a threshold: in most of them no search is left to do.
    shift = 64 - min(_GUIDE_BITS[1], max(_GUIDE_BITS[0], values.size.bit_length() + 2))
    buckets = np.arange(1 << (64 - shift), dtype=np.uint64) << np.uint64(shift)
    guide = np.searchsorted(values, buckets, side="right").astype(np.int64)
    return Thresholds(lowest + int(never.sum()), values, guide, shift)
