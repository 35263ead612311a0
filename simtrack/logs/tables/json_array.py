"""What does a JSON array of objects hold? One row an object, as in JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from simtrack.counts import Losses
from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_COLUMNS_MAX
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.tables.json_lines import kept_keys
from simtrack.logs.tables.table import Table

__all__ = ["from_columns", "read_json_array"]


def read_json_array(data: bytes, label: str, wanted: Collection[str] = ()) -> Table:
    """Read an array of objects into columns; a key that an object lacks is missing there.

    Raises
    ------
    DataError
        An element that is no object (its position from 1 is given), or no element.
    """
    seen = Decoded()
    found = decode_record(data, label, seen)
    if not found:
        raise DataError(f"{label}: empty: the array holds no object.")
    for position, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise DataError(
                f"{label}: element {position} must be an object, got {type(record).__name__}."
            )
    names, notes = kept_keys(Counter(name for record in found for name in record), wanted)
    columns = {name: [record.get(name) for record in found] for name in names}
    return Table(label, columns, range(1, len(found) + 1), Losses(), (*seen.notes(), *notes))


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
