"""Outcome codes: which ones exist in a scheme, and in which order they pre-empt each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simtrack.errors import DataError

__all__ = [
    "CLAUSE",
    "GATE",
    "LEDGER",
    "NO_REPORT",
    "OUT_OF_VOCABULARY",
    "PLAIN",
    "RECALL",
    "RECALL_OF_FAILURES",
    "RECOVERY",
    "RELAPSE",
    "REPAIR",
    "SEED",
    "STAGEIF",
    "STAGES",
    "TRAJECTORY",
    "Taxonomy",
]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Which codes can a trial end in?

    Parameters
    ----------
    name : str
        The scheme.
    codes : tuple of str
        In priority order: a trial gets the first code whose condition holds.
    refused : tuple of (code, reason)
        Codes of a neighbouring scheme, and why they leave what is asked of this one undefined.
    """

    name: str
    codes: tuple[str, ...]
    refused: tuple[tuple[str, str], ...] = ()

    def check(self, outcomes: Iterable[str]) -> None:
        """Refuse codes that the scheme does not know.

        Examples
        --------
        >>> PLAIN.check(["PASS", "MAYBE"])
        Traceback (most recent call last):
        simtrack.errors.DataError: outcome MAYBE is no code of plain (FAIL, PASS). Name
        an estimand of its scheme (simtrack methods --estimands).
        """
        unknown = [code for code in outcomes if code not in self.codes]
        if unknown:
            for code, reason in self.refused:
                if code in unknown:
                    raise DataError(f"outcome {code} is no code of {self.name}: {reason}")
            raise DataError(
                f"outcome {', '.join(unknown)} is no code of {self.name} "
                f"({', '.join(self.codes)}). Name an estimand of its scheme "
                "(simtrack methods --estimands)."
            )


#: A 0/1 score.
PLAIN = Taxonomy("plain", ("FAIL", "PASS"))
#: A report at a checkpoint (StageIF, Algorithm 1).
STAGEIF = Taxonomy(
    "stageif",
    (
        "TRANSPORT",
        "APP_MISS",
        "APP_DIVERGENCE",
        "APP_FALSE_ALARM",
        "MALFORMED",
        "STATE_WRONG",
        "CLEAN",
    ),
)
#: The stages of a task, in their order (StageIF).
STAGES = ("NEEDS_INFO", "READY", "POST_OBS", "COMPLETED")
#: What a well-formed report says that names no stage, and what one says that is not there.
OUT_OF_VOCABULARY, NO_REPORT = "out_of_vocabulary", "none"
#: How a rollout under a termination gate ends (StageIF, Tables 19 and 20).
GATE = Taxonomy(
    "gate", ("TRANSPORT", "DEAD_END", "PREMATURE", "STALL", "TURN_CAP", "TASK_OK", "OTHER")
)
#: One row a trajectory: were its mid-task reports all right, all wrong, or both (StageIF on τ²)?
TRAJECTORY = Taxonomy("trajectory", ("ALL_WRONG", "ALL_RIGHT", "MIXED"))
#: Was a wrong report put right by the intervention (StageIF, Table 17)?
REPAIR = Taxonomy("repair", ("NOT_CORRECTED", "CORRECTED"))
#: Was a planned report valid (StageIF, Table 9)? Transport failures stay in the denominator.
SEED = Taxonomy("seed", ("TRANSPORT", "INVALID", "VALID"))
#: Was the rule recalled (R), and kept (B), in two branches of one prefix (StateTrack, Eq. 2, 3)?
RECALL = Taxonomy(
    "recall",
    ("TRANSPORT", "R1B1", "R1B0", "R0B1", "R0B0"),
    (
        (
            "KEPT",
            "recall was asked after failures only, so nobody knows how often a rule that was kept "
            "is not recalled. Ask for SIC+, or for shares of failures.",
        ),
    ),
)
#: The same where recall was asked after failures only: KEPT were not asked (StateTrack, Table 6).
RECALL_OF_FAILURES = Taxonomy("recall-of-failures", (*RECALL.codes, "KEPT"))
#: What restating the rule gave back of a collapsed probe (StateTrack, Table 7).
RECOVERY = Taxonomy("recovery", ("FULL", "PARTIAL", "NONE"))
#: Which rule an answer followed after a rule was changed (StateTrack, Table 18).
LEDGER = Taxonomy("ledger", ("STALE", "UPDATED_CLEAN", "OTHER"))
#: How an episode with a revoked clause ends (ReBIND, section 3.4): the first code that holds.
RELAPSE = Taxonomy(
    "relapse",
    (
        "TRANSPORT",
        "EMPTY",
        "UNPARSEABLE",
        "TRUE_RELAPSE",
        "CLAUSE_MISS",
        "NEAR_COMPLIANT",
        "HIGH_OVERLAP_REPLACEMENT",
        "LEGIT_REFERENCE",
        "NO_TRACE",
    ),
)
#: Does an artifact comply with a clause in force (ReBIND, section 3.2)? Unparseable is no.
CLAUSE = Taxonomy("clause", ("TRANSPORT", "UNPARSEABLE", "FAIL", "PASS"))
