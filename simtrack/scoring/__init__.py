"""Replies in, outcome codes out: reply parsers, oracles, and the schemes of the papers."""

from simtrack.scoring.artifacts.artifact import Artifact, ArtifactRules, read_artifact
from simtrack.scoring.artifacts.attribution import (
    Attribution,
    AttributionRules,
    attribute,
    surface_overlap,
)
from simtrack.scoring.artifacts.presence import Check, holds
from simtrack.scoring.confusion import CrossTable, composition, confusion
from simtrack.scoring.constraints.checks import CONSTRAINT_KINDS, Constraint, Verdict
from simtrack.scoring.constraints.distractors import jaccard, score_distractors
from simtrack.scoring.diagnosis import DiagnosisReplay, HumanLabels, replay_diagnoses
from simtrack.scoring.judges import (
    JudgeAgreement,
    JudgePair,
    SelfPreference,
    judge_agreement,
    self_preference,
)
from simtrack.scoring.rebind.costs import CostRatio, cost_ratio
from simtrack.scoring.rebind.depth_contrasts import DepthDifference, deepest_minus_shallowest
from simtrack.scoring.rebind.depths import DepthCurve, prevalence_by_depth
from simtrack.scoring.rebind.protocol import ClauseRule, RebindProtocol
from simtrack.scoring.rebind.risk import DepthAuroc, RiskStrata, auroc_by_depth, risk_strata
from simtrack.scoring.rebind.score import (
    RebindTables,
    rebind_tables,
    score_rebind,
    score_rebind_clauses,
)
from simtrack.scoring.replay.gates import ReplayProtocol, replay_gates
from simtrack.scoring.stageif.cues import CueRule
from simtrack.scoring.stageif.markers import Marker, Report
from simtrack.scoring.stageif.obligations import ObligationProtocol, score_obligations
from simtrack.scoring.stageif.oracle import Oracle, Rule, Truth
from simtrack.scoring.stageif.positions import mid_task_trajectories, with_positions
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.scoring.stageif.score import score_stageif
from simtrack.scoring.statetrack.protocol import ProbeRule, StateTrackProtocol
from simtrack.scoring.statetrack.recovery import score_changed_rule, score_recovery
from simtrack.scoring.statetrack.score import score_statetrack

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
