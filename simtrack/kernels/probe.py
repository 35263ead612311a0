"""Simulated probes under a stopping rule: tiles of replicates through its decision table.

Legend of dims: r = replicate within a tile, t = round (trial of either stream), s = stopping
state, c = cell of the cube (k, i, j), each axis as long as `size` = k_max + 1.

The full and the ablated draws are two streams; round t (from 0) takes trial t of each, at the
place that the stream scheme gives it: lane t % 4 of block t // 4, and on a tie with the first 32
bits of the pass rate the same lane of block t // 4 + 2^31.

A tile advances by one block, four rounds, at a time: words and steps through the cube are made for
all probes still alive in one plain loop, which compilers turn into vector instructions; then each
probe looks up its next four cells, and those that go on move to the front of the tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.philox import MASK, SHIFT, philox4x32, succeeds, threshold_words

__all__ = ["run_probes"]

Words = NDArray[np.uint64]
Steps = NDArray[np.int64]

_TILE = 256
_ZERO = np.uint64(0)
_TIE_BLOCKS = np.uint64(1 << 31)


@inline
def _block(key: Any, block: Any, replicate: Any) -> Any:
    return philox4x32(block, _ZERO, replicate & MASK, replicate >> SHIFT, key[0], key[1])


@inline
def _step(full: Any, ablated: Any, full_high: Any, ablated_high: Any, size: Any) -> Any:
    """One round further (a plane of the cube), with a full pass a row, an ablated one a cell."""
    step = size * size
    step += size if full < full_high else 0
    step += 1 if ablated < ablated_high else 0
    return step


@inline
def _passes(word: Any, second: Any, share: Any) -> Any:
    return 1 if succeeds(word, second, share[0], share[1]) else 0


@kernel
def _steps_with_ties(
    full_key: Any,
    ablated_key: Any,
    block: Any,
    alive: int,
    full_share: Any,
    ablated_share: Any,
    size: int,
    replicates: Words,
    steps: Steps,
) -> None:
    """The steps of one block with all 64 bits of the draws: once in some 2^32 draws."""
    for r in range(alive):
        fulls = _block(full_key, block, replicates[r])
        ablateds = _block(ablated_key, block, replicates[r])
        more_fulls = _block(full_key, block + _TIE_BLOCKS, replicates[r])
        more_ablateds = _block(ablated_key, block + _TIE_BLOCKS, replicates[r])
        for lane in range(4):
            i = _passes(fulls[lane], more_fulls[lane], full_share)
            j = _passes(ablateds[lane], more_ablateds[lane], ablated_share)
            steps[lane, r] = size * size + i * size + j


@kernel
def run_probes(
    full_key: tuple[Any, Any],
    ablated_key: tuple[Any, Any],
    first: Any,
    n_replicates: int,
    p: float,
    q: float,
    size: int,
    stop_at: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Add to `counts` (s) where the probes first, first + 1, ... end.

    `stop_at` (c, flat, j fastest) is the index of the stopping state at (k, i, j), or -1 where the
    probe goes on; every record that can be reached at k_max is a stop.
    """
    full_share, ablated_share = threshold_words(p), threshold_words(q)
    f, a = full_share[0], ablated_share[0]
    replicates = np.empty(_TILE, np.uint64)
    cells = np.empty(_TILE, np.int64)
    steps = np.empty((4, _TILE), np.int64)
    for start in range(0, n_replicates, _TILE):
        alive = min(_TILE, n_replicates - start)
        for r in range(alive):
            replicates[r] = first + np.uint64(start + r)
            cells[r] = 0
        block = _ZERO
        while alive > 0:
            tied = False
            for r in range(alive):
                w = _block(full_key, block, replicates[r])
                v = _block(ablated_key, block, replicates[r])
                steps[0, r] = _step(w[0], v[0], f, a, size)
                steps[1, r] = _step(w[1], v[1], f, a, size)
                steps[2, r] = _step(w[2], v[2], f, a, size)
                steps[3, r] = _step(w[3], v[3], f, a, size)
                tied |= (w[0] == f) | (w[1] == f) | (w[2] == f) | (w[3] == f)
                tied |= (v[0] == a) | (v[1] == a) | (v[2] == a) | (v[3] == a)
            if tied:
                _steps_with_ties(
                    full_key,
                    ablated_key,
                    block,
                    alive,
                    full_share,
                    ablated_share,
                    size,
                    replicates,
                    steps,
                )
            going = 0
            for r in range(alive):
                cell = cells[r]
                stop = -1
                for lane in range(4):
                    cell += steps[lane, r]
                    stop = stop_at[cell]
                    if stop >= 0:
                        break
                if stop >= 0:
                    counts[stop] += 1
                else:
                    replicates[going], cells[going] = replicates[r], cell
                    going += 1
            alive = going
            block += np.uint64(1)
