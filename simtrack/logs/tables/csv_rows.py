"""Which rows of cells does delimited text hold? As RFC 4180 has it, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from simtrack.errors import DataError

__all__ = ["OpenQuote", "Row", "parse_csv", "parse_rows"]

_LINE = re.compile(r"[^\r\n]+")
_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_CURE = (
    "a quoted cell is not closed, or text follows its closing quote. Double the quotes that are "
    "part of a cell."
)


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
    cell = re.compile(
        rf'(?:"([^"]*(?:""[^"]*)*)"|([^{mark}\r\n"][^{mark}\r\n]*|))({mark}|\r\n|\r|\n|\Z)'
    )
    position, first, start = 0, line, 0
    cells: list[str] = []
    quoted = False
    while position < len(text):
        found = cell.match(text, position)
        if found is None:
            message = f"{label}: line {line}: {_CURE}"
            closed = _CLOSED.match(text, position)
            raise DataError(message) if closed else OpenQuote(message, start)
        inside, plain, end = found.groups()
        if inside is not None:
            cells.append(inside.replace('""', '"'))
            line += inside.count("\n") + inside.count("\r") - inside.count("\r\n")
            quoted = True
        else:
            cells.append(plain)
        position = found.end()
        if end != delimiter:
            if quoted or cells != [""]:
                yield Row(first, start, position - len(end), cells)
            line += 1
            first, start, cells, quoted = line, position, [], False
        elif position == len(text):
            yield Row(first, start, position, [*cells, ""])


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
        line += between.count("\n") + between.count("\r") - between.count("\r\n")
        behind = found.end()
        yield Row(line, found.start(), behind, found[0].split(delimiter))
