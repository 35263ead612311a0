"""Agents: one behaviour a file. Expectations exactly, counts by counter-based draws."""

from simtrack.agents.agent import Agent
from simtrack.agents.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.fit import FittedAgent
from simtrack.agents.fit_clustered import fit_clustered
from simtrack.agents.fit_paired import fit_paired
from simtrack.agents.fit_stage import fit_stage
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
from simtrack.agents.presets_stageif import STAGE_PRESETS, stage_assumptions, stage_preset
from simtrack.agents.presets_stageif_trajectory import (
    TRAJECTORY_PRESETS,
    trajectory_assumptions,
    trajectory_preset,
)
from simtrack.agents.recall import RecallAgent
from simtrack.agents.recall_outcomes import OutcomeAgent
from simtrack.agents.recall_repair import Anchoring, Reinstatement
from simtrack.agents.relapse import RelapseAgent
from simtrack.agents.relapse_probe import probe_discrimination
from simtrack.agents.relapse_retry import Attempts
from simtrack.agents.stage import StageAgent
from simtrack.agents.stage_effects import ClusterEffect
from simtrack.agents.stage_join import join_stage_agents
from simtrack.agents.trajectory import TrajectoryAgent
from simtrack.agents.trajectory_law import count_law
from simtrack.agents.trajectory_records import trajectories

__all__ = [
    "KINDS",
    "STAGE_PRESETS",
    "TRAJECTORY_PRESETS",
    "Agent",
    "Anchoring",
    "Attempts",
    "ClusterEffect",
    "ClusterLaw",
    "ClusteredAgent",
    "FittedAgent",
    "GateAgent",
    "OutcomeAgent",
    "PairedAgent",
    "RecallAgent",
    "Reinstatement",
    "RelapseAgent",
    "Rollout",
    "StageAgent",
    "TrajectoryAgent",
    "agent_from_dict",
    "beta_parameters",
    "count_law",
    "design_effect",
    "fit_clustered",
    "fit_paired",
    "fit_stage",
    "icc_from_design_effect",
    "join_stage_agents",
    "logit_normal_moments",
    "logit_normal_parameters",
    "probe_discrimination",
    "replay",
    "stage_assumptions",
    "stage_preset",
    "trajectories",
    "trajectory_assumptions",
    "trajectory_preset",
]
