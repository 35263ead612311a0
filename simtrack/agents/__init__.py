"""Agents: one behaviour a file. Expectations exactly, counts by counter-based draws."""

from simtrack.agents.agent import Agent
from simtrack.agents.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.heterogeneity import (
    beta_parameters,
    design_effect,
    icc_from_design_effect,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.agents.kinds import KINDS, agent_from_dict
from simtrack.agents.paired import PairedAgent

__all__ = [
    "KINDS",
    "Agent",
    "ClusterLaw",
    "ClusteredAgent",
    "PairedAgent",
    "agent_from_dict",
    "beta_parameters",
    "design_effect",
    "icc_from_design_effect",
    "logit_normal_moments",
    "logit_normal_parameters",
]
