"""Is there enough to read for compiled code?

Answers do not depend on it. The plain reader needs about a nanosecond a byte and some hundreds a
row and a cell, the compiled one a fraction of it; but to load Numba and the kernels takes most of a
second in a process, and to compile them, once on a machine, some ten. What was read plainly before
counts too, so that many files of middling size pay together.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simtrack import _jit
from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.kernels.json_lines import scan_lines
from simtrack.logs.columns import LABEL_COLUMNS_MAX, listed
from simtrack.logs.lines import damage
from simtrack.logs.source import Source
from simtrack.logs.tables.assembly import Assembly, LineReader
from simtrack.logs.tables.roles import MARKER, USUAL
from simtrack.logs.tables.skipping import HEAD_RECORDS, LightLines
from simtrack.logs.tables.table import Table

if TYPE_CHECKING:
    from simtrack.logs.tables.dictionary import Dictionary

__all__ = ["kept_keys", "pays", "read_json_lines"]


#: Seconds of the plain reader by what there is, as measured.
_BYTE_S, _ROW_S, _CELL_S = 1e-9, 0.5e-6, 0.25e-6
#: Seconds of plain reading from which on compiled code pays.
_READY_S, _NUMBA_THERE_S, _CACHED_S, _COMPILED_ANEW_S = 0.02, 0.5, 0.8, 10.0
_spent = {"plain_s": 0.0}


def pays(size: int, row_bytes: float, columns: int) -> bool:
    """Say whether so many bytes, in rows of about this length, are worth the compiled scanner."""
    if not _jit.enabled():
        return False
    rows = size / max(row_bytes, 1)
    plain_s = size * _BYTE_S + rows * (_ROW_S + columns * _CELL_S)
    if plain_s < _READY_S:  # most files: not worth a look at what is there
        return False
    if plain_s + _spent["plain_s"] >= _least_s():
        return True
    _spent["plain_s"] += plain_s
    return False


def _least_s() -> float:
    if scan_lines.is_ready:
        return _READY_S
    folder = _jit.cache().folder
    if folder is None or not any(folder.glob("**/json_lines.scan_lines*.nbi")):
        return _COMPILED_ANEW_S
    return _NUMBA_THERE_S if "numba" in sys.modules else _CACHED_S


# What do JSON lines hold? One object a line, split at line feeds and nowhere else.
#: The first lines are read in pieces of this size.
_HEAD_BYTES = 1 << 18


def read_json_lines(
    data: bytes | Source, label: str, wanted: Collection[str] = (), *, salvage: bool = False
) -> Table:
    """Read one JSON object a line into columns; a key that a record lacks is missing there.

    U+2028, U+2029 and U+0085 inside strings do not end a line; blank lines are skipped; integers
    are exact; NaN and Infinity are read; lone surrogates become text with a note. A last line
    that is torn, as a crash leaves it, becomes a loss and a note; with `salvage` so does every
    damaged line. Of very many keys the `wanted`,
    those with a usual name and the most frequent are kept, and a note names the others.
    Of a large file only blocks and the columns are in memory.

    Raises
    ------
    DataError
        A line before the last one that is not a JSON object; the message gives the line.
    """
    source = Source.of(data)
    reader = LineReader(label, salvage=salvage)
    rows, start, line, last = _head(source, reader, wanted)
    decoder = None if rows.is_wide else LightLines.of(rows.names, rows.heavy)
    known: dict[str, Dictionary] = {}
    if (
        decoder is not None
        and rows.names
        and pays(source.end - start, rows.row_bytes(), len(rows.names))
    ):
        from simtrack.logs.tables.scanned import add_scanned

        known, found = add_scanned(source, start, line, rows, reader, decoder)
    else:
        found = _add_plainly(source, start, line, rows, reader, decoder)
    last = found or last
    if reader.damaged and not rows.rows:
        raise DataError(f"{label}: not one line is a whole JSON object.")
    names, dropped = kept_keys(rows.times(), wanted)
    columns: dict[str, Sequence[Any]] = {n: _values(rows, n, known.pop(n, None)) for n in names}
    lost, notes = damage(reader.damaged, last, (("source", label),))
    notes += [*reader.seen.notes(), *dropped]
    lines = array("q", rows.lines().tobytes())
    return Table(label, columns, lines, Losses.of(lost), tuple(notes))


def _values(rows: Assembly, name: str, texts: Dictionary | None) -> Sequence[Any]:
    if texts is None:
        return rows.values(name)
    return rows.values(name, texts.texts(), repeats=texts.repeats())


def _head(
    source: Source, reader: LineReader, wanted: Collection[str]
) -> tuple[Assembly, int, int, int]:
    """Decode the first records whole.

    Returns
    -------
    Assembly, int, int, int
        With these rows; where the next line starts; how many lines there were, and which was the
        last that was not blank.
    """
    head: list[dict[str, Any]] = []
    where: list[tuple[int, int, int]] = []
    line = last = 0
    start = source.start
    for begin, end in source.blocks(start, _HEAD_BYTES):
        spans, numbers, count = source.lines(begin, end)
        for (first, stop), number in zip(spans.tolist(), numbers.tolist(), strict=True):
            last = line + number + 1
            found = reader.record(source[first:stop], last)
            if found is not None:
                head.append(found)
                where.append((first, stop, last))
            if len(head) == HEAD_RECORDS:
                break
        full = len(head) == HEAD_RECORDS
        start, line = (min(where[-1][1] + 1, source.end), last) if full else (end, line + count)
        if full:
            break
    rows = Assembly(source, head, wanted)
    columns = zip(*(rows.light(r, k) for k, r in enumerate(head)), strict=True)
    place = np.array(where, dtype=np.int64).reshape(-1, 3)
    rows.add([list(c) for c in columns] or [[] for _ in rows.names], place[:, :2], place[:, 2])
    return rows, start, line, last


def _add_plainly(
    source: Source,
    start: int,
    line: int,
    rows: Assembly,
    reader: LineReader,
    decoder: LightLines | None,
) -> int:
    """Add all lines from `start` on, `line` of them before it; give the last that is not blank."""
    last = 0
    for begin, end in source.blocks(start):
        found = decoder.many(source.view(begin, end)) if decoder is not None else None
        count = source.count_lines(begin, end)
        if decoder is not None and found and len(found) == count:
            reader.go_on()
            last = line + count
            rows.add(decoder.columns(found), (begin, end), np.arange(line + 1, last + 1))
        else:
            spans, numbers, _ = source.lines(begin, end)
            numbers = numbers + line + 1
            last = int(numbers[-1]) if numbers.size else last
            if decoder is not None and found and len(found) == numbers.size:
                reader.go_on()
                rows.add(decoder.columns(found), spans, numbers)
            else:
                _add_singly(rows, reader, decoder, source, spans, numbers)
        line += count
        source.release(begin, end)
    return last


def _add_singly(
    rows: Assembly,
    reader: LineReader,
    decoder: LightLines | None,
    source: Source,
    spans: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> None:
    """Add lines one by one, those that are unlike the first ones decoded whole."""
    kept: list[int] = []
    values: list[list[Any]] = []
    for k, ((start, stop), number) in enumerate(zip(spans.tolist(), numbers.tolist(), strict=True)):
        text = source[start:stop]
        reader.go_on()
        row = decoder.one(text) if decoder is not None else None
        if row is None:
            record = reader.record(text, number)
            if record is None:
                continue
            row = rows.light(record, rows.rows + len(kept))
        kept.append(k)
        values.append(row)
    columns = [list(c) for c in zip(*values, strict=True)] or [[] for _ in rows.names]
    rows.add(columns, spans[kept], numbers[kept])


def kept_keys(times: Mapping[str, int], wanted: Collection[str]) -> tuple[list[str], list[str]]:
    """Choose the keys that become columns, in the order of the file, and say which do not.

    Parameters
    ----------
    times : mapping of key to int
        How many records have it.
    wanted : collection of str
        The keys that are asked for.
    """
    if len(times) <= LABEL_COLUMNS_MAX or MARKER in times:
        return list(times), []
    known = {*wanted, *(name for name in times if name.lower() in USUAL)}
    frequent = sorted((n for n in times if n not in known), key=lambda n: -times[n])
    chosen = known | set(frequent[:LABEL_COLUMNS_MAX])
    dropped = [name for name in times if name not in chosen]
    notes = [
        f"{len(dropped)} of {len(times)} keys left out, as more than {LABEL_COLUMNS_MAX} columns "
        f"are data rather than names: {listed(dropped, 5)}. Keep one with --map KEY=KEY"
    ]
    return [name for name in times if name in chosen], notes[: len(dropped)]
