"""JSON lines of a large file by a compiled scanner, in threads; odd lines one by one as ever.

The scanner (`simtrack.kernels.json_lines`) reads a block of lines without a Python object. Threads
scan some blocks ahead; what they found is taken over in the order of the file, so that no answer
depends on how many there are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from simtrack.kernels import json_lines as kernels
from simtrack.kernels.json_text import mark_stops
from simtrack.logs.source import BLOCK_BYTES, Source
from simtrack.logs.tables.assembly import Assembly, LineReader
from simtrack.logs.tables.cells import ABSENT
from simtrack.logs.tables.dictionary import Dictionary
from simtrack.logs.tables.skipping import LightLines

__all__ = ["add_scanned"]

_THREADS = min(4, os.cpu_count() or 1)
_GROUP_BYTES, _FEED = 64, 10


def add_scanned(
    source: Source, start: int, line: int, rows: Assembly, reader: LineReader, decoder: LightLines
) -> tuple[dict[str, Dictionary], int]:
    """Add all lines from `start` on.

    Parameters
    ----------
    start, line : int
        Where the next line starts, and how many lines there are before it.

    Returns
    -------
    dict of str to Dictionary, int
        Those of the columns, and the last line that is not blank, 0 if all are.
    """
    plan = _Plan.of(rows)
    known = {name: Dictionary() for name in rows.names}
    last = 0
    for block in _scanned(source, start, plan):
        if block.found.numbers.size:
            numbers = block.found.numbers + line + 1
            last = int(numbers[-1])
            _add_block(block, numbers, source, rows, reader, decoder, known)
        line += block.lines
        source.release(*block.piece)
    return known, last


@dataclass(frozen=True, slots=True)
class _Plan:
    """The known keys as the scanner takes them: light ones have a column each, in order."""

    names: NDArray[np.uint8]
    name_at: NDArray[np.int64]
    place: NDArray[np.int64]
    columns: int
    row_bytes: float

    def rows_in(self, size: int) -> int:
        """Guess how many rows a block of so many bytes has."""
        return int(1.2 * size / self.row_bytes) + 64

    @staticmethod
    def of(rows: Assembly) -> _Plan:
        every = [name.encode() for name in rows.order]
        column = {name: k for k, name in enumerate(rows.names)}
        return _Plan(
            np.frombuffer(b"".join(every) + b"\x00", dtype=np.uint8),
            np.cumsum([0, *map(len, every)], dtype=np.int64),
            np.array([column.get(name, -1) for name in rows.order], dtype=np.int64),
            len(column),
            rows.row_bytes(),
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """The arrays that `kernels.scan_lines` fills."""

    spans: NDArray[np.int64]
    numbers: NDArray[np.int64]
    flagged: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    payload: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @staticmethod
    def of(columns: int, rows: int) -> _Found:
        return _Found(
            np.zeros((rows, 2), dtype=np.int64),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.uint8),
            np.zeros((columns, rows), dtype=np.uint8),
            np.zeros((columns, rows), dtype=np.int64),
            np.zeros((columns, rows), dtype=np.int64),
        )

    def sized(self, rows: int) -> _Found:
        """Give the same with room for so many rows."""
        found = _Found.of(len(self.kinds), rows)
        n = min(rows, self.numbers.size)
        for name in ("spans", "numbers", "flagged"):
            getattr(found, name)[:n] = getattr(self, name)[:n]
        for name in ("kinds", "payload", "sizes"):
            getattr(found, name)[:, :n] = getattr(self, name)[:, :n]
        return found


@dataclass(frozen=True, slots=True)
class _Block:
    """What was found in one block: positions in `payload` count in `data`, spans in the file."""

    piece: tuple[int, int]
    data: NDArray[np.uint8]
    lines: int
    found: _Found


def _scanned(source: Source, start: int, plan: _Plan) -> Iterator[_Block]:
    """Yield the blocks in order, some of them scanned ahead."""
    pieces = source.blocks(start, BLOCK_BYTES)
    ahead: deque[Future[_Block]] = deque()
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="simtrack-scan") as pool:
        for piece in pieces:
            ahead.append(pool.submit(_scan, source, piece, plan))
            if len(ahead) > _THREADS:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _scan(source: Source, piece: tuple[int, int], plan: _Plan) -> _Block:
    words, shift, end = _aligned(source, *piece)
    data = words.view(np.uint8)
    stops = np.empty(words.size // 8, dtype=np.uint64)
    mark_stops(words, stops)
    found = _Found.of(plan.columns, plan.rows_in(end))
    at, row, line = piece[0] - shift, 0, 0
    while True:
        at, row, line = kernels.scan_lines(
            data, stops, at, end, row, line, plan.names, plan.name_at, plan.place,
            found.spans, found.numbers, found.flagged, found.kinds, found.payload,
            found.payload.view(np.float64), found.sizes,
        )  # fmt: skip
        if at >= end:
            found = found.sized(row)
            found.spans[:] += shift
            return _Block(piece, data, line, found)
        found = found.sized(2 * row)


def _aligned(source: Source, start: int, end: int) -> tuple[NDArray[np.uint64], int, int]:
    """Give the groups of 64 bytes with a block in them, and a line feed at the end of the block.

    They are taken as they lie in memory, or where the file ends, copied.

    Returns
    -------
    uint64 array, int, int
        The words, where the first stands in the file, and where the block ends in them.
    """
    data = source.array()
    first = start // _GROUP_BYTES * _GROUP_BYTES
    groups = -(-(end - first) // _GROUP_BYTES) + 1
    if first + groups * _GROUP_BYTES <= source.end and data.ctypes.data % 8 == 0:
        return data[first : first + groups * _GROUP_BYTES].view(np.uint64), first, end - first
    copy = np.zeros(groups * _GROUP_BYTES, dtype=np.uint8)
    copy[: end - first] = data[first:end]
    end -= first
    if copy[end - 1] != _FEED:
        copy[end] = _FEED
        end += 1
    copy.flags.writeable = False
    return copy.view(np.uint64), first, end


def _add_block(
    block: _Block,
    numbers: NDArray[np.int64],
    source: Source,
    rows: Assembly,
    reader: LineReader,
    decoder: LightLines,
    known: dict[str, Dictionary],
) -> None:
    reader.go_on()
    flagged = block.found.flagged.astype(bool)
    kinds, payload = block.found.kinds, block.found.payload
    raw = [_decode_raw(block, k, flagged) for k in range(len(rows.names))]
    odd = np.flatnonzero(flagged).tolist()
    kinds[:, odd] = ABSENT
    for k, name in enumerate(rows.names):
        column = rows.column(name)
        if column is None:
            continue
        known[name].intern(block.data, kinds[k], payload[k], block.found.sizes[k])
        cells, values = raw[k]
        if cells:
            sound = [j for j, cell in enumerate(cells) if not flagged[cell]]
            cells, values = [cells[j] for j in sound], [values[j] for j in sound]
            kinds[k, cells], payload[k, cells] = column.coded(values)
    gone = _add_odd(block, odd, numbers, source, rows, reader, decoder)
    keep: Any = np.delete(np.arange(numbers.size), gone) if gone else slice(None)
    for k, name in enumerate(rows.names):
        rows.add_arrays(name, kinds[k, keep], payload[k, keep], is_heavy=known[name].is_long)
    rows.add_rows(block.found.spans[keep], numbers[keep])


def _add_odd(
    block: _Block,
    odd: Sequence[int],
    numbers: NDArray[np.int64],
    source: Source,
    rows: Assembly,
    reader: LineReader,
    decoder: LightLines,
) -> list[int]:
    """Fill in the rows that the scanner left; give those that are damaged and passed over."""
    gone: list[int] = []
    kept: list[int] = []
    found: list[list[Any]] = []
    for row in odd:
        start, stop = block.found.spans[row].tolist()
        place = rows.rows + row - len(gone)
        values = _one(source[start:stop], int(numbers[row]), place, rows, reader, decoder)
        if values is None:
            gone.append(row)
        else:
            kept.append(row)
            found.append(values)
    if reader.damaged and reader.damaged[-1] < numbers[-1]:
        reader.go_on()
    for k, column_values in enumerate(zip(*found, strict=True)):
        column = rows.column(rows.names[k])
        if column is not None:
            block.found.kinds[k, kept], block.found.payload[k, kept] = column.coded(column_values)
    return gone


def _one(
    text: bytes, number: int, row: int, rows: Assembly, reader: LineReader, decoder: LightLines
) -> list[Any] | None:
    """Read one line without the scanner; None if it is damaged and passed over."""
    reader.go_on()
    values = decoder.one(text)
    if values is not None:
        return values
    record = reader.record(text, number)
    return None if record is None else rows.light(record, row)


def _decode_raw(block: _Block, k: int, flagged: NDArray[np.bool_]) -> tuple[list[int], list[Any]]:
    """Decode the values of a column whose spans the scanner left, flagging lines of wrong ones."""
    cells = np.flatnonzero((block.found.kinds[k] == kernels.RAW) & ~flagged)
    starts = block.found.payload[k, cells]
    stops = starts + block.found.sizes[k, cells]
    data = block.data
    texts = [data[a:b].tobytes() for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    try:
        return cells.tolist(), _DECODE(b"[" + b",".join(texts) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    values: list[Any] = []
    for cell, text in zip(cells.tolist(), texts, strict=True):
        try:
            values.append(_DECODE(text))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            values.append(None)
            flagged[cell] = True
    return cells.tolist(), values


_DECODE = msgspec.json.Decoder().decode
