"""`simtrack simulate`: a log of a study that was never paid for, to rehearse the analysis on."""

from __future__ import annotations

from pathlib import Path

import click

from simtrack.cli.rehearse import Described, described, rehearsal_of
from simtrack.cli.table_parts import refuse_ending

_EPILOG = """\b
Examples:
  simtrack simulate --clusters 12 --repetitions 5 -o rehearsal.csv
  simtrack test rehearsal.csv --compare first second --cluster scenario
  simtrack simulate study.toml -o rehearsal.csv
  simtrack simulate -o rehearsal.json && simtrack score rehearsal.json --by arm
\b
The file is a table of trials that score and test read like any other: its columns have the
names of the trial table, so no --map is needed. A .json is a log that Inspect itself opens.
"""


@click.command(epilog=_EPILOG)
@described
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False),
              help="File to write: .csv, .jsonl, .parquet or .json (an Inspect log).")  # fmt: skip
def simulate(output: str, what: Described) -> None:
    """Draw one study, trial by trial, from STUDY.toml or from two arms by options."""
    from simtrack.logs import TRIAL_SUFFIXES, write_inspect, write_trials

    refuse_ending(output, (*TRIAL_SUFFIXES, ".json"))
    study = rehearsal_of(what)
    records = study.agent.records(study.design, what.seed)
    notes: tuple[str, ...] = ()
    if Path(output).suffix.lower() == ".json":
        notes = write_inspect(records, output)
    else:
        write_trials(records, output)
    print(
        f"{len(records):,} trials of {study.design.clusters} {study.design.cluster_name}s: {output}"
    )
    for note in notes:
        print(f"Note: {note}")
