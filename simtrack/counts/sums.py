"""Sums of scores that are not categories, by cluster and condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simtrack.counts.factor import Factor
from simtrack.counts.losses import Losses
from simtrack.counts.tally import group_rows
from simtrack.counts.totals import Totals
from simtrack.errors import InputError

__all__ = ["LARGEST", "Sums", "spread"]

#: The largest score that is added up: fourth powers of it, over many trials, stay finite.
LARGEST = 1e60
#: A table of clusters by groups may have so many cells, or so many for each row that fills it.
_CELLS_FLOOR, _CELLS_A_ROW = 4_000_000, 64


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """How many scores are there, what do they and their squares add up to?

    Parameters
    ----------
    n, total, total_sq : float64 arrays, shape (rows,)
        Number of scores, Σ score, Σ score².
    cluster, conditions, cluster_name, losses
        As in `Counts`.
    """

    n: NDArray[np.float64]
    total: NDArray[np.float64]
    total_sq: NDArray[np.float64]
    cluster: Factor
    conditions: Mapping[str, Factor] = field(default_factory=dict)
    cluster_name: str = "cluster"
    losses: Losses = field(default_factory=Losses)

    @classmethod
    def from_rows(
        cls,
        values: NDArray[np.float64],
        cluster: Factor,
        conditions: Mapping[str, Factor],
        cluster_name: str = "cluster",
        losses: Losses | None = None,
    ) -> Sums:
        """Add up finite scores by cluster and condition; the order of the rows is no matter.

        Scores beyond `LARGEST` are refused, since sums of their powers leave what a float holds.
        """
        if not np.isfinite(values).all():
            raise InputError("score", "finite", "NaN or infinity")
        largest = float(np.abs(values).max(initial=0.0))
        if largest > LARGEST:
            raise InputError(
                "score", f"between -{LARGEST:g} and {LARGEST:g}", f"{largest:g} in size",
                cure="Scale the scores, or leave out the trials that cannot be meant.",
            )  # fmt: skip
        grouping = group_rows({"cluster": cluster, **conditions}, values.size)
        factors = dict(grouping.factors)
        return cls(
            grouping.total(np.ones(values.size)),
            grouping.total(values),
            grouping.total(values * values),
            factors.pop("cluster"),
            factors,
            cluster_name,
            losses or Losses(),
        )

    def totals(self, by: Sequence[str] = (), name: str = "mean score") -> Totals:
        """Give Σ score and number of scores by cluster, in each condition of `by`.

        Examples
        --------
        >>> sums = Sums.from_rows(
        ...     np.array([0.5, 1.0, 0.0]), Factor.from_values(["a", "a", "b"]), {}
        ... )
        >>> sums.totals().rates().tolist()
        [0.5]
        """
        for condition in by:
            if condition not in self.conditions:
                raise InputError("by", f"one of {', '.join(self.conditions)}", repr(condition))
        conditions = {n: self.conditions[n] for n in by}
        columns = np.stack([self.total, self.n, self.total_sq], axis=1)
        return spread(columns, self.cluster, conditions, name, self.losses)


def spread(
    columns: NDArray[np.float64],
    cluster: Factor,
    conditions: Mapping[str, Factor],
    name: str,
    losses: Losses,
) -> Totals:
    """Lay rows of (numerator, denominator, square) out as clusters by conditions, adding up."""
    cell = group_rows(conditions, len(columns))
    shape = (len(cluster.levels), cell.size if conditions else 1)
    if shape[0] * shape[1] > max(_CELLS_FLOOR, _CELLS_A_ROW * len(columns)):
        raise InputError(
            "by", f"columns of fewer levels than {shape[1]}, as almost no cluster has them all",
            f"{shape[0]} clusters by {shape[1]} groups", cure="Group by a coarser column.",
        )  # fmt: skip
    table = np.zeros((*shape, 3))
    np.add.at(table, (cluster.codes, cell.index), columns)
    labels = [[f.levels[c] for c in f.codes.tolist()] for f in cell.factors.values()]
    return Totals(
        table[:, :, 0],
        table[:, :, 1],
        table[:, :, 2],
        cluster.levels,
        tuple(zip(*labels, strict=True)) if labels else ((),),
        tuple(conditions),
        name,
        losses,
    )
