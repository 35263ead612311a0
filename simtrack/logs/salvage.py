"""What is whole of a JSON document that ends too early? Its pairs and elements, one by one."""

from __future__ import annotations

import json
import mmap
import re
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.logs.zips import RATIO_MAX, TOTAL_FLOOR_BYTES, Archive, Member, shown
from simtrack.note import Note

__all__ = ["SalvagedArchive", "salvaged_json"]


_BETWEEN = re.compile(r"[ \t\r\n,]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


def salvaged_json(data: bytes, label: str) -> tuple[Any, str]:
    """Give the whole pairs of an object, or elements of an array, and where the document breaks.

    A list that is cut keeps its whole elements. Nothing is guessed within an element.

    Raises
    ------
    DataError
        Not one pair or element is whole.

    Examples
    --------
    >>> found, broken = salvaged_json(b'{"a": 1, "b": [{"c": 2}, {"c": 3}, {"c"', "x.json")
    >>> found, broken
    ({'a': 1, 'b': [{'c': 2}, {'c': 3}]}, 'element 3 of b')
    """
    text = data.decode("utf-8", "replace").lstrip()
    try:
        found, broken = _array(text, 1, "") if text[:1] == "[" else _object(text)
    except RecursionError:
        raise DataError(f"{label} is nested too deeply to be a log.") from None
    if not found:
        raise DataError(f"{label}: salvage found nothing whole in this JSON.")
    return found, broken


def _object(text: str) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = {}
    at = 1
    while True:
        at = _skip(_BETWEEN, text, at)
        if text[at : at + 1] == "}":
            return found, ""
        try:
            key, at = _DECODER.raw_decode(text, at)
        except ValueError:
            return found, f"a key after {next(reversed(found), 'the start')}"
        colon = _COLON.match(text, at)
        if colon is None or not isinstance(key, str):
            return found, f"key {key}"
        if key in found:  # what closed too early spills its own keys
            return found, f"a second {key}"
        at = colon.end()
        try:
            found[key], at = _DECODER.raw_decode(text, at)
        except ValueError:
            if text[at : at + 1] != "[":
                return found, f"the value of {key}"
            found[key], broken = _array(text, at + 1, f" of {key}")
            return found, broken


def _array(text: str, at: int, where: str) -> tuple[list[Any], str]:
    found: list[Any] = []
    while True:
        at = _skip(_BETWEEN, text, at)
        if text[at : at + 1] == "]":
            return found, ""
        try:
            element, at = _DECODER.raw_decode(text, at)
        except ValueError:
            return found, f"element {len(found) + 1}{where}"
        found.append(element)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


_DECODER = json.JSONDecoder()


# Which members of a broken zip are whole? Found by their local headers, each one checked.
_LOCAL = struct.Struct("<4s5H3L2H")
_HEADER, _DESCRIPTOR = b"PK\x03\x04", b"PK\x07\x08"
#: What follows the last member of a whole archive.
_AFTER = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06")
_FULL32 = 0xFFFFFFFF
_TOO_MUCH = "its header declares more than the archive may unpack to"
#: Descriptors looked at before a streamed member is given up.
_DESCRIPTORS_MAX = 1000


class SalvagedArchive(Archive):
    """What does a zip hold whose directory is lost or wrong?

    Members are found one after another by their local headers; only those whose length and CRC-32
    are right are listed, of equal names the last whole one. Where the chain breaks, the search
    goes on at the next header. Parameters as in `Archive`; the file must be a real one.

    Attributes
    ----------
    lost : list of (name, reason)
        Members whose header was found but whose content is not whole.
    outdated : list of str
        Members whose newest copy is not whole, so that an older one stands for it.
    skipped_bytes : int
        Bytes between members that belong to no whole member.

    Raises
    ------
    DataError
        Not one whole member.
    """

    def __init__(self, file: BinaryIO, label: str) -> None:
        self._broken: list[tuple[str, str, int]] = []
        self.skipped_bytes = 0
        self.has_directory = False
        super().__init__(file, label)
        whole = self.members
        self.lost = [(name, why) for name, why, _ in self._broken if name not in whole]
        self.outdated = list(
            dict.fromkeys(n for n, _, at in self._broken if n in whole and at > whole[n].offset)
        )
        if not whole:
            raise DataError(f"{label}: salvage found no whole member ({self._told_lost()}).")

    def notes(self) -> list[str]:
        """Say what was recovered and what was lost, by name."""
        what = "its directory was not used" if self.has_directory else "the zip has no directory"
        notes = [f"salvaged: {what}; {len(self.members)} members are whole, {self._told_lost()}"]
        if self.outdated:
            notes.append(
                f"salvaged: of {len(self.outdated)} members the newest copy is not whole and an "
                f"older one is read ({listed([*map(shown, self.outdated)], 5)})"
            )
        if self.skipped_bytes:
            notes.append(f"salvaged: {self.skipped_bytes} bytes belong to no whole member")
        return [Note("salvaged", note) for note in notes]

    def _told_lost(self) -> str:
        if not self.lost:
            return "none was found damaged"
        told = listed([f"{shown(name)}: {why}" for name, why in self.lost], 5)
        return f"{len(self.lost)} lost ({told})"

    def _directory(self) -> Iterator[Member]:
        """Yield the whole members in file order; this is what `Archive` builds upon."""
        budget = max(TOTAL_FLOOR_BYTES, RATIO_MAX * self._length)
        position = 0
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            while position < self._length:
                if view[position : position + 4] in _AFTER:
                    self.has_directory = view.find(b"PK\x05\x06", position) >= 0
                    return
                at = view.find(_HEADER, position)
                if at < 0:
                    self.skipped_bytes += self._length - position
                    return
                self.skipped_bytes += at - position
                member, end, why = self._member(view, at)
                if member is not None and not why:
                    why = self._damage(member) if member.size <= budget else _TOO_MUCH
                if member is not None and not why:
                    budget -= member.size
                    yield member
                    position = _chained(view, at, end)
                    continue
                if member is not None and at == position:
                    self._broken.append((member.name, why, at))
                position = _after_damage(view, at, end)
                self.skipped_bytes += position - at

    def _member(self, view: mmap.mmap, at: int) -> tuple[Member | None, int, str]:
        """Read the local header at `at`: the member, where it ends, and what is wrong with it."""
        if at + _LOCAL.size > self._length:
            return None, at + 4, "the file ends inside its header"
        header = _LOCAL.unpack_from(view, at)
        _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = header
        start = at + _LOCAL.size + name_length + extra_length
        raw = bytes(view[at + _LOCAL.size : at + _LOCAL.size + name_length])
        name = raw.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        if _FULL32 in (packed, size):
            packed, size = _wide(bytes(view[start - extra_length : start]), packed, size)
        end = start + packed
        if flags & 8 and not packed:
            found = _descriptor(view, start)
            if found is None:
                member = Member(name, raw, method, flags, crc, packed, size, at)
                return member, at + 4, "the end of this streamed member is lost"
            crc, packed, size, end = found
        member = Member(name, raw, method, flags, crc, packed, size, at)
        if start + packed > self._length:
            return member, start + packed, "the file ends inside it"
        return member, end, ""

    def _damage(self, member: Member) -> str:
        """Unpack a member and say what is wrong with it, '' where nothing is."""
        self.members = {member.name: member}
        try:
            self.read(member.name)
        except DataError as error:
            return str(error).removeprefix(f"{self._named(member)} ")
        return ""


def _chained(view: mmap.mmap, at: int, end: int) -> int:
    """Give where the next member starts: a length that is wrong may have swallowed some."""
    if end < len(view) and view[end : end + 2] != b"PK":
        inner = view.find(_HEADER, at + 4, end)
        return inner if inner >= 0 else end
    return end


def _after_damage(view: mmap.mmap, at: int, end: int) -> int:
    """Give where to look on behind a damaged member.

    A length that leads to no header, or beyond the end, may itself be the damage.
    """
    if end <= len(view) and view[end : end + 2] in (b"PK", b""):
        return end
    if end > len(view) and view.find(_HEADER, at + 4) < 0:
        return len(view)
    return at + 4


def _wide(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """Give the 64-bit sizes of the zip64 extra field: unpacked first, then packed."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1 and length >= 16 and position + 20 <= len(extra):
            size, packed = struct.unpack_from("<QQ", extra, position + 4)
            break
        position += 4 + length
    return packed, size


def _descriptor(view: mmap.mmap, start: int) -> tuple[int, int, int, int] | None:
    """Find the descriptor behind a streamed member: (CRC-32, packed, size, end), or None."""
    at = start
    for _ in range(_DESCRIPTORS_MAX):
        at = view.find(_DESCRIPTOR, at)
        if at < 0:
            return None
        for layout in ("<LLL", "<LQQ"):
            if at + 4 + struct.calcsize(layout) > len(view):
                continue
            crc, packed, size = struct.unpack_from(layout, view, at + 4)
            if packed == at - start:
                return crc, packed, size, at + 4 + struct.calcsize(layout)
        at += 4
    return None
