"""`simtrack scan`: what is here, how complete is it, can it be compared?"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from simtrack.cli.parsing import assignments, one_output
from simtrack.cli.reading import score_values

if TYPE_CHECKING:
    from simtrack.logs import Scan, ScannedFile
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack scan logs/
  simtrack scan logs/*.eval old/results.json --json
\b
Counts are trials on the first metric: planned = scored + every kind of loss. States: complete;
incomplete (planned trials are missing); running (no end was written); stopped (error or
cancelled); truncated (--salvage reads what is whole; the counts say what); refused; no log.
"""
_LOSSES = ("unscored", "errored", "limited", "infrastructure", "early_stopped", "invalidated",
           "missing")  # fmt: skip


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, required=True)
@click.option("--map", "columns", multiple=True, metavar="PART=COL",
              help="Columns of plain tables (repeatable).")  # fmt: skip
@click.option("--score", "values", multiple=True, metavar="TEXT=NUM",
              help="What a score stands for.")  # fmt: skip
@click.option("--notes", is_flag=True, help="Print what the readers noted, file by file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the files as CSV.")
def scan(
    paths: tuple[str, ...],
    columns: tuple[str, ...],
    values: tuple[str, ...],
    notes: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Say what PATHS (files, folders or globs) hold: one line a file, then what to heed.

    Inspect archives are read by their summaries, so that large ones are scanned fast.
    """
    from simtrack.logs import scan as look

    one_output(json=as_json, csv=as_csv)
    found = look(
        paths,
        map=assignments("--map", columns) or None,
        scores=score_values(values),
        progress=_progress(),
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_table(found).csv(), end="")
    else:
        _show(found, notes)


def _show(found: Scan, notes: bool) -> None:
    _table(found).show()
    print()
    states = Counter(file.state for file in found.files)
    told = ", ".join(f"{n} {state}" for state, n in states.items())
    print(f"{len(found.files)} file{'s' * (len(found.files) != 1)}: {told}.")
    for file in found.files:
        if file.reason:
            print(f"{file.state.capitalize()}: {file.file}: {file.reason}")
    for warning in found.warnings:
        print(f"Warning: {warning}")
    for note in found.notes:
        print(f"Note: {note}")
    for file in found.files if notes else ():
        for note in file.notes:
            print(f"Note: {file.file}: {note}")


def _table(found: Scan) -> Table:
    from simtrack.report.table import Table, number

    losses = [n for n in _LOSSES if any(getattr(f, n) for f in found.files)]
    shown = [n.replace("_", "-") for n in losses]
    heads = ("file", "state", "format", "kind", "model", "task", "metric", "planned", "scored",
             *shown, "mean")  # fmt: skip
    rows = []
    for file in found.files:
        counted = file.kind == "trials"
        counts = [getattr(file, n) for n in ("planned", "scored", *losses)]
        texts = (file.file, file.state, file.format, file.kind, _few(file.models),
                 _few(file.tasks), _metric(file))  # fmt: skip
        numbers = (str(n) if counted else "" for n in counts)
        rows.append((*texts, *numbers, number(file.mean) if counted else ""))
    return Table("", heads, rows, frozenset(heads[:7]))


def _metric(file: ScannedFile) -> str:
    more = f" (1 of {file.metrics})" if file.metrics > 1 else ""
    return f"{file.metric}{more}"


def _few(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} of them" if names else ""


def _progress() -> Callable[[int, int, str], None] | None:
    """Give a line that is rewritten on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int, name: str) -> None:
        text = f"{done + 1} of {total}: {name}"[:78]
        print(f"\r{text:<78}", end="" if done + 1 < total else "\n", file=sys.stderr, flush=True)

    return show
