"""Counts of many simulated studies of one design, side by side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.counts.counts import Counts
from simtrack.counts.factor import Factor
from simtrack.errors import InputError

__all__ = ["CountsBatch"]


@dataclass(frozen=True, slots=True, eq=False)
class CountsBatch:
    """How often did each outcome occur, in each cluster and cell of each simulated study?

    Parameters
    ----------
    cells : int64 array, shape (draws, clusters, cells, outcomes)
        All zero where a cluster is not run in a cell.
    outcomes : tuple of str
    labels : tuple of mappings of factor name to level
        One for each cell: the design's conditions and whatever the agent splits them by.
    cluster_name : str

    Examples
    --------
    >>> batch = CountsBatch(np.array([[[[3, 1]], [[2, 2]]]]), ("PASS", "FAIL"), ({"arm": "a"},))
    >>> len(batch), batch.counts(0).n
    (1, 8)
    """

    cells: NDArray[np.int64]
    outcomes: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    cluster_name: str = "scenario"

    def __post_init__(self) -> None:
        shape = self.cells.shape
        wanted = (len(self.labels), len(self.outcomes))
        if self.cells.ndim != 4 or shape[2:] != wanted:
            raise InputError(
                "cells", f"of shape (draws, clusters, {wanted[0]}, {wanted[1]})", shape
            )
        if any(set(label) != set(self.labels[0]) for label in self.labels):
            raise InputError("labels", "of the same factors in every cell")

    def __len__(self) -> int:
        return int(self.cells.shape[0])

    @property
    def clusters(self) -> int:
        """The number of clusters in each study."""
        return int(self.cells.shape[1])

    def counts(self, draw: int) -> Counts:
        """Give one study as a table; cells without trials are left out."""
        table = self.cells[draw]
        g, c = np.nonzero(table.sum(axis=2))
        names = list(self.labels[0]) if self.labels else []
        conditions = {n: self._factor(n).take(c) for n in names}
        clusters = tuple(f"{k + 1}" for k in range(self.clusters))
        return Counts(
            table[g, c],
            self.outcomes,
            Factor(clusters, g.astype(np.int32)),
            conditions,
            self.cluster_name,
        )

    def template(self) -> Counts:
        """Give a table with one row for each cell, in order, for reading conditions from it."""
        eye = np.ones((len(self.labels), len(self.outcomes)), dtype=np.int64)
        order = Factor.from_values([f"{k:09d}" for k in range(len(self.labels))])
        names = list(self.labels[0]) if self.labels else []
        return Counts(eye, self.outcomes, order, {n: self._factor(n) for n in names})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of labels and cells: equal for equal batches, on every machine."""
        head = {
            "schema": "simtrack.counts-batch/1",
            "outcomes": list(self.outcomes),
            "labels": [dict(label) for label in self.labels],
            "shape": list(self.cells.shape),
        }
        digest = hashlib.sha256(json.dumps(head, ensure_ascii=False).encode())
        digest.update(np.ascontiguousarray(self.cells, dtype="<i8").tobytes())
        return digest.hexdigest()

    @staticmethod
    def concatenate(parts: Sequence[CountsBatch]) -> CountsBatch:
        """Stack batches of the same design, in their order."""
        first = parts[0]
        return CountsBatch(
            np.concatenate([p.cells for p in parts]), first.outcomes, first.labels,
            first.cluster_name,
        )  # fmt: skip

    def _factor(self, name: str) -> Factor:
        values = [label[name] for label in self.labels]
        return Factor.from_values(values, tuple(dict.fromkeys(values)))
