"""`simtrack ingest`: all logs as one trial table in a file, every loss with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simtrack.cli.reading import LogOptions, read_options, read_records
from simtrack.cli.table_parts import (
    account_table,
    counted,
    refuse_ending,
    refuse_overwriting,
    tell,
)

if TYPE_CHECKING:
    from simtrack.records import Records

_EPILOG = """\b
Examples:
  simtrack ingest logs/ -o trials.parquet
  simtrack ingest logs/*.eval results.json --skip-refused --salvage -o trials.csv
  simtrack ingest scores.csv --map cluster=task_id --map value=correct -o trials.jsonl
  simtrack score trials.parquet --by model
\b
The table holds one row a trial and metric, and a row for planned trials that left none, so that
its accounting is that of the logs. It is read back exactly; no --map is needed. Trials are the
rows with "trial" in the column simtrack_trials: other tools should keep those alone. In CSV, labels
that a spreadsheet would run as a formula stand after an apostrophe, which reading takes off. A
table that lies among the logs is left out of what is read; logs are never written over.
"""


@click.command(epilog=_EPILOG)
@read_options
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False),
              help="Trial table to write: .csv, .jsonl or .parquet.")  # fmt: skip
def ingest(logs: tuple[str, ...], reading: LogOptions, output: str) -> None:
    """Read LOGS (files, folders or globs) into one trial table, and say where every trial went."""
    from simtrack.logs import TRIAL_SUFFIXES, write_trials

    refuse_ending(output, TRIAL_SUFFIXES)
    records = read_records(logs, reading, refuse_overwriting(output, logs))
    write_trials(records, output)
    tell(output, _told(records))
    if records.kind != "aggregate":
        account_table(records).show()
    for note in records.notes:
        tell("Note", note)


def _told(records: Records) -> str:
    sources = len(records.factors["source"].levels) if "source" in records.factors else 1
    lost = records.losses.total()
    what = "aggregate" if records.kind == "aggregate" else "row"
    more = f", and {counted(lost, 'planned trial')} without a row" if lost else ""
    return f"{counted(len(records), what)} of {counted(sources, 'source')}{more}"
