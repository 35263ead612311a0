"""Replies as the options of the command line ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from simtrack.cli.reading import LogOptions
from simtrack.cli.reading_progress import reading_progress
from simtrack.errors import InputError
from simtrack.options import Turns

if TYPE_CHECKING:
    from simtrack.records import Replies

__all__ = ["SCHEMES_OFFERED", "TURNS_OPTION", "example_option", "read_asked_replies"]

Command = TypeVar("Command", bound=Callable[..., Any])

#: The schemes by name, so that --help imports none of them.
SCHEMES_OFFERED = ("plain", "stageif", "obligations", "statetrack", "rebind")
TURNS_OPTION = click.option(
    "--turns", type=click.Choice(get_args(Turns)), default="last",
    help="Score the last reply of each trial, or all of its turns [last].",
)  # fmt: skip


def example_option(scheme: str | None = None) -> Callable[[Command], Command]:
    """Give a verb `--example`: it prints a commented protocol of the scheme, and reads no log.

    Parameters
    ----------
    scheme : str, optional
        The only one there is; without it that of `--scheme`.
    """
    told = "of the scheme " if scheme is None else ""
    return click.option(
        "--example", cls=_Example, is_flag=True, is_eager=True, expose_value=False, always=scheme,
        help=f"Print a commented protocol {told}to start from, and stop.",
    )  # fmt: skip


class _Example(click.Option):
    """Is looked at before LOGS are asked for, wherever `--scheme` stands."""

    def __init__(self, *args: Any, always: str | None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._always = always

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if opts.get("example") and not ctx.resilient_parsing:
            click.echo(_example(self._always or opts.get("scheme") or _default(ctx)), nl=False)
            ctx.exit()
        return super().handle_parse_result(ctx, opts, args)


def _default(ctx: click.Context) -> str:
    return next(str(p.default) for p in ctx.command.params if p.name == "scheme")


def _example(scheme: str) -> str:
    from simtrack.scoring.protocol_file import EXAMPLES, protocol_example

    if scheme not in EXAMPLES:
        rule = f"used with --scheme {', '.join(SCHEMES_OFFERED[1:])}"
        raise InputError("--example", rule, f"--scheme {scheme}")
    return protocol_example(scheme)


def read_asked_replies(
    logs: tuple[str, ...],
    reading: LogOptions,
    turns: Turns = "last",
    leave_out: tuple[str, ...] = (),
) -> Replies:
    """Read the replies of the logs as the options of `log_options` say."""
    from simtrack.analysis.scope import find_factor
    from simtrack.logs import read_replies

    for on, option in ((reading.metrics, "--metric"), (reading.summaries, "--summaries")):
        if on:
            cure = "It chooses among the log's own scores; here the words are read."
            raise InputError(option, "left out where replies are read", cure=cure)
    with reading_progress() as progress:
        replies = read_replies(
            logs,
            map=reading.mapped or None,
            scores=reading.scores,
            turns=turns,
            salvage=reading.salvage,
            skip_refused=reading.skip_refused,
            latest=reading.latest,
            leave_out=leave_out,
            progress=progress,
        )
    for name, label in reading.only.items():
        column = find_factor(replies.records, name)
        known = replies.records.factors[column].levels
        replies = replies.select(**{column: [label] if label in known else label.split("|")})
    return replies
