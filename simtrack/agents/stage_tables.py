"""Probabilities by label: which line of a short table holds in a cell of the design?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from simtrack.errors import InputError
from simtrack.taxonomy import OUT_OF_VOCABULARY, STAGES
from simtrack.validate import percent_hint, real

__all__ = ["OUT_OF_VOCABULARY", "POSITIONS", "RateTable", "Rates", "RowTable", "Rows"]

#: Where a report is not due, in the order of a task (StageIF, Table 13).
POSITIONS = ("pre_tool", "post_confirmation", "mid_chain", "post_done")
_SUM_TOLERANCE = 1e-9  # shares typed as decimals add up to 1 only so far

Where: TypeAlias = tuple[tuple[str, str], ...]
Row: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RateTable:
    """Which probability holds in a cell? That of the last line whose labels all agree.

    Parameters
    ----------
    name : str
        What the probabilities are of; used in messages.
    lines : tuple of (labels, probability)
        Labels are ((factor, level), ...), sorted; none means every cell.

    Examples
    --------
    >>> table = RateTable.of("emits", {"*": 0.9, "READY": 0.2, "stage=READY arm=bundle": 0.7})
    >>> table.at({"stage": "POST_OBS"}), table.at({"stage": "READY", "arm": "bundle"})
    (0.9, 0.7)
    """

    name: str
    lines: tuple[tuple[Where, float], ...]

    @classmethod
    def of(cls, name: str, value: Rates) -> RateTable:
        """Read a number, a mapping from places to numbers, or pairs of labels and numbers.

        A place is a stage or a position, "*" for everywhere, or "factor=level factor=level".
        """
        if isinstance(value, RateTable):
            return cls(name, value.lines)
        lines = [(where, _share(name, found)) for where, found in _lines(value)]
        return cls(name, tuple(lines))

    def at(self, labels: Mapping[str, str]) -> float:
        """Give the probability in a cell, or refuse a cell that no line speaks of."""
        return cast("float", _last(self.name, self.lines, labels))

    def to_plain(self) -> list[list[Any]]:
        """Give the lines as lists, as `of` takes them."""
        return [[dict(where), value] for where, value in self.lines]


@dataclass(frozen=True, slots=True)
class RowTable:
    """Which values does a report name, and with which shares? By the last line that agrees.

    Parameters
    ----------
    name : str
    lines : tuple of (labels, ((value, share), ...))
        Shares of a line add up to 1.

    Examples
    --------
    >>> RowTable.of("confusion", {"POST_OBS": {"READY": 0.9, "COMPLETED": 0.1}}).lines[0][1]
    (('READY', 0.9), ('COMPLETED', 0.1))
    """

    name: str
    lines: tuple[tuple[Where, Row], ...]

    @classmethod
    def of(cls, name: str, value: Rows) -> RowTable:
        """Read a mapping from places to rows, or pairs of labels and rows."""
        if isinstance(value, RowTable):
            return cls(name, value.lines)
        return cls(name, tuple((where, _row(name, found)) for where, found in _lines(value)))

    def at(self, labels: Mapping[str, str]) -> Row:
        """Give the row in a cell, or refuse a cell that no line speaks of."""
        return cast("Row", _last(self.name, self.lines, labels))

    def to_plain(self) -> list[list[Any]]:
        """Give the lines as lists, as `of` takes them."""
        return [[dict(where), dict(row)] for where, row in self.lines]


#: How probabilities may be written: see `RateTable.of`.
Rates: TypeAlias = (
    float | Mapping[str, float] | Iterable[tuple[Mapping[str, str], float]] | RateTable
)
#: How rows of shares may be written: see `RowTable.of`.
Rows: TypeAlias = (
    Mapping[str, Mapping[str, float]]
    | Iterable[tuple[Mapping[str, str], Mapping[str, float]]]
    | RowTable
)


def _lines(value: Any) -> list[tuple[Where, Any]]:
    if isinstance(value, Mapping):
        return [(_place(str(key)), found) for key, found in value.items()]
    if isinstance(value, (str, int, float)) or not isinstance(value, Iterable):
        return [((), value)]
    return [(tuple(sorted(dict(where).items())), found) for where, found in value]


def _place(key: str) -> Where:
    if key == "*":
        return ()
    if key in STAGES:
        return (("stage", key),)
    if key in POSITIONS:
        return (("position", key),)
    parts = [part.split("=", 1) for part in key.split()]
    if not parts or any(len(part) != 2 for part in parts):
        rule = "a stage, a position, * or factor=level"
        raise InputError("place", rule, repr(key))
    return tuple(sorted((name, level) for name, level in parts))


def _last(name: str, lines: tuple[tuple[Where, Any], ...], labels: Mapping[str, str]) -> Any:
    for where, value in reversed(lines):
        if all(labels.get(factor) == level for factor, level in where):
            return value
    shown = ", ".join(f"{k}={v}" for k, v in labels.items() if v != "none")
    raise InputError(
        name, "given for every cell", f"none for {shown}", cure="Add a line, or one for '*'."
    )


def _share(name: str, value: Any) -> float:
    try:
        return real(name, value, 0.0, 1.0)
    except InputError as error:
        hint = percent_hint(value) if isinstance(value, (int, float)) else ""
        raise (InputError(name, "from 0 to 1", value, cure=hint) if hint else error) from None


def _row(name: str, value: Any) -> Row:
    row = tuple((str(k), _share(f"{name}[{k}]", v)) for k, v in dict(value).items())
    known = (*STAGES, OUT_OF_VOCABULARY)
    for label, _ in row:
        if label not in known:
            raise InputError(name, f"over {', '.join(known)}", label)
    total = sum(share for _, share in row)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise InputError(name, "a row of shares that add up to 1", total)
    return row
