"""Replies in, outcome codes out: reply parsers, oracles, and the schemes of the papers."""

from simtrack.scoring.markers import Marker, Report
from simtrack.scoring.oracle import Oracle, Rule, Truth
from simtrack.scoring.protocol import StageProtocol
from simtrack.scoring.stageif import score_stageif

__all__ = ["Marker", "Oracle", "Report", "Rule", "StageProtocol", "Truth", "score_stageif"]
