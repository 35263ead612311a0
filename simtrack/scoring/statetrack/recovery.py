"""Which rule does an answer follow, once a rule was changed or revoked?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.statetrack.probes import (
    COMPLIANCE,
    FLAG_LEVELS,
    RESTATED,
    UNKNOWN,
    Branches,
    Codes,
    Index,
    branches_of,
    coded,
    is_valid,
    judged,
    lost,
    probe_columns,
)
from simtrack.scoring.statetrack.protocol import StateTrackProtocol
from simtrack.scoring.statetrack.score import kept_flags
from simtrack.taxonomy import LEDGER, RECOVERY

__all__ = ["score_changed_rule", "score_recovery"]


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


# Does restating a rule mend a probe that collapsed?
_FULL, _PARTIAL, _NONE = range(3)


def score_recovery(replies: Replies, protocol: StateTrackProtocol) -> Records:
    """Give every collapsed probe FULL, PARTIAL or NONE: did restating the rule mend it?

    A probe has collapsed if its compliance reply fails the strict joint (the constraint, where no
    task is judged). Its restated replies, one or several, are judged likewise: FULL if all pass,
    PARTIAL if some do, or if one passes the protocol's `partial`; else NONE. Or a column
    `recovery` says it. FULL is part of the estimand `partial_recovery`.

    Returns
    -------
    Records
        One row a collapsed probe with a restated reply, kind "probe": its labels, `followups` (how
        many restated replies), `recovered_by` and `outcome`; `value` is 1 where FULL. A restated
        reply that is not valid makes its probe a loss of that status. Collapsed probes that were
        not asked again, and restated replies without a compliance reply, are losses of kind
        "unpaired"; restated replies of probes that did not collapse, or of which that is not
        known, are losses of kind "undefined".

    Source: StateTrack Table 7, appendix B.4.
    """
    branches = branches_of(replies, protocol)
    base = branches.only(COMPLIANCE, "compliance")
    rows = branches.rows(RESTATED)
    if not rows.size:
        raise DataError(
            f"no reply follows a restated rule: column {protocol.column} has none of the labels "
            f"{', '.join(protocol.restated)}. Name them in the protocol: restated = [...]."
        )
    answers = branches.replies.take(base[base >= 0])
    kept = kept_flags(answers, protocol)
    passed = np.full(branches.probes, UNKNOWN, dtype=np.int32)
    passed[base >= 0] = kept.passed
    asked = np.zeros(branches.probes, dtype=bool)
    asked[branches.probe[rows]] = True
    probes = branches.probe[branches.rows(COMPLIANCE)]
    stays = probes[(passed[probes] == 0) & asked[probes]]
    if not stays.size:
        raise DataError(
            f"none of {int((base >= 0).sum())} compliance replies failed and was asked again, so "
            "there is no recovery to speak of."
        )
    losses = _without_recovery(branches, base, passed, asked)
    notes = (*kept.notes, f"{int((passed == 1).sum())} probes did not collapse: recovery is not "
             "defined there")  # fmt: skip
    return _recovered(branches, base[stays], stays, losses, notes, protocol)


def _recovered(
    branches: Branches,
    base: Index,
    probes: NDArray[np.int64],
    losses: Losses,
    notes: tuple[str, ...],
    protocol: StateTrackProtocol,
) -> Records:
    rows = branches.rows(RESTATED)
    again = branches.replies.take(rows)
    codes, by, more = _codes_of_replies(again, protocol)
    place = np.full(branches.probes, -1, dtype=np.intp)
    place[probes] = np.arange(probes.size)
    mine = place[branches.probe[rows]]
    here = mine >= 0
    followups = np.bincount(mine[here], minlength=probes.size)
    full = np.bincount(mine[here & (codes == _FULL)], minlength=probes.size)
    some = np.bincount(mine[here & (codes == _PARTIAL)], minlength=probes.size)
    known = np.bincount(mine[here & (codes != UNKNOWN)], minlength=probes.size)
    outcome = np.where(full == followups, _FULL, np.where(full + some > 0, _PARTIAL, _NONE))
    outcome = np.where(known == followups, outcome, UNKNOWN)
    who = np.full(probes.size, UNKNOWN, dtype=np.int32)
    who[mine[here]] = by.codes[here]
    answers = branches.replies.take(base)
    factors = probe_columns(answers, protocol)
    factors |= _fates_of(again, mine, probes.size, outcome)
    factors |= {
        "followups": Factor.from_values([str(k) for k in followups.tolist()]),
        "recovered_by": Factor(by.levels, who),
        "outcome": Factor(RECOVERY.codes, outcome.astype(np.int32)),
    }
    value = np.where(outcome == UNKNOWN, np.nan, (outcome == _FULL).astype(np.float64))
    told = (*answers.records.notes, *notes, *more, protocol.note)
    return Records(factors, {"value": value}, losses, answers.records.parents, "probe", told)


def _codes_of_replies(
    again: Replies, protocol: StateTrackProtocol
) -> tuple[Codes, Factor, tuple[str, ...]]:
    """Say of each restated reply alone whether it mends all, part or nothing."""
    column = protocol.columns.get("recovery")
    if column is not None:
        said = coded(again, column, RECOVERY.codes)
        codes = np.where(is_valid(again), said.codes, UNKNOWN)
        by = np.where(codes == UNKNOWN, UNKNOWN, 1)
        note = f"recovery as column {column} says it"
        return codes, Factor(("checker", "column"), by.astype(np.int32)), (note,)
    kept = kept_flags(again, protocol)
    codes = np.where(kept.passed == 1, _FULL, np.where(kept.passed == 0, _NONE, UNKNOWN))
    notes = [f"restated replies: {note}" for note in kept.notes]
    if protocol.gives("partial"):
        part = judged(again, protocol, "partial")
        codes = np.where((codes == _NONE) & (part.codes == 1), _PARTIAL, codes)
        notes += [f"restated replies: {note}" for note in part.notes]
    else:
        notes.append("PARTIAL is for probes of which some restated replies pass: no checker for "
                     "partial recovery is declared")  # fmt: skip
    by_rule = next((f for n, f in kept.by.items() if n in ("b_by", "constraint_by", "joint_by")),
                   Factor(("checker", "column"), np.full(len(again), UNKNOWN)))  # fmt: skip
    return codes.astype(np.int32), by_rule, tuple(notes)


def _fates_of(
    again: Replies, mine: Index, probes: int, outcome: NDArray[np.int64]
) -> dict[str, Factor]:
    """Give each probe the status of its first restated reply that is not scored."""
    factors = again.records.factors
    said = factors["status"].values() if "status" in factors else ["scored"] * len(again)
    why = factors["reason"].values() if "reason" in factors else [None] * len(again)
    valid = is_valid(again)
    status: list[str] = ["scored"] * probes
    reason: list[str | None] = [None] * probes
    for row, place in enumerate(mine.tolist()):
        if place >= 0 and not valid[row] and status[place] == "scored":
            given = said[row] or "unscored"
            status[place] = given if given != "scored" else "missing"
            reason[place] = f"restated reply: {why[row] or status[place]}"
    for place in np.flatnonzero(outcome == UNKNOWN).tolist():
        if status[place] == "scored":
            status[place] = "unscored"
            reason[place] = "the protocol has no verdict for a restated reply"
    return {"status": Factor.from_values(status), "reason": Factor.from_values(reason)}


def _without_recovery(
    branches: Branches, base: Index, passed: Codes, asked: NDArray[np.bool_]
) -> Losses:
    found = branches.replies.records.losses + branches.losses
    has = base >= 0
    found += lost(branches, base[has & (passed == 0) & ~asked], "unpaired",
                  "collapsed and not asked again")  # fmt: skip
    found += lost(branches, base[has & (passed == 1) & asked], "undefined",
                  "asked again though the probe had not collapsed")  # fmt: skip
    found += lost(branches, base[has & (passed == UNKNOWN) & asked], "undefined",
                  "asked again, and not known whether the probe had collapsed")  # fmt: skip
    rows = branches.rows(RESTATED)
    lone = rows[~has[branches.probe[rows]]]
    return found + lost(branches, lone, "unpaired", "no compliance branch of this probe")
