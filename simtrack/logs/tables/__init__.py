"""Plain tables: CSV, JSON lines and arrays, Parquet and Arrow, with a column map."""

from simtrack.logs.tables.from_arrow import read_arrow, read_parquet
from simtrack.logs.tables.from_csv import NotUtf8, read_csv
from simtrack.logs.tables.from_json import read_json_array, read_json_lines
from simtrack.logs.tables.replies import CALL_COLUMNS, REPLY_COLUMNS, to_replies
from simtrack.logs.tables.table import Table, to_records

__all__ = [
    "CALL_COLUMNS",
    "REPLY_COLUMNS",
    "NotUtf8",
    "Table",
    "read_arrow",
    "read_csv",
    "read_json_array",
    "read_json_lines",
    "read_parquet",
    "to_records",
    "to_replies",
]
