"""Readers: log files of other tools in, the trial table out, every loss accounted for."""

from simtrack.logs.door import read_log, read_logs
from simtrack.logs.frames import read_frame
from simtrack.logs.inventory import InventoryRow, inventory
from simtrack.logs.trials import TRIAL_SUFFIXES, trials_text, write_trials

__all__ = [
    "TRIAL_SUFFIXES",
    "InventoryRow",
    "inventory",
    "read_frame",
    "read_log",
    "read_logs",
    "trials_text",
    "write_trials",
]
