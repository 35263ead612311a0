"""Write a table of every file in a folder: read, salvaged or refused, and where the trials went.

Run: python studies/log_inventory/inventory.py FOLDER -o TABLE.md [--manifest MANIFEST.csv]

One row a file, by its name in the folder (the name in the manifest, whose files must all be there):
the format told from the content, what became of the planned trials on the first metric, the mean
over the scored ones (of all rows for aggregates), and the notes of the reader, or why the file is
refused. A file that is refused is tried again with salvage.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

import numpy as np

from simtrack.errors import SimtrackError
from simtrack.logs import read_log
from simtrack.logs.content import look_at
from simtrack.logs.formats import reader_of
from simtrack.options import Status
from simtrack.records import Records, account

CLASSES = tuple(s for s in get_args(Status) if s != "scored")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one file? Counts are on the first metric; text where there is none."""

    file: str
    format: str
    outcome: str
    metrics: str = ""
    rows: str = ""
    planned: str = ""
    scored: str = ""
    losses: str = ""
    mean: str = ""
    remark: str = ""


def row_of(path: Path, name: str) -> Row:
    """Read one file, with salvage if it is refused without."""
    try:
        form = reader_of(look_at(path, name), name).name
    except SimtrackError as error:
        return Row(name, "", "refused", remark=brief(str(error), name))
    try:
        return filled(name, form, "read", read_log(path))
    except SimtrackError as error:
        refusal = brief(str(error), name)
    try:
        return filled(name, form, "salvaged", read_log(path, salvage=True))
    except SimtrackError:
        return Row(name, form, "refused", remark=refusal)


def filled(name: str, form: str, outcome: str, records: Records) -> Row:
    """Count what became of the planned trials on the first metric."""
    levels = records.factors["metric"].levels if "metric" in records.factors else ()
    chosen = records.select(metric=levels[0]) if len(levels) > 1 else records
    table = account(chosen)
    lost = {kind: table.total(kind) for kind in CLASSES}
    values = chosen.numbers.get("value", np.empty(0))
    scored = values[~np.isnan(values)]
    mean = f"{scored.mean():.6g}" if scored.size else ""
    counts = {"planned": str(table.planned), "scored": str(table.total("scored"))}
    losses = ", ".join(f"{kind} {n}" for kind, n in lost.items() if n)
    if records.kind == "aggregate":
        counts, losses, mean = {"planned": "", "scored": ""}, "aggregates", ""
    notes = [brief(note, name) for note in records.notes]
    metrics = f"{len(levels)}: {levels[0]}" if levels else ""
    return Row(
        name, form, outcome, metrics, str(len(chosen)), **counts, losses=losses, mean=mean,
        remark="; ".join(notes),
    )  # fmt: skip


def brief(text: str, name: str) -> str:
    """Leave out the name of the file, which stands in the row."""
    for prefix in (f"{name}: ", f"{Path(name).name}: "):
        text = text.removeprefix(prefix)
    return text


def as_markdown(rows: list[Row]) -> str:
    """Lay the table out in Markdown, with what it adds up to below."""
    names = [f.name for f in fields(Row)]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    for row in rows:
        shown = [getattr(row, n).replace("|", "\\|").replace("\n", " ") for n in names]
        lines.append("| " + " | ".join(shown) + " |")
    counts = {o: sum(1 for r in rows if r.outcome == o) for o in ("read", "salvaged", "refused")}
    told = ", ".join(f"{n} {outcome}" for outcome, n in counts.items())
    lines += ["", f"{len(rows)} files: {told}."]
    return "\n".join(lines) + "\n"


def check_balance(rows: list[Row]) -> None:
    """Refuse to write a table in which a trial is lost: planned = scored + every class."""
    for row in rows:
        if row.planned:
            lost = sum(int(part.split()[-1]) for part in row.losses.split(", ") if part)
            if int(row.planned) != int(row.scored) + lost:
                raise SystemExit(f"{row.file}: {row.planned} planned, {row.scored} + {lost} found")


def check_manifest(rows: list[Row], manifest: Path, folder: Path) -> None:
    """Refuse to write a table in which a file of the manifest has no row."""
    base = manifest.parent.relative_to(folder)
    with manifest.open(encoding="utf-8", newline="") as file:
        named = {(base / line["file"]).as_posix() for line in csv.DictReader(file)}
    absent = named - {row.file for row in rows}
    if absent:
        raise SystemExit(f"files of the manifest without a row: {', '.join(sorted(absent))}")


def main() -> None:
    """Parse, call, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--manifest", type=Path)
    options = parser.parse_args()
    files = sorted(p for p in options.folder.rglob("*") if p.is_file())
    rows = [row_of(path, path.relative_to(options.folder).as_posix()) for path in files]
    check_balance(rows)
    if options.manifest:
        check_manifest(rows, options.manifest, options.folder)
    options.output.write_text(as_markdown(rows), encoding="utf-8")
    print(f"{options.output}: {as_markdown(rows).splitlines()[-1]}", file=sys.stderr)


if __name__ == "__main__":
    main()
