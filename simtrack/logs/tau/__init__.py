"""tau-bench trajectories (a list) and tau2-bench results (one file, or a folder)."""

from simtrack.logs.tau.first import read_first
from simtrack.logs.tau.replies import first_replies, second_replies, simulation_replies
from simtrack.logs.tau.second import read_results, read_simulation

__all__ = [
    "first_replies",
    "read_first",
    "read_results",
    "read_simulation",
    "second_replies",
    "simulation_replies",
]
