"""Draws of a stream: each fills `out` for replicates first, first + 1, ... and trusts its input.

Legend of dims: r = replicate, g = cluster or unit, d = draw or cell within it, t = trial.

Where the words of a (key, index, replicate) go is part of the stream scheme (`simtrack.rng`):

* trial t takes word t, that is lane t % 4 of block t // 4; on a tie with the first 32 bits of p it
  takes the same lane of block t // 4 + 2^31 as well;
* number d (64 bits: a uniform, a normal deviate, a count by inversion) takes words 2d and 2d + 1.

Shares of success come as an array (1, g) or (r, g): one row that holds for all replicates, or one
row for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.philox import MASK, SHIFT, number64, philox4x32, succeeds, threshold_words
from simtrack.kernels.portable import expit, normal_quantile, unit_interval

__all__ = ["bernoulli", "invert", "logit_normal", "normal", "trial_counts", "uniform"]

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_TIE_BLOCKS = np.uint64(1 << 31)


@inline
def _block(k0: Any, k1: Any, block: Any, index: Any, replicate: Any) -> Any:
    return philox4x32(block, index, replicate & MASK, replicate >> SHIFT, k0, k1)


@inline
def _number(k0: Any, k1: Any, d: Any, index: Any, replicate: Any) -> Any:
    a, b, c, e = _block(k0, k1, np.uint64(d // 2), index, replicate)
    return number64(a, b) if d % 2 == 0 else number64(c, e)


@kernel
def _tie_word(k0: Any, k1: Any, t: Any, index: Any, replicate: Any) -> Any:
    # Once in 2^32 draws: kept out of line so that the loops stay short.
    words = _block(k0, k1, np.uint64(t // 4) + _TIE_BLOCKS, index, replicate)
    return words[t % 4]


@inline
def _trial(k0: Any, k1: Any, t: Any, word: Any, index: Any, replicate: Any, p: Any) -> Any:
    high, low = p
    if word != high:
        return word < high
    return succeeds(word, _tie_word(k0, k1, t, index, replicate), high, low)


@kernel
def uniform(k0: Any, k1: Any, first: Any, indices: Words, out: Floats) -> None:
    """Uniform doubles inside (0, 1); out is (r, g, d)."""
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                out[r, g, d] = unit_interval(_number(k0, k1, d, indices[g], replicate))


@kernel
def normal(k0: Any, k1: Any, first: Any, indices: Words, out: Floats) -> None:
    """Standard normal deviates; out is (r, g, d)."""
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                u = unit_interval(_number(k0, k1, d, indices[g], replicate))
                out[r, g, d] = normal_quantile(u)


@kernel
def logit_normal(
    k0: Any, k1: Any, first: Any, indices: Words, mean: Floats, sd: Floats, out: Floats
) -> None:
    """expit(mean[g] + sd[g] Z), one share a cluster and replicate; out is (r, g)."""
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        for g in range(out.shape[1]):
            u = unit_interval(_number(k0, k1, 0, indices[g], replicate))
            out[r, g] = expit(mean[g] + sd[g] * normal_quantile(u))


@kernel
def bernoulli(
    k0: Any, k1: Any, first: Any, indices: Words, p: Floats, out: NDArray[np.bool_]
) -> None:
    """Outcomes of single trials; p is (1, g) or (r, g), out is (r, g, t)."""
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        row = r if p.shape[0] > 1 else 0
        for g in range(out.shape[1]):
            threshold = threshold_words(p[row, g])
            for t in range(0, out.shape[2], 4):
                words = _block(k0, k1, np.uint64(t // 4), indices[g], replicate)
                for lane in range(min(4, out.shape[2] - t)):
                    out[r, g, t + lane] = _trial(
                        k0, k1, t + lane, words[lane], indices[g], replicate, threshold
                    )


@kernel
def trial_counts(
    k0: Any, k1: Any, first: Any, indices: Words, n: Ints, p: Floats, out: Ints
) -> None:
    """Successes among the first n[g] trials: the sums of `bernoulli`; out is (r, g)."""
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        row = r if p.shape[0] > 1 else 0
        for g in range(out.shape[1]):
            high, low = threshold_words(p[row, g])
            trials = np.uint64(n[g])
            below = np.int64(0)
            ties = np.int64(0)
            # Without a branch, so that the compiler may work on several blocks at once.
            for b in range((n[g] + 3) // 4):
                block = np.uint64(b)
                left = trials - _FOUR * block
                w0, w1, w2, w3 = _block(k0, k1, block, indices[g], replicate)
                # int64 around each truth: in NumPy a sum of truths is a truth.
                below += np.int64(w0 < high) + np.int64((w1 < high) & (left > _ONE))
                below += np.int64((w2 < high) & (left > _TWO))
                below += np.int64((w3 < high) & (left > _THREE))
                ties += np.int64((w0 == high) | (w1 == high) | (w2 == high) | (w3 == high))
            if ties > 0:
                below += _tied_trials(k0, k1, indices[g], replicate, n[g], high, low)
            out[r, g] = below


@kernel
def _tied_trials(k0: Any, k1: Any, index: Any, replicate: Any, n: Any, high: Any, low: Any) -> Any:
    """Successes among the trials whose first word is the threshold's: once in 2^32 trials."""
    found = 0
    for t in range(n):
        word = _block(k0, k1, np.uint64(t // 4), index, replicate)[t % 4]
        if word == high and _tie_word(k0, k1, t, index, replicate) < low:
            found += 1
    return found


@kernel
def invert(
    k0: Any,
    k1: Any,
    first: Any,
    indices: Words,
    lowest: Ints,
    start: Ints,
    stop: Ints,
    thresholds: Words,
    out: Ints,
) -> None:
    """Counts by inversion: lowest + how many thresholds the number has reached; out is (r, g, d).

    lowest, start and stop are (g, d): the law of a cell is thresholds[start:stop], not decreasing.
    """
    for r in range(out.shape[0]):
        replicate = first + np.uint64(r)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                number = _number(k0, k1, d, indices[g], replicate)
                low, size = start[g, d], stop[g, d] - start[g, d]
                while size > 1:  # bisection without a branch on the number
                    half = size // 2
                    low += half * np.int64(thresholds[low + half - 1] <= number)
                    size -= half
                if size == 1:
                    low += np.int64(thresholds[low] <= number)
                out[r, g, d] = lowest[g, d] + low - start[g, d]
