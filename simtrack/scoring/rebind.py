"""Does an agent still do what was revoked? ReBIND's scoring: episodes, and the clauses in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts import GRAMMAR, Artifact, read_artifact
from simtrack.scoring.attribution import Attribution, Mention, RowClause, attribute
from simtrack.scoring.presence import holds
from simtrack.scoring.rebind_protocol import RebindProtocol
from simtrack.scoring.rebind_recorded import Recorded, recorded_outcomes
from simtrack.scoring.rebind_situations import Situations, situations_of
from simtrack.taxonomy import CLAUSE, RELAPSE

__all__ = ["RebindTables", "rebind_tables", "score_rebind", "score_rebind_clauses"]

_FLAGS = ("0", "1")
_MENTIONS: tuple[Mention, ...] = ("none", "prose", "comment", "string", "name")
_KINDS = ("empty", "unparseable", "parsed")
_SOURCES = ("whole reply", "fences", "before an unpaired fence")
_UNSCORED_CODES = ("TRANSPORT", "EMPTY", "UNPARSEABLE")
_NOT_KEPT = ("metric", "role", "outcome")
_NAMES = " + "


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
    artifacts = _artifacts(rows, valid, protocol)
    control = int((~revoked).sum())
    told = (*rows.records.notes, *notes, f"artifacts were parsed by the grammar of {GRAMMAR}",
            "clauses were fixed from labels before replies were read: sha256 "
            f"{where.digest[:16]}")  # fmt: skip
    records = replace(_kept(rows.records), notes=told)
    clauses = _clause_rows(records, where, artifacts, recorded, valid)
    episodes = _episode_rows(records, rows, where, artifacts, recorded, protocol)
    if control:
        line = f"{control} replies have no revoked clause (control) and are no episodes"
        episodes = replace(episodes, notes=(*episodes.notes, line))
    return RebindTables(episodes, clauses, control)


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


def _artifacts(
    rows: Replies, valid: NDArray[np.bool_], protocol: RebindProtocol
) -> list[Artifact | None]:
    """Read the code of each valid reply; equal replies once."""
    seen: dict[str, Artifact] = {}
    found: list[Artifact | None] = []
    for reply, is_valid in zip(rows.texts, valid.tolist(), strict=True):
        if reply is None or not is_valid:
            found.append(None)
            continue
        artifact = seen.get(reply)
        if artifact is None:
            artifact = seen[reply] = read_artifact(reply, protocol.artifact)
        found.append(artifact)
    return found


def _kept(records: Records) -> Records:
    factors = {n: f for n, f in records.factors.items() if n not in _NOT_KEPT}
    numbers = {n: v for n, v in records.numbers.items() if n != "value"}
    return replace(records, factors=factors, numbers=numbers)


def _episode_rows(
    records: Records,
    rows: Replies,
    where: Situations,
    artifacts: list[Artifact | None],
    recorded: Recorded,
    protocol: RebindProtocol,
) -> Records:
    revoked = where.has_revoked()
    index = np.flatnonzero(revoked)
    found: list[Attribution] = []
    held: list[Artifact | None] = list(compress(artifacts, revoked.tolist()))
    for row, artifact in zip(index.tolist(), held, strict=True):
        if artifact is None:
            found.append(Attribution("TRANSPORT"))
            continue
        situation = where.kinds[where.codes[row]]
        reply = rows.texts[row] or ""
        found.append(
            attribute(reply, artifact, situation, protocol.attribution, recorded.answers(row))
        )
    kept = records.take(index)
    factors = dict(kept.factors) | _episode_labels(found, held)
    outcome = np.array([a.outcome for a in found])
    value = np.where(outcome == "TRUE_RELAPSE", 1.0, 0.0)
    value[np.isin(outcome, _UNSCORED_CODES)] = np.nan
    overlap = np.array([np.nan if a.overlap is None else a.overlap for a in found])
    unknown = sum(1 for a in found if a.unknown)
    line = f"{unknown} episodes have clauses without a recorded outcome, which are no misses"
    notes = (*kept.notes, line) if unknown else kept.notes
    numbers = {**kept.numbers, "overlap": overlap, "value": value}
    return replace(kept, factors=factors, numbers=numbers, kind="episode", notes=notes)


def _episode_labels(found: list[Attribution], held: list[Artifact | None]) -> dict[str, Factor]:
    parsed = [artifact is not None and artifact.facts is not None for artifact in held]

    def flag(told: list[bool]) -> Factor:
        codes = np.where(parsed, np.array(told, dtype=bool), -1)
        return Factor(_FLAGS, codes.astype(np.int32))

    mention = [a.mention if is_parsed else None for a, is_parsed in zip(found, parsed, strict=True)]
    return {
        "artifact": Factor.from_values([None if a is None else a.kind for a in held], _KINDS),
        "code_from": Factor.from_values([None if a is None else a.source for a in held], _SOURCES),
        "implemented": flag([bool(a.relapsed or a.required) for a in found]),
        "required": flag([bool(a.required) for a in found]),
        "missed": flag([bool(a.missed) for a in found]),
        "unrecorded": flag([bool(a.unknown) for a in found]),
        "relapsed_clauses": Factor.from_values([_NAMES.join(a.relapsed) or None for a in found]),
        "missed_clauses": Factor.from_values([_NAMES.join(a.missed) or None for a in found]),
        "mention": Factor.from_values(mention, _MENTIONS),
        "error": Factor.from_values([None if a else "transport" for a in held], ("transport",)),
        "outcome": Factor.from_values([a.outcome for a in found], RELAPSE.codes),
    }


def _clause_rows(
    records: Records,
    where: Situations,
    artifacts: list[Artifact | None],
    recorded: Recorded,
    valid: NDArray[np.bool_],
) -> Records:
    index: list[int] = []
    names: list[str] = []
    families: list[str] = []
    outcomes: list[str | None] = []
    kinds: list[str | None] = []
    for row, artifact in enumerate(artifacts):
        answers = recorded.answers(row)
        for clause in where.kinds[where.codes[row]].in_force:
            index.append(row)
            names.append(clause.id)
            families.append(clause.family)
            outcomes.append(_compliance(artifact, clause, answers))
            kinds.append(recorded.kind(row, clause.check))
    kept = records.take(np.array(index, dtype=np.intp))
    outcome = Factor.from_values(outcomes, CLAUSE.codes)
    value = np.array([1.0 if code == "PASS" else 0.0 for code in outcomes])
    value[[code is None or code == "TRANSPORT" for code in outcomes]] = np.nan
    factors = {
        **kept.factors,
        **_untold(kept, outcome.codes < 0),
        "clause": Factor.from_values(names),
        "clause_family": Factor.from_values(families),
        "recorded": Factor.from_values(kinds, ("passed", "failed", "errored")),
        "outcome": outcome,
    }
    factors.setdefault("spec", Factor.constant("full", len(kept)))
    numbers = {**kept.numbers, "value": value}
    return replace(kept, factors=factors, numbers=numbers, kind="clause")


def _compliance(
    artifact: Artifact | None, clause: RowClause, answers: Mapping[str, bool | None]
) -> str | None:
    if artifact is None:
        return "TRANSPORT"
    if artifact.facts is None:
        return "UNPARSEABLE"
    answer = holds(clause.check, artifact, answers)
    return None if answer is None else ("PASS" if answer else "FAIL")


def _untold(records: Records, where: NDArray[np.bool_]) -> dict[str, Factor]:
    """Give status and reason to clause rows that have no outcome."""
    if not where.any():
        return {}
    found = {}
    for name, label, default in (("status", "unscored", "scored"),
                                 ("reason", "no outcome was recorded", None)):  # fmt: skip
        factor = records.factors.get(name)
        before = factor.values() if factor is not None else [default] * len(records)
        after = [label if untold else b for b, untold in zip(before, where.tolist(), strict=True)]
        found[name] = Factor.from_values(after)
    return found
