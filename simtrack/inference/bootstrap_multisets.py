"""The bootstrap law of any statistic by listing the multisets of clusters.

A resample is known by how often each cluster stands in it. There are C(2G-1, G) such multisets
(1,352,078 for 12 clusters) instead of G^G resamples, and fewer where clusters are alike. The
clusters are cut in two halves: sums and multinomial weights are made for each half, and added in
all pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.bootstrap_law import BootstrapLaw, law_of_cells

__all__ = ["MOST_MULTISETS", "count_multisets", "multiset_law"]

Floats: TypeAlias = NDArray[np.float64]

#: As many as 12 clusters have that are all different.
MOST_MULTISETS = math.comb(23, 12)
#: Pairs that are added at once: some hundred kB a column, so that they stay in the cache.
_PAIRS = 1 << 15
_EXACT = 2**53
#: Multinomial coefficients of so many draws are finite floats.
_MOST_DRAWS = 1000
_TOO_MANY = 10**15


class _Listed(NamedTuple):
    """Sums of some multisets, shape (columns, n), and their weights, shape (n,)."""

    sums: Floats
    weights: Floats


class _Types(NamedTuple):
    """Distinct clusters of a pool: rows (types, columns), and how many there are of each."""

    rows: Floats
    counts: NDArray[np.int64]


def count_multisets(pools: tuple[Floats, ...]) -> int:
    """Count the multisets that differ: pools of rows, shape (clusters, columns).

    A pool of more than 1,000 clusters counts as one that has too many: 10^15.

    Examples
    --------
    >>> count_multisets((np.arange(24.0).reshape(12, 2),)), count_multisets((np.ones((40, 2)),))
    (1352078, 1)
    """
    total = 1
    for rows in pools:
        size = len(rows)
        if size > _MOST_DRAWS:
            return _TOO_MANY
        kinds = len({row.tobytes() for row in np.ascontiguousarray(rows)})
        total *= math.comb(size + kinds - 1, size)
    return total


def multiset_law(
    pools: tuple[Floats, ...],
    evaluate: Callable[[Floats], tuple[Floats, ...]],
    ties: Sequence[float],
) -> tuple[BootstrapLaw, ...]:
    """Which laws have some statistics of the column sums over all resamples of each pool?

    Parameters
    ----------
    pools : tuple of float64 arrays, shape (clusters, columns)
        Pools are resampled independently; their sums are added.
    evaluate : callable
        From sums of shape (columns, n) to the n values of each statistic, NaN where undefined.
    ties : sequence of float
        As in `BootstrapLaw`, for each statistic.
    """
    types = tuple(_Types(*np.unique(rows, axis=0, return_counts=True)) for rows in pools)
    resamples = math.prod(len(rows) ** len(rows) for rows in pools)
    whole = resamples <= _EXACT
    pairs = list(_pairs(types, whole))
    n = sum(left.weights.size * right.weights.size for left, right in pairs)
    masses, cells, end = np.empty(n), np.empty((len(ties), n)), 0
    for left, right in pairs:
        here = slice(end, end + left.weights.size * right.weights.size)
        for row, values in zip(cells, evaluate(_added(left.sums, right.sums)), strict=True):
            row[here] = values
        shape = left.weights.size, right.weights.size
        np.multiply(left.weights[:, None], right.weights, out=masses[here].reshape(shape))
        end = here.stop
    return tuple(law_of_cells(row, masses, tie) for row, tie in zip(cells, ties, strict=True))


def _pairs(types: tuple[_Types, ...], whole: bool) -> Iterator[tuple[_Listed, _Listed]]:
    """Give pairs of lists whose sums, added in all ways, are all multisets."""
    if len(types) == 1:
        rows, counts = types[0]
        size, middle = int(counts.sum()), len(counts) // 2
        left = _by_size(rows[:middle], counts[:middle], size, size, whole)
        right = _by_size(rows[middle:], counts[middle:], size, size, whole)
        for k in range(size + 1):
            few = left[k]
            yield from _cut(few._replace(weights=few.weights * math.comb(size, k)), right[size - k])
        return
    listed = [
        _by_size(t.rows, t.counts, int(t.counts.sum()), int(t.counts.sum()), whole)[-1]
        for t in types
    ]
    first = listed[0]
    for other in listed[1:-1]:
        first = _Listed(
            _added(first.sums, other.sums), (first.weights[:, None] * other.weights).ravel()
        )
    yield from _cut(first, listed[-1])


def _cut(left: _Listed, right: _Listed) -> Iterator[tuple[_Listed, _Listed]]:
    step = max(1, _PAIRS // max(1, right.weights.size))
    for start in range(0, left.weights.size, step):
        part = slice(start, start + step)
        yield _Listed(left.sums[:, part], left.weights[part]), right


def _added(left: Floats, right: Floats) -> Floats:
    return np.asarray(left[:, :, None] + right[:, None, :]).reshape(len(left), -1)


def _by_size(
    rows: Floats, counts: NDArray[np.int64], size: int, out_of: int, whole: bool
) -> list[_Listed]:
    """List the multisets of 0, 1, ... `size` draws; weights are resamples (or their share).

    The weight of n_1, n_2, ... is (Σn)! / Π n! · Π c^n, with c the number of such clusters, or
    their share of `out_of` where numbers of resamples would not be exact in a float.
    """
    columns = rows.shape[1]
    nothing = _Listed(np.empty((columns, 0)), np.empty(0))
    found = [_Listed(np.zeros((columns, 1)), np.ones(1)), *[nothing] * size]
    for row, count in zip(rows, counts.tolist(), strict=True):
        share = count if whole else count / out_of
        found = [_joined(found, row, share, k) for k in range(size + 1)]
    return found


def _joined(before: list[_Listed], row: Floats, share: float, k: int) -> _Listed:
    """List the multisets of k draws with any number j of one more kind of cluster."""
    parts = [(j, before[k - j]) for j in range(k + 1) if before[k - j].weights.size]
    if not parts:
        return before[k]
    return _Listed(
        np.concatenate([b.sums + j * row[:, None] for j, b in parts], axis=1),
        np.concatenate([b.weights * (math.comb(k, j) * share**j) for j, b in parts]),
    )
