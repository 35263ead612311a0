"""Read a column as numbers, whether the log kept it as numbers or as labels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError, InputError
from simtrack.records import Records

__all__ = ["number_column"]

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
