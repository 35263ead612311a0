"""Designs × agents × analyses: power, coverage, error rates, and the search for a design."""

from simtrack.power.answers import (
    Exactness,
    Power,
    Progress,
    answer,
    combine,
    power,
    power_of,
    type_one_error,
)
from simtrack.power.assured import Assurance, CanDraw, assurance
from simtrack.power.effects import DetectableEffect, minimum_detectable_effect
from simtrack.power.goals import Differs, Equivalent, Excludes, Goal, Narrow
from simtrack.power.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    simulation_error,
    study_results,
    wanted_draws,
)
from simtrack.power.search import Plan, PlanPoint, plan
from simtrack.power.tally import Tally

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
