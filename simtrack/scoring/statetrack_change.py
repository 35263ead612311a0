"""Which rule does an answer follow, once a rule was changed or revoked?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.statetrack_probes import probe_columns
from simtrack.scoring.statetrack_protocol import StateTrackProtocol
from simtrack.scoring.statetrack_verdicts import FLAG_LEVELS, UNKNOWN, coded, is_valid, judged
from simtrack.taxonomy import LEDGER

__all__ = ["score_changed_rule"]

_STALE, _UPDATED, _OTHER = range(3)


def score_changed_rule(replies: Replies, protocol: StateTrackProtocol) -> Records:
    """Give every answer after a rule was changed STALE, UPDATED_CLEAN or OTHER.

    The old rule's checker passes and the new one's fails: STALE. The new one's passes:
    UPDATED_CLEAN. Both pass: what the protocol's `both_rules` says. Neither: OTHER. Where no rule
    and no column gives a `new`, the old one was revoked: not to enforce it is UPDATED_CLEAN.
    Or a column `followed` says it.

    Returns
    -------
    Records
        One row an answer (of the compliance branch, where there are branches), kind "trial": its
        labels, `old`, `new`, who judged in `old_by`, `new_by`, and `outcome`; `value` is 1 where
        UPDATED_CLEAN. Answers that are not valid keep their status; those without a verdict are
        unscored.

    Source: StateTrack Table 18, appendix I.4.
    """
    if "change" not in protocol.measures:
        raise InputError("protocol", "about old and new rules", "neither", cure="Give old and new.")
    rows, losses = _answers(replies, protocol)
    valid = is_valid(rows)
    factors = probe_columns(rows, protocol)
    column = protocol.columns.get("followed")
    if column is not None:
        said = coded(rows, column, LEDGER.codes)
        outcome = np.where(valid, said.codes, UNKNOWN)
        notes: tuple[str, ...] = (f"the rule that was followed as column {column} says it",)
    else:
        outcome, flags, notes = _followed(rows, protocol)
        factors |= flags
    untold = valid & (outcome == UNKNOWN)
    status = rows.records.factors.get("status") or Factor.constant("scored", len(rows))
    reason = rows.records.factors.get("reason")
    why = reason.values() if reason is not None else [None] * len(rows)
    fate = ["unscored" if gone else s for gone, s in zip(untold, status.values(), strict=True)]
    told = ["the protocol has no verdict for this answer" if gone else w
            for gone, w in zip(untold, why, strict=True)]  # fmt: skip
    factors |= {
        "status": Factor.from_values(fate),
        "reason": Factor.from_values(told),
        "outcome": Factor(LEDGER.codes, outcome.astype(np.int32)),
    }
    value = np.where(outcome == UNKNOWN, np.nan, (outcome == _UPDATED).astype(np.float64))
    numbers = {k: v for k, v in rows.records.numbers.items() if k not in (*factors, "value")}
    return Records(factors, {"value": value, **numbers}, losses, rows.records.parents, "trial",
                   (*rows.records.notes, *notes, protocol.note))  # fmt: skip


def _answers(replies: Replies, protocol: StateTrackProtocol) -> tuple[Replies, Losses]:
    """Give the answers to the next task: the compliance branch, if the log tells branches apart."""
    rows = replies
    if "role" in replies.records.factors:
        rows = replies.select(role="assistant")
    branch = rows.records.factors.get(protocol.column)
    if branch is None:
        return rows, rows.records.losses
    named = (*protocol.compliance, *protocol.recall, *protocol.restated)
    meant = np.array([*(level in protocol.compliance for level in branch.levels), False])
    other = np.array([*(level not in named for level in branch.levels), True])
    meant, unnamed = meant[branch.codes], int(other[branch.codes].sum())
    if not meant.any():
        raise DataError(f"column {protocol.column} has none of the labels "
                        f"{', '.join(protocol.compliance)}. Name them in the protocol: compliance "
                        "= [...].")  # fmt: skip
    reason = f"{protocol.column} names no branch"
    losses = rows.records.losses + Losses.of([Loss("unlabelled", unnamed, reason)])
    return rows.take(meant), losses


def _followed(
    rows: Replies, protocol: StateTrackProtocol
) -> tuple[NDArray[np.int64], dict[str, Factor], tuple[str, ...]]:
    old = judged(rows, protocol, "old")
    new = judged(rows, protocol, "new")
    known = old.codes != UNKNOWN
    revoked = known & (new.codes == UNKNOWN) & ("new" not in protocol.columns)
    known &= revoked | (new.codes != UNKNOWN)
    both = LEDGER.codes.index(protocol.both_rules)
    was, now = old.codes == 1, new.codes == 1
    outcome = np.select(
        [revoked & was, revoked, ~known, was & now, was, now],
        [_STALE, _UPDATED, UNKNOWN, both, _STALE, _UPDATED],
        _OTHER,
    )
    notes = [*old.notes, *new.notes]
    if revoked.any():
        notes.append(f"{int(revoked.sum())} answers to a rule that was revoked, not replaced: not "
                     "to enforce it is UPDATED_CLEAN")  # fmt: skip
    if (was & now).any():
        notes.append(f"{int((was & now).sum())} answers that both rules allow count as "
                     f"{protocol.both_rules}, as declared")  # fmt: skip
    flags = {
        "old": Factor(FLAG_LEVELS, old.codes),
        "new": Factor(FLAG_LEVELS, new.codes),
        "old_by": old.by,
        "new_by": new.by,
    }
    return outcome, flags, tuple(notes)
