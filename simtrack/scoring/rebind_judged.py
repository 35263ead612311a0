"""Read every reply once and keep what was found in it, not the code: memory stays small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simtrack.records import Replies
from simtrack.scoring.artifacts import Artifact, read_artifact
from simtrack.scoring.attribution import Attribution, RowClause, attribute
from simtrack.scoring.presence import holds
from simtrack.scoring.rebind_protocol import RebindProtocol
from simtrack.scoring.rebind_recorded import Recorded
from simtrack.scoring.rebind_situations import Situations

__all__ = ["Judged", "judged_replies"]

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
