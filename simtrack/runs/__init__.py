"""Frozen studies: find, run, store, and say where a result comes from."""

from simtrack.runs.provenance import content_hash, rebuild_study
from simtrack.runs.run import KINDS, Run, run_study
from simtrack.runs.store import read_result
from simtrack.runs.study import Study, find_study, load_study

__all__ = [
    "KINDS",
    "Run",
    "Study",
    "content_hash",
    "find_study",
    "load_study",
    "read_result",
    "rebuild_study",
    "run_study",
]
