"""Read every reply once and keep what was found in it, not the code: memory stays small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts.artifact import Artifact, read_artifact
from simtrack.scoring.artifacts.attribution import Attribution, Mention, RowClause, attribute
from simtrack.scoring.artifacts.presence import holds
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.situations import Recorded, Situations
from simtrack.taxonomy import CLAUSE, RELAPSE

__all__ = ["Judged", "clause_rows", "episode_rows", "judged_replies"]


#: Equal replies are parsed once if no more than so many others stand between them.
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in each reply? Lists of one entry a reply.

    Attributes
    ----------
    attributions : list of Attribution or None
        None where no clause was revoked.
    kinds, sources : lists of str or None
        Of the artifact; None without a valid reply.
    compliance : list of tuples of str or None
        A code of `taxonomy.CLAUSE` for each clause in force; None where it hangs on an outcome that
        nobody recorded.
    """

    attributions: list[Attribution | None] = field(default_factory=list)
    kinds: list[str | None] = field(default_factory=list)
    sources: list[str | None] = field(default_factory=list)
    compliance: list[tuple[str | None, ...]] = field(default_factory=list)


def judged_replies(
    rows: Replies,
    valid: NDArray[np.bool_],
    where: Situations,
    recorded: Recorded,
    protocol: RebindProtocol,
) -> Judged:
    """Parse each reply, hold it against its clauses, and let the code go."""
    found = Judged()
    seen: dict[str, Artifact] = {}
    told = zip(rows.texts, valid.tolist(), where.codes.tolist(), strict=True)
    for row, (reply, is_valid, code) in enumerate(told):
        situation, answers = where.kinds[code], recorded.answers(row)
        artifact = _artifact(reply, protocol, seen) if is_valid and reply is not None else None
        found.kinds.append(None if artifact is None else artifact.kind)
        found.sources.append(None if artifact is None else artifact.source)
        found.compliance.append(
            tuple(_compliance(artifact, clause, answers) for clause in situation.in_force)
        )
        if not situation.revoked:
            found.attributions.append(None)
        elif artifact is None or reply is None:
            found.attributions.append(Attribution("TRANSPORT"))
        else:
            found.attributions.append(
                attribute(reply, artifact, situation, protocol.attribution, answers)
            )
    return found


def _artifact(reply: str, protocol: RebindProtocol, seen: dict[str, Artifact]) -> Artifact:
    artifact = seen.get(reply)
    if artifact is None:
        if len(seen) >= _REMEMBERED:
            seen.clear()
        artifact = seen[reply] = read_artifact(reply, protocol.artifact)
    return artifact


def _compliance(
    artifact: Artifact | None, clause: RowClause, answers: Mapping[str, bool | None]
) -> str | None:
    if artifact is None:
        return "TRANSPORT"
    if artifact.facts is None:
        return "UNPARSEABLE"
    answer = holds(clause.check, artifact, answers)
    return None if answer is None else ("PASS" if answer else "FAIL")


# The rows of a ReBIND table: one an episode, and one a clause in force.
_FLAGS = ("0", "1")
_MENTIONS: tuple[Mention, ...] = ("none", "prose", "comment", "string", "name")
_KINDS = ("empty", "unparseable", "parsed")
_SOURCES = ("whole reply", "fences", "before an unpaired fence")
_UNSCORED_CODES = ("TRANSPORT", "EMPTY", "UNPARSEABLE")
_NAMES = " + "


def episode_rows(records: Records, where: Situations, judged: Judged) -> Records:
    """Give one row for every reply with a revoked clause."""
    index = np.flatnonzero(where.has_revoked())
    found = [attribution for attribution in judged.attributions if attribution is not None]
    kept = records.take(index)
    factors = dict(kept.factors) | _episode_labels(found, index.tolist(), judged)
    outcome = np.array([a.outcome for a in found])
    value = np.where(outcome == "TRUE_RELAPSE", 1.0, 0.0)
    value[np.isin(outcome, _UNSCORED_CODES)] = np.nan
    overlap = np.array([np.nan if a.overlap is None else a.overlap for a in found])
    unknown = sum(1 for a in found if a.unknown)
    line = f"{unknown} episodes have clauses without a recorded outcome, which are no misses"
    notes = (*kept.notes, line) if unknown else kept.notes
    numbers = {**kept.numbers, "overlap": overlap, "value": value}
    return replace(kept, factors=factors, numbers=numbers, kind="episode", notes=notes)


def _episode_labels(
    found: list[Attribution], index: list[int], judged: Judged
) -> dict[str, Factor]:
    kinds, sources = ([listed[row] for row in index] for listed in (judged.kinds, judged.sources))
    parsed = [kind == "parsed" for kind in kinds]

    def flag(told: list[bool]) -> Factor:
        codes = np.where(parsed, np.array(told, dtype=bool), -1)
        return Factor(_FLAGS, codes.astype(np.int32))

    mention = [a.mention if is_parsed else None for a, is_parsed in zip(found, parsed, strict=True)]
    return {
        "artifact": Factor.from_values(kinds, _KINDS),
        "code_from": Factor.from_values(sources, _SOURCES),
        "implemented": flag([bool(a.relapsed or a.required) for a in found]),
        "required": flag([bool(a.required) for a in found]),
        "missed": flag([bool(a.missed) for a in found]),
        "unrecorded": flag([bool(a.unknown) for a in found]),
        "relapsed_clauses": Factor.from_values([_NAMES.join(a.relapsed) or None for a in found]),
        "missed_clauses": Factor.from_values([_NAMES.join(a.missed) or None for a in found]),
        "mention": Factor.from_values(mention, _MENTIONS),
        "error": Factor.from_values([None if k else "transport" for k in kinds], ("transport",)),
        "outcome": Factor.from_values([a.outcome for a in found], RELAPSE.codes),
    }


def clause_rows(records: Records, where: Situations, judged: Judged, recorded: Recorded) -> Records:
    """Give one row for every reply and clause in force."""
    index: list[int] = []
    names: list[str] = []
    families: list[str] = []
    outcomes: list[str | None] = []
    kinds: list[str | None] = []
    for row, codes in enumerate(judged.compliance):
        clauses = where.kinds[where.codes[row]].in_force
        index += [row] * len(clauses)
        names += [clause.id for clause in clauses]
        families += [clause.family for clause in clauses]
        outcomes += codes
        kinds += [recorded.kind(row, clause.check) for clause in clauses]
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
