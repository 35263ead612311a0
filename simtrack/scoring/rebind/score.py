"""Does an agent still do what was revoked? ReBIND's scoring: episodes, and the clauses in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts.artifact import GRAMMAR, Artifact
from simtrack.scoring.artifacts.facts import Facts
from simtrack.scoring.artifacts.presence import holds
from simtrack.scoring.columns import labels_nobody_has
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.rows import clause_rows, episode_rows, judged_replies
from simtrack.scoring.rebind.situations import Situations, recorded_outcomes, situations_of

__all__ = ["RebindTables", "rebind_tables", "score_rebind", "score_rebind_clauses"]

_NOT_KEPT = ("metric", "role", "outcome")
_REVOKED_CONDITIONS = ("immediate", "delayed")


@dataclass(frozen=True, slots=True, eq=False)
class RebindTables:
    """What became of revoked requirements, and of those in force?

    Attributes
    ----------
    episodes : Records
        One row a reply with a revoked clause, kind "episode": see `score_rebind`.
    clauses : Records
        One row a reply and clause in force, kind "clause": see `score_rebind_clauses`.
    control : int
        Replies without a revoked clause: they have clause rows and are no episodes.
    """

    episodes: Records
    clauses: Records
    control: int


def score_rebind(replies: Replies, protocol: RebindProtocol) -> Records:
    """Give every reply of a dialogue with a revoked clause exactly one code of the taxonomy.

    Clauses are written out first, from labels alone. Then, in this order: no valid reply TRANSPORT,
    and what `attribute` says. Code is read and parsed, never run. Replies without a revoked clause
    (control) are left out, and a note counts them.

    Parameters
    ----------
    replies : Replies
        Where every turn was read, the last reply of the assistant in each trajectory counts.
    protocol : RebindProtocol

    Returns
    -------
    Records
        One row an episode, kind "episode": the labels of the replies; `artifact` (empty,
        unparseable, parsed); `implemented`, `required`, `missed`, `unrecorded` ("0"/"1", missing
        unless parsed) for a revoked behaviour that is there, that a clause in force asks for too,
        a clause in force that is not met, or has no recorded outcome; `relapsed_clauses` and
        `missed_clauses` by name; `mention` (none, prose, comment, string, name); `code_from`,
        `error` and `outcome`. Numbers: `overlap` of a replacement (NaN without one), and `value`,
        which is 1 at TRUE_RELAPSE, 0 at other artifacts that parse, and else NaN: its mean is the
        relapse rate, so high is bad.

    Source: ReBIND sections 3.2 to 3.4, appendix D.

    Examples
    --------
    >>> rows = Records.from_columns({"unit": ["t1", "t2"], "revoked": ["audit_log", "audit_log"],
    ...                              "markers": ["audit_log", "audit_log"]})
    >>> said = ["def audit_log():" + chr(10) + "    pass", "x = 1  # no audit_log any more"]
    >>> protocol = RebindProtocol.from_dict({"clause": [
    ...     {"id": "helper", "each": "markers", "check": {"function": "{each}"}}]})
    >>> score_rebind(Replies(rows, said, [(), ()]), protocol).factors["outcome"].values()
    ['TRUE_RELAPSE', 'LEGIT_REFERENCE']
    """
    return rebind_tables(replies, protocol).episodes


def score_rebind_clauses(replies: Replies, protocol: RebindProtocol) -> Records:
    """Does each reply comply with each clause that is in force at its end?

    Returns
    -------
    Records
        One row a reply and clause in force (control replies too), kind "clause": the labels of the
        replies, `clause` and `clause_family`, `spec` ("full" unless the log says), `recorded`
        (passed, failed, errored) where the log's outcome decides, and `outcome`: TRANSPORT,
        UNPARSEABLE (also an empty artifact), FAIL or PASS. `value` is 1 at PASS and NaN at
        TRANSPORT. A clause whose outcome nobody recorded is unscored.

    Source: ReBIND section 3.2.
    """
    return rebind_tables(replies, protocol).clauses


def rebind_tables(replies: Replies, protocol: RebindProtocol) -> RebindTables:
    """Give the table of episodes and that of clauses, reading each reply once.

    Raises
    ------
    DataError
        No reply has a revoked clause.
    """
    rows, notes = _final(replies)
    where = situations_of(rows.records, protocol)
    revoked = where.has_revoked()
    if not revoked.any():
        raise DataError(
            f"no reply has a revoked clause: the column {protocol.revoked!r} names none, and no "
            "clause is revoked_when. Name the column in the protocol."
        )
    recorded = recorded_outcomes(rows, protocol)
    valid = _valid(rows)
    judged = judged_replies(rows, valid, where, recorded, protocol)
    control = int((~revoked).sum())
    conditions = [
        (f"clause {rule.id}", when)
        for rule in protocol.clauses
        for when in (rule.when, rule.revoked_when)
    ]
    notes = [*notes, *labels_nobody_has(rows.records, conditions)]
    told = (*rows.records.notes, *notes, f"artifacts were parsed by the grammar of {GRAMMAR}",
            "clauses were fixed from labels before replies were read: sha256 "
            f"{where.digest[:16]}")  # fmt: skip
    records = replace(_kept(rows.records), notes=told)
    clauses = clause_rows(records, where, judged, recorded)
    episodes = episode_rows(records, where, judged)
    episodes = replace(episodes, notes=(*episodes.notes, *_warnings(rows, where, control)))
    return RebindTables(episodes, clauses, control)


def _warnings(rows: Replies, where: Situations, control: int) -> list[str]:
    """Say which replies are no episodes, and what would make a relapse rate mean little."""
    lines = []
    if control:
        lines.append(f"{control} replies have no revoked clause (control) and are no episodes")
    factors = rows.records.factors
    if "condition" in factors:
        condition = factors["condition"]
        named = np.array([*(c in _REVOKED_CONDITIONS for c in condition.levels), False])
        named = named[condition.codes]
        if odd := int((named & ~where.has_revoked()).sum()):
            lines.append(f"{odd} of these are labelled as immediate or delayed: check their labels")
    if "spec" in factors and len(factors["spec"].compact().levels) > 1:
        lines.append("several levels of spec: select one for a relapse rate")
    nothing = Artifact("parsed", "", facts=Facts())
    revoked = {clause.family: clause for kind in where.kinds for clause in kind.revoked}
    lines += [
        f"code that does nothing meets the revoked clause {name!r}: its relapse rate says little"
        for name, clause in sorted(revoked.items())
        if holds(clause.check, nothing)
    ]
    return lines


def _final(replies: Replies) -> tuple[Replies, list[str]]:
    """Keep the last reply of the assistant in each trajectory, where every turn was read."""
    factors = replies.records.factors
    if "role" not in factors:
        return replies, []
    spoken = replies.select(role="assistant")
    if "trajectory" not in factors:
        return spoken, []
    names = [n for n in ("source", "trajectory") if n in factors]
    keys = zip(*(spoken.records.factors[n].codes.tolist() for n in names), strict=True)
    last = sorted({key: row for row, key in enumerate(keys)}.values())
    dropped = len(spoken) - len(last)
    note = f"{dropped} replies before the last of their trajectory are not scored"
    return spoken.take(np.array(last, dtype=np.intp)), [note] if dropped else []


def _valid(rows: Replies) -> NDArray[np.bool_]:
    status = rows.records.factors.get("status") or Factor.constant("scored", len(rows))
    scored = np.array([*(level == "scored" for level in status.levels), False])[status.codes]
    said = np.array([text is not None for text in rows.texts], dtype=bool)
    return np.asarray(scored & said, dtype=np.bool_)


def _kept(records: Records) -> Records:
    factors = {n: f for n, f in records.factors.items() if n not in _NOT_KEPT}
    numbers = {n: v for n, v in records.numbers.items() if n != "value"}
    return replace(records, factors=factors, numbers=numbers)
