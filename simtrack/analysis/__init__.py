"""The verbs: estimate a rate, compare two levels, test a family of groups."""

from simtrack.analysis import analyses
from simtrack.analysis.catalogue import METHODS, register
from simtrack.analysis.estimate import Estimate, Estimates, estimate
from simtrack.analysis.families import TestFamily, TestRow
from simtrack.analysis.missing import totals_under_policy
from simtrack.analysis.named import Analysis
from simtrack.analysis.score import Score, score
from simtrack.analysis.sensitivity import PolicyRate, Sensitivity, SensitivityRow, sensitivity
from simtrack.analysis.testing import compare, test
from simtrack.method import Method

__all__ = [
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
    "register",
    "score",
    "sensitivity",
    "test",
    "totals_under_policy",
]
