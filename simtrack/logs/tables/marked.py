"""How a label stands in a cell, so that no spreadsheet runs it and reading gives it back exactly.

A cell that begins with an apostrophe is guarded. After it stands the label itself (as a spreadsheet
takes an apostrophe for "this is text"), or, after a double quote, the label as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from simtrack.counts import Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.logs.decode import one_line
from simtrack.logs.rows import choose_metrics
from simtrack.logs.tables.roles import MARKER
from simtrack.note import Note
from simtrack.records import Records

__all__ = ["GUARD", "guarded", "is_marked", "read_marked", "unguarded"]


GUARD = "'"
#: What a spreadsheet takes for a formula or a command, also in full width, or strips.
_ACTS = frozenset("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
#: No UTF-8 text holds half of a surrogate pair, and with NUL it is taken for a binary file.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def guarded(label: str | None, *, spreadsheet: bool = True) -> str | None:
    r"""Give a label as the text of a cell; None, a missing label, stays None.

    With `spreadsheet`, labels that would act there, and the empty one, which would look missing,
    are guarded too; without, only what the file could not hold.

    Examples
    --------
    >>> [guarded(v) for v in ("plain", "=1+1", "", "-3", "it's", "'quoted")]
    ['plain', "'=1+1", "'", '-3', "it's", "''quoted"]
    >>> guarded("=1+1", spreadsheet=False)
    '=1+1'
    """
    if label is None:
        return None
    if _UNWRITABLE.search(label):
        return GUARD + json.dumps(label)
    if not spreadsheet:
        return GUARD + json.dumps(label) if label.startswith("'\"") else label
    acts = not label or label[0] == GUARD or (label[0] in _ACTS and not _NUMBER.fullmatch(label))
    return GUARD + label if acts else label


def unguarded(
    cells: Iterable[str | None], label: str, *, spreadsheet: bool = True
) -> list[str | None]:
    """Give the labels that `guarded` made the cells of; raise DataError for a damaged one."""
    found: list[str | None] = []
    for cell in cells:
        if cell is None or not cell.startswith(GUARD):
            found.append(cell)
        elif cell.startswith("'\""):
            try:
                found.append(str(json.loads(cell[1:])))
            except ValueError:
                raise DataError(
                    f"{label}: cell {cell[:60]!r} is no whole JSON string. Write the table anew."
                ) from None
        else:
            found.append(cell[1:] if spreadsheet else cell)
    return found


# A trial table that simtrack wrote, read back exactly: labels, numbers, losses, notes.
T = TypeVar("T")
TRIAL, _LOSS, _TABLE = "trial", '{"loss":', '{"table":'
_Count = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class _NoteRow(msgspec.Struct):
    """What the table says of a note that has a code."""

    code: str
    text: str
    where: str = ""
    n: _Count = 0


class _About(msgspec.Struct):
    """What the last row says of the table."""

    labels: list[str]
    numbers: list[str]
    rows: _Count
    losses: _Count = 0
    levels: dict[str, list[str]] = {}
    parents: dict[str, str] = {}
    kind: str = "trial"
    notes: list[str | _NoteRow] = []


class _LossRow(msgspec.Struct):
    """What a loss row says."""

    kind: str
    n: _Count
    reason: str
    where: dict[str, str] = {}
    examples: list[str] = []


def is_marked(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Say whether the columns are those of a trial table with a row that describes it."""
    return any(
        mark == TRIAL or (isinstance(mark, str) and mark.startswith(_TABLE))
        for mark in columns.get(MARKER, ())
    )


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
    about = _about(columns[MARKER], label)
    trials, lost = _parted(columns, about, label)
    heads = [head for head in columns if head != MARKER]
    cells = {
        name: [column[row] for row in trials]
        for name, column in zip(
            (*about.labels, *about.numbers), (list(columns[h]) for h in heads), strict=True
        )
    }
    factors = {
        name: Factor.from_values(
            unguarded(_texts(cells[name]), label, spreadsheet=spreadsheet), about.levels.get(name)
        )
        for name in about.labels
    }
    numbers = {name: _numbers(cells[name], name, label) for name in about.numbers}
    losses = Losses(tuple(_loss(mark, label) for mark in lost))
    notes = tuple(_note(note) for note in about.notes)
    records = Records(factors, numbers, losses, about.parents, about.kind, notes)
    records = _mapped(records, map or {}, label)
    if metric is None:
        return records
    known = records.factors["metric"].levels if "metric" in records.factors else ()
    return records.select(metric=choose_metrics(known, metric, label))


_CURE = (
    "Write it anew with simtrack ingest, or drop the column simtrack_trials to read what is left."
)


def _note(found: str | _NoteRow) -> Note:
    if isinstance(found, str):
        return Note.of(found)
    return Note(found.code, found.text, found.where, found.n)


def _about(marks: Sequence[Any], label: str) -> _About:
    found = [mark for mark in marks if isinstance(mark, str) and mark.startswith(_TABLE)]
    if len(found) != 1:
        what = "is missing" if not found else "stands there more than once"
        raise DataError(f"{label}: the last row, which describes the table, {what}. {_CURE}")
    about = _decoded(found[0], "table", _About, label)
    names = [*about.labels, *about.numbers]
    if len(set(names)) < len(names):
        raise DataError(f"{label}: the last row names a column twice. {_CURE}")
    return about


def _parted(
    columns: Mapping[str, Sequence[Any]], about: _About, label: str
) -> tuple[list[int], list[str]]:
    """Tell trials from losses, and refuse other numbers of them than were written."""
    marks = list(columns[MARKER])
    trials = [row for row, mark in enumerate(marks) if mark == TRIAL]
    lost = [mark for mark in marks if isinstance(mark, str) and mark.startswith(_LOSS)]
    if len(trials) + len(lost) + 1 < len(marks) or len(lost) != about.losses:
        raise DataError(
            f"{label}: {len(lost)} rows of losses among {len(marks)} rows, where its last row "
            f"states {about.losses}: it was filtered or damaged. {_CURE}"
        )
    width = len(about.labels) + len(about.numbers)
    if len(trials) != about.rows or len(columns) - 1 != width:
        raise DataError(
            f"{label}: {len(trials)} trials in {len(columns) - 1} columns, where its last row "
            f"states {about.rows} in {width}: it was cut or filtered. {_CURE}"
        )
    return trials, lost


def _decoded(mark: str, key: str, kind: type[T], label: str) -> T:
    try:
        return msgspec.convert(json.loads(mark)[key], kind)
    except (ValueError, RecursionError, KeyError):
        shown = one_line(mark, 60)
        raise DataError(f"{label}: a {key} row is damaged: {shown!r}. {_CURE}") from None


def _loss(mark: str, label: str) -> Loss:
    row = _decoded(mark, "loss", _LossRow, label)
    return Loss(row.kind, row.n, row.reason, tuple(row.where.items()), tuple(row.examples))


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
