"""The trial table as a plain file: written so that reading it gives the same table again."""

from __future__ import annotations

import csv
import io
import json
import math

from simtrack.errors import InputError
from simtrack.logs.tables.roles import MARKER
from simtrack.records import Records

__all__ = ["trials_text"]


def trials_text(records: Records, suffix: str = ".csv") -> str:
    """Write a trial table as CSV or JSON lines that `read_log` reads without a map.

    A marker column says that all columns have the names of the trial table, so that status, reason
    and outcome are taken for what they are. Missing labels and numbers are empty (CSV) or null.

    Parameters
    ----------
    records : Records
    suffix : ".csv" or ".jsonl"

    Examples
    --------
    >>> print(trials_text(Records.from_columns({"unit": ["a", "b"], "value": [1, None]})), end="")
    simtrack_trials,unit,value
    1,a,1
    1,b,
    """
    labels = {name: factor.values() for name, factor in records.factors.items()}
    numbers = {name: [_plain(v) for v in column] for name, column in records.numbers.items()}
    columns: dict[str, list[object]] = {MARKER: [1] * len(records)}
    columns |= {name: list(values) for name, values in labels.items()}
    columns |= {name: list(values) for name, values in numbers.items()}
    rows = zip(*columns.values(), strict=True)
    if suffix == ".csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([["" if v is None else v for v in row] for row in rows])
        return out.getvalue()
    if suffix == ".jsonl":
        lines = (dict(zip(columns, row, strict=True)) for row in rows)
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    raise InputError("output", "a name ending in .csv or .jsonl", repr(suffix))


def _plain(value: float) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)
