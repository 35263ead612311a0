"""Designs × agents × analyses: power, coverage, error rates, and the search for a design."""

from simtrack.planning.answers import (
    Exactness,
    Progress,
    answer,
    power,
)
from simtrack.planning.assured import Assurance, CanDraw, Direction, assurance
from simtrack.planning.goals import Differs, Equivalent, Excludes, Goal, Narrow
from simtrack.planning.pilot import fit_pilot, pilot_cautions
from simtrack.planning.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    simulation_error,
    study_results,
    wanted_draws,
)
from simtrack.planning.result import Power, power_of
from simtrack.planning.search import Plan, PlanPoint, plan
from simtrack.planning.tally import Tally

__all__ = [
    "Assurance",
    "CanDraw",
    "Differs",
    "Direction",
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
    "fit_pilot",
    "is_enough",
    "pilot_cautions",
    "plan",
    "power",
    "power_of",
    "run_block",
    "simulation_error",
    "study_results",
    "wanted_draws",
]
