"""tau-bench trajectories (a list) and tau2-bench results (one file, or a folder)."""

from simtrack.logs.tau.first import read_first
from simtrack.logs.tau.second import read_results, read_simulation

__all__ = ["read_first", "read_results", "read_simulation"]
