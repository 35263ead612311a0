"""A tau-bench file (2024) as a trial table: a list of trajectories with a reward each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

from simtrack.errors import DataError
from simtrack.logs.decode import Decoded, decode, one_line
from simtrack.logs.rows import Outcome, choose_metrics, rows_to_records
from simtrack.logs.tau.columns import TRIAL_COLUMNS, FirstFile, Trial, missing_cells, numbered
from simtrack.records import Records

__all__ = ["SUCCESS_WITHIN", "open_first", "read_first", "succeeded", "trials_table"]

#: The benchmark's own rule: a reward within this of 1 is a success.
SUCCESS_WITHIN = 1e-6
METRICS = ("success", "reward")


def succeeded(reward: float) -> float:
    """Say 1 or 0: is the reward 1, but for rounding? A fractional reward is no success."""
    return float(abs(reward - 1) <= SUCCESS_WITHIN)


def read_first(data: bytes, label: str, metric: str | Sequence[str] | None = None) -> Records:
    """Read a list of trajectories: one row a task and trial, scored by `success`.

    The file names no model and no plan: the plan taken is every task in it, as often as the most
    often tried one. A trajectory with `info.error`, whose reward the benchmark sets to 0, is
    errored. Metrics: "success" (default) and "reward".
    """
    seen = Decoded()
    return trials_table(open_first(data, label, seen), label, seen, metric)


def open_first(
    data: bytes, label: str, seen: Decoded, kind: type[FirstFile] = FirstFile
) -> list[Trial]:
    """Decode the trajectories, of which `kind` names the fields that are read."""
    trials = decode(b'{"trials":' + data + b"}", kind, label, seen).trials
    if not trials:
        raise DataError(f"{label}: empty: it holds no trajectory.")
    return trials


def trials_table(
    trials: list[Trial], label: str, seen: Decoded, metric: str | Sequence[str] | None
) -> Records:
    """Make the trial table: one row a trajectory, in their order."""
    order = numbered([t.task_id for t in trials], [t.trial for t in trials])
    trials = [msgspec.structs.replace(t, trial=k) for t, k in zip(trials, order, strict=True)]
    cells = [(t.task_id, k) for t, k in zip(trials, order, strict=True)]
    most = max(*order, 0) + 1
    reason = "no trajectory of this task and trial (plan inferred from the others)"
    losses, notes = missing_cells((t.task_id for t in trials), most, cells, label, reason)
    errored = sum(1 for t in trials if t.info and t.info.error is not None)
    if errored:
        notes.append(f"{errored} trajectories broke (info.error): errored, not reward 0")
    notes.append("a tau-bench file names no model; tell files apart by source")
    chosen = choose_metrics(METRICS, metric or "success", label)
    return rows_to_records(
        label,
        trials,
        TRIAL_COLUMNS,
        {name: [_outcome(t, name) for t in trials] for name in chosen},
        constants={"run": PurePath(label).stem},
        losses=losses,
        notes=[*notes, *seen.notes()],
    )


def _outcome(trial: Trial, metric: str) -> Outcome:
    if trial.info is not None and trial.info.error is not None:
        return Outcome(status="errored", reason=one_line(trial.info.error) or "error")
    if trial.reward is None or not math.isfinite(trial.reward):
        return Outcome(status="unscored", reason="no reward")
    reward = float(trial.reward)
    return Outcome(succeeded(reward) if metric == "success" else reward)
