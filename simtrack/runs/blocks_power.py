"""Power as a long run: blocks of simulated studies that can be kept, spread, split and merged."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from simtrack.errors import DataError
from simtrack.note import Note
from simtrack.options import ExecutorName, ProgressStyle
from simtrack.planning import (
    Exactness,
    Power,
    Question,
    Tally,
    answer,
    block_count,
    is_enough,
    power_of,
    run_block,
    wanted_draws,
)
from simtrack.planning.exact import exact_tally
from simtrack.runs import progress as progress_room
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_merge import merge_blocks
from simtrack.runs.blocks_schedule import Arrays, Blocks, Columns, block_schedule
from simtrack.runs.checkpoint_manifest import manifest_of, read_manifest
from simtrack.validate import integer

__all__ = ["PowerTask", "merge_power", "run_power", "run_power_part", "tallies_of"]

_NAMES = tuple(field.name for field in fields(Tally))
_SUMS = tuple(name for name in _NAMES if name.startswith("sum_"))


@dataclass(frozen=True, slots=True)
class PowerTask:
    """The simulated studies of a question, as a task of `run_blocks`.

    One row is the `Tally` of one of the question's own blocks of draws: `replicates` are numbers of
    such blocks.

    Examples
    --------
    >>> from simtrack.agents import PairedAgent
    >>> from simtrack.analysis import analyses
    >>> from simtrack.design import Design
    >>> design = Design(6, 4, {"arm": ("new", "old")})
    >>> test = analyses.sign_flip("rate", "arm", "new", "old")
    >>> task = PowerTask(Question(design, PairedAgent(0.7, effect=2.0), test, block=50))
    >>> task(range(3))["n"].tolist()
    [50, 50, 50]
    """

    question: Question

    def __call__(self, replicates: range, /) -> Columns:
        """Give the tallies of these blocks, one array a field."""
        found = [run_block(self.question, number) for number in replicates]
        return {
            name: np.array(
                [getattr(tally, name) for tally in found], "<f8" if name in _SUMS else "<i8"
            )
            for name in _NAMES
        }

    def identity(self) -> dict[str, object]:
        """Say what decides the tallies; when to stop looking is no part of it."""
        said = self.question.to_dict()
        for name in ("schema", "mcse", "decided_at"):
            del said[name]
        return said


def run_power(
    question: Question,
    *,
    exact: Exactness = "auto",
    folder: str | Path | None = None,
    executor: ExecutorName | Executor | None = None,
    workers: int | None = None,
    max_seconds: float | None = None,
    progress: ProgressStyle | progress_room.Progress | None = None,
    resume: bool = True,
) -> tuple[Power, Blocks | None]:
    """How likely does the study reach its goal, if the answer takes long?

    The same answer as `power`, bit for bit. Enough is looked for after each of the question's
    blocks, in their order, so a smaller `mcse` goes on where an earlier call with the same folder
    stopped. Parameters: `run_blocks`; progress counts simulated studies.

    Returns
    -------
    Power, Blocks or None
        The blocks are None where the power is exact.
    """
    if exact == "always":
        return answer(question, exact=exact), None
    whole = None if exact == "never" else exact_tally(question)
    if isinstance(whole, Tally):
        return power_of(question, whole, exact=True), None
    rule = _Enough(question)
    with progress_room.open_progress(progress) as show:
        found = run_blocks(
            PowerTask(question),
            block_schedule(block_count(question), 1),
            folder=folder,
            executor=executor,
            workers=workers,
            max_seconds=max_seconds,
            progress=lambda tally: show(rule.in_studies(tally)),
            resume=resume,
            enough=rule,
        )
    return _answered(question, found), found


def run_power_part(
    question: Question,
    part: int,
    parts: int,
    *,
    folder: str | Path,
    executor: ExecutorName | Executor | None = None,
    workers: int | None = None,
    max_seconds: float | None = None,
    progress: ProgressStyle | progress_room.Progress | None = None,
) -> Blocks:
    """Do one of so many parts of the schedule, each on a machine and in a folder of its own.

    Parameters
    ----------
    part, parts : int
        Part 1 to `parts`. All blocks of the question are done, whatever its `mcse`.
    folder, executor, workers, max_seconds, progress
        As in `run_blocks`.
    """
    n = block_count(question)
    integer("parts", parts, 1, n)
    integer("part", part, 1, parts)
    return run_blocks(
        PowerTask(question), block_schedule(n, 1), folder=folder,
        first=n * (part - 1) // parts, last=n * part // parts - 1, executor=executor,
        workers=workers, max_seconds=max_seconds, progress=progress,
    )  # fmt: skip


def merge_power(question: Question, folders: Sequence[str | Path]) -> tuple[Power, Blocks]:
    """What is the power, if several machines did parts of the schedule (`run_power_part`)?

    All blocks of the schedule must be there, and all are used.

    Raises
    ------
    DataError
        If a folder is of another question, if folders disagree, or if blocks are missing.
    """
    asked = manifest_of(PowerTask(question), block_schedule(block_count(question), 1))
    for folder in folders:
        kept = read_manifest(Path(folder))
        if kept is not None and (changes := asked.changes(kept)):
            raise DataError(f"{folder} belongs to another question; different: {changes}. "
                            "Give the study, seed and draws of its parts.")  # fmt: skip
    found = merge_blocks(folders)
    return _answered(question, found), found


def tallies_of(arrays: Arrays) -> list[Tally]:
    """Make the tallies that `PowerTask` gave, exactly as they were."""
    columns = [arrays[name].tolist() for name in _NAMES]
    return [
        Tally.from_dict(dict(zip(_NAMES, row, strict=True))) for row in zip(*columns, strict=True)
    ]


class _Enough:
    """The stopping rule of `power`, over rows that only grow."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.so_far, self.n_blocks = Tally(), 0

    def __call__(self, arrays: Arrays) -> bool:
        fresh = {name: array[self.n_blocks :] for name, array in arrays.items()}
        for tally in tallies_of(fresh):
            self.so_far, self.n_blocks = self.so_far + tally, self.n_blocks + 1
        return is_enough(self.question, self.so_far)

    def in_studies(self, tally: progress_room.Tally) -> progress_room.Tally:
        """Count studies, not blocks of them, and expect as many as the error asks for."""
        block = self.question.block
        wanted = wanted_draws(self.question, self.so_far)
        blocks = max(-(-wanted // block), tally.blocks_done)
        return replace(
            tally,
            n_done=min(tally.n_done * block, self.question.max_draws),
            n_planned=min(blocks * block, self.question.max_draws),
            n_resumed=tally.n_resumed * block,
            blocks_planned=blocks,
        )


def _answered(question: Question, found: Blocks) -> Power:
    """Work the answer out from the done blocks, and say so where time was over before enough."""
    power = power_of(question, Tally.total(tallies_of(found.arrays)))
    if found.stopped != "max-seconds":
        return power
    notes = [note for note in power.notes if note.code != "draws-exhausted"]
    over = f"after {power.n_draws:,} of at most {question.max_draws:,} studies"
    notes.append(Note("max-seconds", f"stopped by max_seconds {over}", n=power.n_draws))
    return replace(power, notes=tuple(notes))
