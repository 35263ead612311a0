"""A plain table as a trial table: which column plays which part?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Losses, group_rows, natural_order
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import METRICS_MAX, NUMBERS, composed_notes, labels
from simtrack.logs.score_values import ScoreReader
from simtrack.logs.tables.marked import is_marked, read_marked
from simtrack.logs.tables.roles import LongColumn, assign_roles
from simtrack.note import Note
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
    spreadsheet : bool
        Whether cells are as a spreadsheet takes them: CSV.
    """

    label: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int]
    losses: Losses
    notes: tuple[str, ...] = ()
    spreadsheet: bool = False


def to_records(
    table: Table,
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    whole: bool = True,
) -> Records:
    """Turn a plain table into the trial table by a map from parts to columns.

    `map` says which column plays which part: {"value": "correct", "cluster": "task_id"}. Parts
    that it leaves out are guessed from common names where only one column fits, and a note says
    so. All other columns of scalars are kept as labels under their own names. Without `whole` some
    columns were taken out, so that equal rows are no repeats.
    """
    if is_marked(table.columns):
        return read_marked(
            table.columns, table.label, map=map, metric=metric, spreadsheet=table.spreadsheet
        )
    given = map or {}
    roles, notes = assign_roles(table.label, table.columns, given)
    if metric is not None:
        table = _chosen(table, roles, metric)
    factors: dict[str, Factor] = {"source": Factor.constant(table.label, len(table.lines))}
    numeric: dict[str, NDArray[np.float64]] = {}
    coded: dict[str, Factor] = {}
    for name, column in roles.items():
        if name in NUMBERS and name != "value":
            try:
                numeric[name] = _numbers(table, column)
            except DataError as error:
                if name in given:
                    raise
                factors[f"column.{name}"] = _labels(table, column)
                notes.append(f"kept as labels, column.{name}: {error}")
        elif name != "value":
            if column not in coded:
                coded[column] = _labels(table, column)
            factors[name] = coded[column]
    _refuse_many_metrics(table.label, factors.get("metric"))
    notes += composed_notes({c: table.columns[c] for n, c in roles.items() if n in factors})
    if "value" in roles:
        reader = ScoreReader(scores)
        numeric["value"], reasons = _judged(reader, table.columns[roles["value"]])
        reader.refuse_unknown(f"{table.label}: column {roles['value']!r}")
        notes = [*notes, *reader.notes()]
    else:
        missing = factors["outcome"].codes < 0
        reasons = Factor(("no outcome",), np.where(missing, 0, -1))
    notes += _identical(table, factors) if whole else []
    factors |= _fates(table, factors, numeric, reasons)
    return Records(
        factors,
        numeric,
        table.losses,
        notes=tuple(Note.of(note).at(table.label) for note in (*table.notes, *notes)),
    )


def _chosen(table: Table, roles: Mapping[str, str], metric: str | Sequence[str]) -> Table:
    """Keep the rows of the chosen metrics, so that the scores of others are never judged."""
    if "metric" not in roles:
        raise InputError("metric", "left out, as the table has no metric column", repr(metric))
    factor = _labels(table, roles["metric"])
    listed = [metric] if isinstance(metric, str) else list(metric)
    codes = {factor.code_of(name, "metric") for name in listed}
    keep = np.flatnonzero(np.isin(factor.codes, list(codes))).tolist()
    columns = {
        name: values.take(keep) if isinstance(values, LongColumn) else [values[k] for k in keep]
        for name, values in table.columns.items()
    }
    lines = [table.lines[row] for row in keep]
    return Table(table.label, columns, lines, table.losses, table.notes)


def _identical(table: Table, factors: Mapping[str, Factor]) -> list[str]:
    """Note rows that repeat another in every column, where no column numbers repetitions."""
    if "unit" not in factors or "repetition" in factors:
        return []
    named = {n: f.with_missing_named() for n, f in factors.items()}
    varied = {n: f for n, f in named.items() if len(f.levels) > 1}
    group = group_rows(varied, len(table.lines))
    several = np.bincount(group.index, minlength=group.size) > 1
    seen: set[tuple[str, ...]] = set()
    again: list[int] = []
    for row in np.flatnonzero(several[group.index]).tolist():
        whole = tuple(repr(values[row]) for values in table.columns.values())
        if whole in seen:
            again.append(table.lines[row])
        seen.add(whole)
    if not again:
        return []
    return [
        f"{len(again)} rows repeat another in every column and count again (first: line "
        f"{again[0]}). Number repetitions in a column (--map repetition=COLUMN), or remove copies"
    ]


