"""Which trials were planned, and which of them left no row?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import label as as_label

__all__ = ["missing_cells", "numbered"]

#: More cells than anyone runs.
CELLS_MAX = 10**9


def numbered(task_ids: Sequence[Any], trials: Sequence[int | None]) -> list[int]:
    """Give every trial its number; those without one are counted within their task, from 0."""
    times: Counter[Any] = Counter()
    found = []
    for task, trial in zip(task_ids, trials, strict=True):
        found.append(times[task] if trial is None else trial)
        times[task] += 1
    return found


def missing_cells(
    tasks: Iterable[Any], trials: int, cells: Sequence[tuple[Any, int]], label: str, reason: str
) -> tuple[list[Loss], list[str]]:
    """Give the planned task × trial cells without a row as a loss, and what is odd about the rows.

    Raises
    ------
    DataError
        A cell that occurs twice: its trials would be counted twice; or a plan that nobody runs.
    """
    keys = [(as_label(task) or "", trial) for task, trial in cells]
    twice = [key for key, times in Counter(keys).items() if times > 1]
    if twice:
        raise DataError(
            f"{label}: task {twice[0][0]}, trial {twice[0][1]} occurs more than once "
            f"({len(twice)} such). Keep one of them in the file."
        )
    names = list(dict.fromkeys(as_label(task) or "" for task in tasks))
    if len(names) * trials > CELLS_MAX:
        raise DataError(f"{label}: plans more than {CELLS_MAX:.0e} trials. Mend num_trials.")
    have = set(keys)
    absent = [f"{t} trial {k}" for k in range(trials) for t in names if (t, k) not in have]
    known = set(names)
    beyond = [key for key in keys if key[0] not in known or not 0 <= key[1] < trials]
    notes = [f"{len(beyond)} trials are not in the plan and count beyond it"] if beyond else []
    return [Loss("missing", len(absent), reason, (), tuple(absent[:5]))][: len(absent)], notes
