"""Bootstrap resamples of clusters: the sums of what was drawn.

Legend of dims: r = resample, c = column of the table, g = cluster, d = draw within a resample.

The words of (key, pool, resample) are taken as 64-bit numbers, each as a fraction x of 2^64; the
place of a draw is floor(x G), and what is left of x G is the next fraction. A number gives
`per_number` draws, so many that G^per_number ≤ 2^32: no place is likelier than another by more
than a share 2^-32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.philox import MASK, SHIFT, philox4x32

__all__ = ["draw_place", "resample_sums"]

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_BATCH = 256  # resamples that advance together, so that loops over them become vector instructions


@inline
def draw_place(high: Any, low: Any, clusters: Any) -> Any:
    """Give floor(x G) and the two words of what is left, for x = (high, low) / 2^64.

    Scalars or arrays of uint64; no product exceeds 64 bits.
    """
    down = (low & MASK) * (clusters & MASK)
    up = (high & MASK) * (clusters & MASK) + (down >> SHIFT)
    return up >> SHIFT, up & MASK, down & MASK


@kernel
def resample_sums(
    k0: Any,
    k1: Any,
    first: Any,
    indices: Words,
    columns: Floats,
    per_number: int,
    out: Floats,
) -> None:
    """Add to `out` (r, c) the sums over G draws from `columns` (c, g) with replacement.

    indices[0] is the number of the pool. Sums are taken in the order of the draws.
    """
    n_columns, n_clusters = columns.shape
    clusters = np.uint64(n_clusters)
    words = np.empty((4, _BATCH), np.uint64)
    places = np.empty(_BATCH, np.int64)
    sums = np.empty((n_columns, _BATCH), np.float64)
    for r0 in range(0, out.shape[0], _BATCH):
        size = min(_BATCH, out.shape[0] - r0)
        sums[:, :] = 0.0
        for d in range(n_clusters):
            number = d // per_number
            if d % (2 * per_number) == 0:
                block = np.uint64(number // 2)
                for i in range(size):
                    replicate = first + np.uint64(r0 + i)
                    a, b, e, f = philox4x32(
                        block & MASK,
                        indices[0] & MASK,
                        replicate & MASK,
                        replicate >> SHIFT,
                        k0 & MASK,
                        k1 & MASK,
                    )
                    words[0, i], words[1, i], words[2, i], words[3, i] = a, b, e, f
            h = 2 * (number % 2)
            for i in range(size):
                place, words[h, i], words[h + 1, i] = draw_place(
                    words[h, i], words[h + 1, i], clusters
                )
                places[i] = np.int64(place)
            for c in range(n_columns):
                for i in range(size):
                    sums[c, i] += columns[c, places[i]]
        for i in range(size):
            for c in range(n_columns):
                out[r0 + i, c] += sums[c, i]
