"""What does a JSON array of objects hold? One row an object, as in JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_COLUMNS_MAX
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.source import Source
from simtrack.logs.tables.array_blocks import Broken, Span, elements
from simtrack.logs.tables.assembly import Assembly
from simtrack.logs.tables.json_lines import kept_keys
from simtrack.logs.tables.skipping import HEAD_RECORDS, LightLines
from simtrack.logs.tables.table import Table

__all__ = ["from_columns", "read_json_array"]

#: From this size on elements are read one after another; up to that one, a broken array is decoded
#: whole in order to say what is wrong with it.
_LARGE_BYTES, _WHOLE_MAX_BYTES = 32 << 20, 256 << 20


def read_json_array(data: bytes | Source, label: str, wanted: Collection[str] = ()) -> Table:
    """Read an array of objects into columns; a key that an object lacks is missing there.

    Of a large array only pieces and the columns are in memory.

    Raises
    ------
    DataError
        An element that is no object (its position from 1 is given), or no element.
    """
    source = Source.of(data)
    if len(source) < _LARGE_BYTES:
        return _at_once(source.whole(), label, wanted)
    try:
        return _by_elements(source, label, wanted)
    except (Broken, DataError) as error:
        if len(source) <= _WHOLE_MAX_BYTES:
            return _at_once(source.whole(), label, wanted)
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{label} is not valid JSON: it is no whole array. Copy it again."
        ) from None


def _at_once(data: bytes, label: str, wanted: Collection[str]) -> Table:
    seen = Decoded()
    found = decode_record(data, label, seen)
    if not found:
        raise DataError(f"{label}: empty: the array holds no object.")
    for position, record in enumerate(found, start=1):
        _refuse_other(record, position, label)
    names, notes = kept_keys(Counter(name for record in found for name in record), wanted)
    columns = {name: [record.get(name) for record in found] for name in names}
    return Table(label, columns, range(1, len(found) + 1), Losses(), (*seen.notes(), *notes))


def _by_elements(source: Source, label: str, wanted: Collection[str]) -> Table:
    seen = Decoded()
    pieces = elements(source)
    first: list[Span] = []
    for piece in pieces:
        first += piece
        if len(first) >= HEAD_RECORDS:
            break
    head = [_record(source, span, k, label, seen) for k, span in enumerate(first[:HEAD_RECORDS])]
    rows = Assembly(source, head, wanted)
    decoder = None if rows.is_wide else LightLines.of(rows.names, rows.heavy)
    _add(rows, [rows.light(record, k) for k, record in enumerate(head)], first[:HEAD_RECORDS])
    for piece in _rest(first, pieces):
        values: list[list[Any]] = []
        for span in piece:
            found = decoder.one(source[span[0] : span[1]]) if decoder is not None else None
            if found is None:
                row = rows.rows + len(values)
                found = rows.light(_record(source, span, row, label, seen), row)
            values.append(found)
        _add(rows, values, piece)
    names, notes = kept_keys(rows.times(), wanted)
    columns = {name: rows.values(name) for name in names}
    return Table(label, columns, range(1, rows.rows + 1), Losses(), (*seen.notes(), *notes))


def _rest(first: Sequence[Span], pieces: Iterator[list[Span]]) -> Iterator[list[Span]]:
    later = list(islice(first, HEAD_RECORDS, None))
    return chain([later] if later else [], pieces)


def _add(rows: Assembly, values: Sequence[Sequence[Any]], spans: Sequence[Span]) -> None:
    place = np.array(spans, dtype=np.int64).reshape(-1, 2)
    columns = [list(c) for c in zip(*values, strict=True)] or [[] for _ in rows.names]
    rows.add(columns, place, np.arange(rows.rows + 1, rows.rows + 1 + len(spans)))


def _record(source: Source, span: Span, row: int, label: str, seen: Decoded) -> dict[str, Any]:
    record = decode_record(source[span[0] : span[1]], f"{label}: element {row + 1}", seen)
    _refuse_other(record, row + 1, label)
    found: dict[str, Any] = record
    return found


def _refuse_other(record: object, position: int, label: str) -> None:
    if not isinstance(record, dict):
        raise DataError(
            f"{label}: element {position} must be an object, got {type(record).__name__}."
        )


def from_columns(columns: Mapping[str, Sequence[Any]], label: str) -> Table:
    """Make a table of columns that are in memory already, NaN and the like missing.

    Raises
    ------
    DataError
        More columns than are names.
    """
    if len(columns) > 10 * LABEL_COLUMNS_MAX:
        raise DataError(f"{label}: {len(columns)} columns are data rather than names.")
    rows = len(next(iter(columns.values()), ()))
    return Table(label, dict(columns), range(1, rows + 1), Losses())
