"""Agents: one behaviour a file. Expectations exactly, counts by counter-based draws."""

from simtrack.agents.agent import Agent
from simtrack.agents.clustered.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.clustered.fit import fit_clustered, fit_paired
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.gate.chain import Rollout, replay
from simtrack.agents.heterogeneity import (
    beta_parameters,
    design_effect,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.agents.kinds import KINDS, agent_from_dict
from simtrack.agents.pilot import FittedAgent
from simtrack.agents.presets.stageif import STAGE_PRESETS, stage_assumptions, stage_preset
from simtrack.agents.presets.trajectory import (
    TRAJECTORY_PRESETS,
    trajectory_assumptions,
    trajectory_preset,
)
from simtrack.agents.recall.agent import RecallAgent
from simtrack.agents.recall.outcomes import OutcomeAgent
from simtrack.agents.recall.repair import Anchoring, Reinstatement
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.relapse.probe import probe_discrimination
from simtrack.agents.relapse.retry import Attempts
from simtrack.agents.stage.agent import StageAgent, join_stage_agents
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.fit import fit_stage
from simtrack.agents.trajectory.agent import TrajectoryAgent
from simtrack.agents.trajectory.draws import trajectories
from simtrack.agents.trajectory.laws import count_law

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
