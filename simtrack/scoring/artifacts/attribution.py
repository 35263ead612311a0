"""What became of a revoked requirement in one artifact? The attribution classes, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from simtrack.options import choice
from simtrack.plain import Document
from simtrack.scoring.artifacts.artifact import Artifact
from simtrack.scoring.artifacts.facts import Facts
from simtrack.scoring.artifacts.presence import Check, comments_of, entails, holds
from simtrack.validate import real

__all__ = ["Attribution", "AttributionRules", "Mention", "RowClause", "Situation", "attribute",
           "surface_overlap"]  # fmt: skip

#: Where a revoked requirement is named: read as a name of the code, in a string, in a comment, in
#: the words around the code, or nowhere.
Mention = Literal["name", "string", "comment", "prose", "none"]
#: Which text is searched for a mention.
MentionScope = Literal["reply", "artifact"]


@dataclass(frozen=True, slots=True)
class AttributionRules(Document):
    """When does a name overlap with a replacement's, and where is a mention looked for?

    Parameters
    ----------
    overlap : float
        From this `surface_overlap` on, 0 to 1, a replacement looks like what it replaces. The paper
        names the class and prints no measure: this one is ours.
    mention : "reply" or "artifact"
        Whether words around the code count as a mention.
    """

    overlap: float = 0.5
    mention: MentionScope = "reply"

    def __post_init__(self) -> None:
        real("overlap", self.overlap, 0.0, 1.0)
        choice("mention", self.mention, MentionScope)


@dataclass(frozen=True, slots=True)
class RowClause:
    """One requirement of one dialogue, as it is to be checked.

    Attributes
    ----------
    id, family : str
        The name of the clause, and of the rule of the protocol that it comes from.
    check : Check
    words : tuple of str
        By which words it is mentioned.
    replaces, covers : tuples of str
        The clauses in whose place it stands, and those whose behaviour it asks for itself.
    """

    id: str
    family: str
    check: Check
    words: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """Which requirements bind at the end of a dialogue, and which were withdrawn?"""

    in_force: tuple[RowClause, ...]
    revoked: tuple[RowClause, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribution:
    """What is one episode counted as, and what was found on the way?

    Attributes
    ----------
    outcome : str
        A code of `taxonomy.RELAPSE`.
    relapsed, required : tuples of str
        Revoked clauses whose behaviour is there, without and with a clause in force that asks for
        it.
    missed, unknown : tuples of str
        Clauses in force that are not met, and clauses whose outcome nobody recorded.
    overlap : float or None
        The largest overlap of a replacement that is there; None without one.
    mention : Mention
    """

    outcome: str
    relapsed: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    overlap: float | None = None
    mention: Mention = "none"


def attribute(
    reply: str,
    artifact: Artifact,
    situation: Situation,
    rules: AttributionRules | None = None,
    recorded: Mapping[str, bool | None] | None = None,
) -> Attribution:
    """Which code does an episode with a revoked clause end in? The first that holds, of these.

    EMPTY, UNPARSEABLE: see `read_artifact`. TRUE_RELAPSE: the check of a revoked clause is met and
    no clause in force asks for that (see `entails`, or `covers`). CLAUSE_MISS: a clause in force is
    not met; one without a recorded outcome is no miss, but is named. NEAR_COMPLIANT: the check of a
    revoked clause is met, as a clause in force asks for. HIGH_OVERLAP_REPLACEMENT: the positive
    replacement of a revoked clause is there, under a name that looks like the revoked one.
    LEGIT_REFERENCE: the revoked requirement is named, and not carried out. NO_TRACE: none of these.

    Source: ReBIND section 3.4 and appendix D; CLAUSE_MISS from appendix G, NO_TRACE from the strata
    of appendix E. The paper gives no order among classes that hold at once: this one is declared.

    Examples
    --------
    >>> from simtrack.scoring.artifacts.artifact import read_artifact
    >>> audit = RowClause("audit", "helper", Check("function", "audit_log"), ("audit_log",))
    >>> reply = "# audit_log is gone, as asked" + chr(10) + "def solve(): pass"
    >>> attribute(reply, read_artifact(reply), Situation((), (audit,))).outcome
    'LEGIT_REFERENCE'
    """
    used = AttributionRules() if rules is None else rules
    if artifact.facts is None:
        return Attribution("EMPTY" if artifact.kind == "empty" else "UNPARSEABLE")
    met = {c.id: holds(c.check, artifact, recorded) for c in situation.in_force}
    done = [(c, holds(c.check, artifact, recorded)) for c in situation.revoked]
    there = [c for c, answer in done if answer]
    required = [c for c in there if any(_asks_for(a, c) for a in situation.in_force)]
    found = Attribution(
        "NO_TRACE",
        tuple(c.id for c in there if c not in required),
        tuple(c.id for c in required),
        tuple(name for name, answer in met.items() if answer is False),
        tuple(n for n, answer in [*met.items(), *((c.id, a) for c, a in done)] if answer is None),
        _overlap(artifact, situation, met),
        _mention(reply, artifact, artifact.facts, situation.revoked, used.mention),
    )
    return Attribution(_outcome(found, used), *(getattr(found, n) for n in found.__slots__[1:]))


def _outcome(found: Attribution, rules: AttributionRules) -> str:
    if found.relapsed:
        return "TRUE_RELAPSE"
    if found.missed:
        return "CLAUSE_MISS"
    if found.required:
        return "NEAR_COMPLIANT"
    if found.overlap is not None and found.overlap >= rules.overlap:
        return "HIGH_OVERLAP_REPLACEMENT"
    return "NO_TRACE" if found.mention == "none" else "LEGIT_REFERENCE"


def surface_overlap(first: str, second: str) -> float:
    """How much do two names look alike, from 0 to 1?

    Sørensen and Dice's coefficient of their pairs of neighbouring characters, each counted as often
    as it occurs: twice the common pairs over all pairs. Case, and what is neither letter nor digit,
    are left out; names of one character are alike if equal.

    Source: Dice (1945), Ecology 26, 297-302.

    Examples
    --------
    >>> surface_overlap("audit_log", "log_audit")  # au ud di it tl lo og; lo og ga au ud di it
    0.8571428571428571
    """
    a, b = ("".join(c for c in name.casefold() if c.isalnum()) for name in (first, second))
    if min(len(a), len(b)) < 2:
        return float(a == b and a != "")
    pairs = [Counter(n[k : k + 2] for k in range(len(n) - 1)) for n in (a, b)]
    return 2.0 * (pairs[0] & pairs[1]).total() / (len(a) + len(b) - 2)


def _asks_for(clause: RowClause, revoked: RowClause) -> bool:
    return revoked.id in clause.covers or entails(clause.check, revoked.check)


def _overlap(
    artifact: Artifact, situation: Situation, met: Mapping[str, bool | None]
) -> float | None:
    """Give the largest overlap of a replacement that is there with what it replaces."""
    found = []
    for clause in situation.in_force:
        replaced = [c for c in situation.revoked if c.id in clause.replaces]
        if not replaced or met[clause.id] is not True:
            continue
        names = [c.name for c in clause.check.positives() if holds(c, artifact)]
        words = [word for c in replaced for word in c.words]
        found += [surface_overlap(name, word) for name in names for word in words]
    return max(found) if found else None


def _mention(
    reply: str,
    artifact: Artifact,
    facts: Facts,
    revoked: tuple[RowClause, ...],
    scope: MentionScope,
) -> Mention:
    """Say where a revoked requirement is named first: name, string, comment, prose."""
    words = [w for clause in revoked for w in clause.words if w in reply]
    if not words:
        return "none"
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words))
    defined = facts.functions | facts.classes
    if any(word in facts.names or word in facts.attributes for word in words) or any(
        word in facts.bound and word not in defined for word in words
    ):
        return "name"
    if any(pattern.search(text) for text in facts.strings):
        return "string"
    if pattern.search(artifact.code) and any(map(pattern.search, comments_of(artifact.code))):
        return "comment"
    outside = len(pattern.findall(reply)) > len(pattern.findall(artifact.code))
    return "prose" if scope == "reply" and outside else "none"
