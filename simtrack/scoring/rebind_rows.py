"""The rows of a ReBIND table: one an episode, and one a clause in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts import Artifact
from simtrack.scoring.attribution import Attribution, Mention, RowClause, attribute
from simtrack.scoring.presence import holds
from simtrack.scoring.rebind_protocol import RebindProtocol
from simtrack.scoring.rebind_recorded import Recorded
from simtrack.scoring.rebind_situations import Situations
from simtrack.taxonomy import CLAUSE, RELAPSE

__all__ = ["clause_rows", "episode_rows"]

_FLAGS = ("0", "1")
_MENTIONS: tuple[Mention, ...] = ("none", "prose", "comment", "string", "name")
_KINDS = ("empty", "unparseable", "parsed")
_SOURCES = ("whole reply", "fences", "before an unpaired fence")
_UNSCORED_CODES = ("TRANSPORT", "EMPTY", "UNPARSEABLE")
_NAMES = " + "


def episode_rows(
    records: Records,
    rows: Replies,
    where: Situations,
    artifacts: list[Artifact | None],
    recorded: Recorded,
    protocol: RebindProtocol,
) -> Records:
    """Attribute every reply with a revoked clause."""
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


def clause_rows(
    records: Records,
    where: Situations,
    artifacts: list[Artifact | None],
    recorded: Recorded,
) -> Records:
    """Say for every reply and clause in force whether it complies."""
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
