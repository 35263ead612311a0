"""Write a table of every Inspect log in a folder: what it holds, or why it is refused.

Run: python studies/inspect_inventory/inventory.py FOLDER -o TABLE.md      (or TABLE.csv)

One row a file: the trials planned, what became of each on the first metric, the mean score, and
the mean that the file's own header states. Where the two differ, the notes say why.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from pathlib import Path

from simtrack.logs import InventoryRow, inventory

COLUMNS = (
    "file",
    "status",
    "metric",
    "planned",
    "rows",
    "scored",
    "unscored",
    "errored",
    "limited",
    "early_stopped",
    "invalidated",
    "missing",
    "rate",
    "header_rate",
    "remark",
)


def remark(row: InventoryRow) -> str:
    """Give the refusal, or the notes and whether the header's mean is ours."""
    if row.refusal:
        return f"refused: {row.refusal}"
    notes = list(row.notes)
    if row.metrics > 1:
        notes.append(f"{row.metrics} metrics, the first is shown")
    if row.disagrees:
        none = "no scored sample is in the file to check the header's mean by"
        other = "the header's mean is not that of the scored samples in the file"
        notes.append(none if math.isnan(row.rate) else other)
    return "; ".join(notes)


def cells(row: InventoryRow) -> list[str]:
    """Give the row as text; nothing where there is nothing."""
    found = []
    for name in COLUMNS:
        value = remark(row) if name == "remark" else getattr(row, name)
        if row.refusal and name not in ("file", "remark"):
            value = ""
        if isinstance(value, float):
            value = "" if math.isnan(value) else f"{value:.6g}"
        found.append(str(value))
    return found


def as_markdown(rows: list[InventoryRow]) -> str:
    """Lay the table out in Markdown, with what it adds up to below."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        shown = [cell.replace("|", "\\|").replace("\n", " ") for cell in cells(row)]
        lines.append("| " + " | ".join(shown) + " |")
    archives = [row for row in rows if row.file.endswith(".eval")]
    opened = sum(1 for row in archives if not row.refusal)
    lines += ["", f"{opened} of {len(archives)} `.eval` files open."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse, call, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    rows = list(inventory([options.folder]))
    if options.output.suffix == ".csv":
        with options.output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *map(cells, rows)])
    else:
        options.output.write_text(as_markdown(rows), encoding="utf-8")
    refused = sum(1 for row in rows if row.refusal)
    print(f"{options.output}: {len(rows)} files, {refused} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
