"""Which keys of JSON lines hold texts and nested values, that need not be decoded in every line?

A column with one long or nested value is left out of the trial table. Keys that hold such values
in the first records are therefore skipped, and decoded only if a row is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.tables.roles import LABEL_MAX_CHARACTERS, USUAL

__all__ = ["HEAD_RECORDS", "Skipped", "heavy_keys", "light_decoder", "spans"]

#: Records that are decoded whole before anything is skipped.
HEAD_RECORDS = 64
Span = tuple[int, int, int]


def spans(data: bytes) -> Iterator[Span]:
    """Yield (line, start, end) of every line that is not blank, split at line feeds alone."""
    start, line = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line += 1
        first = data[start : min(end, start + 64)]
        if first and (not first.isspace() or data[start:end].strip()):
            yield line, start, end
        start = end + 1


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


def light_decoder(
    head: Sequence[Mapping[str, Any]], heavy: Collection[str]
) -> Callable[[bytes], dict[str, Any] | None]:
    """Give a function from a line to its light keys, None where the line is not like the first.

    A line that strict JSON forbids, that has a key which the first records lack, or that is no
    object is not like them, and is to be decoded whole.
    """
    names = list(dict.fromkeys(name for record in head for name in record))
    fields = {f"f{k}": name for k, name in enumerate(names)}
    kind = msgspec.defstruct(
        "Line",
        [(f, msgspec.Raw if name in heavy else Any, None) for f, name in fields.items()],
        rename=fields.__getitem__,
        forbid_unknown_fields=True,
        gc=False,
    )
    decode = msgspec.json.Decoder(kind).decode
    light = [(f, name) for f, name in fields.items() if name not in heavy]

    def decoded(line: bytes) -> dict[str, Any] | None:
        try:
            found = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return {name: getattr(found, field) for field, name in light}

    return decoded


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
