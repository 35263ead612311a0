"""What do JSON lines, or a JSON array of objects, hold? One row an object, one column a key.

The first records say which keys there are and which of them hold long or nested values. The rest
is decoded a block at a time by a typed decoder of these keys, which passes over what is long. Where
a record is unlike the first ones, or is JSON that only the standard module takes (NaN, halves of
surrogate pairs), its block is decoded record by record.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_COLUMNS_MAX, listed
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.lines import damage
from simtrack.logs.source import BLOCK_BYTES, Source
from simtrack.logs.tables.roles import MARKER, LongColumn, is_long, is_used
from simtrack.logs.tables.table import Table

__all__ = ["HEAD_RECORDS", "read_json_array", "read_json_lines"]

#: Records that are decoded whole before anything is passed over.
HEAD_RECORDS = 64
#: The first lines are looked at in pieces of this size.
_HEAD_BYTES = 1 << 18
#: What msgspec refuses in the name of a field.
_NO_FIELD = re.compile('["\\\\\x00-\x1f]')
_NOT_STRICT = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Record = dict[str, Any]


def read_json_lines(
    data: bytes | Source, label: str, wanted: Collection[str] = (), *, salvage: bool = False
) -> Table:
    """Read one JSON object a line into columns; a key that a record lacks is missing there.

    U+2028, U+2029 and U+0085 inside strings do not end a line; blank lines are skipped; integers
    are exact; NaN and Infinity are read; lone surrogates become text with a note. A last line
    that is torn, as a crash leaves it, becomes a loss and a note; with `salvage` so does every
    damaged line. Of more than 200 keys the `wanted`, those with a usual name and the most frequent
    are kept, and a note names the others. Of a large file only blocks and the columns are in
    memory.

    Raises
    ------
    DataError
        A line before the last one that is not a JSON object; the message gives the line.
    """
    source = Source.of(data)
    lines = _LineDecoder(label, salvage=salvage)
    head = list(islice(_first_records(source), HEAD_RECORDS))
    rows = _Rows(head, wanted)
    decoder = _RecordDecoder.of(rows)
    line = last = 0
    for begin, end in source.blocks(source.start, BLOCK_BYTES):
        found = decoder.block(source.view(begin, end)) if decoder else None
        count = source.count_lines(begin, end)
        numbers: Sequence[int] = range(line + 1, line + count + 1)
        if found is None or len(found) != count:
            spans, places, _ = source.lines(begin, end)
            numbers = (places + (line + 1)).tolist()
        if numbers:
            last = numbers[-1]
        if decoder is not None and found is not None and len(found) == len(numbers):
            if numbers:
                lines.refuse_damage()
            rows.add(decoder.columns(found), numbers)
        else:
            for (start, stop), number in zip(spans.tolist(), numbers, strict=True):
                _add_line(source[start:stop], number, rows, decoder, lines)
        line += count
        source.release(begin, end)
    if lines.damaged and not rows.lines:
        lines.refuse_damage()
        raise DataError(f"{label}: not one line is a whole JSON object.")
    lost, notes = damage(lines.damaged, last, (("source", label),))
    return rows.table(label, Losses.of(lost), [*notes, *lines.seen.notes()])


def read_json_array(data: bytes | Source, label: str, wanted: Collection[str] = ()) -> Table:
    """Read an array of objects into columns; a key that an object lacks is missing there.

    Raises
    ------
    DataError
        An element that is no object (its position from 1 is given), or no element.
    """
    source = Source.of(data)
    text = source.view(source.start, source.end)
    seen = Decoded()
    try:
        elements: Sequence[Any] = _ELEMENTS.decode(text)
    except _NOT_STRICT:
        elements = decode_record(source.whole(), label, seen)
    if not elements:
        raise DataError(f"{label}: empty: the array holds no object.")
    head = [_element(found, k, label, seen) for k, found in enumerate(elements[:HEAD_RECORDS], 1)]
    rows = _Rows(head, wanted)
    decoder = _RecordDecoder.of(rows)
    found = decoder.array(text) if decoder is not None else None
    if decoder is not None and found is not None:
        rows.add(decoder.columns(found), range(1, len(found) + 1))
    else:
        for position, element in enumerate(elements, start=1):
            rows.add_record(_element(element, position, label, seen), position)
    return rows.table(label, Losses(), seen.notes())


_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def _element(element: Any, position: int, label: str, seen: Decoded) -> Record:
    found = element
    if isinstance(element, msgspec.Raw):
        found = decode_record(bytes(element), f"{label}: element {position}", seen)
    if not isinstance(found, dict):
        raise DataError(
            f"{label}: element {position} must be an object, got {type(found).__name__}."
        )
    return found


def _first_records(source: Source) -> Iterator[Record]:
    """Yield the records of the lines that are whole; what is damaged is told later."""
    for begin, end in source.blocks(source.start, _HEAD_BYTES):
        spans, _, _ = source.lines(begin, end)
        for start, stop in spans.tolist():
            try:
                found = decode_record(source[start:stop], "", Decoded())
            except DataError:
                continue
            if isinstance(found, dict):
                yield found


def _add_line(
    text: bytes, number: int, rows: _Rows, decoder: _RecordDecoder | None, lines: _LineDecoder
) -> None:
    lines.refuse_damage()
    found = decoder.record(text) if decoder is not None else None
    if found is not None:
        rows.add([[value] for value in found], [number])
        return
    record = lines.record(text, number)
    if record is not None:
        rows.add_record(record, number)


class _LineDecoder:
    """Decodes lines forgivingly, and keeps account of the damaged ones.

    A damaged line is refused, but for the last line of a file, which a crash leaves torn, and
    with `salvage`.
    """

    def __init__(self, label: str, *, salvage: bool) -> None:
        self._label, self._salvage = label, salvage
        self._torn: DataError | None = None
        self.seen = Decoded()
        self.damaged: list[int] = []

    def record(self, text: bytes, line: int) -> Record | None:
        """Give the object of a line, None for a damaged one."""
        try:
            found = decode_record(text, f"{self._label}: line {line}", self.seen)
        except DataError as error:
            self._torn = None if self._salvage else DataError(f"{error} Mend or remove the line.")
            self.damaged.append(line)
            return None
        if not isinstance(found, dict):
            raise DataError(
                f"{self._label}: line {line} must be a JSON object, got {type(found).__name__}."
            )
        return found

    def refuse_damage(self) -> None:
        """Refuse a damaged line: more lines follow it, or there is no whole one."""
        if self._torn is not None:
            raise self._torn


class _RecordDecoder:
    """Decodes records that are like the first ones: strict JSON with none but the known keys.

    Values of long keys are kept as they stand, and not even looked at for whether they are UTF-8.
    """

    def __init__(self, names: Sequence[str], long: Collection[str]) -> None:
        fields = {f"f{k}": name for k, name in enumerate(names)}
        kinds = [msgspec.Raw if name in long else Any for name in names]
        record = msgspec.defstruct(
            "Record",
            [(field, kind, None) for field, kind in zip(fields, kinds, strict=True)],
            rename=fields.__getitem__,
            forbid_unknown_fields=True,
            gc=False,
        )
        decoder = msgspec.json.Decoder(record)
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        self._decode_array = msgspec.json.Decoder(list[record]).decode  # type: ignore[valid-type]
        self._takes = [attrgetter(field) for field in fields]

    @classmethod
    def of(cls, rows: _Rows) -> _RecordDecoder | None:
        """Make one, or None for keys that a decoder cannot be made for."""
        names = list(rows.columns)
        return None if not names or any(map(_NO_FIELD.search, names)) else cls(names, rows.long)

    def record(self, text: bytes) -> list[Any] | None:
        """Give the values of one record, None if it is unlike the first ones."""
        try:
            found = self._decode(text)
        except _NOT_STRICT:
            return None
        return [take(found) for take in self._takes]

    def block(self, lines: memoryview) -> list[Any] | None:
        """Decode the records of a block of lines; None if any is unlike the first ones.

        An object may stand on several lines: then they are fewer than the lines that are not blank.
        """
        try:
            return self._decode_lines(lines)
        except _NOT_STRICT:
            return None

    def array(self, text: memoryview) -> list[Any] | None:
        """Decode the elements of an array; None if any is unlike the first ones."""
        try:
            return self._decode_array(text)
        except _NOT_STRICT:
            return None

    def columns(self, records: Sequence[Any]) -> list[list[Any]]:
        """Give the values of decoded records by column."""
        return [list(map(take, records)) for take in self._takes]


class _Rows:
    """The columns as they grow.

    Parameters
    ----------
    head : sequence of dict
        The first records.
    wanted : collection of str
        The keys that are asked for.

    Attributes
    ----------
    columns : dict of str to list
        The values of the keys of the first records; none where those are too many.
    long : frozenset of str
        The keys of them with a long or nested value, which is of no use in the trial table.
    lines : array of int
        The line that each row starts on, from 1.
    """

    def __init__(self, head: Sequence[Record], wanted: Collection[str]) -> None:
        self._wanted = wanted
        names = list(dict.fromkeys(name for record in head for name in record))
        self.long = frozenset(
            name
            for record in head
            for name, value in record.items()
            if is_long(value) and MARKER not in names and not is_used(name, wanted)
        )
        is_wide = len(names) > LABEL_COLUMNS_MAX and MARKER not in names
        self.columns: dict[str, list[Any]] = {} if is_wide else {name: [] for name in names}
        self._texts: dict[str, dict[str, str]] = {name: {} for name in self.columns}
        self._late: dict[str, dict[int, Any]] = {}
        self.lines = array("q")

    def add(self, columns: Iterable[Sequence[Any]], lines: Sequence[int]) -> None:
        """Add rows by their values in the order of `columns`; equal texts are kept once."""
        for (name, column), values in zip(self.columns.items(), columns, strict=True):
            kinds = set(map(type, values))
            texts = self._texts[name]
            if kinds == {str}:
                column.extend(map(texts.setdefault, values, values))
            elif str in kinds:
                column.extend([texts.setdefault(v, v) if type(v) is str else v for v in values])
            else:
                column.extend(values)
        self.lines.extend(lines)

    def add_record(self, record: Record, line: int) -> None:
        """Add one row, which may have keys that the first records do not have."""
        for name, column in self.columns.items():
            column.append(record.get(name))
        if not record.keys() <= self.columns.keys():
            for name, value in record.items():
                if name not in self.columns:
                    self._late.setdefault(name, {})[len(self.lines)] = value
        self.lines.append(line)

    def table(self, label: str, losses: Losses, notes: Sequence[str]) -> Table:
        """Give the table; of too many columns those that are likely to be of use."""
        times = {name: len(column) - column.count(None) for name, column in self.columns.items()}
        times |= {name: len(late) for name, late in self._late.items()}
        names, left_out = _names_to_keep(times, self._wanted)
        columns: dict[str, Sequence[Any]] = {}
        for name in names:
            late, column = self._late.get(name), self.columns.get(name)
            if late is not None:
                columns[name] = [late.get(row) for row in range(len(self.lines))]
            elif column is not None:
                columns[name] = LongColumn(column) if name in self.long else column
        return Table(label, columns, self.lines, losses, (*notes, *left_out))


def _names_to_keep(
    times: Mapping[str, int], wanted: Collection[str]
) -> tuple[list[str], list[str]]:
    """Choose the keys that become columns, in the order of the file, and say which do not.

    Parameters
    ----------
    times : mapping of key to int
        How many records have a value of it.
    wanted : collection of str
        The keys that are asked for.
    """
    if len(times) <= LABEL_COLUMNS_MAX or MARKER in times:
        return list(times), []
    known = {name for name in times if is_used(name, wanted)}
    frequent = sorted((n for n in times if n not in known), key=lambda n: -times[n])
    chosen = known | set(frequent[:LABEL_COLUMNS_MAX])
    left_out = [name for name in times if name not in chosen]
    notes = [
        f"{len(left_out)} of {len(times)} keys left out, as more than {LABEL_COLUMNS_MAX} columns "
        f"are data rather than names: {listed(left_out, 5)}. Keep one with --map KEY=KEY"
    ]
    return [name for name in times if name in chosen], notes[: len(left_out)]
