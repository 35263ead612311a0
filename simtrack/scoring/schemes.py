"""The schemes there are: how each scores replies, and which estimands it serves. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simtrack.errors import InputError
from simtrack.records import Records, Replies
from simtrack.scoring.positions import mid_task_trajectories
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.stageif import score_stageif
from simtrack.scoring.stageif_corrupt import corrupt_stageif
from simtrack.taxonomy import STAGEIF, Taxonomy

__all__ = ["SCHEMES", "Scheme", "load_protocol", "scheme_of"]


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
        From (replies, protocol) to corrupted replies: name, replies, and the labels of rows in
        which they may succeed all the same.
    """

    name: str
    taxonomy: Taxonomy
    estimands: tuple[str, ...]
    load: Callable[[Mapping[str, Any], str], Any]
    score: Callable[[Replies, Any], Mapping[str, Records]]
    clusters: tuple[str, ...]
    success: frozenset[str]
    only_by: Mapping[str, tuple[str, ...]]
    corrupt: Callable[[Replies, Any], Sequence[tuple[str, Replies, Mapping[str, str]]]]


def scheme_of(name: str) -> Scheme:
    """Look a scheme up by name, or refuse and print those there are."""
    if name not in SCHEMES:
        raise InputError("scheme", f"one of {', '.join(SCHEMES)}", repr(name))
    return SCHEMES[name]


def _stageif(replies: Replies, protocol: StageProtocol) -> Mapping[str, Records]:
    found = score_stageif(replies, protocol)
    if {"trajectory", "turn"} <= {*found.factors, *found.numbers}:
        return {"checkpoint": found, "trajectory": mid_task_trajectories(found)}
    return {"checkpoint": found}


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
}  # fmt: skip


def load_protocol(scheme: Scheme, path: str | Path | None) -> Any:
    """Read the protocol of a scheme from its file; without one, the paper's."""
    from simtrack.scoring.protocol_file import load_plain

    if path is None:
        return scheme.load({}, "protocol")
    return scheme.load(load_plain(path), str(path))
