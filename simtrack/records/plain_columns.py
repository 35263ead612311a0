"""Is a plain column labels or numbers, and what is missing in it?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError

__all__ = ["as_labels", "as_list", "as_numbers", "is_missing", "is_numeric"]

#: Columns that are numbers whatever they hold.
_NUMERIC = ("value", "signal")
_SHOWN = 60


def as_list(name: str, column: object) -> list[Any]:
    """Give the values of a column in order; text and what has no order is no column."""
    unordered = isinstance(column, (str, bytes, Mapping, set, frozenset))
    if unordered or not isinstance(column, Iterable):
        raise InputError(
            "columns",
            "a mapping from names to lists",
            _shown(column),
            where=f"column {name}",
        )
    return list(column)


def is_missing(value: object) -> bool:
    """Say whether a value stands for "no value": None, NaN, and pandas' NA and NaT.

    Examples
    --------
    >>> [is_missing(v) for v in (None, float("nan"), "nan", 0, "")]
    [True, True, False, False, False]
    """
    if value is None:
        return True
    if isinstance(value, (str, int)):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124 - NaN and NaT are the values that differ
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to anything
        return type(value).__name__ == "NAType"


def is_numeric(name: str, column: Collection[Any]) -> bool:
    """Say whether a column holds numbers rather than labels.

    Integers are labels, as ids usually are, except in `value` and `signal`.
    """
    if name in _NUMERIC:
        return True
    present = [v for v in column if not is_missing(v)]
    floats = all(isinstance(v, (float, np.floating)) for v in present)
    return floats and any(isinstance(v, (float, np.floating)) for v in column)


def as_numbers(name: str, column: Iterable[Any]) -> NDArray[np.float64]:
    """Give a column of numbers, NaN where one is missing: shape (rows,)."""
    return np.array(
        [np.nan if is_missing(v) else _number(name, v, row) for row, v in enumerate(column, 1)],
        dtype=np.float64,
    )


def as_labels(name: str, column: Iterable[Any]) -> list[str | None]:
    """Give a column of labels as text, None where one is missing."""
    return [None if is_missing(v) else _label(name, v, row) for row, v in enumerate(column, 1)]


def _number(name: str, value: Any, row: int) -> float:
    try:
        if isinstance(value, (list, tuple, np.ndarray)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        cure = "Map each value to a number, or name the column otherwise to keep it as labels."
        raise InputError(
            name, "a column of numbers", _shown(value), where=f"row {row}", cure=cure
        ) from None


def _label(name: str, value: Any, row: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict, set, frozenset, bytes, np.ndarray)):
        raise InputError(name, "a column of text or numbers", _shown(value), where=f"row {row}")
    return str(value)


def _shown(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of thousands of digits
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
