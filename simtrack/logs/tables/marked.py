"""A trial table that simtrack wrote, read back exactly: labels, numbers, losses, notes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simtrack.counts import Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.logs.tables.guarded import unguarded
from simtrack.logs.tables.roles import MARKER
from simtrack.records import Records

__all__ = ["is_marked", "read_marked"]

TRIAL, _LOSS, _TABLE = "trial", '{"loss":', '{"table":'


def is_marked(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Say whether the columns are those of a trial table with a row that describes it."""
    kinds = columns.get(MARKER, ())
    return any(k == TRIAL or (isinstance(k, str) and k.startswith(_TABLE)) for k in kinds)


def read_marked(
    columns: Mapping[str, Sequence[Any]],
    label: str,
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    spreadsheet: bool = False,
) -> Records:
    """Give the trial table that was written: the same columns, losses, levels and notes.

    A map gives a column a further name: {"cluster": "scenario"}.

    Raises
    ------
    DataError
        A table without its last row, which describes it, or with fewer or more trials than that
        row says: it was cut or filtered after it was written.
    """
    marks = list(columns[MARKER])
    about = _about(marks, label)
    trials = [row for row, mark in enumerate(marks) if mark == TRIAL]
    names = [*about["labels"], *about["numbers"]]
    heads = [head for head in columns if head != MARKER]
    if len(trials) != about["rows"] or len(heads) != len(names):
        raise DataError(
            f"{label}: {len(trials)} trials in {len(heads)} columns, where its last row states "
            f"{about['rows']} in {len(names)}: it was cut or filtered. {_CURE}"
        )
    cells = {
        name: [column[row] for row in trials]
        for name, column in zip(names, (list(columns[h]) for h in heads), strict=True)
    }
    levels = about.get("levels", {})
    factors = {
        name: Factor.from_values(
            unguarded(_texts(cells[name]), label, spreadsheet=spreadsheet), levels.get(name)
        )
        for name in about["labels"]
    }
    numbers = {name: _numbers(cells[name], name, label) for name in about["numbers"]}
    losses = Losses(tuple(_loss(mark, label) for mark in marks if str(mark).startswith(_LOSS)))
    records = Records(
        factors,
        numbers,
        losses,
        about.get("parents", {}),
        about.get("kind", "trial"),
        tuple(about.get("notes", ())),
    )
    records = _mapped(records, map or {}, label)
    return records if metric is None else records.select(metric=metric)


_CURE = (
    "Write it anew with simtrack ingest, or drop the column simtrack_trials to read what is left."
)


def _about(marks: Sequence[Any], label: str) -> dict[str, Any]:
    found = [mark for mark in marks if isinstance(mark, str) and mark.startswith(_TABLE)]
    if len(found) != 1:
        what = "is missing" if not found else "stands there more than once"
        raise DataError(f"{label}: the last row, which describes the table, {what}. {_CURE}")
    about = _object(found[0], "table", label)
    whole = isinstance(about.get("rows"), int) and all(
        isinstance(about.get(n), list) and all(isinstance(v, str) for v in about[n])
        for n in ("labels", "numbers")
    )
    if not whole:
        raise DataError(f"{label}: the row that describes the table is damaged. {_CURE}")
    return about


def _object(mark: str, key: str, label: str) -> dict[str, Any]:
    try:
        found = json.loads(mark)[key]
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{label}: a {key} row is no whole JSON: {mark[:60]!r}. {_CURE}")
    return found


def _loss(mark: str, label: str) -> Loss:
    found = _object(mark, "loss", label)
    try:
        where = tuple((str(k), str(v)) for k, v in found["where"].items())
        examples = tuple(map(str, found.get("examples", ())))
        return Loss(str(found["kind"]), int(found["n"]), str(found["reason"]), where, examples)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError(f"{label}: a loss row is damaged: {mark[:60]!r}. {_CURE}") from None


def _texts(cells: Sequence[Any]) -> list[str | None]:
    return [v if v is None or isinstance(v, str) else str(v) for v in cells]


def _numbers(cells: Sequence[Any], name: str, label: str) -> Any:
    try:
        return np.array([np.nan if v is None else float(v) for v in cells], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{label}: column {name!r} must hold numbers alone. {_CURE}") from None


def _mapped(records: Records, given: Mapping[str, str], label: str) -> Records:
    for role, column in given.items():
        if role == column:
            continue
        if role in records.numbers or column not in records.factors:
            known = listed([*records.factors])
            raise InputError(
                "map", f"from a part to one of {known}", f"{role}={column}", where=label
            )
        records = records.with_factors(**{role: records.factors[column]})
    return records
