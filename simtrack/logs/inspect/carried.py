"""What of a trial table has no place in Inspect's log? Carried in its metadata, and read back.

Inspect knows errors, limits, invalidations and scores; a table also has infrastructure losses,
losses on one metric of several, reasons, and losses without a row. They stand in metadata, which
Inspect keeps, beside what Inspect itself understands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from simtrack.counts import Loss
from simtrack.logs.decode import one_line
from simtrack.logs.inspect.fields import Header, Limit, Sample
from simtrack.options import Status

__all__ = [
    "FATES",
    "LIMITS",
    "LOSSES",
    "carried_fates",
    "carried_limit",
    "carried_losses",
    "fates_block",
    "limit_text",
    "losses_block",
    "native_fate",
]

#: The keys of a sample's metadata, and of the log's own.
FATES, LOSSES = "simtrack_fates", "simtrack_losses"
#: The limits that Inspect knows.
LIMITS = frozenset({"context", "time", "working", "message", "token", "turn", "cost", "operator",
                    "custom"})  # fmt: skip
STATUSES: tuple[str, ...] = get_args(Status)
INVALIDATED, UNSCORED = "invalidated in the log", "no score was logged"
_BLOCK = {"kind": str, "n": int, "reason": str, "where": dict, "examples": list}

Fate = tuple[str, str | None]


def limit_text(sample: Sample) -> str | None:
    """Give the type of the limit that halted a sample, as Inspect's field says."""
    limit = sample.limit
    return limit.type if isinstance(limit, Limit) else limit


def native_fate(*, scored: bool, error: str | None, limit: str | None, invalidated: bool) -> Fate:
    """Give status and reason of a sample on a metric as Inspect's own fields tell them.

    Examples
    --------
    >>> native_fate(scored=False, error=None, limit="token", invalidated=False)
    ('limited', 'halted by the token limit; no score was logged')
    """
    if invalidated:
        return "invalidated", INVALIDATED
    if error is not None:
        return "errored", one_line(error) or "error"
    if scored:
        return "scored", None
    return ("limited", f"halted by the {limit} limit; {UNSCORED}") if limit else (
        "unscored", UNSCORED)  # fmt: skip


def fates_block(
    stated: Mapping[str, Fate], native: Mapping[str, Fate], limits: tuple[str | None, str | None]
) -> dict[str, Any]:
    """Give what Inspect's fields would tell otherwise; nothing where they tell it all.

    `stated` and `native` are (status, reason) by metric, `limits` the limit of the trial in the
    table and in Inspect's fields.
    """
    told = {m: [*fate, native[m][0]] for m, fate in stated.items() if fate != native[m]}
    block: dict[str, Any] = {"metrics": told} if told else {}
    return block | ({"limit": limits[0]} if limits[0] != limits[1] else {})


def carried_fates(sample: Sample) -> dict[str, tuple[str, str | None, str]]:
    """Read the block back: {metric: (status, reason, the status that Inspect's fields told)}.

    A fate stands only while Inspect's fields tell that status still: a log that was scored or
    invalidated since tells more than the block.
    """
    block = (sample.metadata or {}).get(FATES)
    found = block.get("metrics") if isinstance(block, dict) else None
    if not isinstance(found, dict):
        return {}
    return {name: (f[0], f[1], f[2]) for name, f in found.items() if _is_fate(f)}


def carried_limit(sample: Sample) -> str | None:
    """Give the type of the limit that halted a sample, by the name that it had in the table."""
    native = limit_text(sample)
    block = (sample.metadata or {}).get(FATES)
    if native not in {None, "custom"} or not isinstance(block, dict):
        return native
    found = block.get("limit", native)
    return found if found is None or isinstance(found, str) else native


def losses_block(losses: Sequence[Loss], samples: int, planned: int) -> dict[str, Any]:
    """Give the losses of a table as plain data.

    The numbers of samples and of planned trials tell later whether the log is still the one that
    was written.
    """
    plain = [
        {"kind": x.kind, "n": x.n, "reason": x.reason, "where": dict(x.where),
         "examples": list(x.examples)}
        for x in losses
        if x.kind in STATUSES
    ]  # fmt: skip
    return {"samples": samples, "planned": planned, "losses": plain} if plain else {}


def carried_losses(header: Header, samples: int, metrics: Sequence[str]) -> list[Loss] | None:
    """Read the losses back, None where there are none or the log has changed since."""
    said = header.eval.metadata
    block = said.get(LOSSES) if isinstance(said, dict) else None
    found = block.get("losses") if isinstance(block, dict) else None
    planned = header.results.total_samples if header.results else None
    if not isinstance(block, dict) or not isinstance(found, list) or not all(map(_is_loss, found)):
        return None
    made = [
        Loss(x["kind"], x["n"], x["reason"], tuple(x["where"].items()), tuple(x["examples"]))
        for x in found
    ]
    lost: Counter[str] = Counter()
    for loss in made:
        lost[dict(loss.where).get("metric", "")] += loss.n
    everywhere = lost.pop("", 0)
    adds_up = samples + everywhere + max(lost.values(), default=0) == planned
    if not adds_up or (block.get("samples"), block.get("planned")) != (samples, planned):
        return None
    return [x for x in made if dict(x.where).get("metric", metrics[0]) in metrics]


def _is_fate(fate: Any) -> bool:
    return (
        isinstance(fate, list)
        and len(fate) == 3
        and fate[0] in STATUSES
        and fate[2] in STATUSES
        and (fate[0] != "scored" or fate[2] == "scored")
        and (fate[1] is None or isinstance(fate[1], str))
    )


def _is_loss(found: Any) -> bool:
    if not isinstance(found, dict) or any(
        not isinstance(found.get(key), kind) for key, kind in _BLOCK.items()
    ):
        return False
    texts = [found["reason"], *found["where"].values(), *found["examples"]]
    known = found["kind"] in STATUSES and found["kind"] != "scored"
    counted = not isinstance(found["n"], bool) and found["n"] >= 0
    return known and counted and all(isinstance(text, str) for text in texts)
