"""Columns of a scored table, by the names that a scheme needs: labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records

__all__ = ["labels_nobody_has", "named_column", "number_column"]


_NO_CHOICE = frozenset({"status", "reason", "source"})


def named_column(records: Records, name: str, whose: str, cure: str) -> Factor:
    """Give a labelled column; where there is none, say what it is for and how to name another.

    Examples
    --------
    >>> rows = Records.from_columns({"unit": ["a"], "stages": ["READY"]})
    >>> named_column(rows, "stage", "right stage", "Map it: --map stage=COLUMN.")
    Traceback (most recent call last):
    simtrack.errors.InputError: right stage: column must be one of stages, unit, got 'stage'. \
Did you mean stages? Map it: --map stage=COLUMN.
    """
    if name in records.factors:
        return records.factors[name]
    known = sorted(set(records.factors) - _NO_CHOICE)
    near = get_close_matches(name, known, 1)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise InputError(
        f"{whose}: column", f"one of {', '.join(known)}", repr(name), cure=guess + cure
    )


def labels_nobody_has(
    records: Records, conditions: Iterable[tuple[str, Mapping[str, tuple[str, ...]]]]
) -> list[str]:
    """Note the labels that no row has, which a protocol may have misspelt.

    Parameters
    ----------
    records : Records
    conditions : pairs of text and mapping of column to labels
        Where in the protocol it stands, and what must hold there.

    Examples
    --------
    >>> rows = Records.from_columns({"arm": ["a", "b"]})
    >>> labels_nobody_has(rows, [("[[rule]] 1", {"arm": ("a", "B")})])
    ['no row has arm B, of which [[rule]] 1 speaks']
    """
    there = {name: frozenset(f.compact().levels) for name, f in records.factors.items()}
    found = []
    for where, when in conditions:
        for name, labels in when.items():
            missing = [label for label in labels if label not in there.get(name, labels)]
            if missing:
                found.append(f"no row has {name} {', '.join(missing)}, of which {where} speaks")
    return found


# Read a column as numbers, whether the log kept it as numbers or as labels.
#: How readers name a column whose own name has a meaning in the trial table.
_RENAMED = "column."


def number_column(records: Records, name: str, what: str) -> NDArray[np.float64]:
    """Give a column as numbers, NaN where it is missing.

    Readers of plain tables keep further columns as labels: a column of labels is read as numbers,
    also under the name that a reader gave it ("column.signal").

    Raises
    ------
    InputError
        There is no such column; the message begins with `what`.
    DataError
        A label is no finite number.

    Examples
    --------
    >>> rows = Records.from_columns({"tokens": ["12", None, "3.5"]})
    >>> number_column(rows, "tokens", "tokens").tolist()
    [12.0, nan, 3.5]
    """
    if name in records.numbers:
        return records.numbers[name]
    factor = records.factors.get(name) or records.factors.get(f"{_RENAMED}{name}")
    if factor is None:
        known = ", ".join(sorted({*records.numbers, *records.factors})) or "none"
        raise InputError(what, f"a column of numbers, one of {known}", repr(name))
    values = []
    for level in factor.levels:
        try:
            number = float(level)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"{name} must hold numbers, got {level!r}. Leave it empty if unknown.")
        values.append(number)
    return np.array([*values, math.nan])[factor.codes]
