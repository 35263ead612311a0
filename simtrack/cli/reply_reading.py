"""Replies as the options of the command line ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import assignments
from simtrack.cli.reading import score_values
from simtrack.options import Turns

if TYPE_CHECKING:
    from simtrack.records import Replies

__all__ = ["SCHEMES_OFFERED", "TURNS_OPTION", "read_asked_replies"]

#: The schemes by name, so that --help imports none of them.
SCHEMES_OFFERED = ("plain", "stageif", "obligations", "statetrack", "rebind")
TURNS_OPTION = click.option(
    "--turns", type=click.Choice(get_args(Turns)), default="last",
    help="Score the last reply of each trial, or all of its turns [last].",
)  # fmt: skip


def read_asked_replies(
    logs: tuple[str, ...], given: dict[str, Any], turns: Turns | None = None
) -> Replies:
    """Read the replies of the logs as the options of `log_options` say."""
    from simtrack.analysis.scope import find_factor
    from simtrack.logs import read_replies

    replies = read_replies(
        logs,
        map=assignments("--map", given["columns"]) or None,
        scores=score_values(given["values"]),
        turns=turns or given.get("turns", "last"),
        salvage=given["salvage"],
        skip_refused=given["skip_refused"],
    )
    for name, label in assignments("--where", given["where"]).items():
        column = find_factor(replies.records, name)
        known = replies.records.factors[column].levels
        replies = replies.select(**{column: [label] if label in known else label.split("|")})
    return replies
