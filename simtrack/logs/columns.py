"""How a reader declares its columns, and how their values become labels and numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError

__all__ = [
    "LABELS",
    "LABEL_COLUMNS_MAX",
    "LABEL_MAX_CHARACTERS",
    "METRICS_MAX",
    "NUMBERS",
    "RESERVED",
    "Column",
    "composed",
    "composed_notes",
    "label",
    "labels",
    "listed",
    "numbers",
]

#: More columns of labels, or more metrics, are data that was taken for names.
LABEL_COLUMNS_MAX = METRICS_MAX = 200
#: Longer texts are not labels.
LABEL_MAX_CHARACTERS = 256

#: The labelled and the numeric columns of the trial table that have a meaning of their own.
LABELS = (
    "source",
    "run",
    "task",
    "model",
    "solver",
    "unit",
    "cluster",
    "repetition",
    "metric",
    "status",
    "reason",
    "limit",
    "outcome",
    "view",
    "filter",
    "score",
    "scorer",
)
NUMBERS = ("value", "signal", "tokens_in", "tokens_out", "duration_s", "working_s", "cost_usd")
RESERVED = frozenset(LABELS + NUMBERS)


@dataclass(frozen=True, slots=True)
class Column:
    """Where does a column of the trial table come from?

    Parameters
    ----------
    name : str
        The column of the table.
    kind : {"label", "number"}
        What it becomes; a missing label is None, a missing number NaN.
    take : callable
        Gives the value from one decoded object.
    """

    name: str
    kind: Literal["label", "number"]
    take: Callable[[Any], Any]


def label(value: Any) -> str | None:
    """Give a JSON scalar as a label: composed text, integers exact, true and false in lower case.

    Examples
    --------
    >>> [label(v) for v in ("NA", 9007199254740993, True, 0.5, None)]
    ['NA', '9007199254740993', 'true', '0.5', None]
    """
    if value is None:
        return None
    if isinstance(value, str):
        return composed(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits, which Python will not write
        return hex(value)


def composed(text: str) -> str:
    """Give text in Unicode's composed form (NFC), so that equal-looking ids are equal.

    Examples
    --------
    >>> composed("e\u0301") == "\u00e9"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def composed_notes(columns: Mapping[str, Iterable[Any]]) -> list[str]:
    """Say which columns hold labels that `composed` changes, and whether it made some equal."""
    notes = []
    for name, values in columns.items():
        texts = {v for v in set(values) if isinstance(v, str)}
        changed = sum(1 for text in texts if composed(text) != text)
        merged = len(texts) - len(set(map(composed, texts)))
        if changed:
            equal = f", which made {merged} of them equal to another" if merged else ""
            notes.append(f"{changed} labels of {name} were put into Unicode's NFC{equal}")
    return notes


def listed(names: Sequence[str], most: int = 20) -> str:
    """Name the first `most` of several things and count the others; what files hold is escaped.

    Examples
    --------
    >>> listed(["acc", "f1", "em"], 2), listed(["a" + chr(10) + "b"]) == "a" + chr(92) + "nb"
    ('acc, f1 and 1 more', True)
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    told = [name if name.isprintable() else repr(name)[1:-1] for name in names[:most]]
    return ", ".join(told) + more if names else "none"


def labels(values: Iterable[Any]) -> Factor:
    """Code a column of JSON scalars as labels."""
    column = list(values)
    kinds = set(map(type, column))
    if kinds == {type(None)} or not column:
        return Factor((), np.full(len(column), -1, dtype=np.int32))
    if kinds <= {str, type(None)}:
        changed = {v: c for v in set(column) if v is not None and (c := composed(v)) != v}
        return Factor.from_values([changed.get(v, v) for v in column] if changed else column)
    if kinds <= {int, type(None)}:
        texts = {v: label(v) for v in set(column)}
        return Factor.from_values([texts[v] for v in column])
    return Factor.from_values([label(value) for value in column])


def numbers(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    """Give a column of numbers, NaN where one is missing: shape (rows,)."""
    try:
        return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)
    except OverflowError:
        raise DataError(f"{where} holds a number beyond 1e308. Mend the log.") from None
