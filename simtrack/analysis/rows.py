"""Rows that every verb can count: each with a status, and with a metric where some have one."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from simtrack.counts import NO_LABEL, Factor, Losses
from simtrack.errors import DataError
from simtrack.note import Note
from simtrack.options import Status
from simtrack.records import Records, account

__all__ = ["UNNAMED", "has_metrics", "with_metrics", "with_rows", "with_scores", "with_status"]

#: The metric of rows that name none, in a table where others do.
UNNAMED = "(no metric)"
#: Columns of the file's own that may hold a `Status` of every row.
_STATUS_COLUMNS = ("column.status", "status_of_trial")


def has_metrics(records: Records) -> bool:
    """Say whether the rows are readings of trials by several named metrics, or by one."""
    return "metric" in records.factors and bool(records.factors["metric"].compact().levels)


def with_status(records: Records) -> Records:
    """Use a column of the file's own that says what became of every trial, in our words.

    What the reader found of a row, such as that its score is missing, stays.
    """
    known = set(get_args(Status))
    now = records.factors.get("status")
    read = ["scored"] * len(records) if now is None else [x or "scored" for x in now.values()]
    for name in _STATUS_COLUMNS:
        theirs = records.factors.get(name)
        told = set() if theirs is None else set(theirs.compact().levels)
        if theirs is None or not told <= known or told <= {"scored"}:
            continue
        said = theirs.values()
        filled = [
            new if new and old == "scored" else old for old, new in zip(read, said, strict=True)
        ]
        n = sum(new != old for new, old in zip(filled, read, strict=True))
        if not n:
            return records
        note = Note("status-column", f"the column {name.removeprefix('column.')} says what became "
                    f"of every trial: {n} are not scored by it", n=n)  # fmt: skip
        found = records.with_factors(status=Factor.from_values(filled))
        return replace(found, notes=(*found.notes, note))
    return records


def with_rows(records: Records, cluster: str | None) -> Records:
    """Offer every row as a cluster of its own, for tables without ids."""
    if cluster != "row" or "row" in records.factors:
        return records
    return records.with_factors(row=Factor.from_values([str(k + 1) for k in range(len(records))]))


def with_metrics(records: Records) -> Records:
    """Give rows without a metric one of their own, where other rows have metrics."""
    metric = records.factors.get("metric")
    if metric is None or not metric.compact().levels or (metric.codes >= 0).all():
        return records
    labels = [label if label is not None else UNNAMED for label in metric.values()]
    named = records.with_factors(metric=Factor.from_values(labels))
    # A log without a scorer calls the metric of its rowless losses NO_LABEL.
    losses = tuple(
        replace(x, where=tuple((k, UNNAMED if (k, v) == ("metric", NO_LABEL) else v)
                               for k, v in x.where))
        for x in records.losses.entries
    )  # fmt: skip
    return replace(named, losses=Losses(losses))


def with_scores(records: Records) -> Records:
    """Refuse a table without any score, saying what became of its trials."""
    status = records.factors.get("status")
    if status is not None and "scored" in status.take(status.codes >= 0).compact().levels:
        return records
    if status is None and len(records):
        return records
    table = account(records)
    if not len(records) and not table.planned:
        told = " ".join(records.notes)
        raise DataError(f"no trial has a score: the table has no rows. {told}".rstrip())
    parts = [f"{table.total(s)} {s}" for s in get_args(Status) if table.total(s)]
    reasons = records.factors["reason"].levels if "reason" in records.factors else ()
    why = f" ({'; '.join(reasons[:3])})" if reasons else ""
    sources = records.factors["source"].levels if "source" in records.factors else ()
    where = f"{', '.join(sources[:3])}: " if sources else ""
    raise DataError(
        f"{where}no trial has a score: {table.planned} planned, {', '.join(parts) or 'none found'}"
        f"{why}. Nothing can be estimated. " + " ".join(records.notes)
    )
