"""Every kind of agent by the name that its plain data carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from simtrack.agents.agent import Agent
from simtrack.agents.clustered.clustered import ClusteredAgent
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.recall.agent import RecallAgent
from simtrack.agents.recall.outcomes import OutcomeAgent
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.trajectory.agent import TrajectoryAgent
from simtrack.errors import InputError
from simtrack.plain import Document

__all__ = ["KINDS", "agent_from_dict"]

#: The class of each kind; it has `from_dict`.
KINDS: Final[dict[str, type[Document]]] = {
    "clustered": ClusteredAgent,
    "paired": PairedAgent,
    "recall": RecallAgent,
    "relapse": RelapseAgent,
    "gate": GateAgent,
    "outcome": OutcomeAgent,
    "stage": StageAgent,
    "trajectory": TrajectoryAgent,
}


def agent_from_dict(data: Mapping[str, object]) -> Agent:
    """Which agent does this plain data describe?

    Examples
    --------
    >>> agent_from_dict({"kind": "clustered", "rate": 0.9})
    ClusteredAgent(rate=0.9, icc=0.0, law='beta')
    >>> agent_from_dict({"kind": "clustered", "rates": 0.9})
    Traceback (most recent call last):
    simtrack.errors.InputError: key must be one of schema, kind, rate, icc, law, got 'rates'
    (agent). Did you mean rate?
    """
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("kind", f"one of {', '.join(KINDS)}", repr(kind), where="agent")
    return cast("Agent", KINDS[kind].from_dict(data, "agent"))