def _refuse_many_metrics(label: str, metric: Factor | None) -> None:
    found = len(metric.compact().levels) if metric is not None else 0
    if found > METRICS_MAX:
        raise DataError(
            f"{label}: column 'metric' has {found} levels, more than the {METRICS_MAX} that are "
            "scored at once. Choose some with --metric, or rename the column."
        )


def _fates(
    table: Table,
    factors: Mapping[str, Factor],
    numeric: dict[str, NDArray[np.float64]],
    reasons: Factor,
) -> dict[str, Factor]:
    """Give status and reason of every row; a status of the file's own counts where it is a loss.

    A row that the file calls anything but scored loses its value.
    """
    codes = np.where(reasons.codes >= 0, STATUSES.index("unscored"), STATUSES.index("scored"))
    if "status" in factors:
        said = factors["status"].compact()
        wrong = [code for code, level in enumerate(said.levels) if level not in STATUSES]
        if wrong:
            first = said.levels[said.codes[np.argmax(np.isin(said.codes, wrong))]]
            raise InputError(
                "status", f"one of {', '.join(STATUSES)}", repr(first), where=table.label
            )
        own = np.array([*map(STATUSES.index, said.levels), STATUSES.index("scored")])[said.codes]
        codes = np.where(own != STATUSES.index("scored"), own, codes)
    if "value" in numeric:
        numeric["value"][codes != STATUSES.index("scored")] = np.nan
    found = {"status": _in_natural_order(STATUSES, codes)}
    if "reason" not in factors:
        found["reason"] = _in_natural_order(reasons.levels, reasons.codes)
    return found


def _judged(reader: ScoreReader, values: Sequence[Any]) -> tuple[NDArray[np.float64], Factor]:
    """Read a column of scores: the numbers, and the reason of each row that has none."""
    kinds = set(map(type, values)) - {type(None)}
    found: Sequence[float]
    why: Sequence[str]
    if len(kinds) == 1 and kinds <= {str, int, bool}:  # equal values of one type are the same
        times = Counter(values)
        read = {value: reader.read(value, times=n) for value, n in times.items()}
        found, why = zip(*map(read.__getitem__, values), strict=True)
    else:
        found, why = reader.column(values)
    given = list(dict.fromkeys(reason for reason in why if reason))
    place = {reason: k for k, reason in enumerate(given)} | {"": -1}
    codes = np.fromiter(map(place.__getitem__, why), np.int32, len(why))
    return np.array(found, dtype=np.float64), Factor(tuple(given), codes)


def _in_natural_order(levels: Sequence[str], codes: NDArray[Any]) -> Factor:
    """Give a factor of the levels that rows have, in the order that labels are given in."""
    found = Factor(tuple(levels), codes).compact()
    order = natural_order(found.levels)
    place = [order.index(level) for level in found.levels]
    return Factor(tuple(order), np.array([*place, -1], dtype=np.int32)[found.codes])


def _labels(table: Table, column: str) -> Factor:
    """Code a column as labels."""
    return labels(_scalars(table, column))


def _numbers(table: Table, column: str) -> NDArray[np.float64]:
    values = table.columns[column]
    if set(map(type, values)) == {float}:
        return np.array(values, dtype=np.float64)
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None or value == "":
            continue
        try:
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{table.label}: line {table.lines[row]}: column {column!r} must be a number, "
                f"got {value!r}. Mend the cell or map another column."
            ) from None
    return numbers


def _scalars(table: Table, column: str) -> Sequence[Any]:
    values = table.columns[column]
    if {dict, list}.isdisjoint(map(type, values)):
        return values
    for line, value in zip(table.lines, values, strict=True):
        if isinstance(value, (dict, list)):
            raise DataError(
                f"{table.label}: line {line}: column {column!r} must hold text or numbers, got "
                f"{'an object' if isinstance(value, dict) else 'a list'}. Map another column."
            )
    return values
