"""A tau2-bench run as a trial table: one row a task and trial, every planned one accounted for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from simtrack.errors import DataError
from simtrack.logs.content import UnknownFormat
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.rows import Outcome, choose_metrics, rows_to_records
from simtrack.logs.tau.columns import (
    RUN_COLUMNS,
    SIMULATION_COLUMNS,
    Info,
    Results,
    Simulation,
    breakdown_column,
    missing_cells,
    numbered,
)
from simtrack.logs.tau.first import succeeded
from simtrack.options import Detail
from simtrack.records import Records

__all__ = ["LIMITS", "LOST", "open_results", "read_results", "read_simulation", "table_of"]

#: Ends that say nothing about the agent's success: what each makes of the trial.
LOST = {
    "infrastructure_error": "infrastructure",
    "agent_error": "errored",
    "user_error": "errored",
    "unexpected_error": "errored",
}
#: Ends by a limit of the run; the reward that the benchmark gave counts.
LIMITS = frozenset({"max_steps", "timeout", "too_many_errors", "context_window_exceeded"})
_ENDED = frozenset({"user_stop", "agent_stop"})


def read_results(
    path: Path,
    data: bytes,
    label: str,
    *,
    metric: str | Sequence[str] | None = None,
    detail: Detail = "samples",
) -> Records:
    """Read a results file, and the simulations in the folder beside it where they lie there.

    Planned are num_trials of every task. An infrastructure error is its own class; agent, user and
    unexpected errors are errored, although the benchmark counts them as reward 0; the end by a
    limit keeps its reward. With detail "summaries" the folder form is read from its index.
    Metrics: "success" (default: reward within 1e-6 of 1), "reward", and "reward.<FACTOR>".

    Raises
    ------
    DataError
        A folder form without its folder, or a task and trial that occurs twice.
    """
    results, simulations, notes = open_results(path, data, label, detail)
    return table_of(results, simulations, label, metric, notes)


def open_results(
    path: Path,
    data: bytes,
    label: str,
    detail: Detail = "samples",
    *,
    kind: type[Simulation] = Simulation,
    file: type[Results] = Results,
) -> tuple[Results, list[Simulation], list[str]]:
    """Decode a results file of either form; `kind` and `file` name the fields that are read."""
    seen = Decoded()
    results = decode(data, file, label, seen)
    simulations, notes = _simulations(path, results, label, detail, seen, kind)
    if not results.tasks and not simulations:
        raise DataError(
            f"{label}: holds the plan of a tau2-bench run but neither tasks nor simulations: they "
            "lie in the folder simulations/ beside the original. Copy that folder too."
        )
    return results, simulations, [*notes, *seen.notes()]


def read_simulation(
    path: Path, data: bytes, label: str, *, metric: str | Sequence[str] | None = None
) -> Records:
    """Read one simulation of the folder form that lies alone.

    Raises
    ------
    UnknownFormat
        Its results.json is beside it: the trial would count twice.
    """
    if path.parent.name == "simulations" and (path.parent.parent / "results.json").is_file():
        raise UnknownFormat(
            f"{label}: one simulation of the run whose results.json is in the folder above, and "
            "is read with it. Give results.json."
        )
    seen = Decoded()
    found = decode(data, Simulation, label, seen)
    note = "one simulation without its results.json: the plan and the model are not known"
    alone = Results(Info(num_trials=None))
    return table_of(alone, [found], label, metric, [note, *seen.notes()])


def _simulations(
    path: Path,
    results: Results,
    label: str,
    detail: Detail,
    seen: Decoded,
    kind: type[Simulation],
) -> tuple[list[Simulation], list[str]]:
    """Give the simulations of either form, and notes."""
    index = results.simulation_index
    if results.simulations is not None and (results.simulations or not index):
        return results.simulations, []
    folder = path.parent / "simulations"
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if detail == "summaries" and index:
        return index, ["read from the index of the simulations: no tokens, no reward factors"]
    if not files and index:
        return index, ["the simulations are not beside the file: read from its index alone"]
    found, broken = [], []
    for file in files:
        try:
            found.append(decode(file.read_bytes(), kind, f"{label}: {file.name}", seen))
        except DataError:
            broken.append(file.name)
    have = {s.id for s in found}
    only = [s for s in index or () if s.id not in have]
    notes = [f"{len(only)} simulations are known from the index alone"] if only else []
    if broken:
        notes.append(f"{len(broken)} simulation files are damaged ({', '.join(broken[:5])})")
    return found + only, notes


def table_of(
    results: Results,
    simulations: Sequence[Simulation],
    label: str,
    metric: str | Sequence[str] | None,
    notes: list[str],
) -> Records:
    """Make the trial table: one row a simulation, in their order, and a loss a missing one."""
    order = numbered([s.task_id for s in simulations], [s.trial for s in simulations])
    rows = [msgspec.structs.replace(s, trial=k) for s, k in zip(simulations, order, strict=True)]
    cells = [(s.task_id, k) for s, k in zip(rows, order, strict=True)]
    planned = results.info.num_trials or max(order, default=-1) + 1
    tasks = [t.id for t in results.tasks] or [s.task_id for s in rows]
    absent, odd = missing_cells(tasks, planned, cells, label, "planned, but not in the file")
    factors = dict.fromkeys(
        name for s in rows if s.reward_info for name in s.reward_info.reward_breakdown or ()
    )
    extra = [breakdown_column(name) for name in factors]
    known = ["success", "reward", *(column.name for column in extra)]
    chosen = choose_metrics(known, metric or "success", label)
    takes = {column.name: column.take for column in (*SIMULATION_COLUMNS, *extra)}
    takes["success"] = takes["reward"]
    metrics = {
        name: [_outcome(s, takes[name](s), name == "success") for s in rows] for name in chosen
    }
    return rows_to_records(
        label,
        rows,
        [*SIMULATION_COLUMNS, *extra],
        metrics,
        constants={name: take(results) for name, take in RUN_COLUMNS},
        losses=absent,
        notes=[*notes, *odd, *_notes(rows, planned * len(set(tasks)))],
    )


def _outcome(simulation: Simulation, reward: float | None, is_success: bool) -> Outcome:
    ended = simulation.termination_reason or "no termination_reason"
    if ended in LOST:
        return Outcome(status=LOST[ended], reason=ended)
    if reward is None or not math.isfinite(reward):
        status = "limited" if ended in LIMITS else "unscored"
        return Outcome(status=status, reason=f"no reward ({ended})")
    return Outcome(succeeded(reward) if is_success else float(reward))


def _notes(rows: Sequence[Simulation], planned: int) -> list[str]:
    ends = Counter(s.termination_reason or "none" for s in rows)
    notes = [
        f"{ends[end]} simulations ended by {end}: {status}, not reward 0 as in the benchmark's "
        "own mean (--missing as-failure gives that)"
        for end, status in LOST.items()
        if ends[end] and status == "errored"
    ]
    lost = ends["infrastructure_error"]
    if lost:
        notes.append(f"{lost} of {planned} planned trials were lost to infrastructure")
    halted = {end: ends[end] for end in sorted(LIMITS) if ends[end]}
    notes += [f"{n} simulations ended by {end} and keep their reward" for end, n in halted.items()]
    odd = sorted(set(ends) - _ENDED - LIMITS - set(LOST))
    if odd:
        notes.append(f"termination reasons that are not known: {', '.join(odd)}")
    if any(s.agent_cost == 0 for s in rows):
        free = sum(1 for s in rows if s.agent_cost == 0)
        notes.append(f"{free} simulations state a cost of 0: the model has no price there")
    return notes
