"""Which code does each reply end in? Algorithm 1 of StageIF, in its order, for both views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.options import View, choice
from simtrack.records import Records, Replies
from simtrack.scoring.cues import cue_columns
from simtrack.scoring.envelope import stripped
from simtrack.scoring.markers import Report
from simtrack.scoring.oracle import Truth
from simtrack.scoring.positions import knows_turns, with_positions
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.stageif_codes import (
    assembled,
    coded,
    matches,
    named,
    of_the_model,
    shared_columns,
)

__all__ = ["score_stageif"]


def score_stageif(
    replies: Replies,
    protocol: StageProtocol | None = None,
    views: Sequence[View] = ("strict", "stripped"),
) -> Records:
    """Give every reply exactly one code of the taxonomy, with what led to it kept apart.

    The truth of every row is fixed first, from labels alone. Then, in this order: no valid reply
    TRANSPORT; no duty APP_FALSE_ALARM if a report was emitted, else CLEAN; a tool call instead of
    speech APP_DIVERGENCE; no report APP_MISS; an ill-formed one MALFORMED; a wrong value
    STATE_WRONG; else CLEAN.

    Parameters
    ----------
    replies : Replies
        Where every turn was read, those of the assistant count. With `trajectory` and `turn`
        the places of checkpoints are told too.
    protocol : StageProtocol, optional
        The paper's, with duty and stage in columns of that name, if not given.
    views : sequence of {"strict", "stripped"}
        Readings of the same replies: as they are, and out of their JSON envelope.

    Returns
    -------
    Records
        One row a reply and view, kind "checkpoint": the labels of the replies and `view`, `duty`,
        `gold`, `stage`, `expected`, `reported` (a stage, a constant of an arm, out_of_vocabulary,
        or none), `spoke`, `emitted`, `well_formed`, `correct`, `error` and `outcome`; `bin`,
        `bin10` (see `with_positions`), `cue` and `handoff` (see `CueRule`) where the log tells
        them; the number `value` is 1 where CLEAN. Flags are missing where they are not defined. A
        reply that was recorded but has no truth is unscored.

    Raises
    ------
    InputError, DataError
        Views that are none; columns that the oracle needs and the log lacks; no reply at all.

    Source: StageIF Algorithm 1, appendix B.
    """
    used = StageProtocol() if protocol is None else protocol
    for view in views:
        choice("view", view, View)
    if not views or len(set(views)) < len(views):
        raise InputError("views", "one or both of strict, stripped", list(views))
    index = of_the_model(replies)
    if not index.size and len(replies):
        raise DataError("no message of an assistant among the replies. Map its column: role.")
    rows = replies.take(index) if index.size < len(replies) else replies
    truth, notes = used.oracle.truth(rows.records, used.values, used.expected, used.arm)
    shared = shared_columns(rows, truth)
    placed, told = _places(replies, index.tolist(), truth, used)
    shared |= placed
    as_they_are = used.marker().read_all(rows.texts)
    parts = []
    for view in views:
        reports = as_they_are if view == "strict" else _out_of_envelopes(rows, as_they_are, used)
        reported, right = _named(reports, used), matches(reports, truth.expected)
        parts.append(coded(view, shared, reports, reported, right))
    digest = f"truth was fixed from labels before replies were read: sha256 {truth.digest[:16]}"
    said = (*rows.records.notes, *notes, *told, *_call_note(rows), digest)
    return assembled(parts, rows.records, said)


def _places(
    replies: Replies, index: Sequence[int], truth: Truth, protocol: StageProtocol
) -> tuple[dict[str, Factor], list[str]]:
    """Give `bin`, `bin10`, `cue` and `handoff` where trajectories are told apart."""
    found, notes = cue_columns(replies, index, truth, protocol.cues)
    if knows_turns(replies.records):
        labels = replies.records.take(np.asarray(index, dtype=np.intp))
        duty = Factor(("0", "1"), truth.duty.astype(np.int32))
        placed = with_positions(labels.with_factors(duty=duty, gold=truth.gold))
        found |= {name: placed.factors[name] for name in ("bin", "bin10")}
    elif "trajectory" in replies.records.factors:
        notes.append("no column turn of whole numbers: places in a trajectory are not told")
    return found, notes


def _named(reports: Sequence[Report], protocol: StageProtocol) -> Factor:
    """Name stages by their marker's value, and constants of arms by themselves."""
    stages = tuple(protocol.values.values())
    constants = [c for c in dict.fromkeys(protocol.expected.values()) if c not in stages]
    return named(reports, (*protocol.values, *constants), (*stages, *constants))


def _out_of_envelopes(
    rows: Replies, reports: Sequence[Report], protocol: StageProtocol
) -> list[Report]:
    """Read those replies again that come in an envelope."""
    tag = protocol.tag if protocol.encoding == "json" else ""
    read = protocol.marker().read
    found = list(reports)
    for row, text in enumerate(rows.texts):
        if text is None:
            continue
        inner = stripped(text, tag=tag, field=protocol.envelope, fences=protocol.fences)
        if inner is not text:
            found[row] = read(inner)
    return found


def _call_note(rows: Replies) -> list[str]:
    unknown = sum(
        1 for call, text in zip(rows.calls, rows.texts, strict=True) if call is None and text
    )
    if not unknown:
        return []
    return [f"the log does not say of {unknown} replies whether they call a tool: they count as "
            "speech (--map calls=COLUMN)"]  # fmt: skip
