"""What does CSV text hold? Every cell as the text that stands there; an empty one is missing."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.source import Source
from simtrack.logs.tables.cells import Column
from simtrack.logs.tables.csv_rows import OpenQuote, Row, breaks, parse_rows
from simtrack.logs.tables.roles import MARKER
from simtrack.logs.tables.skipped import Skipped
from simtrack.logs.tables.skipping import is_used
from simtrack.logs.tables.table import Table

__all__ = ["NotUtf8", "read_csv"]

_DELIMITERS = (",", "\t", ";")
#: What is in memory as text at a time, and the longest row that is waited for.
_BLOCK_BYTES, _ROW_MAX_BYTES = 2 << 20, 128 << 20


class NotUtf8(DataError):
    """Text in another encoding; the message names its first line that is not UTF-8."""


def read_csv(data: str | Source, label: str, wanted: Collection[str] = ()) -> Table:
    """Read delimited text with a header line into columns of text.

    Commas, or tabs or semicolons where the header has no comma; cells in double quotes may hold
    delimiters, line breaks and doubled quotes. "NA", "None" and "null" are text like any other.
    Blank lines are skipped. A byte-order mark is no part of the first name. A column with a text
    too long for a label stays in the file, unless it is `wanted` or has a usual name.

    Raises
    ------
    NotUtf8
        Bytes that are not UTF-8, wherever they stand.
    DataError
        No header, a name that occurs twice, a row with more or fewer cells than the header, or
        quotes that do not close; the message gives the line.
    """
    source = Source.of(data.encode() if isinstance(data, str) else data)
    table = _Growing(source, label, wanted)
    line, start, size = 1, source.start, _BLOCK_BYTES
    while start < source.end:
        _, end = next(source.blocks(start, size))
        text = _decoded(source, start, end, label)
        table.delimiter = table.delimiter or _delimiter(text)
        rows: list[Row] = []
        rest = len(text)
        try:
            for row in parse_rows(text, table.delimiter or ",", label, line):
                rows.append(row)  # noqa: PERF402 - those before an open quote are kept
        except DataError as error:
            if not isinstance(error, OpenQuote) or end == source.end or size > _ROW_MAX_BYTES:
                _refuse_other_text(source, end, label)
                raise
            rest = error.start
        table.add(rows, text, start)
        taken = text if rest == len(text) else text[:rest]
        line += breaks(taken)
        begin, start = start, end if rest == len(text) else start + len(taken.encode())
        size = _BLOCK_BYTES if rest else 2 * size
        source.release(begin, start)
    return table.whole()


class _Growing:
    """The columns as far as the text is read."""

    def __init__(self, source: Source, label: str, wanted: Collection[str]) -> None:
        self._source, self._label, self._wanted = source, label, wanted
        self.delimiter = ""
        self._header: list[str] | None = None
        self._columns: list[Column | None] = []
        self._spans: list[NDArray[np.int64]] = []
        self._lines = array("q")
        self._refusal: DataError | None = None

    def add(self, rows: list[Row], text: str, start: int) -> None:
        """Add rows of a text that starts at this byte; the first row of all is the header."""
        if self._header is None and rows:
            self._begin(rows.pop(0).cells)
        self._refusal = self._refusal or self._ragged(rows)
        if self._refusal is not None or not rows:
            return
        for k, cells in enumerate(zip(*(row.cells for row in rows), strict=True)):
            column = self._columns[k]
            if column is not None:
                column.add([cell or None for cell in cells])
                if column.is_heavy and not self._keeps(k):
                    self._columns[k] = None
        spans = _spans(rows, text)
        self._spans.append(spans + start)
        self._lines.extend(row.line for row in rows)

    def whole(self) -> Table:
        """Give the table, or refuse it for what was found on the way."""
        if self._header is None:
            raise DataError(f"{self._label}: empty: it holds no header line.")
        if self._refusal is not None:
            raise self._refusal
        spans = np.concatenate([np.zeros((0, 2), dtype=np.int64), *self._spans])
        columns: dict[str, Sequence[Any]] = {}
        for k, (name, column) in enumerate(zip(self._header, self._columns, strict=True)):
            cell = _cell_of(k, self.delimiter)
            kept = column.cells() if column is not None else Skipped(self._source, spans, cell)
            columns[name] = kept
        return Table(self._label, columns, self._lines, Losses(), spreadsheet=True)

    def _begin(self, cells: Sequence[str]) -> None:
        self._header = [name.strip() or f"(column {k + 1})" for k, name in enumerate(cells)]
        self._columns = [Column() for _ in self._header]
        twice = [name for name, times in Counter(self._header).items() if times > 1]
        if twice:
            self._refusal = DataError(
                f"{self._label}: two columns are named {twice[0]!r}. Rename one of them."
            )

    def _ragged(self, rows: Sequence[Row]) -> DataError | None:
        width = len(self._columns)
        for row in rows:
            if len(row.cells) != width:
                return DataError(
                    f"{self._label}: line {row.line} has {len(row.cells)} cells where the header "
                    f"has {width}. Quote cells that hold the delimiter."
                )
        return None

    def _keeps(self, k: int) -> bool:
        header = self._header or []
        return MARKER in header or is_used(header[k], self._wanted)


def _spans(rows: Sequence[Row], text: str) -> NDArray[np.int64]:
    """Give where rows start and end, in bytes."""
    found = [(row.start, row.end) for row in rows]
    if not text.isascii():
        last = behind = 0
        for k, (start, end) in enumerate(found):
            first = behind + len(text[last:start].encode())
            last, behind = end, first + len(text[start:end].encode())
            found[k] = (first, behind)
    return np.array(found, dtype=np.int64)


def _cell_of(k: int, delimiter: str) -> Callable[[bytes, str], Any]:
    def cell(row: bytes, where: str) -> Any:
        return next(iter(parse_rows(row.decode(), delimiter or ",", where, 1))).cells[k] or None

    return cell


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
