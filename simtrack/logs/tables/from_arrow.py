"""What does a Parquet or Arrow file hold? Its columns as they are; nested ones are passed on."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from simtrack.counts import Losses
from simtrack.errors import DataError, MissingExtra
from simtrack.logs.columns import listed
from simtrack.logs.tables.roles import MARKER, USUAL
from simtrack.logs.tables.table import Table

__all__ = ["read_arrow", "read_parquet"]

#: Unpacked bytes of a file that are read at once.
UNPACKED_MAX_BYTES = 2 << 30
#: From this many on, only columns with a usual name are read besides those that are asked for.
_COLUMNS_MAX = 200


def read_parquet(path: Path, label: str, wanted: Collection[str] = ()) -> Table:
    """Read a Parquet file into columns.

    Raises
    ------
    MissingExtra
        pyarrow is not installed.
    DataError
        A file that is damaged, or would unpack to more than 2 GB.
    """
    arrow = _library()
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        sizes = (file.metadata.row_group(k).total_byte_size for k in range(file.num_row_groups))
        unpacked = sum(sizes)
        if unpacked > UNPACKED_MAX_BYTES:
            raise DataError(
                f"{label}: would unpack to {unpacked / 1e9:.1f} GB; the cap is "
                f"{UNPACKED_MAX_BYTES / 1e9:.1f} GB. Write fewer columns or rows."
            )
        _refuse_twice(file.schema_arrow.names, label)
        names, notes = _kept(list(file.schema_arrow.names), wanted)
        return _table(file.read(columns=names), label, notes)
    except (arrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{label}: is not a whole Parquet file: {_first_line(error)}.") from None


def read_arrow(path: Path, label: str, wanted: Collection[str] = ()) -> Table:
    """Read an Arrow (IPC, Feather 2) file into columns; raises as `read_parquet`."""
    arrow = _library()
    from pyarrow import ipc

    try:
        with arrow.memory_map(str(path)) as source:
            table = ipc.open_file(source).read_all()
            _refuse_twice(table.column_names, label)
            names, notes = _kept(table.column_names, wanted)
            table = table.select(names)
            table.validate(full=True)  # offsets that lead outside a buffer are found here alone
            return _table(table, label, notes)
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{label}: is not a whole Arrow file: {_first_line(error)}.") from None


def _library() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow", "parquet") from None
    return pyarrow


def _kept(names: list[str], wanted: Collection[str]) -> tuple[list[str], list[str]]:
    if len(names) <= _COLUMNS_MAX or MARKER in names:
        return names, []
    known = [n for n in names if n in wanted or n.lower() in USUAL]
    left = [n for n in names if n not in set(known)]
    return known, [f"{len(left)} of {len(names)} columns left out: {listed(left, 5)}"]


def _refuse_twice(names: list[str], label: str) -> None:
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise DataError(f"{label}: two columns are named {min(twice)!r}. Rename one of them.")


def _table(table: Any, label: str, notes: list[str]) -> Table:
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return Table(label, columns, range(1, table.num_rows + 1), Losses(), tuple(notes))


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")[:120]
