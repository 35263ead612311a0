"""A plain table as a trial table: which column plays which part?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Losses
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import NUMBERS, labels
from simtrack.logs.score_values import ScoreReader
from simtrack.logs.tables.roles import assign_roles
from simtrack.options import Status
from simtrack.records import Records

__all__ = ["Table", "to_records"]

STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Table:
    """What a table file holds, before its columns have a meaning.

    Parameters
    ----------
    label : str
        The file, as named in messages.
    columns : mapping of name to list
        Values in file order, of equal length; None where a cell is missing.
    lines : sequence of int
        The line that each row starts on, for messages.
    losses : Losses
        Rows that could not be read.
    notes : tuple of str
        What the user should be told.
    """

    label: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int]
    losses: Losses
    notes: tuple[str, ...] = ()


def to_records(
    table: Table,
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
) -> Records:
    """Turn a plain table into the trial table by a map from parts to columns.

    `map` says which column plays which part: {"value": "correct", "cluster": "task_id"}. Parts
    that it leaves out are guessed from common names where only one column fits, and a note says
    so. All other columns of scalars are kept as labels under their own names.
    """
    roles, notes = assign_roles(table.label, table.columns, map or {})
    factors: dict[str, Factor] = {"source": Factor.constant(table.label, len(table.lines))}
    numeric: dict[str, NDArray[np.float64]] = {}
    for name, column in roles.items():
        if name == "value":
            numeric["value"], factors["status"], factors["reason"] = _scores(table, column, scores)
        elif name in NUMBERS:
            numeric[name] = _numbers(table, column)
        else:
            factors[name] = labels(_scalars(table, column))
    if "outcome" in roles:
        scored = factors["outcome"].codes >= 0
        factors["status"] = _status(scored)
        factors["reason"] = labels([None if kept else "no outcome" for kept in scored])
    _refuse_odd_status(table, roles, factors)
    records = Records(
        factors,
        numeric,
        table.losses,
        notes=tuple(f"{table.label}: {note}" for note in (*table.notes, *notes)),
    )
    if metric is None:
        return records
    if "metric" not in factors:
        raise InputError("metric", "left out, as the table has no metric column", repr(metric))
    return records.select(metric=metric)


def _scores(
    table: Table, column: str, scores: Mapping[str, float | None] | None
) -> tuple[NDArray[np.float64], Factor, Factor]:
    reader = ScoreReader(scores)
    values, reasons = reader.column(table.columns[column])
    reader.refuse_unknown(f"{table.label}: column {column!r}")
    scored = np.array([not reason for reason in reasons], dtype=bool)
    return np.array(values, dtype=np.float64), _status(scored), labels(r or None for r in reasons)


def _status(scored: NDArray[np.bool_]) -> Factor:
    return Factor(("scored", "unscored"), np.where(scored, 0, 1).astype(np.int32)).compact()


def _numbers(table: Table, column: str) -> NDArray[np.float64]:
    values = np.full(len(table.lines), np.nan)
    for row, value in enumerate(table.columns[column]):
        if value is None or value == "":
            continue
        try:
            values[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{table.label}: line {table.lines[row]}: column {column!r} must be a number, "
                f"got {value!r}. Mend the cell or map another column."
            ) from None
    return values


def _scalars(table: Table, column: str) -> Sequence[Any]:
    values = table.columns[column]
    for line, value in zip(table.lines, values, strict=True):
        if isinstance(value, (dict, list)):
            raise DataError(
                f"{table.label}: line {line}: column {column!r} must hold text or numbers, got "
                f"{'an object' if isinstance(value, dict) else 'a list'}. Map another column."
            )
    return values


def _refuse_odd_status(
    table: Table, roles: Mapping[str, str], factors: Mapping[str, Factor]
) -> None:
    """A mapped status column must speak the words that the accounting knows."""
    if "status" not in roles:
        return
    for level in factors["status"].levels:
        if level not in STATUSES:
            raise InputError(
                "status", f"one of {', '.join(STATUSES)}", repr(level), where=table.label
            )
