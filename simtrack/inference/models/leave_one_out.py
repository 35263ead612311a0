"""Refits without each cluster: does one of them carry the result?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.models.coefficients import Coefficients, plain
from simtrack.inference.models.table import ModelTable
from simtrack.note import Note
from simtrack.options import Computation, Guarantee, ModelStatus

__all__ = ["Fitted", "LeaveOneOut", "leave_one_out"]

Floats = NDArray[np.float64]


class Fitted(Protocol):
    """A fit of any model here: it has coefficients, a status and notes."""

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients."""
        ...

    @property
    def status(self) -> ModelStatus:
        """How the fit ended."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """What do the coefficients become without each cluster?

    Attributes
    ----------
    full : Coefficients
        With all clusters.
    clusters : tuple of str
        The cluster left out of each row below.
    estimate, standard_error, pvalue : float64 arrays, shape (clusters, columns)
        NaN where that refit has no answer.
    statuses : tuple of ModelStatus
    jackknife_error : float64 array, shape (columns,)
        √((G-1)/G Σ (b_g - b̄)²); NaN if any refit has no answer.
    notes : tuple of str
    """

    full: Coefficients
    clusters: tuple[str, ...]
    estimate: Floats
    standard_error: Floats
    pvalue: Floats
    statuses: tuple[ModelStatus, ...]
    jackknife_error: Floats
    notes: tuple[Note, ...] = ()
    method: str = "leave one cluster out"
    computation: Computation = "enumeration"
    guarantee: Guarantee = "descriptive"

    def range(self, name: str) -> tuple[float, float]:
        """Between which values does a coefficient move? NaN if no refit has an answer."""
        column = self.estimate[:, self.full.index(name)]
        column = column[np.isfinite(column)]
        return (float(column.min()), float(column.max())) if column.size else (np.nan, np.nan)

    def most_influential(self, name: str) -> str | None:
        """Without which cluster does a coefficient move furthest? None if no refit has an answer.

        A cluster without which it cannot be estimated counts before all others.
        """
        j = self.full.index(name)
        moved = np.abs(self.estimate[:, j] - self.full.estimate[j])
        if np.isnan(self.full.estimate[j]):
            return None
        return self.clusters[int(np.where(np.isnan(moved), np.inf, moved).argmax())]

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        rows = [
            {
                "cluster": cluster,
                "status": status,
                "estimate": [plain(v) for v in self.estimate[g]],
                "standard_error": [plain(v) for v in self.standard_error[g]],
                "pvalue": [plain(v) for v in self.pvalue[g]],
            }
            for g, (cluster, status) in enumerate(zip(self.clusters, self.statuses, strict=True))
        ]
        return {
            "schema": "simtrack.leave-one-out/1",
            "full": self.full.rows(),
            "without": rows,
            "jackknife_error": [plain(v) for v in self.jackknife_error],
            "notes": list(self.notes),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        return f"LeaveOneOut({len(self.clusters)} clusters, {', '.join(self.full.names)})"


def leave_one_out(table: ModelTable, fit: Callable[[ModelTable], Fitted]) -> LeaveOneOut:
    """How much does each cluster matter to a fit?

    Parameters
    ----------
    table : ModelTable
        Of three clusters or more.
    fit : callable
        From a table to a fit: `gee`, or `lambda t: logistic_mixed(t, nodes=25)`.

    Notes
    -----
    A refit that is refused, say because the others are separated or lack a pattern, has its status
    and reason instead of numbers.

    Examples
    --------
    >>> from simtrack.inference.models.gee import gee
    >>> table = ModelTable.from_arrays(
    ...     [[10, 10]] * 4, [[5, 7], [2, 4], [8, 9], [4, 8]], [[1, 0], [1, 1]], names=["a", "b"]
    ... )
    >>> found = leave_one_out(table, gee)
    >>> [round(v, 3) for v in found.range("b")], found.most_influential("b")
    ([0.693, 1.118], '3')
    """
    groups, columns = len(table.clusters), len(table.names)
    if groups < 3:
        raise InputError("table", "of three clusters or more", groups)
    full = fit(table)
    estimate, error, pvalue = (np.full((groups, columns), np.nan) for _ in range(3))
    statuses: list[ModelStatus] = []
    notes: list[Note] = []
    for g in range(groups):
        try:
            found = fit(table.without(g))
        except InputError as refusal:  # a column that only this cluster told apart
            statuses.append("not-estimable")
            told = f"without {table.clusters[g]}: {refusal}"
            notes.append(Note("not-estimable", told, table.clusters[g]))
            continue
        statuses.append(found.status)
        estimate[g] = found.coefficients.estimate
        error[g], pvalue[g] = found.coefficients.standard_error, found.coefficients.pvalue
        if not np.isfinite(found.coefficients.estimate).all():
            told = f"without {table.clusters[g]}: {'; '.join(found.notes[:1])}"
            notes.append(Note(found.status, told, table.clusters[g]))
    centred = estimate - estimate.mean(axis=0)
    jackknife = np.sqrt((groups - 1.0) / groups * (centred * centred).sum(axis=0))
    return LeaveOneOut(
        full.coefficients, table.clusters, estimate, error, pvalue, tuple(statuses), jackknife,
        tuple(notes),
    )  # fmt: skip
