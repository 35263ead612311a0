"""`simtrack simulate`: a log of a study that was never paid for, to rehearse the analysis on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simtrack.cli.rehearse import described, rehearsal_of

_EPILOG = """\b
Examples:
  simtrack simulate --clusters 12 --repetitions 5 -o rehearsal.csv
  simtrack test rehearsal.csv --compare first second --cluster scenario
  simtrack simulate study.toml -o rehearsal.csv
\b
The file is a table of trials that score and test read like any other: its columns have the
names of the trial table, so no --map is needed.
"""


@click.command(epilog=_EPILOG)
@described
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False),
              help="Table of trials to write: .csv or .jsonl.")  # fmt: skip
def simulate(output: str, **given: Any) -> None:
    """Draw one study, trial by trial, from STUDY.toml or from two arms by options."""
    from simtrack.files import write_text
    from simtrack.logs import trials_text

    study = rehearsal_of(given)
    records = study.agent.records(study.design, given["seed"])
    write_text(output, trials_text(records, Path(output).suffix))
    print(
        f"{len(records):,} trials of {study.design.clusters} {study.design.cluster_name}s: {output}"
    )
