"""What do JSON lines hold? One object a line, split at line feeds and nowhere else."""

from __future__ import annotations

from typing import Any

from simtrack.counts import Loss, Losses
from simtrack.errors import DataError
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.tables.table import Table

__all__ = ["read_json_lines"]


def read_json_lines(data: bytes, label: str) -> Table:
    """Read one JSON object a line into columns; a key that a record lacks is missing there.

    U+2028, U+2029 and U+0085 inside strings do not end a line; blank lines are skipped; integers
    are exact; NaN and Infinity are read; lone surrogates become U+FFFD with a note. A last line
    that is torn, as a crash leaves it, becomes a loss and a note.

    Raises
    ------
    DataError
        A line before the last one that is not a JSON object; the message gives the line.
    """
    seen = Decoded()
    parts = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = [k for k, part in enumerate(parts, start=1) if not part.isspace() and part]
    records: list[dict[str, Any]] = []
    torn = ""
    for line in lines:
        try:
            record = decode_record(parts[line - 1], f"{label}: line {line}", seen)
        except DataError as error:
            if line != lines[-1] or not records:
                raise DataError(f"{error} Mend or remove the line.") from None
            torn = f"line {line} is torn (the file ends inside a record)"
            continue
        if not isinstance(record, dict):
            raise DataError(
                f"{label}: line {line} must be a JSON object, got {type(record).__name__}."
            )
        records.append(record)
    notes = [f"{torn}: its record is counted as missing"] if torn else []
    if seen.replaced:
        notes.append(f"{seen.replaced} halves of surrogate pairs became U+FFFD")
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    losses = Losses.of([Loss("missing", int(bool(torn)), torn, (("source", label),))])
    kept = lines[: len(records)]
    return Table(label, columns, kept, losses, tuple(notes))
