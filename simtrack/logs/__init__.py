"""Readers: log files of other tools in, the trial table out, every loss accounted for."""

from simtrack.logs.frames import from_frame
from simtrack.logs.inventory import InventoryRow, inventory
from simtrack.logs.opening import ReadSoFar
from simtrack.logs.read import read_log, read_logs
from simtrack.logs.replies import read_replies
from simtrack.logs.scan import Scan, ScannedFile, scan
from simtrack.logs.trials import (
    TRIAL_SUFFIXES,
    is_trial_table,
    trials_text,
    write_inspect,
    write_trials,
)

__all__ = [
    "TRIAL_SUFFIXES",
    "InventoryRow",
    "ReadSoFar",
    "Scan",
    "ScannedFile",
    "from_frame",
    "inventory",
    "is_trial_table",
    "read_log",
    "read_logs",
    "read_replies",
    "scan",
    "trials_text",
    "write_inspect",
    "write_trials",
]
