"""Designs × agents × analyses: power, coverage, error rates, and the search for a design."""

from simtrack.planning.answers import (
    Exactness,
    Power,
    Progress,
    answer,
    combine,
    power,
    power_of,
    type_one_error,
)
from simtrack.planning.assured import Assurance, CanDraw, assurance
from simtrack.planning.effects import DetectableEffect, minimum_detectable_effect
from simtrack.planning.goals import Differs, Equivalent, Excludes, Goal, Narrow
from simtrack.planning.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    simulation_error,
    study_results,
    wanted_draws,
)
from simtrack.planning.search import Plan, PlanPoint, plan
from simtrack.planning.tally import Tally

__all__ = [
    "Assurance",
    "CanDraw",
    "DetectableEffect",
    "Differs",
    "Equivalent",
    "Exactness",
    "Excludes",
    "Goal",
    "Narrow",
    "Plan",
    "PlanPoint",
    "Power",
    "Progress",
    "Question",
    "Tally",
    "answer",
    "assurance",
    "block_count",
    "combine",
    "is_enough",
    "minimum_detectable_effect",
    "plan",
    "power",
    "power_of",
    "run_block",
    "simulation_error",
    "study_results",
    "type_one_error",
    "wanted_draws",
]
