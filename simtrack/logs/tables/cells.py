"""A column of a plain table in nine bytes a cell: what kind it is, and its value or where it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "BOOL",
    "FLOAT",
    "INT",
    "LABEL_MAX_CHARACTERS",
    "NULL",
    "OBJECT",
    "TEXT",
    "Cells",
    "Column",
    "Kinds",
]

Kinds = NDArray[np.uint8]
#: Longer texts are not labels.
LABEL_MAX_CHARACTERS = 256
Payload = NDArray[np.int64]
#: A row without the key, null, true or false, a 64-bit integer, a float (its bits), a text (its
#: place among the texts), anything else (its place among the objects).
ABSENT, NULL, BOOL, INT, FLOAT, TEXT, OBJECT = range(7)
_KINDS = {
    msgspec.UnsetType: ABSENT,
    type(None): NULL,
    bool: BOOL,
    int: INT,
    float: FLOAT,
    str: TEXT,
}


class Cells(Sequence[Any]):
    """A column that is whole: a sequence of Python values, None where there is none.

    Parameters
    ----------
    kinds : uint8 array, shape (rows,)
    payload : int64 array, shape (rows,)
    texts, objects : sequence
        What the payload of texts and of objects points to; a value may stand there twice.

    Examples
    --------
    >>> column = Column()
    >>> column.add(["a", None, 2, "a", [1]])
    >>> cells = column.cells()
    >>> list(cells), cells[3], cells.distinct()[0].tolist()
    (['a', None, 2, 'a', [1]], 'a', [0, 1, 2, 0, 3])
    """

    __slots__ = ("_distinct", "_kinds", "_objects", "_payload", "_texts")

    def __init__(
        self, kinds: Kinds, payload: Payload, texts: Sequence[str], objects: Sequence[Any]
    ) -> None:
        self._kinds, self._payload = kinds, payload
        self._texts, self._objects = texts, objects
        self._distinct: tuple[NDArray[np.int64], list[Any]] | None = None

    def __len__(self) -> int:
        return int(self._kinds.size)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        return self._values(int(self._kinds[row]), self._payload[row : row + 1 or None])[0]

    def __iter__(self) -> Iterator[Any]:
        codes, values = self.distinct()
        return map(values.__getitem__, codes.tolist())

    def take(self, rows: NDArray[np.intp]) -> Cells:
        """Keep these rows."""
        return Cells(self._kinds[rows], self._payload[rows], self._texts, self._objects)

    def spread(self, rows: NDArray[np.int64], size: int) -> Cells:
        """Give a column of `size` rows with these cells in `rows`, absent in the others."""
        kinds, payload = np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.int64)
        kinds[rows], payload[rows] = self._kinds, self._payload
        return Cells(kinds, payload, self._texts, self._objects)

    def has_heavy(self) -> bool:
        """Say whether a value may be too long or nested to be a label."""
        longest = max(map(len, self._texts), default=0)
        nested = not all(isinstance(value, int) for value in self._objects)
        return longest > LABEL_MAX_CHARACTERS or nested

    def distinct(self) -> tuple[NDArray[np.int64], list[Any]]:
        """Give the different values, in the order of their first rows, and which each row has.

        Values are different where they are of different types or print differently; lists, objects
        and integers beyond 64 bits all count as different. What is absent or null is None.
        """
        if self._distinct is None:
            self._distinct = self._found()
        return self._distinct

    def floats(self) -> NDArray[np.float64] | None:
        """Give the column as floats where it holds floats and integers alone, else None."""
        if not np.isin(self._kinds, (INT, FLOAT)).all():
            return None
        return np.where(
            self._kinds == FLOAT, self._payload.view(np.float64), self._payload.astype(np.float64)
        )

    def _values(self, kind: int, payload: Payload) -> list[Any]:
        """Give the Python values of cells of one kind."""
        if kind <= NULL:
            return [None] * payload.size
        if kind == FLOAT:
            return list(payload.view(np.float64).tolist())
        if kind >= TEXT:
            kept = self._texts if kind == TEXT else self._objects
            return [kept[place] for place in payload.tolist()]
        return list((payload.astype(bool) if kind == BOOL else payload).tolist())

    def _found(self) -> tuple[NDArray[np.int64], list[Any]]:
        codes = np.zeros(len(self), dtype=np.int64)
        values: list[Any] = []
        for kind in np.unique(self._kinds).tolist():
            rows = self._kinds == kind
            every = bool(rows.all())
            some, index = _unique(self._payload if every else self._payload[rows], kind)
            if every:
                codes = index + len(values)
            else:
                codes[rows] = index + len(values)
            values += self._values(kind, some)
        return _in_order_of_rows(codes, values)


class Column:
    """A column that is being filled, a block of rows at a time.

    Texts that are added here have a negative payload until the column is whole: the others are
    places in a dictionary that is made elsewhere.
    """

    __slots__ = ("_index", "_kinds", "_objects", "_payload", "_texts", "is_heavy")

    def __init__(self) -> None:
        #: Whether a value is too long or nested to be a label.
        self.is_heavy = False
        self._kinds: list[Kinds] = []
        self._payload: list[Payload] = []
        self._index: dict[str, int] = {}
        self._texts: list[str] = []
        self._objects: list[Any] = []

    def add(self, values: Sequence[Any]) -> None:
        """Add the values of some rows; UNSET is absent."""
        self.add_arrays(*self.coded(values))

    def add_arrays(self, kinds: Kinds, payload: Payload) -> None:
        """Add rows that are coded already."""
        self._kinds.append(kinds)
        self._payload.append(payload)

    def present(self) -> int:
        """Count the rows that have the key, be it null."""
        return sum(int(np.count_nonzero(kinds != ABSENT)) for kinds in self._kinds)

    def coded(self, values: Sequence[Any]) -> tuple[Kinds, Payload]:
        """Give the kinds and the payload of some values, keeping their texts and objects."""
        types = list(map(type, values))
        found = {t: _KINDS.get(t, OBJECT) for t in set(types)}
        kinds = np.fromiter(map(found.__getitem__, types), np.uint8, len(types))
        if INT in found.values():
            _set_apart_large(kinds, values)
        payload = np.zeros(len(types), dtype=np.int64)
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            if kind > NULL:
                some = [values[r] for r in rows.tolist()] if rows.size < kinds.size else values
                payload[rows] = self._payload_of(kind, some)
        return kinds, payload

    def cells(self, dictionary: Sequence[str] = (), *, repeats: bool = False) -> Cells:
        """Give the column, of the texts in a dictionary and those added here, and forget it.

        `repeats` says that a text may stand twice in the dictionary.
        """
        kinds = np.concatenate(self._kinds or [np.zeros(0, dtype=np.uint8)])
        payload = np.concatenate(self._payload or [np.zeros(0, dtype=np.int64)])
        self._kinds, self._payload = [], []
        texts, place = self._united(dictionary, repeats=repeats)
        own = kinds == TEXT
        places = payload[own]
        places[places < 0] = len(dictionary) - 1 - places[places < 0]
        payload[own] = places if place is None else place[places]
        return Cells(kinds, payload, texts, self._objects)

    def _united(
        self, dictionary: Sequence[str], *, repeats: bool
    ) -> tuple[Sequence[str], NDArray[np.int64] | None]:
        """Give each text once, and where those of the dictionary and then these went if moved."""
        if not dictionary:
            return self._texts, None
        if repeats:
            every = [*dictionary, *self._texts]
            index = {text: k for k, text in enumerate(dict.fromkeys(every))}
            return list(index), np.fromiter(map(index.__getitem__, every), np.int64, len(every))
        known = {text: k for k, text in enumerate(dictionary) if text in self._index}
        new = [text for text in self._texts if text not in known]
        known |= {text: len(dictionary) + k for k, text in enumerate(new)}
        moved = [known[text] for text in self._texts]
        place = np.append(np.arange(len(dictionary)), np.array(moved, dtype=np.int64))
        return [*dictionary, *new], place

    def _payload_of(self, kind: int, values: Sequence[Any]) -> Payload:
        if kind == TEXT:
            index = self._index
            for text in dict.fromkeys(values):
                if text not in index:
                    index[text] = len(self._texts)
                    self._texts.append(text)
                    self.is_heavy = self.is_heavy or len(text) > LABEL_MAX_CHARACTERS
            return -1 - np.fromiter(map(index.__getitem__, values), np.int64, len(values))
        if kind == FLOAT:
            return np.array(values, dtype=np.float64).view(np.int64)
        if kind == OBJECT:
            first = len(self._objects)
            self._objects.extend(values)
            self.is_heavy = self.is_heavy or not all(isinstance(v, int) for v in values)
            return np.arange(first, len(self._objects), dtype=np.int64)
        return np.array(values, dtype=np.int64)


def _set_apart_large(kinds: Kinds, values: Sequence[Any]) -> None:
    """Make objects of integers beyond 64 bits."""
    ints = [values[row] for row in np.flatnonzero(kinds == INT).tolist()]
    if min(ints) >= -(2**63) and max(ints) < 2**63:
        return
    for row in np.flatnonzero(kinds == INT).tolist():
        if not -(2**63) <= values[row] < 2**63:
            kinds[row] = OBJECT


def _unique(payload: Payload, kind: int) -> tuple[Payload, Payload]:
    """Give the different payloads and which one each row has."""
    if kind <= NULL:
        return np.zeros(1, dtype=np.int64), np.zeros(payload.size, dtype=np.int64)
    low, high = int(payload.min()), int(payload.max())
    if high - low > 4 * payload.size + 1024:
        some, index = np.unique(payload, return_inverse=True)
        return some, index.astype(np.int64, copy=False)
    used = np.bincount(payload - low) > 0
    renumber = np.cumsum(used) - 1
    return np.flatnonzero(used) + low, renumber[payload - low]


def _in_order_of_rows(codes: Payload, values: list[Any]) -> tuple[Payload, list[Any]]:
    first = np.full(len(values), codes.size, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    if first.size < 2 or (np.diff(first) > 0).all():
        return codes, values
    order = np.argsort(first, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return place[codes], [values[k] for k in order.tolist()]
