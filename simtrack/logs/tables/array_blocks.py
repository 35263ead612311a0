"""Where do the elements of a large JSON array stand? Found piece by piece, nothing kept.

A piece is cut where an element seems to begin as the second one does; if what is before the cut is
a list of whole elements to a strict decoder, then they are the next elements of the array. Other
pieces are taken apart by the standard module, element by element.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

from simtrack.logs.source import Source

__all__ = ["Broken", "Span", "elements"]

#: Where an element starts and ends in the file.
Span = tuple[int, int]
_PIECE_BYTES, _PIECE_MAX_BYTES = 4 << 20, 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,[ \t\r\n]*")
_FIRST_KEY = re.compile(rb'\{[ \t\r\n]*"[^"\\]*"')
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = json.JSONDecoder()


class Broken(ValueError):
    """A place from which on there is no whole element, comma or closing bracket."""


def elements(source: Source) -> Iterator[list[Span]]:
    """Yield the spans of the next elements, again and again.

    Raises
    ------
    Broken
        Text that is no JSON array, even for the forgiving standard module, is not UTF-8, or has
        an element of more than 256 MB.
    """
    at = source.first_visible(source.start)
    if source[at : at + 1] != b"[":
        raise Broken
    at = source.first_visible(at + 1)
    begins, size = b"", _PIECE_BYTES
    while True:
        found = _strictly(source, at, size, begins) or _forgivingly(source, at, size)
        if not found:
            if at + size >= source.end or size >= _PIECE_MAX_BYTES:
                raise Broken
            size *= 2
            continue
        yield found
        source.release(at, found[-1][1])
        begins, size = begins or _between(source, found), _PIECE_BYTES
        at = source.first_visible(found[-1][1])
        mark = source[at : at + 1]
        if mark == b"]":
            if source.first_visible(at + 1) != source.end:
                raise Broken
            return
        if mark != b",":
            raise Broken
        at = source.first_visible(at + 1)


def _between(source: Source, spans: list[Span]) -> bytes:
    """Give how one element ends and the next begins, as far as its first key."""
    if len(spans) < 2:
        return b""
    begin = _FIRST_KEY.match(source[spans[1][0] : spans[1][1]])
    return b"" if begin is None else source[spans[0][1] - 1 : spans[1][0]] + begin[0]


def _strictly(source: Source, at: int, size: int, begins: bytes) -> list[Span]:
    piece = source[at : at + size]
    cut = piece.rfind(begins) + 1 if begins else 0
    if cut <= 0:
        return []
    piece = piece[:cut]
    try:
        raws = _RAWS.decode(b"[" + piece + b"]")
        piece.isascii() or piece.decode("utf-8")  # skipped text may be anything to the decoder
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    found: list[Span] = []
    start = 0
    for raw in raws:
        end = start + len(memoryview(raw))
        found.append((at + start, at + end))
        comma = _COMMA.match(piece, end)
        start = comma.end() if comma else end
    return found


def _forgivingly(source: Source, at: int, size: int) -> list[Span]:
    piece = source[at : at + size]
    if at + size < source.end:
        piece = piece[: max(piece.rfind(mark) for mark in (b"}", b",", b"\n")) + 1]
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return []
    found: list[Span] = []
    start = last = 0
    while True:
        try:
            _, end = _ANY.raw_decode(text, start)
        except (ValueError, RecursionError):
            return found
        behind = _past(text, end)
        if behind == len(text) and text[end - 1] not in '}]"':
            return found  # a number that may go on
        first = at + len(text[last:start].encode())
        at, last = first + len(text[start:end].encode()), end
        found.append((first, at))
        if text[behind : behind + 1] != ",":
            return found
        start = _past(text, behind + 1)


def _past(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
