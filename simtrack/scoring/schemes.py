"""The corruptions that every scheme of checkers can be put to: silence, and foreign words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.protocol_file import load_plain, told_where
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.rendered import corrupt_rebind
from simtrack.scoring.rebind.score import rebind_tables
from simtrack.scoring.stageif.obligations import ObligationProtocol, score_obligations
from simtrack.scoring.stageif.positions import mid_task_trajectories
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.scoring.stageif.rendered import corrupt_stageif
from simtrack.scoring.stageif.score import score_stageif
from simtrack.scoring.statetrack.protocol import StateTrackProtocol
from simtrack.scoring.statetrack.recovery import score_changed_rule, score_recovery
from simtrack.scoring.statetrack.score import score_statetrack
from simtrack.taxonomy import RECALL, RELAPSE, STAGEIF, Taxonomy

__all__ = ["FOREIGN", "SCHEMES", "Scheme", "blank_and_foreign", "load_protocol", "scheme_of"]


#: What answers no task and follows no rule that anybody would declare.
FOREIGN = "simtrack-corrupted"


def blank_and_foreign(
    replies: Replies, columns: Collection[str] = (), exempt: Mapping[str, str] | None = None
) -> list[tuple[str, Replies, Mapping[str, str]]]:
    """Give the replies blanked, and each with the same foreign word in its place.

    Parameters
    ----------
    replies : Replies
    columns : names
        Recorded verdicts; they were given on other words and are taken away.
    exempt : mapping of column to label
        Rows in which silence is right; foreign words are not.
    """
    gone = Factor((), np.full(len(replies), -1, dtype=np.int32))
    held = {name: gone for name in columns if name in replies.records.factors}
    records = replies.records.with_factors(**held) if held else replies.records
    quiet = [None if call is None else () for call in replies.calls]

    def said(word: str) -> Replies:
        texts = [None if text is None else word for text in replies.texts]
        return Replies(records, texts, quiet, replies.verdicts)

    return [
        ("blank replies", said(""), exempt or {}),
        ("foreign replies", said(FOREIGN), exempt or {}),
    ]


# The schemes there are: how each scores replies, and which estimands it serves. Data only.
#: Corrupted replies: what was done, the replies, and the labels of rows where silence is right.
Corrupted: TypeAlias = Sequence[tuple[str, Replies, Mapping[str, str | tuple[str, ...]]]]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to turn replies into codes.

    Parameters
    ----------
    name : str
    taxonomy : Taxonomy
    estimands : tuple of str
        Names of the catalogue, in the order of the report; those whose columns a log lacks are
        named and left out.
    load : callable
        From plain data and where it stands to a protocol.
    score : callable
        From (replies, protocol) to tables of records, by what their rows are; the first is the
        main one.
    clusters : tuple of str
        Columns that are usual resampling units, in order of preference.
    success : frozenset of str
        The codes of which no corrupted reply may earn one.
    only_by : mapping of str to tuple of str
        Estimands that say something only where one of these columns groups them.
    corrupt : callable
        From (replies, protocol) to corrupted replies: name, replies, and by column the label or
        labels of rows in which they may succeed all the same.
    """

    name: str
    taxonomy: Taxonomy
    estimands: tuple[str, ...]
    load: Callable[[Mapping[str, Any], str], Any]
    score: Callable[[Replies, Any], Mapping[str, Records]]
    clusters: tuple[str, ...]
    success: frozenset[str]
    only_by: Mapping[str, tuple[str, ...]]
    corrupt: Callable[[Replies, Any], Corrupted]


def scheme_of(name: str) -> Scheme:
    """Look a scheme up by name, or refuse and print those there are."""
    if name not in SCHEMES:
        raise InputError("scheme", f"one of {', '.join(SCHEMES)}", repr(name))
    return SCHEMES[name]


def load_protocol(scheme: Scheme, path: str | Path | None) -> Any:
    """Read the protocol of a scheme from its file; without one, the paper's."""
    if path is None:
        try:
            return scheme.load({}, "protocol")
        except InputError:
            raise InputError(
                "protocol", f"given for {scheme.name}, which has no default",
                cure=f"simtrack score --scheme {scheme.name} --example prints one to start from.",
            ) from None  # fmt: skip
    try:
        return scheme.load(load_plain(path), str(path))
    except InputError as error:
        raise told_where(error, str(path)) from None


