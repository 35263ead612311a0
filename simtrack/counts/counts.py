"""The waist: a contingency table of outcomes by cluster and condition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simtrack.counts.factor import Factor
from simtrack.counts.losses import Losses
from simtrack.counts.tally import UNPOOLABLE, group_rows
from simtrack.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Counts"]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often did each outcome occur, in each cluster and condition?

    Only cells that were observed are held, sorted by cluster and then by the conditions in their
    order, so equal data have one byte form whatever order their rows came in.

    Parameters
    ----------
    cells : int64 array, shape (rows, outcomes)
        How many trials ended in each outcome.
    outcomes : tuple of str
        The outcome codes, one for each column.
    cluster : Factor
        The resampling unit of each row.
    conditions : mapping of name to Factor
        The conditions of each row.
    cluster_name : str
        Which factor of the records the clusters are ("task", "scenario").
    parents : mapping of str to str
        Names of factors that nest others: {"cluster": "family"}.
    losses : Losses
        The trials that are in no cell, with their reasons.

    Examples
    --------
    >>> counts = Counts.from_cells(
    ...     [[3, 1], [2, 2]], outcomes=("PASS", "FAIL"), cluster=["a", "b"]
    ... )
    >>> counts.n, counts.cells.tolist()
    (8, [[3, 1], [2, 2]])
    """

    cells: NDArray[np.int64]
    outcomes: tuple[str, ...]
    cluster: Factor
    conditions: Mapping[str, Factor] = field(default_factory=dict)
    cluster_name: str = "cluster"
    parents: Mapping[str, str] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        if cells.dtype.kind not in "iu" or (cells.size and cells.min() < 0):
            raise InputError("cells", "integer counts of at least 0", cells.dtype)
        if cells.ndim != 2 or cells.shape[1] != len(self.outcomes):
            raise InputError("cells", f"of shape (rows, {len(self.outcomes)})", cells.shape)
        labelled = {"cluster": self.cluster, **self.conditions}
        if len(labelled) != len(self.conditions) + 1:
            raise InputError("conditions", "named otherwise than 'cluster'")
        for name, factor in labelled.items():
            if len(factor) != len(cells):
                raise InputError(name, f"a label for each of {len(cells)} rows", len(factor))
            if (factor.codes < 0).any():
                raise InputError(name, "labelled in every row", cure="Drop or label those rows.")
        grouping = group_rows(labelled, len(cells))
        merged = grouping.add(cells.astype(np.int64, copy=False))
        merged.flags.writeable = False
        factors = grouping.factors
        object.__setattr__(self, "cluster", factors.pop("cluster"))
        object.__setattr__(self, "conditions", factors)
        object.__setattr__(self, "cells", merged)

    @classmethod
    def from_cells(
        cls,
        cells: object,
        *,
        outcomes: Sequence[str],
        cluster: Sequence[str],
        conditions: Mapping[str, Sequence[str]] | None = None,
        cluster_name: str = "cluster",
    ) -> Counts:
        """Build a table from nested lists and label columns; equal labels are added up."""
        return cls(
            np.asarray(cells),
            tuple(outcomes),
            Factor.from_values(cluster),
            {name: Factor.from_values(v) for name, v in (conditions or {}).items()},
            cluster_name,
        )

    @property
    def n(self) -> int:
        """The number of trials in the table."""
        return int(self.cells.sum())

    def select(self, **labels: str | Sequence[str]) -> Counts:
        """Keep the rows with these labels: `select(stage="READY", model=["a", "b"])`."""
        keep = np.ones(len(self.cells), dtype=bool)
        for name, wanted in labels.items():
            factor = self._factor(name)
            codes = [factor.code_of(w, name) for w in _listed(wanted)]
            keep &= np.isin(factor.codes, codes)
        return self._rows(keep, self.conditions)

    def pool(self, *names: str) -> Counts:
        """Add up over the conditions `names`; refused where levels are readings of one trial."""
        for name in names:
            levels = self._condition(name).compact().levels
            if name in UNPOOLABLE and len(levels) > 1:
                raise InputError(
                    name,
                    "selected before pooling, since its levels are readings of the same trials",
                    ", ".join(levels),
                    cure=f"Keep one of them: select({name}=...).",
                )
        rest = {name: f for name, f in self.conditions.items() if name not in names}
        return self._rows(np.ones(len(self.cells), dtype=bool), rest)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of labels and cells: equal for equal tables, on every machine."""
        head = {
            "schema": "simtrack.counts/1",
            "cluster": [self.cluster_name, *self._labels(self.cluster)],
            "conditions": {name: self._labels(f) for name, f in self.conditions.items()},
            "outcomes": list(self.outcomes),
        }
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.sha256(text.encode())
        digest.update(np.ascontiguousarray(self.cells, dtype="<i8").tobytes())
        return digest.hexdigest()

    def to_pandas(self) -> pd.DataFrame:
        """Give one row a cell group, one column a label and an outcome."""
        import pandas as pd

        columns: dict[str, object] = {self.cluster_name: self._labels(self.cluster)}
        columns |= {name: self._labels(factor) for name, factor in self.conditions.items()}
        columns |= {o: self.cells[:, k] for k, o in enumerate(self.outcomes)}
        return pd.DataFrame(columns)

    def to_xarray(self) -> xr.DataArray:
        """Give the dense table over (cluster, conditions…, outcome); empty cells are 0."""
        import xarray as xr

        factors = {self.cluster_name: self.cluster, **self.conditions}
        shape = (*(len(f.levels) for f in factors.values()), len(self.outcomes))
        dense = np.zeros(shape, dtype=np.int64)
        dense[tuple(factor.codes for factor in factors.values())] = self.cells
        coords = {name: list(f.levels) for name, f in factors.items()}
        return xr.DataArray(
            dense, coords | {"outcome": list(self.outcomes)}, (*factors, "outcome"), "counts"
        )

    def __repr__(self) -> str:
        shape = ", ".join(f"{name} {len(f.levels)}" for name, f in self.conditions.items())
        return (
            f"Counts({self.n} trials, {len(self.cluster.levels)} clusters ({self.cluster_name})"
            f"{', ' + shape if shape else ''}, outcomes {'/'.join(self.outcomes)})"
        )

    def _rows(self, keep: NDArray[np.bool_], conditions: Mapping[str, Factor]) -> Counts:
        return Counts(
            self.cells[keep],
            self.outcomes,
            self.cluster.take(keep),
            {name: factor.take(keep) for name, factor in conditions.items()},
            self.cluster_name,
            self.parents,
            self.losses,
        )

    def _factor(self, name: str) -> Factor:
        if name in {"cluster", self.cluster_name}:
            return self.cluster
        return self._condition(name)

    def _condition(self, name: str) -> Factor:
        if name not in self.conditions:
            known = ", ".join(self.conditions) or "no condition"
            raise InputError("condition", f"one of {known}", repr(name))
        return self.conditions[name]

    @staticmethod
    def _labels(factor: Factor) -> list[str]:
        return [factor.levels[code] for code in factor.codes.tolist()]


def _listed(wanted: str | Sequence[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)
