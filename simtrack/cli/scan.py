"""`simtrack scan`: what is here, how complete is it, can it be compared?"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simtrack.cli.parsing import assignments, one_output
from simtrack.cli.reading import score_values
from simtrack.cli.reading_progress import reading_progress
from simtrack.cli.table_parts import counted, tell
from simtrack.errors import Finding

if TYPE_CHECKING:
    from simtrack.logs import Scan, ScannedFile
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack scan logs/
  simtrack scan logs/*.eval old/results.json --json
  simtrack scan logs/ --strict && simtrack ingest logs/ -o trials.parquet
\b
Counts are trials on the first metric (of each source and task, in a table of several): planned =
scored + every kind of loss. States: complete; incomplete (planned trials are missing); running (no
end was written); stopped (error or cancelled); truncated (--salvage reads what is whole; the
counts say what); refused; no log. To fit a terminal, names are cut and columns left out; in a pipe,
in --csv and --json all is there.
"""
_LOSSES = ("unscored", "errored", "limited", "infrastructure", "early_stopped", "invalidated",
           "missing")  # fmt: skip
#: Columns of names that are cut to fit a terminal, to how much at least, and columns that go first.
_CUT, _LEAST_CHARACTERS = frozenset({"file", "model", "task", "metric"}), 12
_LESS = ("kind", "format", "task", "model")
_MOST_NAMED = 4


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@click.option("--map", "columns", multiple=True, metavar="PART=COL",
              help="Columns of plain tables (repeatable).")  # fmt: skip
@click.option("--score", "values", multiple=True, metavar="TEXT=NUM",
              help="What a score stands for.")  # fmt: skip
@click.option("--notes", is_flag=True, help="Print what the readers noted, file by file.")
@click.option("--strict", is_flag=True,
              help="Exit 3 if a file is refused or truncated, or a warning is given.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the files as CSV.")
def scan(
    paths: tuple[str, ...],
    columns: tuple[str, ...],
    values: tuple[str, ...],
    notes: bool,
    strict: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Say what PATHS (files, folders or globs) hold: one line a file, then what to heed.

    Inspect archives are read by their summaries, so that large ones are scanned fast.
    """
    from simtrack.logs import scan as look

    one_output(json=as_json, csv=as_csv)
    with reading_progress() as progress:
        found = look(
            paths,
            map=assignments("--map", columns) or None,
            scores=score_values(values),
            progress=progress,
        )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_table(found).csv(), end="")
    else:
        _show(found, notes)
    if strict:
        _fail_on_findings(found)


def _fail_on_findings(found: Scan) -> None:
    unread = Counter(f.state for f in found.files if f.state in {"refused", "truncated"})
    told = [f"{n} {state}" for state, n in unread.items()]
    told += [counted(len(found.warnings), "warning")] if found.warnings else []
    if told:
        raise Finding(f"--strict: {', '.join(told)}.")


def _show(found: Scan, notes: bool) -> None:
    from simtrack.logs.opening import lines_by_reason

    _fitted(_table(found)).show()
    print()
    states = Counter(file.state for file in found.files)
    told = ", ".join(f"{n:,} {state}" for state, n in states.items())
    print(f"{counted(len(found.files), 'file')}: {told}.")
    for state in dict.fromkeys(file.state for file in found.files):
        most = _MOST_NAMED if state == "no log" else len(found.files)
        of_state = [f for f in found.files if f.reason and f.state == state]
        reasons = [(f.file, f"{f.file}: {f.reason}") for f in of_state]
        for text in lines_by_reason(reasons, most):
            tell(state.capitalize(), text)
    for warning in found.warnings:
        tell("Warning", warning)
    for note in found.notes:
        tell("Note", note)
    for file in found.files if notes else ():
        for note in file.notes:
            tell("Note", f"{file.file}: {note}")


def _table(found: Scan) -> Table:
    from simtrack.report.table import Table, number, visible

    losses = [n for n in _LOSSES if any(getattr(f, n) for f in found.files)]
    shown = [n.replace("_", "-") for n in losses]
    heads = ("file", "state", "format", "kind", "model", "task", "metric", "planned", "scored",
             *shown, "mean")  # fmt: skip
    rows = []
    for file in found.files:
        counted = file.kind == "trials"
        counts = [getattr(file, n) for n in ("planned", "scored", *losses)]
        texts = (visible(file.file), file.state, file.format, file.kind,
                 *map(visible, (_few(file.models), _few(file.tasks), _metric(file))))  # fmt: skip
        numbers = (str(n) if counted else "" for n in counts)
        rows.append((*texts, *numbers, number(file.mean) if counted else ""))
    return Table("", heads, rows, frozenset(heads[:7]))


def _fitted(table: Table) -> Table:
    """On a terminal, leave out columns and cut long names, so that each file keeps to one line."""
    if not _on_terminal():
        return table
    room = shutil.get_terminal_size().columns
    for gone in range(len(_LESS) + 1):
        heads = [head for head in table.heads if head not in _LESS[:gone]]
        places = [table.heads.index(head) for head in heads]
        rows = [tuple(row[k] for k in places) for row in table.rows]
        names = [k for k, head in enumerate(heads) if head in _CUT]
        while (over := _width(rows, heads) - room) > 0:
            widths = {k: max(len(row[k]) for row in rows) for k in names}
            widest = max(widths, key=widths.__getitem__)
            if widths[widest] <= _LEAST_CHARACTERS:
                break
            most = max(widths[widest] - over, _LEAST_CHARACTERS)
            rows = [
                tuple(_cut(x, most) if k == widest else x for k, x in enumerate(r)) for r in rows
            ]
        else:
            return replace(table, heads=tuple(heads), rows=rows)
    return table  # it becomes blocks, with whole names


def _on_terminal() -> bool:
    return sys.stdout.isatty()


def _width(rows: list[tuple[str, ...]], heads: Sequence[str]) -> int:
    columns = zip(heads, *rows, strict=True)
    return sum(max(map(len, column)) for column in columns) + 2 * (len(heads) - 1)


def _cut(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[head + 1 - most :]}"


def _metric(file: ScannedFile) -> str:
    if not file.metric and file.metrics > 1:
        return f"{file.metrics} of them"
    more = f" (1 of {file.metrics})" if file.metrics > 1 else ""
    return f"{file.metric}{more}"


def _few(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} of them" if names else ""
