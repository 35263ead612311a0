"""The options by which every verb reads logs, and the records that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import assignments
from simtrack.cli.reading_progress import reading_progress
from simtrack.errors import InputError
from simtrack.options import MissingCluster

if TYPE_CHECKING:
    from simtrack.records import Records

__all__ = [
    "LogOptions",
    "log_options",
    "read_options",
    "read_records",
    "score_values",
    "split_names",
    "strict_option",
]

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How logs are read, chosen from and grouped, as it was typed."""

    by: tuple[str, ...] = ()
    cluster: str | None = None
    missing_cluster: MissingCluster = "refuse"
    metrics: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    skip_refused: bool = False
    salvage: bool = False
    summaries: bool = False
    latest: bool = False

    @property
    def groups(self) -> list[str]:
        """The names of `--by`, one by one."""
        return split_names(self.by)

    @property
    def mapped(self) -> dict[str, str]:
        """The columns that `--map` names, by part."""
        return assignments("--map", self.columns)

    @property
    def scores(self) -> dict[str, float | None]:
        """What the scores of `--score` stand for."""
        return score_values(self.values)

    @property
    def only(self) -> dict[str, str]:
        """The labels of `--where`, by column."""
        return assignments("--where", self.where)


_LOGS = click.argument("logs", nargs=-1, required=True)
_GROUPS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--by", multiple=True, help="Group by this column (repeatable, or comma-separated)."
    ),
    click.option(
        "--cluster", help="The resampling unit: id, scenario, ... [cluster, else the id]."
    ),
    click.option(
        "--missing-cluster",
        type=click.Choice(get_args(MissingCluster)),
        default="refuse",
        help="Scored trials without a cluster label [refuse].",
    ),
)
_READING: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--metric", "metrics", multiple=True, help="Only this metric: scorer or scorer.key."
    ),
    click.option(
        "--where",
        multiple=True,
        metavar="COL=LEVEL",
        help="Only trials with this label (repeatable; LEVEL|LEVEL).",
    ),
    click.option(
        "--map",
        "columns",
        multiple=True,
        metavar="PART=COL",
        help="Columns of a table (repeatable).",
    ),
    click.option(
        "--score", "values", multiple=True, metavar="TEXT=NUM", help="What a score stands for."
    ),
    click.option(
        "--skip-refused", is_flag=True, help="Note files that cannot be read; use the rest."
    ),
    click.option(
        "--salvage", is_flag=True, help="Read what is whole of damaged files; name what is lost."
    ),
    click.option(
        "--summaries", is_flag=True, help="Read Inspect's summaries only: faster, thinner."
    ),
    click.option(
        "--latest",
        is_flag=True,
        help="Of a run in several files, or run again, keep the fullest; name the rest.",
    ),
)


strict_option = click.option(
    "--strict", is_flag=True, help="Exit 3 if anything that was asked for is not estimable."
)


def log_options(command: Command) -> Command:
    """Give a command LOGS and, as `reading`, the options that say how they are read and grouped."""
    return _LOGS(_with_reading(command, (*_GROUPS, *_READING)))


def read_options(command: Command) -> Command:
    """Give a command LOGS and, as `reading`, the options that say how they are read."""
    return _LOGS(_with_reading(command, _READING))


def read_records(
    logs: tuple[str, ...], reading: LogOptions, leave_out: tuple[str, ...] = ()
) -> Records:
    """Read the logs as the options of `log_options` say."""
    from simtrack.analysis.scope import selected
    from simtrack.logs import read_logs

    with reading_progress() as progress:
        records = read_logs(
            logs,
            map=reading.mapped or None,
            metric=list(reading.metrics) or None,
            scores=reading.scores,
            detail="summaries" if reading.summaries else "samples",
            salvage=reading.salvage,
            skip_refused=reading.skip_refused,
            latest=reading.latest,
            leave_out=leave_out,
            progress=progress,
        )
    return selected(records, reading.only)


def score_values(texts: tuple[str, ...]) -> dict[str, float | None]:
    """Read what scores stand for: TEXT=NUMBER, or TEXT=unscored.

    Examples
    --------
    >>> score_values(("D=0.25", "N/A=unscored"))
    {'D': 0.25, 'N/A': None}
    """
    return {text: _number(text, value) for text, value in assignments("--score", texts).items()}


def split_names(texts: tuple[str, ...]) -> list[str]:
    """Split options that may be repeated, or hold names with commas between.

    Examples
    --------
    >>> split_names(("model, arm", "stage"))
    ['model', 'arm', 'stage']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _with_reading(command: Command, options: tuple[Callable[[Any], Any], ...]) -> Command:
    """Put the options of reading into one value, `reading`, so that they keep their types."""

    @wraps(command)
    def run(**typed: Any) -> object:
        own = {f.name: typed.pop(f.name) for f in fields(LogOptions) if f.name in typed}
        return command(reading=LogOptions(**own), **typed)

    taken: Command = run
    for option in reversed(options):
        taken = option(taken)
    return taken


def _number(text: str, value: str) -> float | None:
    if value.lower() in {"", "none", "unscored"}:
        return None
    try:
        return float(value)
    except ValueError:
        raise InputError("--score", "TEXT=NUMBER or TEXT=unscored", f"{text}={value}") from None
