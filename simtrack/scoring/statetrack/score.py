"""Is the rule recalled, and is it kept? Two branches of one prefix, joined into one row a probe."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Losses
from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.records import Records, Replies
from simtrack.scoring.columns import labels_nobody_has
from simtrack.scoring.statetrack.probes import (
    COMPLIANCE,
    FLAG_LEVELS,
    RECALL,
    UNKNOWN,
    Branches,
    Codes,
    Index,
    branches_of,
    is_valid,
    judged,
    lost,
    probe_columns,
)
from simtrack.scoring.statetrack.protocol import StateTrackProtocol
from simtrack.taxonomy import RECALL as CODES
from simtrack.taxonomy import RECALL_OF_FAILURES

__all__ = ["Kept", "kept_flags", "score_statetrack"]

_TRANSPORT, _KEPT = 0, RECALL_OF_FAILURES.codes.index("KEPT")


class Kept(NamedTuple):
    """What is known of the answers to the next task.

    Attributes
    ----------
    flags : dict of label to codes
        `b`, and where they are given `task`, `joint`, `constraint`, `c1`, `c2`: 1, 0 or -1.
    by : dict of label to Factor
        Who judged: "checker" or "column".
    passed : codes
        The strict joint, or `b` where no task is judged.
    """

    flags: dict[str, Codes]
    by: dict[str, Factor]
    passed: Codes
    notes: tuple[str, ...]


def score_statetrack(replies: Replies, protocol: StateTrackProtocol) -> Records:
    """Give every probe one of R1B1, R1B0, R0B1, R0B0: is the rule recalled (R) and kept (B)?

    The compliance branch and the recall branch of a probe are joined by their labels. A branch
    without a valid reply makes the probe TRANSPORT; a probe with one branch only is a loss of kind
    "unpaired". Where recall was asked after failures only (declared), probes that pass and were
    not asked are KEPT: shares that need recall of every probe, SIC- among them, are then refused.

    Parameters
    ----------
    replies : Replies
        One row a reply; see `StateTrackProtocol` for the columns.
    protocol : StateTrackProtocol

    Returns
    -------
    Records
        One row a probe, kind "probe", in the order of its compliance replies: their labels, then
        `r` (recalled), `b` (kept: what `protocol.kept` says), `constraint` where that is not `b`,
        `task`, `joint` (task and constraint), `c1`, `c2` where they are given, who judged in
        `r_by`, `b_by`, `task_by`, `joint_by`, `error` ("transport") and `outcome`. The number
        `value` is 1 where the strict joint holds, or `b` where no task is judged. A probe without
        a verdict that the protocol promises is unscored. A column of the log that is called as one
        of these, and is no declared verdict, becomes `column.NAME`.

    Raises
    ------
    InputError, DataError
        A column that is missing; two replies in one branch of a probe; no probe at all.

    Source: StateTrack Eq. 2-4, Tables 6, 15-17 and 19.
    """
    branches = branches_of(replies, protocol)
    base = branches.only(COMPLIANCE, "compliance")
    asked = branches.only(RECALL, "recall")
    judged_rows = branches.replies.take(branches.rows(COMPLIANCE))
    kept = kept_flags(judged_rows, protocol)
    probes = branches.probe[branches.rows(COMPLIANCE)]
    partner = asked[probes]
    lone = np.flatnonzero(partner < 0)
    if protocol.recall_asked == "failures":
        valid = is_valid(judged_rows)
        lone = lone[valid[lone] & (kept.passed[lone] == 0)]
    stays = np.setdiff1d(np.arange(probes.size), lone)
    if not stays.size:
        raise DataError(_nothing(branches, base, asked, protocol))
    losses = _unpaired(branches, branches.rows(COMPLIANCE)[lone], base, asked)
    return _records(branches, judged_rows, kept, partner, stays, losses, protocol)


def kept_flags(replies: Replies, protocol: StateTrackProtocol) -> Kept:
    """Judge answers to the next task: constraint, task, and the strict joint of both."""
    flags: dict[str, Codes] = {}
    by: dict[str, Factor] = {}
    notes: list[str] = []
    for name in ("constraint", "task", "joint", "c1", "c2"):
        if protocol.gives(name):
            found = judged(replies, protocol, name)
            flags[name], by[f"{name}_by"] = found.codes, found.by
            notes += found.notes
    if "c1" in flags:
        flags["constraint"] = _both(flags["c1"], flags["c2"])
    if "task" in flags and "constraint" in flags:
        flags["joint"] = _both(flags["task"], flags["constraint"])
    elif "joint" in flags and "constraint" in flags:
        odd = int(((flags["joint"] == 1) & (flags["constraint"] == 0)).sum())
        notes += [f"{odd} probes pass the joint and break the constraint"] if odd else []
    if protocol.kept == "joint":
        flags["b"] = flags["joint"]
        notes.append("B of the codes is the strict joint, as in Table 6, not the constraint")
    else:
        flags["b"] = flags.pop("constraint")
        by = {("b_by" if n == "constraint_by" else n): f for n, f in by.items()}
    if not protocol.has_joint:
        notes.append("no task is judged: there is no strict joint, and value is the constraint")
    return Kept(flags, by, flags.get("joint", flags["b"]), tuple(notes))


def _both(first: Codes, second: Codes) -> Codes:
    """Give 1 where both are, 0 where one is 0, and -1 where that is not known."""
    out = np.where((first == 0) | (second == 0), 0, np.where((first == 1) & (second == 1), 1, -1))
    return np.asarray(out, dtype=np.int32)


def _records(
    branches: Branches,
    answers: Replies,
    kept: Kept,
    partner: Index,
    stays: Index,
    losses: Losses,
    protocol: StateTrackProtocol,
) -> Records:
    """Lay out one row a probe."""
    n, partner = stays.size, partner[stays]
    answers = answers.take(stays)
    has = partner >= 0
    recalled = judged(branches.replies.take(partner[has]), protocol, "recall")
    r = np.full(n, UNKNOWN, dtype=np.int32)
    r[has] = recalled.codes
    ok = is_valid(answers)
    heard = np.ones(n, dtype=bool)
    heard[has] = is_valid(branches.replies.take(partner[has]))
    flags = {name: codes[stays] for name, codes in kept.flags.items()}
    passed = kept.passed[stays]
    transport = ~ok | ~heard
    untold = np.zeros(n, dtype=bool)
    for codes in flags.values():
        untold |= codes == UNKNOWN
    untold |= has & (r == UNKNOWN)
    untold &= ~transport
    outcome = np.where(has, 1 + 2 * (1 - r) + (1 - flags["b"]), _KEPT)
    outcome = np.where(transport, _TRANSPORT, np.where(untold, UNKNOWN, outcome))
    levels = RECALL_OF_FAILURES if protocol.recall_asked == "failures" else CODES
    gone = transport | untold
    known = {name: np.where(transport, UNKNOWN, codes) for name, codes in {"r": r, **flags}.items()}
    by_recall = np.full(n, UNKNOWN, dtype=np.int32)
    by_recall[has] = recalled.by.codes
    factors = probe_columns(answers, protocol)
    factors |= {name: Factor(FLAG_LEVELS, codes) for name, codes in known.items()}
    factors |= {"r_by": Factor(recalled.by.levels, by_recall)}
    factors |= {name: factor.take(stays) for name, factor in kept.by.items()}
    factors |= _fates(branches, answers, partner, untold)
    factors |= {
        "error": Factor(("transport",), np.where(transport, 0, UNKNOWN).astype(np.int32)),
        "outcome": Factor(levels.codes, outcome.astype(np.int32)),
    }
    numbers = {k: v for k, v in answers.records.numbers.items() if k not in (*factors, "value")}
    value = np.where(gone, np.nan, passed.astype(np.float64))
    notes = (*answers.records.notes, *kept.notes, *recalled.notes, *_told(protocol, branches))
    return Records(factors, {"value": value, **numbers}, losses, answers.records.parents,
                   "probe", notes)  # fmt: skip


def _fates(
    branches: Branches, answers: Replies, partner: Index, untold: NDArray[np.bool_]
) -> dict[str, Factor]:
    """Give status and reason of each probe: the answer's, or the recall branch's if that failed."""
    mine, why = _fate(answers)
    theirs, their_why = _fate(branches.replies)
    status, reason = [], []
    for row, other in enumerate(partner.tolist()):
        fate, told = mine[row], why[row]
        if fate == "scored" and other >= 0 and theirs[other] != "scored":
            fate = theirs[other]
            told = f"recall branch: {their_why[other] or fate}"
        elif untold[row]:
            fate, told = "unscored", "the protocol has no verdict for this probe"
        status.append(fate)
        reason.append(told)
    return {"status": Factor.from_values(status), "reason": Factor.from_values(reason)}


def _fate(replies: Replies) -> tuple[list[str], list[str | None]]:
    factors = replies.records.factors
    status = factors["status"].values() if "status" in factors else ["scored"] * len(replies)
    reason: list[str | None] = [None] * len(replies)
    if "reason" in factors:
        reason = factors["reason"].values()
    return [s or "unscored" for s in status], reason


def _unpaired(branches: Branches, answers: Index, base: Index, asked: Index) -> Losses:
    """Count the probes that lack a branch."""
    questions = asked[(asked >= 0) & (base < 0)]
    kept = branches.replies.records.losses + branches.losses
    kept += lost(branches, answers, "unpaired", "no recall branch of this probe")
    return kept + lost(branches, questions, "unpaired", "no compliance branch of this probe")


def _nothing(branches: Branches, base: Index, asked: Index, protocol: StateTrackProtocol) -> str:
    there = branches.replies.records.factors[protocol.column].compact().levels
    wanted = f"{' or '.join(protocol.compliance)}, and {' or '.join(protocol.recall)}"
    return (
        f"no probe has both branches: {int((base >= 0).sum())} compliance and "
        f"{int((asked >= 0).sum())} recall replies, joined by {', '.join(branches.join)}. "
        f"{protocol.column} is {listed(there)} in the log; {wanted} are looked for. Name the "
        "labels under [branches] and the columns that join in the protocol (recall_asked = "
        '"failures" where only failures were asked).'
    )


def _told(protocol: StateTrackProtocol, branches: Branches) -> tuple[str, ...]:
    notes = [f"one row a probe, joined by {', '.join(branches.join)}"]
    records = branches.replies.records
    notes += labels_nobody_has(
        records, ((f"[[rule]] {k}", rule.when) for k, rule in enumerate(protocol.rules, 1))
    )
    if records.losses:
        notes.append("losses of the log count replies, of which a probe has two")
    if protocol.recall_asked == "failures":
        notes.append("recall was asked after failures only: SIC, SIC- and recall are not defined")
    return (*notes, protocol.note)