def _stageif(replies: Replies, protocol: StageProtocol) -> Mapping[str, Records]:
    found = score_stageif(replies, protocol)
    if {"trajectory", "turn"} <= {*found.factors, *found.numbers}:
        return {"checkpoint": found, "trajectory": mid_task_trajectories(found)}
    return {"checkpoint": found}


def _obligations(replies: Replies, protocol: ObligationProtocol) -> Mapping[str, Records]:
    return {"checkpoint": score_obligations(replies, protocol)}


def _corrupt_obligations(replies: Replies, protocol: ObligationProtocol) -> Corrupted:
    return blank_and_foreign(replies, (), {"duty": "0"})


def _statetrack(replies: Replies, protocol: StateTrackProtocol) -> Mapping[str, Records]:
    found: dict[str, Records] = {}
    if "recall" in protocol.measures:
        found["probe"] = score_statetrack(replies, protocol)
    branch = replies.records.factors.get(protocol.column)
    there = set(branch.compact().levels) if branch is not None else set()
    if "recovery" in protocol.measures and there & set(protocol.restated):
        found["recovery"] = score_recovery(replies, protocol)
    if "change" in protocol.measures:
        found["change"] = score_changed_rule(replies, protocol)
    if not found:
        raise DataError(
            "the protocol gives no recall, and no reply follows a restated rule: nothing can be "
            "scored. Give recall, or name the labels of the branches."
        )
    return found


def _corrupt_statetrack(replies: Replies, protocol: StateTrackProtocol) -> Corrupted:
    judged = [column for flag, column in protocol.columns.items() if flag != "task"]
    return blank_and_foreign(replies, judged)


def _rebind(replies: Replies, protocol: RebindProtocol) -> Mapping[str, Records]:
    found = rebind_tables(replies, protocol)
    return {"episode": found.episodes, "clause": found.clauses}


SCHEMES: dict[str, Scheme] = {
    "stageif": Scheme(
        "stageif",
        STAGEIF,
        (
            "adherence", "intermediate_adherence", "terminal_adherence", "stage_gap",
            "report_validity", "emission", "speech", "withholding", "false_alarm",
            "false_completion", "false_completion_reported", "broad_adherence",
            "stale_share", "premature_share", "position_adherence", "completion_adherence",
            "all_wrong", "all_right",
        ),
        StageProtocol.from_dict,
        _stageif,
        ("scenario", "cluster", "task_id"),
        frozenset({"CLEAN"}),
        {"position_adherence": ("bin", "bin10"), "completion_adherence": ("cue", "handoff")},
        corrupt_stageif,
    ),
    "obligations": Scheme(
        "obligations",
        STAGEIF,
        ("adherence", "emission", "omission_share", "withholding", "broad_adherence"),
        ObligationProtocol.from_dict,
        _obligations,
        ("scenario", "cluster", "task_id"),
        frozenset({"CLEAN"}),
        {},
        _corrupt_obligations,
    ),
    "statetrack": Scheme(
        "statetrack",
        RECALL,
        (
            "strict_retention", "immediate_task", "constraint_compliance", "recall_rate",
            "dissociation", "behavioural_drift", "declarative_fade", "joint_dissociation",
            "joint_drift", "joint_fade", "integrity_failure_share", "memory_failure_share",
            "first_constraint", "second_constraint", "two_constraints", "two_constraint_drift",
            "full_recovery", "partial_recovery", "no_recovery", "stale_enforcement",
            "updated_or_clean",
        ),
        StateTrackProtocol.from_dict,
        _statetrack,
        ("scenario", "cluster"),
        frozenset({"R1B1", "R0B1", "KEPT", "FULL", "UPDATED_CLEAN"}),
        {},
        _corrupt_statetrack,
    ),
    "rebind": Scheme(
        "rebind",
        RELAPSE,
        (
            "relapse", "relapse_after_revocation", "worst_case_relapse", "relapse_prevalence",
            "final_pass_rate", "parse_failure", "empty_share", "clause_adherence",
            "incremental_effect", "in_force_compliance",
        ),
        RebindProtocol.from_dict,
        _rebind,
        ("task", "cluster"),
        frozenset(
            {"NEAR_COMPLIANT", "HIGH_OVERLAP_REPLACEMENT", "LEGIT_REFERENCE", "NO_TRACE", "PASS"}
        ),
        {"relapse_prevalence": ("depth",)},
        corrupt_rebind,
    ),
}  # fmt: skip
