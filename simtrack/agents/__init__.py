"""Agents: one behaviour a file. Expectations exactly, counts by counter-based draws."""

from simtrack.agents.agent import Agent
from simtrack.agents.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.gate import GateAgent
from simtrack.agents.gate_replay import Rollout, replay
from simtrack.agents.heterogeneity import (
    beta_parameters,
    design_effect,
    icc_from_design_effect,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.agents.kinds import KINDS, agent_from_dict
from simtrack.agents.paired import PairedAgent
from simtrack.agents.recall import RecallAgent
from simtrack.agents.recall_outcomes import OutcomeAgent
from simtrack.agents.recall_repair import Anchoring, Reinstatement
from simtrack.agents.relapse import RelapseAgent
from simtrack.agents.relapse_probe import probe_discrimination
from simtrack.agents.relapse_retry import Attempts

__all__ = [
    "KINDS",
    "Agent",
    "Anchoring",
    "Attempts",
    "ClusterLaw",
    "ClusteredAgent",
    "GateAgent",
    "OutcomeAgent",
    "PairedAgent",
    "RecallAgent",
    "Reinstatement",
    "RelapseAgent",
    "Rollout",
    "agent_from_dict",
    "beta_parameters",
    "design_effect",
    "icc_from_design_effect",
    "logit_normal_moments",
    "logit_normal_parameters",
    "probe_discrimination",
    "replay",
]
