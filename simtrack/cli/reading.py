"""The options by which every verb reads logs, and the records that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from simtrack.cli.parsing import assignments
from simtrack.cli.reading_progress import reading_progress
from simtrack.errors import InputError
from simtrack.options import MissingCluster

if TYPE_CHECKING:
    from simtrack.records import Records

__all__ = [
    "log_options",
    "read_options",
    "read_records",
    "score_values",
    "split_names",
    "strict_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

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
    """Give a command LOGS and the options that say how they are read and grouped."""
    return _LOGS(_decorated(command, (*_GROUPS, *_READING)))


def read_options(command: Command) -> Command:
    """Give a command LOGS and the options that say how they are read."""
    return _LOGS(_decorated(command, _READING))


def read_records(
    logs: tuple[str, ...], given: dict[str, Any], leave_out: tuple[str, ...] = ()
) -> Records:
    """Read the logs as the options of `log_options` say."""
    from simtrack.analysis.scope import find_factor
    from simtrack.logs import read_logs

    with reading_progress() as progress:
        records = read_logs(
            logs,
            map=assignments("--map", given["columns"]) or None,
            metric=list(given["metrics"]) or None,
            scores=score_values(given["values"]),
            detail="summaries" if given["summaries"] else "samples",
            salvage=given["salvage"],
            skip_refused=given["skip_refused"],
            latest=given["latest"],
            leave_out=leave_out,
            progress=progress,
        )
    for name, label in assignments("--where", given["where"]).items():
        column = find_factor(records, name)
        known = records.factors[column].levels
        records = records.select(**{column: [label] if label in known else label.split("|")})
    return records


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


def _decorated(command: Command, options: tuple[Callable[[Any], Any], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _number(text: str, value: str) -> float | None:
    if value.lower() in {"", "none", "unscored"}:
        return None
    try:
        return float(value)
    except ValueError:
        raise InputError("--score", "TEXT=NUMBER or TEXT=unscored", f"{text}={value}") from None
