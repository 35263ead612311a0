"""What does CSV text hold? Every cell as the text that stands there; an empty one is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.tables.table import Table

__all__ = ["parse_csv", "read_csv"]

_DELIMITERS = (",", "\t", ";")


def read_csv(text: str, label: str) -> Table:
    """Read delimited text with a header line into columns of text.

    Commas, or tabs or semicolons where the header has no comma; cells in double quotes may hold
    delimiters, line breaks and doubled quotes. "NA", "None" and "null" are text like any other.
    Blank lines are skipped. A byte-order mark is no part of the first name.

    Raises
    ------
    DataError
        No header, a name that occurs twice, a row with more or fewer cells than the header, or
        quotes that do not close; the message gives the line.
    """
    text = text.removeprefix("\ufeff")
    delimiter = _delimiter(text)
    lines: list[int] = []
    rows: list[list[str]] = []
    for line, cells in parse_csv(text, delimiter, label):
        lines.append(line)
        rows.append(cells)
    if not rows:
        raise DataError(f"{label}: empty: it holds no header line.")
    header = [name.strip() or f"(column {k + 1})" for k, name in enumerate(rows.pop(0))]
    lines.pop(0)
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise DataError(f"{label}: two columns are named {twice[0]!r}. Rename one of them.")
    _refuse_ragged(rows, lines, len(header), label)
    turned = zip(*rows, strict=True) if rows else ([] for _ in header)
    columns = {
        name: [cell or None for cell in column] for name, column in zip(header, turned, strict=True)
    }
    return Table(label, columns, lines, Losses(), spreadsheet=True)


def parse_csv(text: str, delimiter: str, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of every row that is not blank, as RFC 4180 has it.

    A quote inside an unquoted cell is text; text after a closing quote is refused.
    """
    if '"' not in text:
        yield from _parse_plain(text, delimiter)
        return
    mark = re.escape(delimiter)
    cell = re.compile(
        rf'(?:"([^"]*(?:""[^"]*)*)"|([^{mark}\r\n"][^{mark}\r\n]*|))({mark}|\r\n|\r|\n|\Z)'
    )
    position, line, start = 0, 1, 1
    cells: list[str] = []
    quoted = False
    while position < len(text):
        found = cell.match(text, position)
        if found is None:
            raise DataError(
                f"{label}: line {line}: a quoted cell is not closed, or text follows its closing "
                "quote. Double the quotes that are part of a cell."
            )
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
                yield start, cells
            line += 1
            start, cells, quoted = line, [], False
        elif position == len(text):
            yield start, [*cells, ""]


def _parse_plain(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Split text without a single quote character, which needs no grammar."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for line, row in enumerate(text.split("\n"), start=1):
        if row:
            yield line, row.split(delimiter)


def _delimiter(text: str) -> str:
    header = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    return next((mark for mark in _DELIMITERS if mark in header), ",")


def _refuse_ragged(
    rows: Sequence[Sequence[str]], lines: Sequence[int], width: int, label: str
) -> None:
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width:
            raise DataError(
                f"{label}: line {line} has {len(cells)} cells where the header has {width}. "
                "Quote cells that hold the delimiter."
            )
