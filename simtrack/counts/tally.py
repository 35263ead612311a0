"""Group rows by several factors at once, by integer codes, in one canonical order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts.factor import Factor

__all__ = ["UNPOOLABLE", "Grouping", "group_rows"]

#: Factors whose levels are readings of the same trials: adding over them counts a trial twice.
UNPOOLABLE = ("metric", "score", "scorer", "filter", "view")
_DENSE_LIMIT = 1 << 24


class Grouping:
    """Which rows share their labels, and what are those labels?

    Attributes
    ----------
    factors : dict of name to Factor, each with one row a group
        Sorted lexicographically by the codes, first factor slowest.
    index : int64 array, shape (rows,)
        The group of each row of the input.
    """

    __slots__ = ("factors", "index", "size")

    def __init__(self, factors: Mapping[str, Factor], index: NDArray[np.int64], size: int) -> None:
        self.factors = dict(factors)
        self.index = index
        self.size = size

    def count(self, outcome: NDArray[np.int32], outcomes: int) -> NDArray[np.int64]:
        """Tally the outcome codes by group: int64, shape (groups, outcomes)."""
        flat = np.bincount(self.index * outcomes + outcome, minlength=self.size * outcomes)
        return flat.astype(np.int64, copy=False).reshape(self.size, outcomes)

    def add(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up rows of integer cells by group: shape (groups, columns)."""
        out = np.zeros((self.size, cells.shape[1]), dtype=np.int64)
        np.add.at(out, self.index, cells)
        return out

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up real numbers by group, in sorted order of value so that row order is no matter."""
        order = np.lexsort((values, self.index))
        summed = np.bincount(self.index[order], weights=values[order], minlength=self.size)
        return summed.astype(np.float64, copy=False)


def group_rows(factors: Mapping[str, Factor], rows: int) -> Grouping:
    """Group rows by their labels in `factors`; only groups that occur are made.

    Every label must be present: the caller has moved unlabelled rows to the losses.
    """
    compact = {name: factor.compact() for name, factor in factors.items()}
    sizes = [len(factor.levels) for factor in compact.values()]
    key = np.zeros(rows, dtype=np.int64)
    if _product(sizes) < _DENSE_LIMIT:
        for factor, size in zip(compact.values(), sizes, strict=True):
            key = key * size + factor.codes
        return _dense(compact, sizes, key)
    for factor, size in zip(compact.values(), sizes, strict=True):
        # Renumbering after each factor keeps the key below rows * size.
        _, key = np.unique(key * size + factor.codes, return_inverse=True)
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    found = {name: factor.take(first) for name, factor in compact.items()}
    return Grouping(found, index.astype(np.int64, copy=False), first.size)


def _dense(compact: Mapping[str, Factor], sizes: Sequence[int], key: NDArray[np.int64]) -> Grouping:
    seen = np.zeros(_product(sizes), dtype=bool)
    seen[key] = True
    cells = np.flatnonzero(seen)
    renumber = np.cumsum(seen) - 1
    codes = np.unravel_index(cells, tuple(sizes)) if sizes else ()
    found = {
        name: Factor(factor.levels, code.astype(np.int32))
        for (name, factor), code in zip(compact.items(), codes, strict=True)
    }
    return Grouping(found, renumber[key].astype(np.int64, copy=False), cells.size)


def _product(sizes: Sequence[int]) -> int:
    out = 1
    for size in sizes:
        out *= size
    return out
