"""The verbs: estimate a rate, compare two levels."""

from simtrack.analysis.compare import Comparison, compare
from simtrack.analysis.estimate import Estimate, Estimates, estimate
from simtrack.analysis.methods import METHODS, Method
from simtrack.analysis.missing import totals_under_policy
from simtrack.analysis.score import Score, score
from simtrack.analysis.sensitivity import PolicyRate, Sensitivity, SensitivityRow, sensitivity

__all__ = [
    "METHODS",
    "Comparison",
    "Estimate",
    "Estimates",
    "Method",
    "PolicyRate",
    "Score",
    "Sensitivity",
    "SensitivityRow",
    "compare",
    "estimate",
    "score",
    "sensitivity",
    "totals_under_policy",
]
