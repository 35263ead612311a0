"""What do JSON lines hold? One object a line, split at line feeds and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_COLUMNS_MAX, listed
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.lines import damage, spans
from simtrack.logs.tables.roles import MARKER, USUAL
from simtrack.logs.tables.skipping import HEAD_RECORDS, LightRows, Skipped, heavy_keys
from simtrack.logs.tables.table import Table

__all__ = ["kept_keys", "read_json_lines"]


def read_json_lines(
    data: bytes, label: str, wanted: Collection[str] = (), *, salvage: bool = False
) -> Table:
    """Read one JSON object a line into columns; a key that a record lacks is missing there.

    U+2028, U+2029 and U+0085 inside strings do not end a line; blank lines are skipped; integers
    are exact; NaN and Infinity are read; lone surrogates become text with a note. A last line
    that is torn, as a crash leaves it, becomes a loss and a note; with `salvage` so does every
    damaged line. Of very many keys the `wanted`,
    those with a usual name and the most frequent are kept, and a note names the others.

    Raises
    ------
    DataError
        A line before the last one that is not a JSON object; the message gives the line.
    """
    seen = Decoded()
    data = data.removeprefix(b"\xef\xbb\xbf")
    where = list(spans(data))
    records: list[dict[str, Any]] = []
    heavy: set[str] = set()
    rows: LightRows | None = None
    damaged: list[int] = []
    for line, start, end in where:
        text = data[start:end]
        if rows is not None and rows.add_line(text):
            continue
        try:
            record = decode_record(text, f"{label}: line {line}", seen)
        except DataError as error:
            if not salvage and (line != where[-1][0] or not records):
                raise DataError(f"{error} Mend or remove the line.") from None
            damaged.append(line)
            continue
        if not isinstance(record, dict):
            raise DataError(
                f"{label}: line {line} must be a JSON object, got {type(record).__name__}."
            )
        if rows is not None:
            rows.add_record(record)
            continue
        records.append(record)
        if len(records) == HEAD_RECORDS and (heavy := heavy_keys(records, wanted)):
            rows = LightRows(records, heavy)
    last = where[-1][0] if where else 0
    gone = set(damaged)
    where = [span for span in where if span[0] not in gone] if gone else where
    if damaged and not where:
        raise DataError(f"{label}: not one line is a whole JSON object.")
    if rows is None:
        names, dropped = kept_keys(records, wanted)
        columns: dict[str, Sequence[Any]] = {n: [r.get(n) for r in records] for n in names}
    else:
        found = rows.columns()
        order = list(dict.fromkeys([*(n for r in records for n in r), *found]))
        names, dropped = kept_keys([*records, dict.fromkeys(order)], wanted)
        columns = {n: found[n] if n in found else Skipped(n, data, where) for n in names}
    lost, notes = damage(damaged, last, (("source", label),))
    notes += [*seen.notes(), *dropped]
    lines = [line for line, _, _ in where]
    return Table(label, columns, lines, Losses.of(lost), tuple(notes))


def kept_keys(
    records: Sequence[Mapping[str, Any]], wanted: Collection[str]
) -> tuple[list[str], list[str]]:
    """Choose the keys that become columns, in the order of the file, and say which do not."""
    times = Counter(name for record in records for name in record)
    if len(times) <= LABEL_COLUMNS_MAX or MARKER in times:
        return list(times), []
    known = {*wanted, *(name for name in times if name.lower() in USUAL)}
    frequent = [name for name, _ in times.most_common() if name not in known]
    chosen = known | set(frequent[:LABEL_COLUMNS_MAX])
    dropped = [name for name in times if name not in chosen]
    notes = [
        f"{len(dropped)} of {len(times)} keys left out, as more than {LABEL_COLUMNS_MAX} columns "
        f"are data rather than names: {listed(dropped, 5)}. Keep one with --map KEY=KEY"
    ]
    return [name for name in times if name in chosen], notes[: len(dropped)]
