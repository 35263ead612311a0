"""Replies as the options of the command line ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simtrack.cli.parsing import assignments
from simtrack.cli.reading import score_values

if TYPE_CHECKING:
    from simtrack.options import Turns
    from simtrack.records import Replies

__all__ = ["SCHEMES_OFFERED", "read_asked_replies"]

#: The schemes by name, so that --help imports none of them.
SCHEMES_OFFERED = ("plain", "stageif")


def read_asked_replies(
    logs: tuple[str, ...], given: dict[str, Any], turns: Turns = "last"
) -> Replies:
    """Read the replies of the logs as the options of `log_options` say."""
    from simtrack.analysis.scope import find_factor
    from simtrack.logs import read_replies

    replies = read_replies(
        logs,
        map=assignments("--map", given["columns"]) or None,
        scores=score_values(given["values"]),
        turns=turns,
        salvage=given["salvage"],
        skip_refused=given["skip_refused"],
    )
    for name, label in assignments("--where", given["where"]).items():
        column = find_factor(replies.records, name)
        known = replies.records.factors[column].levels
        replies = replies.select(**{column: [label] if label in known else label.split("|")})
    return replies
