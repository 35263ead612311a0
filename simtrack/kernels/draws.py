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
_BATCH = 256  # replicates whose numbers are made at once: 2 kB


@inline
def _block(k0: Any, k1: Any, block: Any, index: Any, replicate: Any) -> Any:
    # The masks tell the compiler what we know: 32 bits times 32 bits is one instruction.
    return philox4x32(
        block & MASK, index & MASK, replicate & MASK, replicate >> SHIFT, k0 & MASK, k1 & MASK
    )


@inline
def _numbers(
    k0: Any, k1: Any, d: Any, index: Any, replicate: Any, numbers: Words, size: Any
) -> None:
    """Fill numbers[:size] with number d of `size` consecutive replicates.

    Without a branch, so that the compiler may work on several replicates at once.
    """
    block = np.uint64(d // 2)
    if d % 2 == 0:
        for i in range(size):
            a, b, _, _ = _block(k0, k1, block, index, replicate + np.uint64(i))
            numbers[i] = number64(a, b)
    else:
        for i in range(size):
            _, _, a, b = _block(k0, k1, block, index, replicate + np.uint64(i))
            numbers[i] = number64(a, b)


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
    numbers = np.empty(_BATCH, np.uint64)
    for r0 in range(0, out.shape[0], _BATCH):
        size = min(_BATCH, out.shape[0] - r0)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                _numbers(k0, k1, d, indices[g], first + np.uint64(r0), numbers, size)
                for i in range(size):
                    out[r0 + i, g, d] = unit_interval(numbers[i])


@kernel
def normal(k0: Any, k1: Any, first: Any, indices: Words, out: Floats) -> None:
    """Standard normal deviates; out is (r, g, d)."""
    numbers = np.empty(_BATCH, np.uint64)
    for r0 in range(0, out.shape[0], _BATCH):
        size = min(_BATCH, out.shape[0] - r0)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                _numbers(k0, k1, d, indices[g], first + np.uint64(r0), numbers, size)
                for i in range(size):
                    out[r0 + i, g, d] = normal_quantile(unit_interval(numbers[i]))


@kernel
def logit_normal(
    k0: Any, k1: Any, first: Any, indices: Words, mean: Floats, sd: Floats, out: Floats
) -> None:
    """expit(mean[g] + sd[g] Z), one share a cluster and replicate; out is (r, g)."""
    numbers, logits = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.float64)
    for r0 in range(0, out.shape[0], _BATCH):
        size = min(_BATCH, out.shape[0] - r0)
        for g in range(out.shape[1]):
            _numbers(k0, k1, 0, indices[g], first + np.uint64(r0), numbers, size)
            for i in range(size):
                logits[i] = mean[g] + sd[g] * normal_quantile(unit_interval(numbers[i]))
            for i in range(size):
                out[r0 + i, g] = expit(logits[i])


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
    high, low = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    below = np.empty(_BATCH, np.int64)
    for r0 in range(0, out.shape[0], _BATCH):
        replicate = first + np.uint64(r0)
        size = min(_BATCH, out.shape[0] - r0)
        for g in range(out.shape[1]):
            for i in range(size):
                high[i], low[i] = threshold_words(p[r0 + i if p.shape[0] > 1 else 0, g])
                below[i] = 0
            ties = np.int64(0)
            for b in range((n[g] + 3) // 4):
                ties += _count_block(
                    k0, k1, np.uint64(b), indices[g], replicate, n[g], high, below, size
                )
            for i in range(size):
                out[r0 + i, g] = below[i]
            if ties > 0:
                for i in range(size):
                    out[r0 + i, g] += _tied_trials(
                        k0, k1, indices[g], replicate + np.uint64(i), n[g], high[i], low[i]
                    )


@inline
def _count_block(
    k0: Any,
    k1: Any,
    block: Any,
    index: Any,
    replicate: Any,
    n: Any,
    high: Words,
    below: Ints,
    size: Any,
) -> Any:
    """Add the successes of one block of four trials, for each replicate; return how many tie.

    Without a branch, so that the compiler may work on several replicates at once. int64 around
    each truth: in NumPy a sum of truths is a truth.
    """
    left = np.uint64(n) - _FOUR * block
    second, third, fourth = left > _ONE, left > _TWO, left > _THREE
    ties = np.int64(0)
    for i in range(size):
        w0, w1, w2, w3 = _block(k0, k1, block, index, replicate + np.uint64(i))
        h = high[i]
        below[i] += (
            np.int64(w0 < h)
            + np.int64((w1 < h) & second)
            + np.int64((w2 < h) & third)
            + np.int64((w3 < h) & fourth)
        )
        ties += np.int64((w0 == h) | (w1 == h) | (w2 == h) | (w3 == h))
    return ties


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
    guide_start: Ints,
    shift: Words,
    guide: Ints,
    out: Ints,
) -> None:
    """Counts by inversion: lowest + how many thresholds the number has reached; out is (r, g, d).

    lowest, start, stop, guide_start and shift are (g, d). The law of a cell is
    thresholds[start:stop], not decreasing. guide[guide_start + (number >> shift)] is how many of
    them all numbers with these first bits have reached: where the search begins.
    """
    numbers = np.empty(_BATCH, np.uint64)
    for r0 in range(0, out.shape[0], _BATCH):
        size = min(_BATCH, out.shape[0] - r0)
        for g in range(out.shape[1]):
            for d in range(out.shape[2]):
                _numbers(k0, k1, d, indices[g], first + np.uint64(r0), numbers, size)
                origin, n_thresholds = start[g, d], stop[g, d] - start[g, d]
                for i in range(size):
                    place = guide_start[g, d] + np.int64(numbers[i] >> shift[g, d])
                    reached = guide[place]
                    while reached < n_thresholds and thresholds[origin + reached] <= numbers[i]:
                        reached += 1
                    out[r0 + i, g, d] = lowest[g, d] + reached
