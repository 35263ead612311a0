"""Which keys of JSON lines hold texts and nested values, that need not be decoded in every line?

A column with one long or nested value is left out of the trial table. Keys that hold such values
in the first records are therefore skipped, and decoded only if a row is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from simtrack.logs.tables.roles import LABEL_MAX_CHARACTERS, USUAL
from simtrack.logs.tables.skipped import Skipped

__all__ = ["HEAD_RECORDS", "LightLines", "Skipped", "heavy_keys", "is_heavy", "is_used"]

#: Records that are decoded whole before anything is skipped.
HEAD_RECORDS = 64
#: What msgspec refuses in the name of a field.
_NO_FIELD = re.compile('["\\\\\x00-\x1f]')


def heavy_keys(head: Sequence[Mapping[str, Any]], wanted: Collection[str]) -> set[str]:
    """Name the keys with a long or nested value in the first records, but for those in use."""
    return {
        name
        for record in head
        for name, value in record.items()
        if not is_used(name, wanted) and is_heavy(value)
    }


def is_used(name: str, wanted: Collection[str]) -> bool:
    """Say whether a key is asked for, or has a name that means something in a table."""
    return name in wanted or name.lower() in USUAL


def is_heavy(value: object) -> bool:
    """Say whether a value is too long or nested to be a label."""
    return isinstance(value, (dict, list)) or (
        isinstance(value, str) and len(value) > LABEL_MAX_CHARACTERS
    )


class LightLines:
    """Decodes lines that are like the first ones: strict JSON with none but the known keys.

    Parameters
    ----------
    names : sequence of str
        The keys whose values are decoded.
    heavy : collection of str
        The keys that are skipped, and not even looked at for whether their text is UTF-8.
    """

    def __init__(self, names: Sequence[str], heavy: Collection[str]) -> None:
        every = {f"f{k}": name for k, name in enumerate((*names, *heavy))}
        kind = msgspec.defstruct(
            "Line",
            [
                (f, Any if k < len(names) else msgspec.Raw, msgspec.UNSET)
                for k, f in enumerate(every)
            ],
            rename=every.__getitem__,
            forbid_unknown_fields=True,
            gc=False,
        )
        decoder = msgspec.json.Decoder(kind)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        self._takes = [attrgetter(f"f{k}") for k in range(len(names))]

    @classmethod
    def of(cls, names: Sequence[str], heavy: Collection[str]) -> LightLines | None:
        """Make one, or None for keys that a decoder cannot be made for."""
        odd = any(map(_NO_FIELD.search, (*names, *heavy)))
        return None if odd else cls(names, heavy)

    def one(self, line: bytes) -> list[Any] | None:
        """Give the values of a line, UNSET where a key is absent; None if it is unlike others."""
        try:
            found = self._decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return [take(found) for take in self._takes]

    def many(self, block: memoryview | bytes) -> list[Any] | None:
        """Decode the lines of a block; None if any is unlike others.

        An object may stand on several lines: then they are fewer than the lines that are not blank.
        """
        try:
            return self._decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def columns(self, found: Sequence[Any]) -> list[list[Any]]:
        """Give the values of decoded lines by column."""
        return [list(map(take, found)) for take in self._takes]
