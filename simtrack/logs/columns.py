"""How a reader declares its columns, and how their values become labels and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor

__all__ = ["LABELS", "NUMBERS", "RESERVED", "Column", "label", "labels", "numbers"]

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
    """Give a JSON scalar as a label: text as it is, integers exact, true and false in lower case.

    Examples
    --------
    >>> [label(v) for v in ("NA", 9007199254740993, True, 0.5, None)]
    ['NA', '9007199254740993', 'true', '0.5', None]
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def labels(values: Iterable[Any]) -> Factor:
    """Code a column of JSON scalars as labels."""
    column = list(values)
    kinds = set(map(type, column))
    if kinds == {type(None)} or not column:
        return Factor((), np.full(len(column), -1, dtype=np.int32))
    if kinds <= {str, type(None)}:
        return Factor.from_values(column)
    return Factor.from_values([label(value) for value in column])


def numbers(values: Sequence[Any]) -> NDArray[np.float64]:
    """Give a column of numbers, NaN where one is missing: shape (rows,)."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
