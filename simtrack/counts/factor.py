"""A labelled column: which level does each row have?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError

__all__ = ["MISSING", "NO_LABEL", "Factor", "natural_codes", "natural_order"]

#: The code of a row that has no label.
MISSING = -1
#: The level of rows without a label, where they are grouped with the others.
NO_LABEL = "(none)"
_DIGITS = re.compile(r"([0-9]+)")
#: Characters that serve as marks, and a length that no code point can say.
_MARKS = re.compile(r"[\x00-\x03]")
_LONG = 50_000
_SHAPE = str.maketrans("123456789", "000000000")


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Which level of a named column does each row have?

    Parameters
    ----------
    levels : tuple of str
        The distinct labels; their order is part of the value.
    codes : int32 array, shape (rows,)
        Index into `levels`; -1 where the label is missing.

    Examples
    --------
    >>> f = Factor.from_values(["q10", "q2", None, "q2"])
    >>> f.levels, f.codes.tolist(), f.values()
    (('q2', 'q10'), [1, 0, -1, 0], ['q10', 'q2', None, 'q2'])
    """

    levels: tuple[str, ...]
    codes: NDArray[np.int32]

    def __post_init__(self) -> None:
        codes = np.array(self.codes, dtype=np.int32, copy=True)
        if codes.ndim != 1:
            raise InputError("codes", "a one-dimensional array", codes.shape)
        if len(set(self.levels)) != len(self.levels):
            raise InputError("levels", "distinct", _first_repeat(self.levels))
        if codes.size and not (codes.min() >= MISSING and codes.max() < len(self.levels)):
            raise InputError("codes", f"between -1 and {len(self.levels) - 1}", codes.max())
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    @classmethod
    def from_values(
        cls, values: Iterable[str | None], levels: Sequence[str] | None = None
    ) -> Factor:
        """Code the labels of a column; None is missing.

        Without `levels` they are put in natural order (q2 before q10), so that the order of the
        rows never matters. With `levels`, a label outside them is refused.
        """
        column = list(values)
        if levels is None:
            levels = natural_order({v for v in column if v is not None})
        index: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
        index[None] = MISSING
        try:
            codes = np.fromiter(map(index.__getitem__, column), np.int32, len(column))
        except KeyError as error:
            raise InputError("label", "one of " + ", ".join(levels), repr(error.args[0])) from None
        return cls(tuple(levels), codes)

    @classmethod
    def constant(cls, level: str, rows: int) -> Factor:
        """Give the same label to every row."""
        return cls((level,), np.zeros(rows, dtype=np.int32))

    def __len__(self) -> int:
        return int(self.codes.size)

    def values(self) -> list[str | None]:
        """Give the label of every row, None where it is missing."""
        lookup: list[str | None] = [*self.levels, None]
        return [lookup[code] for code in self.codes.tolist()]

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Factor:
        """Keep the rows that `index` (positions or a mask) selects; levels stay as they are."""
        return Factor(self.levels, self.codes[index])

    def compact(self) -> Factor:
        """Drop the levels that no row has, keeping the order of the rest."""
        # The first place counts rows without a label.
        used = np.flatnonzero(np.bincount(self.codes + 1, minlength=len(self.levels) + 1)[1:])
        if used.size == len(self.levels):
            return self
        renumber = np.full(len(self.levels) + 1, MISSING, dtype=np.int32)
        renumber[used] = np.arange(used.size, dtype=np.int32)
        return Factor(tuple(self.levels[i] for i in used), renumber[self.codes])

    def with_missing_named(self, level: str = NO_LABEL) -> Factor:
        """Give rows without a label one that says so, after all others."""
        if (self.codes >= 0).all():
            return self
        codes = np.where(self.codes < 0, len(self.levels), self.codes)
        return Factor((*self.levels, self.fresh(level)), codes)

    def fresh(self, level: str) -> str:
        """Give `level`, or where a real label is called so, a name like it that is free.

        Examples
        --------
        >>> Factor.from_values(["(none)", "a"]).fresh("(none)")
        '(none) 2'
        """
        taken, name, k = set(self.levels), level, 2
        while name in taken:
            name, k = f"{level} {k}", k + 1
        return name

    def code_of(self, level: str, name: str) -> int:
        """Give the code of `level`, or refuse it and print the levels there are.

        A level is also found by its text in Unicode's composed form (NFC), which readers give.
        """
        for form in (level, unicodedata.normalize("NFC", level)):
            if form in self.levels:
                return self.levels.index(form)
        shown = ", ".join(self.levels[:12]) + (" …" if len(self.levels) > 12 else "")
        raise InputError(name, f"one of {shown}", repr(level))

    @staticmethod
    def concatenate(parts: Sequence[Factor]) -> Factor:
        """Stack columns of several tables; levels are united in natural order."""
        if all(part.levels == parts[0].levels for part in parts):
            return Factor(parts[0].levels, np.concatenate([part.codes for part in parts]))
        levels = natural_order({level for part in parts for level in part.levels})
        index = {level: code for code, level in enumerate(levels)}
        columns = []
        for part in parts:
            lookup = np.array([*(index[level] for level in part.levels), MISSING], dtype=np.int32)
            columns.append(lookup[part.codes])
        return Factor(tuple(levels), np.concatenate(columns))


def natural_order(labels: Iterable[str]) -> list[str]:
    """Sort labels as a reader would: q2 before q10, 1 before 2 before 10; ties by code point."""
    column = list(labels)
    return sorted(column, key=_key_of(column))


def natural_codes(labels: Sequence[str]) -> NDArray[np.int32]:
    """Give the place of each of several different labels in their natural order.

    Examples
    --------
    >>> natural_codes(["q10", "q2", "q1"]).tolist()
    [2, 1, 0]
    """
    key = _key_of(labels)
    keys = labels if key is None else [key(label) for label in labels]
    order = np.array(sorted(range(len(labels)), key=keys.__getitem__), dtype=np.int64)
    codes = np.empty(len(labels), dtype=np.int32)
    codes[order] = np.arange(len(labels), dtype=np.int32)
    return codes


def _key_of(labels: Sequence[str]) -> Callable[[str], Any] | None:
    """Choose by what labels are compared; None where that is the text itself."""
    shapes = "\n".join(labels).translate(_SHAPE).split("\n")
    if len(shapes) == len(labels) and len(set(shapes)) == 1:
        return None  # digits in the same places
    if any(len(label) > _LONG or _MARKS.search(label) for label in labels):
        return _natural_key
    return _short_key


def _short_key(label: str) -> str:
    """Give one text that sorts as the parts of `_natural_key` do, in a third of the time.

    A number stands behind a mark and its length; all marks are less than any other character.
    """
    return _DIGITS.sub(_marked, label) + "\x01" + label


def _marked(digits: re.Match[str]) -> str:
    bare = digits[0].lstrip("0")
    return f"\x02{chr(len(bare))}{bare}"


def _natural_key(label: str) -> tuple[list[tuple[int, int, str]], str]:
    # Digits without leading zeros compare as numbers by length, then text: an int of thousands of
    # digits is refused by Python.
    keyed = [
        (0, len(bare := p.lstrip("0")), bare) if p.isascii() and p.isdigit() else (1, 0, p)
        for p in _DIGITS.split(label)
        if p
    ]
    return keyed, label


def _first_repeat(levels: Sequence[str]) -> str:
    seen: set[str] = set()
    for level in levels:
        if level in seen:
            return repr(level)
        seen.add(level)
    return ""
