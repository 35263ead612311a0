"""Counts by inversion: one table of thresholds for each different cell, one number a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.kernels import draws
from simtrack.rng.plan import Plan, integers, reals
from simtrack.rng.thresholds import Thresholds

__all__ = ["invert"]

_MAX_N = 10**6  # a law is worked out over 0 .. n
_CELLED = 2


def invert(
    plan: Plan,
    law: Callable[..., Thresholds],
    n: ArrayLike,
    *parameters: tuple[str, ArrayLike, float, float],
) -> NDArray[np.int64]:
    """Draw a count for every replicate, cluster and cell from law(n, *parameters of the cell).

    Each parameter is (name, values, lowest, highest); n and the values are one number, (clusters,)
    or (clusters, cells). Returns (replicates, clusters), with a last axis where there are cells.
    """
    trials = integers("n", n, _MAX_N)
    values = [reals(*parameter) for parameter in parameters]
    names = ["n", *(parameter[0] for parameter in parameters)]
    n_cells = _n_cells(dict(zip(names, [trials, *values], strict=True)), plan)
    shape = (plan.indices.size, 1 if n_cells is None else n_cells)
    columns = [_celled(found, shape) for found in (trials, *values)]
    out = np.empty((plan.n_replicates, *shape), np.int64)
    plan.fill(draws.invert, out, *_tables(law, columns), work=shape[1])
    return out.reshape(plan.shape) if n_cells is None else out


def _n_cells(arrays: dict[str, NDArray[Any]], plan: Plan) -> int | None:
    """Return the length of the last axis, or None where nothing has cells; refuse what differs."""
    n_clusters = plan.indices.size
    found = {a.shape[1] for a in arrays.values() if a.ndim == _CELLED}
    n_cells = max(found, default=None)
    allowed = ((), (n_clusters,), (n_clusters, n_cells))
    for name, array in arrays.items():
        if array.shape not in allowed:
            last = "cells" if n_cells is None else n_cells
            rule = f"one number or of the shape ({n_clusters},) or ({n_clusters}, {last})"
            raise InputError(name, rule, array.shape)
    return n_cells


def _celled(found: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    column = found[:, np.newaxis] if found.ndim == 1 else found
    return np.broadcast_to(column, shape)


def _tables(law: Callable[..., Thresholds], columns: list[NDArray[Any]]) -> tuple[Any, ...]:
    """Lay the laws of all cells end to end: what `draws.invert` takes."""
    cells = list(zip(*(column.ravel().tolist() for column in columns), strict=True))
    place = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    laws = [law(*cell) for cell in place]
    which = np.array([place[cell] for cell in cells], np.int64).reshape(columns[0].shape)
    start, stop, thresholds = _end_to_end([found.values for found in laws], np.uint64)
    guide_start, _, guide = _end_to_end([found.guide for found in laws], np.int64)
    lowest = np.array([found.lowest for found in laws], np.int64)
    shift = np.array([found.shift for found in laws], np.uint64)
    return (
        lowest[which],
        start[which],
        stop[which],
        thresholds,
        guide_start[which],
        shift[which],
        guide,
    )


def _end_to_end(parts: list[NDArray[Any]], dtype: type) -> tuple[Any, Any, NDArray[Any]]:
    """Return where each part starts and stops, and all of them in one array."""
    sizes = np.array([part.size for part in parts], np.int64)
    stop = np.cumsum(sizes)
    return stop - sizes, stop, np.concatenate([np.empty(0, dtype), *parts])
