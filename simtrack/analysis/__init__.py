"""The verbs: estimate a rate, compare two levels, test a family of groups."""

from simtrack.analysis import analyses
from simtrack.analysis.estimate import Estimate, Estimates, estimate
from simtrack.analysis.families import TestFamily, TestRow
from simtrack.analysis.methods import METHODS, Method
from simtrack.analysis.missing import totals_under_policy
from simtrack.analysis.named import ANALYSES, Analysis, register_analysis
from simtrack.analysis.score import Score, score
from simtrack.analysis.sensitivity import PolicyRate, Sensitivity, SensitivityRow, sensitivity
from simtrack.analysis.testing import compare, test

__all__ = [
    "ANALYSES",
    "METHODS",
    "Analysis",
    "Estimate",
    "Estimates",
    "Method",
    "PolicyRate",
    "Score",
    "Sensitivity",
    "SensitivityRow",
    "TestFamily",
    "TestRow",
    "analyses",
    "compare",
    "estimate",
    "register_analysis",
    "score",
    "sensitivity",
    "test",
    "totals_under_policy",
]
