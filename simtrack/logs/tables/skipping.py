"""Which keys of JSON lines hold texts and nested values, that need not be decoded in every line?

A column with one long or nested value is left out of the trial table. Keys that hold such values
in the first records are therefore skipped, and decoded only if a row is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.lines import Span
from simtrack.logs.tables.roles import LABEL_MAX_CHARACTERS, USUAL

__all__ = ["HEAD_RECORDS", "LightRows", "Skipped", "heavy_keys"]

#: Records that are decoded whole before anything is skipped.
HEAD_RECORDS = 64


def heavy_keys(head: Sequence[Mapping[str, Any]], wanted: Collection[str]) -> set[str]:
    """Name the keys with a long or nested value in the first records, but for those in use."""
    return {
        name
        for record in head
        for name, value in record.items()
        if name not in wanted
        and name.lower() not in USUAL
        and (
            isinstance(value, (dict, list))
            or (isinstance(value, str) and len(value) > LABEL_MAX_CHARACTERS)
        )
    }


class LightRows:
    """The rows of a file in which some keys are skipped: tuples of the others, in one order.

    Parameters
    ----------
    head : sequence of dict
        The first records, decoded whole.
    heavy : collection of str
        The keys that are skipped.
    """

    def __init__(self, head: Sequence[Mapping[str, Any]], heavy: Collection[str]) -> None:
        every = list(dict.fromkeys(name for record in head for name in record))
        self.names = [name for name in every if name not in heavy]
        self._heavy = frozenset(heavy)
        self._extra: dict[str, dict[int, Any]] = {}
        self._rows = [tuple(record.get(name) for name in self.names) for record in head]
        fields = {f"f{k}": name for k, name in enumerate(every)}
        kind = msgspec.defstruct(
            "Line",
            [(f, msgspec.Raw if name in heavy else Any, None) for f, name in fields.items()],
            rename=fields.__getitem__,
            forbid_unknown_fields=True,
            gc=False,
        )
        self._decode = msgspec.json.Decoder(kind).decode
        light = [f for f, name in fields.items() if name not in heavy]
        # An attribute that every object has stands behind them, so that there are always several.
        self._take = attrgetter(*light, "__class__", "__class__")

    def __len__(self) -> int:
        return len(self._rows)

    def add_line(self, line: bytes) -> bool:
        """Add a line that is like the first ones: strict JSON with no other key; else say no."""
        try:
            found = self._decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        self._rows.append(self._take(found)[:-2])
        return True

    def add_record(self, record: Mapping[str, Any]) -> None:
        """Add a line that was decoded whole."""
        row = len(self._rows)
        self._rows.append(tuple(record.get(name) for name in self.names))
        known = self._heavy.union(self.names)
        for name, value in record.items():
            if name not in known:
                self._extra.setdefault(name, {})[row] = value

    def columns(self) -> dict[str, Sequence[Any]]:
        """Give the columns that were not skipped; a key that a record lacks is None there."""
        turned = zip(*self._rows, strict=True) if self.names else ()
        found: dict[str, Sequence[Any]] = dict(zip(self.names, turned, strict=True))
        for name, values in self._extra.items():
            found[name] = [values.get(row) for row in range(len(self._rows))]
        return found


class Skipped(Sequence[Any]):
    """A column that was skipped: its values are decoded when they are asked for.

    Parameters
    ----------
    name : str
        The key.
    data : bytes
        The whole file.
    where : sequence of (line, start, end)
        Where each row stands.
    """

    __slots__ = ("_data", "_name", "_where")

    def __init__(self, name: str, data: bytes, where: Sequence[Span]) -> None:
        self._name, self._data, self._where = name, data, where

    def __len__(self) -> int:
        return len(self._where)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return Skipped(self._name, self._data, self._where[row])
        line, start, end = self._where[row]
        record = decode_record(self._data[start:end], f"line {line}", Decoded())
        return record.get(self._name)

    def take(self, rows: Sequence[int]) -> Skipped:
        """Keep these rows, still skipped."""
        return Skipped(self._name, self._data, [self._where[row] for row in rows])
