"""The rows of a ReBIND table: one an episode, and one a clause in force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.records import Records
from simtrack.scoring.attribution import Attribution, Mention
from simtrack.scoring.rebind_judged import Judged
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
