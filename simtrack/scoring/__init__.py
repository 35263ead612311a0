"""Replies in, outcome codes out: reply parsers, oracles, and the schemes of the papers."""

from simtrack.scoring.confusion import CrossTable, composition, confusion
from simtrack.scoring.constraints import CONSTRAINT_KINDS, Constraint, Verdict
from simtrack.scoring.cues import CueRule
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
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.replay import ReplayProtocol, replay_gates
from simtrack.scoring.stageif import score_stageif
from simtrack.scoring.statetrack import score_statetrack
from simtrack.scoring.statetrack_change import score_changed_rule
from simtrack.scoring.statetrack_protocol import ProbeRule, StateTrackProtocol
from simtrack.scoring.statetrack_recovery import score_recovery

__all__ = [
    "CONSTRAINT_KINDS",
    "Constraint",
    "CrossTable",
    "CueRule",
    "JudgeAgreement",
    "JudgePair",
    "Marker",
    "ObligationProtocol",
    "Oracle",
    "ProbeRule",
    "ReplayProtocol",
    "Report",
    "Rule",
    "SelfPreference",
    "StageProtocol",
    "StateTrackProtocol",
    "Truth",
    "Verdict",
    "composition",
    "confusion",
    "jaccard",
    "judge_agreement",
    "mid_task_trajectories",
    "replay_gates",
    "score_changed_rule",
    "score_distractors",
    "score_obligations",
    "score_recovery",
    "score_stageif",
    "score_statetrack",
    "self_preference",
    "with_positions",
]
