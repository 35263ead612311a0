"""Plain tables: CSV text and JSON lines, with a column map."""

from simtrack.logs.tables.csv_text import read_csv
from simtrack.logs.tables.json_lines import read_json_lines
from simtrack.logs.tables.table import Table, to_records

__all__ = ["Table", "read_csv", "read_json_lines", "to_records"]
