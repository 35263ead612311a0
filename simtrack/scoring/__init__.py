"""Replies in, outcome codes out: reply parsers, oracles, and the schemes of the papers."""

from simtrack.scoring.artifacts import Artifact, ArtifactRules, read_artifact
from simtrack.scoring.attribution import Attribution, AttributionRules, attribute, surface_overlap
from simtrack.scoring.confusion import CrossTable, composition, confusion
from simtrack.scoring.constraints import CONSTRAINT_KINDS, Constraint, Verdict
from simtrack.scoring.cues import CueRule
from simtrack.scoring.depth_difference import DepthDifference, deepest_minus_shallowest
from simtrack.scoring.depths import DepthCurve, prevalence_by_depth
from simtrack.scoring.diagnosis import DiagnosisReplay, HumanLabels, replay_diagnoses
from simtrack.scoring.distractors import jaccard, score_distractors
from simtrack.scoring.judges import (
    JudgeAgreement,
    JudgePair,
    SelfPreference,
    judge_agreement,
    self_preference,
)
from simtrack.scoring.markers import Marker, Report
from simtrack.scoring.obligations import ObligationProtocol, score_obligations
from simtrack.scoring.oracle import Oracle, Rule, Truth
from simtrack.scoring.positions import mid_task_trajectories, with_positions
from simtrack.scoring.presence import Check, holds
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.rebind import RebindTables, rebind_tables, score_rebind, score_rebind_clauses
from simtrack.scoring.rebind_costs import CostRatio, cost_ratio
from simtrack.scoring.rebind_protocol import ClauseRule, RebindProtocol
from simtrack.scoring.rebind_risk import DepthAuroc, RiskStrata, auroc_by_depth, risk_strata
from simtrack.scoring.replay import ReplayProtocol, replay_gates
from simtrack.scoring.stageif import score_stageif
from simtrack.scoring.statetrack import score_statetrack
from simtrack.scoring.statetrack_change import score_changed_rule
from simtrack.scoring.statetrack_protocol import ProbeRule, StateTrackProtocol
from simtrack.scoring.statetrack_recovery import score_recovery

__all__ = [
    "CONSTRAINT_KINDS",
    "Artifact",
    "ArtifactRules",
    "Attribution",
    "AttributionRules",
    "Check",
    "ClauseRule",
    "Constraint",
    "CostRatio",
    "CrossTable",
    "CueRule",
    "DepthAuroc",
    "DepthCurve",
    "DepthDifference",
    "DiagnosisReplay",
    "HumanLabels",
    "JudgeAgreement",
    "JudgePair",
    "Marker",
    "ObligationProtocol",
    "Oracle",
    "ProbeRule",
    "RebindProtocol",
    "RebindTables",
    "ReplayProtocol",
    "Report",
    "RiskStrata",
    "Rule",
    "SelfPreference",
    "StageProtocol",
    "StateTrackProtocol",
    "Truth",
    "Verdict",
    "attribute",
    "auroc_by_depth",
    "composition",
    "confusion",
    "cost_ratio",
    "deepest_minus_shallowest",
    "holds",
    "jaccard",
    "judge_agreement",
    "mid_task_trajectories",
    "prevalence_by_depth",
    "read_artifact",
    "rebind_tables",
    "replay_diagnoses",
    "replay_gates",
    "risk_strata",
    "score_changed_rule",
    "score_distractors",
    "score_obligations",
    "score_rebind",
    "score_rebind_clauses",
    "score_recovery",
    "score_stageif",
    "score_statetrack",
    "self_preference",
    "surface_overlap",
    "with_positions",
]
