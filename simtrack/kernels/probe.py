"""Simulated probes under a stopping rule: a loop over replicates through its decision table.

Legend of dims: r = replicate, s = stopping state, c = cell (k, i, j) in the order of `first_cell`.

The full and the ablated draws are two streams; round t (from 0) takes trial t of each, at the
place that the stream scheme gives it: lane t % 4 of block t // 4, and on a tie with the first 32
bits of the pass rate the same lane of block t // 4 + 2^31.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.philox import MASK, SHIFT, philox4x32, succeeds, threshold_words

__all__ = ["run_probes"]

_TIE_BLOCKS = np.uint64(1 << 31)


@kernel
def _tie_word(k0: Any, k1: Any, t: Any, low: Any, high: Any) -> Any:
    # Once in 2^32 draws: kept out of line so that the loop stays short.
    words = philox4x32(np.uint64(t // 4) + _TIE_BLOCKS, np.uint64(0), low, high, k0, k1)
    return words[t % 4]


@inline
def _passes(word: Any, share: Any, key: Any, t: Any, low: Any, high: Any) -> Any:
    if word != share[0]:
        return word < share[0]
    return succeeds(word, _tie_word(key[0], key[1], t, low, high), share[0], share[1])


@kernel
def run_probes(
    full_key: tuple[Any, Any],
    ablated_key: tuple[Any, Any],
    first: Any,
    n_replicates: int,
    p: float,
    q: float,
    first_cell: NDArray[np.int64],
    stop_at: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Add to `counts` (s) where the probes first, first + 1, ... end.

    `first_cell[k]` is the place of (k, 0, 0) in `stop_at` (c), whose rows run over i, then j;
    `stop_at` is the index of the stopping state there, or -1 where the probe goes on.
    """
    full_share, ablated_share = threshold_words(p), threshold_words(q)
    for r in range(n_replicates):
        replicate = first + np.uint64(r)
        low, high = replicate & MASK, replicate >> SHIFT
        i, j, k, stop = 0, 0, 0, -1
        while stop < 0:
            block = np.uint64(k // 4)
            fulls = philox4x32(block, np.uint64(0), low, high, full_key[0], full_key[1])
            ablateds = philox4x32(block, np.uint64(0), low, high, ablated_key[0], ablated_key[1])
            for lane in range(4):
                i += _passes(fulls[lane], full_share, full_key, k, low, high)
                j += _passes(ablateds[lane], ablated_share, ablated_key, k, low, high)
                k += 1
                stop = stop_at[first_cell[k] + i * (k + 1) + j]
                if stop >= 0:
                    break
        counts[stop] += 1
