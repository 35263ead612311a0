"""The trial table as a plain file: written so that reading it gives the same table again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simtrack.counts import Factor, natural_order
from simtrack.errors import InputError, MissingExtra
from simtrack.files import write_text, write_with
from simtrack.logs.inspect import inspect_text
from simtrack.logs.tables.marked import guarded
from simtrack.logs.tables.roles import MARKER
from simtrack.note import Note
from simtrack.records import Records

__all__ = ["TRIAL_SUFFIXES", "is_trial_table", "trials_text", "write_inspect", "write_trials"]

TRIAL_SUFFIXES = (".csv", ".jsonl", ".parquet")
#: What stands in the marker column of a trial's row; other rows hold JSON there.
TRIAL = "trial"
_HEAD_BYTES = 64
_QUOTED = re.compile(r'[,"\r\n;\t]|^\s|\s$')


def write_trials(records: Records, path: str | Path) -> Path:
    """Write a trial table as CSV, JSON lines or Parquet, by the ending of `path`.

    Raises
    ------
    InputError
        Another ending, or a folder that is not there.
    MissingExtra
        Parquet without pyarrow.
    """
    suffix = Path(path).suffix.lower()
    if suffix != ".parquet":
        return write_text(path, trials_text(records, suffix))
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    numeric = {_heads(records)[name] for name in records.numbers}
    made = {
        name: arrow.array(values, arrow.float64())
        if name in numeric
        else arrow.array(values, arrow.string()).dictionary_encode()
        for name, values in _columns(records, spreadsheet=False).items()
    }
    table = arrow.table(made)
    return write_with(
        path, lambda temporary: parquet.write_table(table, temporary, write_page_checksum=True)
    )


def is_trial_table(path: str | Path) -> bool:
    """Did simtrack write this file as a trial table? Told from its beginning or its schema.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = write_trials(Records.from_columns({"unit": ["a"], "value": [1]}), path)
    >>> is_trial_table(path)
    True
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(b"PAR1"):
            from pyarrow import parquet

            return MARKER in parquet.read_schema(path).names
    except (OSError, ImportError, ValueError, RuntimeError):  # of which arrow's errors are kinds
        return False
    return head.removeprefix(b"{").removeprefix(b'"').startswith(MARKER.encode())


def write_inspect(records: Records, path: str | Path) -> tuple[str, ...]:
    """Write a trial table as a JSON log in Inspect's shape, which Inspect opens; give the notes.

    The notes say what such a log cannot hold as the table has it; an empty tuple means that
    `read_log` gives the same outcomes, samples, epochs, labels and losses.

    Raises
    ------
    DataError
        Aggregates, or a table without a column that names samples.
    """
    text, notes = inspect_text(records)
    write_text(path, text)
    return notes


def trials_text(records: Records, suffix: str = ".csv") -> str:
    """Write a trial table as CSV or JSON lines that `read_log` reads without a map.

    A marker column tells rows apart: trials; losses without a row, each a line with its JSON
    there; and last a line with what columns cannot say (order of levels, notes, kind). Missing
    labels and numbers are empty (CSV) or null. In CSV, labels that a spreadsheet would run as a
    formula, and empty ones, stand after an apostrophe, which reading takes off.

    Parameters
    ----------
    records : Records
    suffix : ".csv" or ".jsonl"

    Examples
    --------
    >>> print(trials_text(Records.from_columns({"unit": ["a", "b"], "value": [1, None]})), end="")
    simtrack_trials,unit,value
    trial,a,1
    trial,b,
    "{""table"": {""labels"": [""unit""], ""numbers"": [""value""], ""rows"": 2}}",,
    """
    if suffix == ".csv":
        columns = _columns(records, spreadsheet=True)
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        return "".join(",".join(map(_cell, row)) + "\n" for row in rows)
    if suffix == ".jsonl":
        columns = _columns(records, spreadsheet=False)
        lines = (
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        )
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    raise InputError("output", "a name ending in .csv, .jsonl or .parquet", repr(suffix))


def _columns(records: Records, *, spreadsheet: bool) -> dict[str, list[Any]]:
    """Give the cells by column: the trials, then the losses, then the table's own row."""
    lost = records.losses.entries
    heads = _heads(records)
    found: dict[str, list[Any]] = {}
    marks = [json.dumps({"loss": _loss(entry)}) for entry in lost]
    found[MARKER] = [TRIAL] * len(records) + [*marks, json.dumps({"table": _about(records)})]
    for name, factor in records.factors.items():
        levels = [guarded(level, spreadsheet=spreadsheet) for level in factor.levels]
        cells: list[Any] = [levels[c] if c >= 0 else None for c in factor.codes.tolist()]
        shown = [{**dict(x.where), "status": x.kind, "reason": x.reason}.get(name) for x in lost]
        cells += [guarded(text, spreadsheet=spreadsheet) for text in shown]
        found[heads[name]] = [*cells, None]
    for name, column in records.numbers.items():
        found[heads[name]] = [*map(_plain, column.tolist()), *[None] * (len(lost) + 1)]
    return found


def _about(records: Records) -> dict[str, Any]:
    """Give what the columns cannot say, leaving out what is as usual."""
    odd = {name: list(f.levels) for name, f in records.factors.items() if not _natural(f)}
    about: dict[str, Any] = {
        "labels": list(records.factors),
        "numbers": list(records.numbers),
        "rows": len(records),
    }
    about |= {"losses": len(records.losses.entries)} if records.losses else {}
    about |= {"levels": odd} if odd else {}
    about |= {"parents": dict(records.parents)} if records.parents else {}
    about |= {"kind": records.kind} if records.kind != "trial" else {}
    notes = [note.to_dict() if note.code else note for note in map(Note.of, records.notes)]
    return about | ({"notes": notes} if notes else {})


def _natural(factor: Factor) -> bool:
    """Say whether the levels are those of the rows, in natural order."""
    used = factor.compact().levels
    return used == factor.levels and list(used) == list(natural_order(used))


def _loss(entry: Any) -> dict[str, Any]:
    found = {"kind": entry.kind, "n": entry.n, "reason": entry.reason, "where": dict(entry.where)}
    return found | ({"examples": list(entry.examples)} if entry.examples else {})


def _heads(records: Records) -> Mapping[str, str]:
    """Name the columns in the file: as in the table, where such a name can stand in a header."""
    taken = {MARKER}
    heads: dict[str, str] = {}
    for k, name in enumerate((*records.factors, *records.numbers)):
        head = guarded(name.strip()) or ""
        if head != name or not name.isprintable() or head in taken:
            head = f"column.{k + 1}"
        while head in taken:
            head += "'"
        taken.add(head)
        heads[name] = head
    return heads


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _plain(value: float) -> float | int | None:
    """Give a number as it is written: whole ones without a point, none for NaN."""
    if math.isnan(value):
        return None
    whole = value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0"
    return int(value) if whole else value
