"""`simtrack export`: a trial table, or any log, in a form that other tools open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simtrack.cli.reading import LogOptions, log_options, read_records
from simtrack.cli.table_parts import counted, refuse_ending, refuse_overwriting, tell
from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.records import Records

_EPILOG = """\b
Examples:
  simtrack export trials.parquet -o trials.csv
  simtrack export trials.parquet --where model=gpt-4o -o gpt.json
  simtrack export trials.parquet --by model --by arm --cluster scenario -o counts.nc
\b
.csv .jsonl .parquet  the table; read back, it is the same again
.json                 an Inspect log: samples, epochs, scores, metadata and errors
.nc                   NetCDF: outcomes counted by cluster and --by, as a dense array
"""


@click.command(epilog=_EPILOG)
@log_options
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False),
              help="File to write: .csv, .jsonl, .parquet, .json or .nc.")  # fmt: skip
def export(logs: tuple[str, ...], reading: LogOptions, output: str) -> None:
    """Write LOGS (a trial table, or any log) as another kind of file, told by its ending."""
    from simtrack.logs import TRIAL_SUFFIXES, write_inspect, write_trials

    ending = Path(output).suffix.lower()
    refuse_ending(output, (*TRIAL_SUFFIXES, ".json", ".nc"))
    if ending != ".nc" and (reading.by or reading.cluster):
        raise InputError("--by and --cluster", "left out but for .nc, which holds counts")
    records = read_records(logs, reading, refuse_overwriting(output, logs))
    notes: tuple[str, ...] = ()
    if ending == ".nc":
        _write_counts(records, output, reading)
    elif ending == ".json":
        notes = write_inspect(records, output)
    else:
        write_trials(records, output)
    lost = records.losses.total()
    more = f", and {counted(lost, 'planned trial')} without a row" if lost else ""
    what = "counts of " if ending == ".nc" else ""
    tell(output, f"{what}{counted(len(records), 'row')}{more}")
    told = () if _only_tables(logs) else records.notes  # those of a table were told before
    for note in (*told, *notes):
        tell("Note", note)


def _only_tables(logs: tuple[str, ...]) -> bool:
    from simtrack.logs import is_trial_table
    from simtrack.logs.paths import expand

    return all(is_trial_table(file) for file, _ in expand(logs)[0])


def _write_counts(records: Records, output: str, reading: LogOptions) -> None:
    """Write the counts, and what they leave out as JSON in an attribute."""
    import json

    from simtrack.analysis.scope import find_factor
    from simtrack.logs.columns import listed
    from simtrack.runs.store import write_result

    by = [find_factor(records, name) for name in reading.groups]
    metrics = records.factors["metric"].compact().levels if "metric" in records.factors else ()
    if len(metrics) > 1 and "metric" not in by:
        cure = "Choose one with --metric, or add --by metric."
        got = listed(list(metrics), 8)
        raise InputError("--metric", "given, as the metrics are readings of the same trials", got,
                         cure=cure)  # fmt: skip
    counts = records.counts(
        cluster=find_factor(records, reading.cluster) if reading.cluster else None,
        by=by,
        missing_cluster=reading.missing_cluster,
    )
    data = counts.to_xarray().to_dataset()
    losses = [
        {"kind": x.kind, "n": x.n, "reason": x.reason, "where": dict(x.where)}
        for x in counts.losses.entries
    ]
    data.attrs |= {"schema": "simtrack.counts/1", "losses": json.dumps(losses)}
    write_result(data, Path(output))
