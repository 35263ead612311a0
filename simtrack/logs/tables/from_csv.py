"""What does CSV text hold? Rows of cells as RFC 4180 has it; an empty cell is missing.

Every cell is the text that stands there: "NA", "None" and "null" are text like any other.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_MAX_CHARACTERS
from simtrack.logs.source import Source
from simtrack.logs.tables.roles import MARKER, LongColumn, is_used
from simtrack.logs.tables.table import Table

__all__ = ["NotUtf8", "Row", "parse_rows", "read_csv"]

_DELIMITERS = (",", "\t", ";")
#: What is in memory as text at a time, and the longest row that is waited for.
_BLOCK_BYTES, _ROW_MAX_BYTES = 2 << 20, 128 << 20
_LINE = re.compile(r"[^\r\n]+")
#: What stands for the end of a cell that has none.
_OPEN, _WRONG = -1, -2
_CURE = (
    "a quoted cell is not closed, or text follows its closing quote. Double the quotes that are "
    "part of a cell."
)


class NotUtf8(DataError):
    """Text in another encoding; the message names its first line that is not UTF-8."""


class Row(NamedTuple):
    """A row that is not blank: the number of its first line, and its cells."""

    line: int
    cells: list[str]


def read_csv(data: str | Source, label: str, wanted: Collection[str] = ()) -> Table:
    """Read delimited text with a header line into columns of text.

    Commas, or tabs or semicolons where the header has no comma; cells in double quotes may hold
    delimiters, line breaks and doubled quotes. Blank lines are skipped. A byte-order mark is no
    part of the first name. Of a column with a text too long for a label, the long texts are kept
    as digests, which tell rows apart, unless it is `wanted` or has a usual name.

    Raises
    ------
    NotUtf8
        Bytes that are not UTF-8, wherever they stand.
    DataError
        No header, a name that occurs twice, a row with more or fewer cells than the header, or
        quotes that do not close; the message gives the line.
    """
    source = Source.of(data.encode() if isinstance(data, str) else data)
    table = _Columns(label, wanted)
    delimiter = ""
    line, start, size = 1, source.start, _BLOCK_BYTES
    while start < source.end:
        _, end = next(source.blocks(start, size))
        text = _decoded(source, start, end, label)
        delimiter = delimiter or _delimiter(text)
        rows: list[Row] = []
        rest = len(text)
        try:
            for row in parse_rows(text, delimiter or ",", label, line):
                rows.append(row)  # noqa: PERF402 - those before an open quote are kept
        except DataError as error:
            if not isinstance(error, _OpenQuote) or end == source.end or size > _ROW_MAX_BYTES:
                _refuse_other_text(source, end, label)
                raise
            rest = error.start
        table.add(rows)
        taken = text if rest == len(text) else text[:rest]
        line += _breaks(taken)
        begin, start = start, end if rest == len(text) else start + len(taken.encode())
        size = _BLOCK_BYTES if rest else 2 * size
        source.release(begin, start)
    return table.whole()


class _Columns:
    """The columns as far as the text is read."""

    def __init__(self, label: str, wanted: Collection[str]) -> None:
        self._label, self._wanted = label, wanted
        self._columns: dict[str, list[str | bytes | None]] = {}
        self._texts: list[dict[str, str | bytes | None]] = []
        self._long: set[str] = set()
        self._lines = array("q")
        self._refusal: DataError | None = None

    def add(self, rows: list[Row]) -> None:
        """Add rows; the first row of all is the header."""
        if not self._columns and rows:
            self._begin(rows.pop(0).cells)
        self._refusal = self._refusal or self._ragged(rows)
        if self._refusal is not None or not rows:
            return
        cells = zip(*(row.cells for row in rows), strict=True)
        for (name, column), texts, values in zip(
            self._columns.items(), self._texts, cells, strict=True
        ):
            for text in dict.fromkeys(values):
                if text not in texts:
                    texts[text] = self._kept(name, text)
            column.extend([texts[text] for text in values])
            if name in self._long:
                texts.clear()
        self._lines.extend(row.line for row in rows)

    def whole(self) -> Table:
        """Give the table, or refuse it for what was found on the way."""
        if self._refusal is not None:
            raise self._refusal
        if not self._columns:
            raise DataError(f"{self._label}: empty: it holds no header line.")
        columns: dict[str, Sequence[str | bytes | None]] = {
            name: LongColumn(column) if name in self._long else column
            for name, column in self._columns.items()
        }
        return Table(self._label, columns, self._lines, Losses(), spreadsheet=True)

    def _begin(self, cells: Sequence[str]) -> None:
        header = [name.strip() or f"(column {k + 1})" for k, name in enumerate(cells)]
        self._columns = {name: [] for name in header}
        self._texts = [{} for _ in header]
        twice = [name for name, times in Counter(header).items() if times > 1]
        if twice:
            self._refusal = DataError(
                f"{self._label}: two columns are named {twice[0]!r}. Rename one of them."
            )

    def _kept(self, name: str, text: str) -> str | bytes | None:
        """Give what is kept of a cell: nothing of an empty one, a digest of one of no use."""
        if len(text) <= LABEL_MAX_CHARACTERS:
            return text or None
        if MARKER in self._columns or is_used(name, self._wanted):
            return text
        self._long.add(name)
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def _ragged(self, rows: Sequence[Row]) -> DataError | None:
        width = len(self._columns)
        for row in rows:
            if len(row.cells) != width:
                return DataError(
                    f"{self._label}: line {row.line} has {len(row.cells)} cells where the header "
                    f"has {width}. Quote cells that hold the delimiter."
                )
        return None


def _delimiter(text: str) -> str:
    """Tell the delimiter from the first line that is not blank, "" if there is none here."""
    header = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    return next((mark for mark in _DELIMITERS if mark in header), "," if header else "")


def _decoded(source: Source, start: int, end: int, label: str) -> str:
    try:
        return source[start:end].decode("utf-8")
    except UnicodeDecodeError as error:
        stop = start + error.start
        line = 1
        for begin, behind in source.blocks(source.start):
            if begin >= stop:
                break
            line += source[begin : min(behind, stop)].count(b"\n")
        raise NotUtf8(f"{label}: line {line} is not UTF-8.") from None


def _refuse_other_text(source: Source, start: int, label: str) -> None:
    """Raise NotUtf8 if anything from here on is in another encoding: that comes first."""
    if start < source.end:
        for begin, end in source.blocks(start, _BLOCK_BYTES):
            _decoded(source, begin, end, label)
            source.release(begin, end)


# The grammar of rows and cells.
class _OpenQuote(DataError):
    """Text that ends within a quoted cell, of a row that starts at the character `start`."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def parse_rows(text: str, delimiter: str, label: str, line: int = 1) -> Iterator[Row]:
    """Yield the rows of a text whose first line has this number.

    A quote inside an unquoted cell is text; text after a closing quote is refused.
    """
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
            raise _OpenQuote(message, start) if stop == _OPEN else DataError(message)
        if text[position] == '"':
            quoted = True
            line += _breaks(inside)
        cells.append(inside)
        position, end = found.end(), found[0]
        if end != delimiter:
            if quoted or cells != [""]:
                yield Row(first, cells)
            line += 1
            first, start, cells, quoted = line, position, [], False
        elif position == size:
            yield Row(first, [*cells, ""])


def _cell(
    text: str, position: int, plain: Callable[[str, int], re.Match[str] | None]
) -> tuple[str, int]:
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
        for number, row in enumerate(text.split("\n"), start=line):
            if row:
                yield Row(number, row.split(delimiter))
        return
    behind = 0
    for found in _LINE.finditer(text):
        line += _breaks(text[behind : found.start()])
        behind = found.end()
        yield Row(line, found[0].split(delimiter))


def _breaks(text: str) -> int:
    """Count the line breaks of any kind."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")
