"""Designs × agents × analyses: power, coverage, error rates, and the search for a design."""

from simtrack.power.goals import Differs, Equivalent, Excludes, Goal, Narrow
from simtrack.power.power import (
    Exactness,
    Power,
    Progress,
    answer,
    combine,
    power,
    power_of,
    type_one_error,
)
from simtrack.power.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    simulation_error,
    wanted_draws,
)
from simtrack.power.tally import Tally

__all__ = [
    "Differs",
    "Equivalent",
    "Exactness",
    "Excludes",
    "Goal",
    "Narrow",
    "Power",
    "Progress",
    "Question",
    "Tally",
    "answer",
    "block_count",
    "combine",
    "is_enough",
    "power",
    "power_of",
    "run_block",
    "simulation_error",
    "type_one_error",
    "wanted_draws",
]
