"""The verbs: estimate a rate, compare two levels."""

from simtrack.analysis.compare import Comparison, compare
from simtrack.analysis.estimate import Estimate, Estimates, estimate

__all__ = ["Comparison", "Estimate", "Estimates", "compare", "estimate"]
