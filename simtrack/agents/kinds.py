"""Every kind of agent by the name that its plain data carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simtrack.agents.clustered.clustered import ClusteredAgent
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.recall.agent import RecallAgent
from simtrack.agents.recall.outcomes import OutcomeAgent
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.trajectory.agent import TrajectoryAgent
from simtrack.errors import InputError

__all__ = ["KINDS", "agent_from_dict"]

#: The class of each kind; it has `from_dict`.
KINDS: dict[str, Any] = {}
KINDS["clustered"] = ClusteredAgent
KINDS["paired"] = PairedAgent
KINDS["recall"] = RecallAgent
KINDS["relapse"] = RelapseAgent
KINDS["gate"] = GateAgent
KINDS["outcome"] = OutcomeAgent
KINDS["stage"] = StageAgent
KINDS["trajectory"] = TrajectoryAgent


def agent_from_dict(data: Mapping[str, Any]) -> Any:
    """Which agent does this plain data describe?

    Examples
    --------
    >>> agent_from_dict({"kind": "clustered", "rate": 0.9})
    ClusteredAgent(rate=0.9, icc=0.0, law='beta')
    """
    kind = data.get("kind")
    if kind not in KINDS:
        raise InputError("kind", f"one of {', '.join(KINDS)}", repr(kind), where="agent")
    return KINDS[kind].from_dict(dict(data))
