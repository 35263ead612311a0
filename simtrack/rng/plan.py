"""Which replicates and clusters a draw is for, and how its array is filled: in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = [
    "Clusters",
    "Plan",
    "Replicates",
    "fitted",
    "integers",
    "per_cluster",
    "reals",
    "shares",
    "whole",
]

Clusters: TypeAlias = int | Sequence[int] | NDArray[np.integer[Any]]
Replicates: TypeAlias = int | range

_CELLS_A_CHUNK = 1 << 16  # a millisecond or so: long beside what a task costs, short beside a run
_INDICES = 2**32
_REPLICATES = 2**64


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The replicates and clusters of one draw.

    Attributes
    ----------
    words : (uint64, uint64)
        The key.
    first, n_replicates : int
    indices : uint64 (clusters,)
    threads : int
    chunk : int or None
    """

    words: tuple[np.uint64, np.uint64]
    first: int
    n_replicates: int
    indices: NDArray[np.uint64]
    threads: int
    chunk: int | None

    @classmethod
    def of(
        cls,
        words: tuple[np.uint64, np.uint64],
        replicates: Replicates,
        clusters: Clusters,
        threads: int,
        chunk: int | None,
    ) -> Plan:
        """Check what the user asked for."""
        wanted = _replicates(replicates)
        return cls(
            words=words,
            first=wanted.start,
            n_replicates=wanted.stop - wanted.start,
            indices=_indices(clusters),
            threads=integer("threads", threads, 1),
            chunk=None if chunk is None else integer("chunk", chunk, 1),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(replicates, clusters)."""
        return self.n_replicates, self.indices.size

    def fill(
        self,
        draw: Callable[..., None],
        out: NDArray[Any],
        *fixed: Any,
        rows: NDArray[np.float64] | None = None,
        work: int = 1,
    ) -> None:
        """Call draw(k0, k1, first, indices, *fixed, [rows,] out) for chunks of replicates.

        Each chunk writes rows of `out` of its own and nothing else, and a draw depends on its place
        alone, so neither order, size nor number of threads can show. `rows` is (1, clusters), or
        (replicates, clusters) and cut like `out`. `work` is the cost of a cluster in one replicate.
        """
        k0, k1 = self.words

        def task(start: int) -> None:
            here = slice(start, min(start + size, self.n_replicates))
            extra = () if rows is None else (rows[here] if len(rows) > 1 else rows,)
            first = np.uint64(self.first + start)
            draw(k0, k1, first, self.indices, *fixed, *extra, out[here])

        size = self.chunk or max(1, _CELLS_A_CHUNK // max(1, self.indices.size * work))
        starts = range(0, self.n_replicates, size)
        if self.threads == 1 or len(starts) <= 1:
            for start in starts:
                task(start)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max_workers=self.threads) as pool:
            for _ in pool.map(task, starts):  # raises the first error of a chunk
                pass


def per_cluster(
    name: str, value: ArrayLike, plan: Plan, low: float, high: float
) -> NDArray[np.float64]:
    """Return finite numbers in [low, high], one a cluster."""
    return fitted(name, reals(name, value, low, high), plan.indices.shape)


def shares(p: ArrayLike, plan: Plan) -> NDArray[np.float64]:
    """Return shares in [0, 1] as (1, clusters), or (replicates, clusters) where they were so."""
    found = reals("p", p, 0.0, 1.0)
    if found.ndim < 2:
        return fitted("p", found, plan.indices.shape)[np.newaxis]
    if found.shape != plan.shape:
        raise InputError("p", f"of the shape {plan.shape}", found.shape)
    return np.require(found, requirements=["C", "W"])


def whole(name: str, value: ArrayLike, shape: tuple[int, ...], high: int) -> NDArray[np.int64]:
    """Return integers in [0, high] of this shape, or one for all; floats and bools are refused."""
    return fitted(name, integers(name, value, high), shape)


def reals(name: str, value: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Return finite numbers in [low, high] of any shape."""
    rule = f"finite numbers from {low:g} to {high:g}"
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, rule, repr(value)) from None
    bad = ~((found >= low) & (found <= high))
    if bad.any():
        raise InputError(name, rule, float(found[bad].flat[0]))
    return found


def integers(name: str, value: ArrayLike, high: int) -> NDArray[np.int64]:
    """Return integers in [0, high] of any shape."""
    found = np.asarray(value)
    rule = f"integers from 0 to {high}"
    if found.dtype.kind not in "iu":
        raise InputError(name, rule, repr(value))
    bad = (found < 0) | (found > high)
    if bad.any():
        raise InputError(name, rule, int(found[bad].flat[0]))
    return found.astype(np.int64)


def fitted(name: str, found: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of this shape from one of it or a single number."""
    if found.shape not in ((), shape):
        raise InputError(name, f"one number or of the shape {shape}", found.shape)
    return np.array(np.broadcast_to(found, shape))  # a copy: kernels are compiled for one kind


def _replicates(wanted: Replicates) -> range:
    if not isinstance(wanted, range):
        wanted = range(integer("replicates", wanted, 0))
    if wanted.step != 1 or wanted.start < 0 or wanted.stop > _REPLICATES:
        raise InputError("replicates", "a count or a range of step 1 within 0 .. 2^64", wanted)
    return range(wanted.start, max(wanted.start, wanted.stop))


def _indices(clusters: Clusters) -> NDArray[np.uint64]:
    if np.ndim(clusters) == 0:
        return np.arange(integer("clusters", clusters, 0, _INDICES), dtype=np.uint64)  # type: ignore[arg-type]
    found = np.asarray(clusters)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise InputError("clusters", "a count or a list of integers", repr(clusters))
    if found.size and (found.min() < 0 or found.max() >= _INDICES):
        raise InputError("clusters", "indices from 0 to 2^32 - 1", repr(clusters))
    return found.astype(np.uint64)
