"""Which rows of cells does delimited text hold? As RFC 4180 has it, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from simtrack.errors import DataError

__all__ = ["OpenQuote", "Row", "breaks", "parse_csv", "parse_rows"]

_LINE = re.compile(r"[^\r\n]+")
_CURE = (
    "a quoted cell is not closed, or text follows its closing quote. Double the quotes that are "
    "part of a cell."
)


#: What stands for the end of a cell that has none.
_OPEN, _WRONG = -1, -2


class Row(NamedTuple):
    """A row that is not blank: its first line, where it starts and ends in the text, its cells."""

    line: int
    start: int
    end: int
    cells: list[str]


class OpenQuote(DataError):
    """Text that ends within a quoted cell, of a row that starts at the character `start`."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def parse_csv(text: str, delimiter: str, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of every row that is not blank, as RFC 4180 has it.

    A quote inside an unquoted cell is text; text after a closing quote is refused.
    """
    for row in parse_rows(text, delimiter, label, 1):
        yield row.line, row.cells


def parse_rows(text: str, delimiter: str, label: str, line: int) -> Iterator[Row]:
    """Yield the rows of a text whose first line has this number."""
    if '"' not in text:
        yield from _parse_plain(text, delimiter, line)
        return
    mark = re.escape(delimiter)
    plain = re.compile(rf'(?:[^{mark}\r\n"][^{mark}\r\n]*|)(?={mark}|\r|\n|\Z)').match
    ending = re.compile(rf"{mark}|\r\n|\r|\n|\Z").match
    position, first, start, size = 0, line, 0, len(text)
    cells: list[str] = []
    quoted = False
    while position < size:
        inside, stop = _cell(text, position, plain)
        found = ending(text, stop) if stop >= 0 else None
        if found is None:
            message = f"{label}: line {line}: {_CURE}"
            raise OpenQuote(message, start) if stop == _OPEN else DataError(message)
        if text[position] == '"':
            quoted = True
            line += breaks(inside)
        cells.append(inside)
        position, end = found.end(), found[0]
        if end != delimiter:
            if quoted or cells != [""]:
                yield Row(first, start, position - len(end), cells)
            line += 1
            first, start, cells, quoted = line, position, [], False
        elif position == size:
            yield Row(first, start, position, [*cells, ""])


def breaks(text: str) -> int:
    """Count the line breaks of any kind."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _cell(text: str, position: int, plain: Callable[..., Any]) -> tuple[str, int]:
    """Give the cell that starts here and what is behind it, _OPEN if nothing closes it."""
    if text[position] == '"':
        stop = _closing(text, position + 1)
        inside = text[position + 1 : stop]
        return (inside.replace('""', '"'), stop + 1) if stop >= 0 else ("", _OPEN)
    found = plain(text, position)
    return (found[0], found.end()) if found else ("", _WRONG)


def _closing(text: str, at: int) -> int:
    """Find the quote that closes a cell, -1 if none does; doubled ones are part of it."""
    while True:
        at = text.find('"', at)
        if at < 0 or text[at + 1 : at + 2] != '"':
            return at
        at += 2


def _parse_plain(text: str, delimiter: str, line: int) -> Iterator[Row]:
    """Split text without a single quote character, which needs no grammar."""
    if "\r" not in text:
        at = 0
        for number, row in enumerate(text.split("\n"), start=line):
            if row:
                yield Row(number, at, at + len(row), row.split(delimiter))
            at += len(row) + 1
        return
    behind = 0
    for found in _LINE.finditer(text):
        between = text[behind : found.start()]
        line += breaks(between)
        behind = found.end()
        yield Row(line, found.start(), behind, found[0].split(delimiter))
