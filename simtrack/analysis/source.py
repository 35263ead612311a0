"""From any table to totals by cluster: the one place where the verbs read their input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from simtrack.counts import Counts, Sums, Totals
from simtrack.errors import InputError
from simtrack.estimands import RATE, Contrast, Estimand, Unavailable
from simtrack.estimands import estimand as look_up
from simtrack.options import MissingCluster
from simtrack.records import Records, is_binary

__all__ = ["Source", "Table", "read_totals"]

Table: TypeAlias = Counts | Sums | Totals | Records


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What inference needs to know of a table.

    Attributes
    ----------
    totals : Totals
    cluster_name : str
    bounded : bool
        Every score lies in [0, 1].
    notes : tuple of str
        How that is known, where it is not plain.
    """

    totals: Totals
    cluster_name: str
    bounded: bool
    notes: tuple[str, ...] = ()


def read_totals(
    table: Table,
    estimand: Estimand | str | None,
    by: Sequence[str],
    cluster: str | None,
    missing_cluster: MissingCluster,
) -> Source:
    """Reduce any table to numerator and denominator by cluster, in each condition of `by`."""
    if isinstance(table, Records):
        return _from_records(table, estimand, by, cluster, missing_cluster)
    if isinstance(table, Counts):
        _same_cluster(cluster, table.cluster_name)
        return Source(_named(estimand).totals(table, by), table.cluster_name, True)
    if estimand is not None:
        raise InputError("estimand", "left out for sums or totals", estimand)
    if isinstance(table, Sums):
        _same_cluster(cluster, table.cluster_name)
        return _from_totals(table.totals(by), table.cluster_name)
    if not isinstance(table, Totals):
        raise InputError("table", "Counts, Sums, Totals or Records", type(table).__name__)
    if by and tuple(by) != table.by:
        raise InputError("by", f"the conditions of these totals, {table.by}", tuple(by))
    return _from_totals(table, cluster or "cluster")


def _from_records(
    records: Records,
    estimand: Estimand | str | None,
    by: Sequence[str],
    cluster: str | None,
    missing: MissingCluster,
) -> Source:
    if records.kind == "aggregate":
        cure = "Score the samples that they were made of; scan shows the aggregates."
        raise InputError("table", "of trials", "aggregates, one row a task and metric", cure=cure)
    name = cluster or ("cluster" if "cluster" in records.factors else "unit")
    if is_binary(records):
        meant = _named(estimand)
        needed = [f for c in (*meant.where, *meant.among) for f in c.factors]
        columns = list(dict.fromkeys((*by, *needed)))
        lacking = [f for f in needed if f not in records.factors]
        if lacking:
            raise InputError(
                f"estimand {meant.name}", f"asked of trials with columns {', '.join(needed)}",
                cure=f"This table lacks {', '.join(lacking)}.",
            )  # fmt: skip
        counts = records.counts(cluster=cluster, by=columns, missing_cluster=missing)
        return Source(meant.totals(counts, by), name, True)
    if estimand is not None:
        raise InputError("estimand", "left out where scores are numbers, not outcomes", estimand)
    sums = records.sums(cluster=cluster, by=by, missing_cluster=missing)
    scores = records.numbers["value"]
    scores = scores[~np.isnan(scores)]
    bounded = bool(((scores >= 0.0) & (scores <= 1.0)).all())
    return Source(sums.totals(by), name, bounded)


def _from_totals(totals: Totals, cluster_name: str) -> Source:
    top, bottom, square = totals.numerator, totals.denominator, totals.square
    if np.array_equal(top, square) and (top >= 0).all() and (top <= bottom).all():
        return Source(totals, cluster_name, True)
    bounded = bool(((square <= top) & (top <= bottom)).all())
    note = "scores lie in [0, 1] as far as their sums and squares can tell"
    return Source(totals, cluster_name, bounded, (note,) if bounded else ())


def _named(estimand: Estimand | str | None) -> Estimand:
    found = look_up(estimand) if isinstance(estimand, str) else estimand
    if found is None:
        return RATE
    if isinstance(found, Contrast | Unavailable):
        kind = "a contrast" if isinstance(found, Contrast) else "no ratio of counts"
        raise InputError("estimand", "a ratio of counts", f"{found.name}, {kind}")
    return found


def _same_cluster(asked: str | None, held: str) -> None:
    if asked is not None and asked != held:
        raise InputError(
            "cluster", f"{held}, by which this table was counted", asked, cure="Count it again."
        )
