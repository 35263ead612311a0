"""Where in its trajectory does a checkpoint stand, and were a trajectory's reports all wrong?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records
from simtrack.taxonomy import STAGES, TRAJECTORY
from simtrack.validate import integer

__all__ = [
    "SAME_TRAJECTORY",
    "knows_turns",
    "mid_task_trajectories",
    "shared_labels",
    "trajectory_ids",
    "turns_of",
    "with_positions",
]

#: What tells trajectories apart, as far as a table has it: ids repeat over files and models.
SAME_TRAJECTORY = ("source", "task", "model", "arm", "repetition", "view", "trajectory")
#: Columns of a checkpoint, which a trajectory has no one value of.
_OF_CHECKPOINTS = frozenset({
    "turn", "role", "stage", "gold", "expected", "duty", "reported", "spoke", "emitted", "error",
    "well_formed", "correct", "outcome", "status", "reason", "bin", "bin10", "cue",
})  # fmt: skip
_NONE = -1


def with_positions(records: Records, bins: int = 5, duty_bins: int = 10) -> Records:
    """Say of each checkpoint where in its trajectory it stands: columns `bin` and `bin10`.

    `bin` is the place among the trajectory's POST_OBS checkpoints, `bin10` that among all with a
    duty: turn indices over their range, (turn - first) / (last - first), cut into bins of equal
    width, numbered from 1; the last turn is in the last bin. Trajectories with one such
    checkpoint, or several in one turn, have no bin. Labels alone decide, not replies.

    Parameters
    ----------
    records : Records
        One row a checkpoint, with `trajectory`, `turn` (a whole number), `duty` and `gold`.
    bins, duty_bins : int
        How many bins.

    Examples
    --------
    >>> rows = Records.from_columns(
    ...     {
    ...         "trajectory": ["t"] * 4,
    ...         "turn": [3, 5, 9, 13],
    ...         "duty": ["1"] * 4,
    ...         "gold": ["POST_OBS"] * 3 + ["COMPLETED"],
    ...     }
    ... )
    >>> placed = with_positions(rows)
    >>> placed.factors["bin"].values(), placed.factors["bin10"].values()
    (['1', '2', '5', None], ['1', '3', '7', '10'])

    Source: StageIF appendix G, Figures 2 and 11.
    """
    integer("bins", bins, 1, 1000)
    integer("duty_bins", duty_bins, 1, 1000)
    due = _is(records.factor("duty"), "1")
    mid = due & _is(records.factor("gold"), "POST_OBS")
    ids, turns = trajectory_ids(records), turns_of(records)
    return records.with_factors(
        bin=_binned(ids, turns, mid, bins), bin10=_binned(ids, turns, due, duty_bins)
    )


def mid_task_trajectories(records: Records, stage: str = "POST_OBS", least: int = 2) -> Records:
    """Were the reports of a trajectory at one stage all wrong, all right, or mixed?

    A report is right if its checkpoint is CLEAN; one that is missing or ill-formed is wrong.
    Checkpoints without a valid reply do not count.

    Parameters
    ----------
    records : Records
        What `score_stageif` gave of replies with `trajectory`.
    stage : str
        The gold stage whose reports count.
    least : int
        The fewest reports of which it can be said; trajectories with fewer are unscored.

    Returns
    -------
    Records
        One row a trajectory (and view): the labels that all its rows share, `outcome` of the
        taxonomy TRAJECTORY, the number of `reports`, and `value`, the share of right ones.

    Source: StageIF section 2.2, appendix G.
    """
    if stage not in STAGES:
        raise InputError("stage", f"one of {', '.join(STAGES)}", repr(stage))
    integer("least", least, 1)
    ids = trajectory_ids(records)
    n = int(ids.max(initial=_NONE)) + 1
    outcome = records.factor("outcome")
    counted = _is(records.factor("duty"), "1") & _is(records.factor("gold"), stage)
    counted &= (ids >= 0) & (outcome.codes >= 0) & ~_is(outcome, "TRANSPORT")
    reports = np.bincount(ids[counted], minlength=n)
    right = np.bincount(ids[counted & _is(outcome, "CLEAN")], minlength=n)
    few = reports < least
    code = np.where(right == 0, 0, np.where(right == reports, 1, 2))
    found = Factor(TRAJECTORY.codes, np.where(few, _NONE, code).astype(np.int32))
    status = Factor(("scored", "unscored"), few.astype(np.int32))
    reason = Factor((f"fewer than {least} reports at {stage}",), np.where(few, 0, _NONE))
    share = np.where(few, np.nan, right / np.maximum(reports, 1))
    left = int((ids < 0).sum())
    notes = (*records.notes, *([f"{left} checkpoints belong to no trajectory"] if left else ()))
    return Records(
        {**shared_labels(records, ids, n), "outcome": found, "status": status, "reason": reason},
        {"value": share, "reports": reports.astype(np.float64)},
        records.losses,
        records.parents,
        "trajectory",
        notes,
    )


def trajectory_ids(records: Records) -> NDArray[np.intp]:
    """Number the trajectories from 0, -1 where a row belongs to none; shape (rows,)."""
    trajectory = records.factor("trajectory")
    ids = np.zeros(len(records), dtype=np.intp)
    for name in SAME_TRAJECTORY:
        factor = records.factors.get(name)
        if factor is not None:
            joined = ids * (len(factor.levels) + 1) + factor.codes + 1
            ids = np.unique(joined, return_inverse=True)[1].astype(np.intp)
    ids[trajectory.codes < 0] = _NONE
    used = np.unique(ids[ids >= 0])
    return np.where(ids < 0, _NONE, np.searchsorted(used, ids))


def turns_of(records: Records) -> NDArray[np.int64]:
    """Give the turn of each row, -1 where it is missing; shape (rows,).

    Raises
    ------
    DataError
        A turn that is no whole number >= 0.
    """
    if "turn" in records.numbers:
        column = records.numbers["turn"]
        there = ~np.isnan(column)
        if not ((column[there] >= 0) & (column[there] == np.floor(column[there]))).all():
            raise DataError("turn must be a whole number >= 0. Map another column: --map turn=COL.")
        return np.where(there, column, _NONE).astype(np.int64)
    factor = records.factor("turn")
    return np.array([*_whole(factor.levels), _NONE], dtype=np.int64)[factor.codes]


def shared_labels(records: Records, ids: NDArray[np.intp], n: int) -> dict[str, Factor]:
    """Give the labels that all rows of every trajectory share, one row a trajectory."""
    rows = np.flatnonzero(ids >= 0)
    first = np.zeros(n, dtype=np.intp)
    first[ids[rows[::-1]]] = rows[::-1]
    return {
        name: factor.take(first)
        for name, factor in records.factors.items()
        if name not in _OF_CHECKPOINTS
        and (factor.codes[rows] == factor.codes[first[ids[rows]]]).all()
    }


def knows_turns(records: Records) -> bool:
    """Say whether a table has trajectories, and turns that are whole numbers."""
    there = {*records.factors, *records.numbers}
    if "trajectory" not in records.factors or "turn" not in there:
        return False
    try:
        turns_of(records)
    except DataError:
        return False
    return True


def _whole(levels: Iterable[str]) -> list[int]:
    found = []
    for level in levels:
        if not level.isdecimal() or len(level) > 18:
            raise DataError(
                f"turn must be a whole number >= 0, got {level!r}. Map another column: "
                "--map turn=COL."
            )
        found.append(int(level))
    return found


def _binned(
    ids: NDArray[np.intp], turns: NDArray[np.int64], meant: NDArray[np.bool_], bins: int
) -> Factor:
    """Cut the turns that are meant into bins of equal width, trajectory by trajectory, exactly."""
    rows = np.flatnonzero(meant & (ids >= 0) & (turns >= 0))
    n = int(ids.max(initial=_NONE)) + 1
    first = np.full(n, np.iinfo(np.int64).max)
    last = np.full(n, _NONE, dtype=np.int64)
    np.minimum.at(first, ids[rows], turns[rows])
    np.maximum.at(last, ids[rows], turns[rows])
    rows = rows[last[ids[rows]] > first[ids[rows]]]
    low = first[ids[rows]]
    place = (turns[rows] - low) * bins // (last[ids[rows]] - low)
    codes = np.full(len(ids), _NONE, dtype=np.int32)
    codes[rows] = np.minimum(place, bins - 1)
    return Factor(tuple(str(k + 1) for k in range(bins)), codes)


def _is(factor: Factor, level: str) -> NDArray[np.bool_]:
    return np.array([found == level for found in factor.levels] + [False])[factor.codes]
