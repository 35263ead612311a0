"""Which code does each reply end in? Algorithm 1 of StageIF, in its order, for both views."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.options import View, choice
from simtrack.records import Records, Replies
from simtrack.scoring.envelope import stripped
from simtrack.scoring.markers import Report
from simtrack.scoring.oracle import Truth
from simtrack.scoring.protocol import StageProtocol
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY, STAGEIF

__all__ = ["score_stageif"]

_CODE = {code: k for k, code in enumerate(STAGEIF.codes)}
_UNKNOWN = -1


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
        Where every turn was read, those of the assistant count.
    protocol : StageProtocol, optional
        The paper's, with duty and stage in columns of that name, if not given.
    views : sequence of {"strict", "stripped"}
        Readings of the same replies: as they are, and out of their JSON envelope.

    Returns
    -------
    Records
        One row a reply and view, kind "checkpoint": the labels of the replies and `view`, `duty`,
        `gold`, `stage`, `expected`, `reported` (a stage, a constant of an arm, out_of_vocabulary,
        or none), `spoke`, `emitted`, `well_formed`, `correct`, `error` and `outcome`; the number
        `value` is 1 where CLEAN. Flags are missing where they are not defined. A reply that was
        recorded but has no truth is unscored.

    Source: StageIF Algorithm 1, appendix B.
    """
    used = StageProtocol() if protocol is None else protocol
    for view in views:
        choice("view", view, View)
    if not views or len(set(views)) < len(views):
        raise InputError("views", "one or both of strict, stripped", list(views))
    rows = replies
    if "role" in replies.records.factors:
        rows = replies.select(role="assistant")
    truth, notes = used.oracle.truth(rows.records, used.values, used.expected, used.arm)
    shared = _shared(rows, truth)
    as_they_are = used.marker().read_all(rows.texts)
    parts = []
    for view in views:
        reports = as_they_are if view == "strict" else _out_of_envelopes(rows, as_they_are, used)
        parts.append(_one_view(view, rows, reports, truth, used, shared))
    digest = f"truth was fixed from labels before replies were read: sha256 {truth.digest[:16]}"
    told = (*rows.records.notes, *notes, *_call_note(rows), digest)
    columns = {name: Factor.concatenate([part[name] for part in parts]) for name in parts[0]}
    value = np.where(columns["outcome"].codes == _CODE["CLEAN"], 1.0, 0.0)
    is_lost = (columns["outcome"].codes == _CODE["TRANSPORT"]) | (columns["outcome"].codes < 0)
    value[is_lost] = np.nan
    numbers = {n: np.tile(v, len(views)) for n, v in rows.records.numbers.items() if n != "value"}
    return Records(columns, {"value": value, **numbers}, rows.records.losses, rows.records.parents,
                   "checkpoint", told)  # fmt: skip


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


def _shared(rows: Replies, truth: Truth) -> dict[str, Factor]:
    """Give the columns that are alike in both views."""
    records = rows.records
    status = records.factors.get("status") or Factor.constant("scored", len(records))
    valid = np.array([level == "scored" for level in status.levels])[status.codes]
    valid &= np.array([text is not None for text in rows.texts], dtype=bool)
    reason = records.factors.get("reason") or _missing(len(records))
    untold = valid & (truth.duty == _UNKNOWN)
    factors = {n: f for n, f in records.factors.items() if n not in ("metric", "role")}
    factors["status"] = _over(status, untold, "unscored")
    factors["reason"] = _over(reason, untold, "the oracle has no truth for this row")
    acts = np.array([bool(call) for call in rows.calls], dtype=bool)
    spoke = np.where(valid, np.where(acts, 0, 1), _UNKNOWN)
    return factors | {
        "duty": Factor(("0", "1"), truth.duty.astype(np.int32)),
        "gold": truth.gold,
        "stage": truth.gold,
        "expected": truth.expected,
        "spoke": Factor(("0", "1"), spoke.astype(np.int32)),
        "error": Factor(("transport",), np.where(valid, -1, 0).astype(np.int32)),
    }


def _one_view(
    view: View,
    rows: Replies,
    reports: Sequence[Report],
    truth: Truth,
    protocol: StageProtocol,
    shared: dict[str, Factor],
) -> dict[str, Factor]:
    n = len(rows)
    valid = shared["error"].codes < 0
    emitted = np.fromiter((report.emitted for report in reports), bool, n) & valid
    formed = np.fromiter((report.well_formed for report in reports), bool, n) & valid
    reported = _reported(reports, protocol)
    right = _is_right(reports, truth)
    acts = shared["spoke"].codes == 0
    due = truth.duty == 1
    outcome = np.select(
        [~valid, truth.duty == _UNKNOWN, ~due & emitted, ~due, acts, ~emitted, ~formed, ~right],
        [_CODE["TRANSPORT"], _UNKNOWN, _CODE["APP_FALSE_ALARM"], _CODE["CLEAN"],
         _CODE["APP_DIVERGENCE"], _CODE["APP_MISS"], _CODE["MALFORMED"], _CODE["STATE_WRONG"]],
        _CODE["CLEAN"],
    )  # fmt: skip
    flags = ("0", "1")
    named = reported.codes < len(reported.levels) - 1
    return shared | {
        "reported": reported,
        "emitted": Factor(flags, np.where(valid, emitted, _UNKNOWN).astype(np.int32)),
        "well_formed": Factor(flags, np.where(emitted, formed, _UNKNOWN).astype(np.int32)),
        "correct": Factor(flags, np.where(emitted & named & due, right, _UNKNOWN).astype(np.int32)),
        "outcome": Factor(STAGEIF.codes, outcome.astype(np.int32)),
        "view": Factor.constant(view, n),
    }


def _reported(reports: Sequence[Report], protocol: StageProtocol) -> Factor:
    """Name what each report says; the last level is that of replies that name nothing."""
    constants = [v for v in dict.fromkeys(protocol.expected.values())
                 if v not in protocol.values.values()]  # fmt: skip
    levels = (*protocol.values, *constants, OUT_OF_VOCABULARY, NO_REPORT)
    code = {text: k for k, text in enumerate((*protocol.values.values(), *constants))}
    other, none = len(levels) - 2, len(levels) - 1
    codes = [none if r.value is None else code.get(r.value, other) for r in reports]
    return Factor(levels, np.array(codes, dtype=np.int32))


def _is_right(reports: Sequence[Report], truth: Truth) -> NDArray[np.bool_]:
    """Say whether the value of a report is among those that are expected of its row."""
    allowed = [frozenset(level.split("|")) for level in truth.expected.levels]
    nothing: frozenset[str] = frozenset()
    allowed.append(nothing)
    return np.fromiter(
        (
            r.value in allowed[c]
            for r, c in zip(reports, truth.expected.codes.tolist(), strict=True)
        ),
        bool,
        len(reports),
    )


def _missing(rows: int) -> Factor:
    return Factor((), np.full(rows, -1, dtype=np.int32))


def _over(factor: Factor, where: NDArray[np.bool_], level: str) -> Factor:
    """Put another label where a mask holds."""
    if not where.any():
        return factor
    both = Factor.concatenate([factor, Factor.constant(level, len(factor))])
    rows = np.arange(len(factor))
    return both.take(np.where(where, len(factor) + rows, rows))
