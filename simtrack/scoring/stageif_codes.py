"""Algorithm 1 of StageIF on arrays: what is alike in every view, and one code for each reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.records import Records, Replies
from simtrack.scoring.markers import Report
from simtrack.scoring.oracle import Truth
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY, STAGEIF

__all__ = ["assembled", "coded", "matches", "named", "of_the_model", "shared_columns"]

Flags = NDArray[np.bool_]
_CODE = {code: k for k, code in enumerate(STAGEIF.codes)}
_UNKNOWN = -1
_FLAGS = ("0", "1")


def of_the_model(replies: Replies) -> NDArray[np.intp]:
    """Give the rows of replies that the model gave, or should have given.

    Where every turn was read, those are the turns of the assistant, and trials without any turn.
    """
    role = replies.records.factors.get("role")
    if role is None:
        return np.arange(len(replies), dtype=np.intp)
    kept = np.array([level == "assistant" for level in role.levels] + [True], dtype=bool)
    return np.flatnonzero(kept[role.codes])


def shared_columns(rows: Replies, truth: Truth) -> dict[str, Factor]:
    """Give the columns that are alike in all views: labels, truth, and whether a reply speaks.

    A tool call without words is a reply, even where the log calls it missing.
    """
    records, n = rows.records, len(rows)
    status = records.factors.get("status") or Factor.constant("scored", n)
    acts = np.fromiter((bool(call) for call in rows.calls), bool, n)
    has_words = np.fromiter((text is not None for text in rows.texts), bool, n)
    is_call = _among(status, ("missing",)) & acts & ~has_words
    valid = (_among(status, ("scored",)) & (has_words | acts)) | is_call
    untold = valid & (truth.duty == _UNKNOWN)
    reason = records.factors.get("reason") or Factor((), np.full(n, _UNKNOWN, dtype=np.int32))
    reason = Factor(reason.levels, np.where(is_call, _UNKNOWN, reason.codes).astype(np.int32))
    factors = {name: f for name, f in records.factors.items() if name not in ("metric", "role")}
    factors["status"] = _over(_over(status, is_call, "scored"), untold, "unscored")
    factors["reason"] = _over(reason, untold, "the oracle has no truth for this row")
    spoke = np.where(valid, np.where(acts, 0, 1), _UNKNOWN)
    return factors | {
        "duty": Factor(_FLAGS, truth.duty.astype(np.int32)),
        "gold": truth.gold,
        "stage": truth.gold,
        "expected": truth.expected,
        "spoke": Factor(_FLAGS, spoke.astype(np.int32)),
        "error": Factor(("transport",), np.where(valid, _UNKNOWN, 0).astype(np.int32)),
    }


def coded(
    view: str,
    shared: dict[str, Factor],
    reports: Sequence[Report],
    reported: Factor,
    right: Flags,
) -> dict[str, Factor]:
    """Give every reply one code, in the order of Algorithm 1.

    Parameters
    ----------
    view : str
    shared : mapping of name to Factor
        What `shared_columns` gave.
    reports : sequence of Report
    reported : Factor
        What each reply names; its last level is that of replies that name nothing.
    right : bool array, shape (rows,)
        Whether the value of the report is the expected one.
    """
    n = len(reports)
    valid = shared["error"].codes < 0
    duty, due = shared["duty"].codes, shared["duty"].codes == 1
    emitted = np.fromiter((report.emitted for report in reports), bool, n) & valid
    formed = np.fromiter((report.well_formed for report in reports), bool, n) & valid
    acts = shared["spoke"].codes == 0
    outcome = np.select(
        [~valid, duty == _UNKNOWN, ~due & emitted, ~due, acts, ~emitted, ~formed, ~right],
        [_CODE["TRANSPORT"], _UNKNOWN, _CODE["APP_FALSE_ALARM"], _CODE["CLEAN"],
         _CODE["APP_DIVERGENCE"], _CODE["APP_MISS"], _CODE["MALFORMED"], _CODE["STATE_WRONG"]],
        _CODE["CLEAN"],
    )  # fmt: skip
    speaks_of_one = reported.codes < len(reported.levels) - 1
    return shared | {
        "reported": reported,
        "emitted": _flagged(emitted, valid),
        "well_formed": _flagged(formed, emitted),
        "correct": _flagged(right, emitted & speaks_of_one & due),
        "outcome": Factor(STAGEIF.codes, outcome.astype(np.int32)),
        "view": Factor.constant(view, n),
    }


def assembled(
    parts: Sequence[dict[str, Factor]], records: Records, notes: Iterable[str]
) -> Records:
    """Stack the views of the same replies; `value` is 1 where CLEAN and NaN where not scored."""
    columns = {name: Factor.concatenate([part[name] for part in parts]) for name in parts[0]}
    codes = columns["outcome"].codes
    value = np.where(codes == _CODE["CLEAN"], 1.0, 0.0)
    value[(codes == _CODE["TRANSPORT"]) | (codes < 0)] = np.nan
    numbers = {
        name: np.tile(column, len(parts))
        for name, column in records.numbers.items()
        if name != "value" and name not in columns
    }
    return Records(columns, {"value": value, **numbers}, records.losses, records.parents,
                   "checkpoint", tuple(notes))  # fmt: skip


def named(reports: Sequence[Report], names: Sequence[str], values: Sequence[str]) -> Factor:
    """Name what each report says: `names` of `values`, out_of_vocabulary, or none (last)."""
    levels = (*names, OUT_OF_VOCABULARY, NO_REPORT)
    code = {value: k for k, value in enumerate(values)}
    other, none = len(levels) - 2, len(levels) - 1
    codes = [none if r.value is None else code.get(r.value, other) for r in reports]
    return Factor(levels, np.array(codes, dtype=np.int32))


def matches(reports: Sequence[Report], expected: Factor) -> Flags:
    """Say whether the value of a report is among those that are expected of its row."""
    allowed = [*(frozenset(level.split("|")) for level in expected.levels), frozenset[str]()]
    pairs = zip(reports, expected.codes.tolist(), strict=True)
    return np.fromiter((r.value in allowed[c] for r, c in pairs), bool, len(reports))


def _flagged(holds: Flags, defined: Flags) -> Factor:
    return Factor(_FLAGS, np.where(defined, holds, _UNKNOWN).astype(np.int32))


def _among(factor: Factor, levels: Sequence[str]) -> Flags:
    return np.array([level in levels for level in factor.levels] + [False])[factor.codes]


def _over(factor: Factor, where: Flags, level: str) -> Factor:
    """Put another label where a mask holds."""
    if not where.any():
        return factor
    both = Factor.concatenate([factor, Factor.constant(level, len(factor))])
    rows = np.arange(len(factor))
    return both.take(np.where(where, len(factor) + rows, rows))
