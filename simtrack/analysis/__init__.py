"""The verbs: estimate a rate, compare two levels."""

from simtrack.analysis.compare import Comparison, compare
from simtrack.analysis.estimate import Estimate, Estimates, estimate
from simtrack.analysis.methods import METHODS, Method
from simtrack.analysis.score import Score, score

__all__ = [
    "METHODS",
    "Comparison",
    "Estimate",
    "Estimates",
    "Method",
    "Score",
    "compare",
    "estimate",
    "score",
]
