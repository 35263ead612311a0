"""Power by simulation as a long run: in blocks, kept in a folder, on any number of workers."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from simtrack.analysis.named_results import Results
from simtrack.errors import InputError
from simtrack.options import ExecutorName
from simtrack.power import Power, Question, is_enough, power_of, study_results
from simtrack.power.tally import Tally, tally
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_result import Blocks
from simtrack.runs.blocks_schedule import block_schedule

__all__ = ["PowerRun", "PowerTask", "run_power"]

#: What says how many studies are wanted, not what each one is.
_HOW_MANY = ("schema", "mcse", "max_draws", "decided_at")
_ARRAYS = ("estimate", "low", "high", "pvalue", "status", "reason")


@dataclass(frozen=True, slots=True)
class PowerTask:
    """What each simulated study says, for any range of them: a pure function of the range."""

    question: Question

    def __call__(self, replicates: range) -> Mapping[str, NDArray[Any]]:
        """Draw and analyse these studies: one row a study."""
        found = study_results(self.question, replicates)
        return {name: getattr(found, name) for name in _ARRAYS}

    def identity(self) -> dict[str, Any]:
        """Say what decides the rows; how many are wanted does not."""
        plain = self.question.to_dict()
        return {k: v for k, v in plain.items() if k not in _HOW_MANY}


@dataclass(frozen=True, slots=True)
class PowerRun:
    """How likely is the study to reach its goal, as far as the run got?

    Attributes
    ----------
    power : Power
        Over the blocks that are done, from the first on.
    blocks : Blocks
        The run: how many studies of how many planned, and why it stopped.
    """

    power: Power
    blocks: Blocks


def run_power(
    question: Question,
    *,
    folder: str | Path | None = None,
    executor: ExecutorName | Executor | None = None,
    workers: int | None = None,
    max_seconds: float | None = None,
    progress: Any = None,
    resume: bool = True,
) -> PowerRun:
    """How likely is this study to reach its goal, by a run that may be killed and gone on with?

    Simulates until the question's Monte Carlo standard error is reached, looking after whole blocks
    only; the same bytes for any executor, number of workers, kills and restarts. Parameters as in
    `run_blocks`.

    Raises
    ------
    DataError
        The folder belongs to another question; what differs is named.
    InputError
        No block was finished.
    """
    schedule = block_schedule(question.max_draws, question.block)

    def enough(arrays: Mapping[str, NDArray[Any]]) -> bool:
        return is_enough(question, _tally(question, arrays))

    blocks = run_blocks(
        PowerTask(question), schedule, folder=folder, executor=executor, workers=workers,
        max_seconds=max_seconds, progress=progress, resume=resume, enough=enough,
    )  # fmt: skip
    if not blocks.arrays:
        raise InputError("max_seconds", "enough for one block", max_seconds)
    found = power_of(question, _tally(question, blocks.arrays))
    if blocks.stopped == "max-seconds":
        kept = tuple(n for n in found.notes if not n.startswith("stopped at max_draws"))
        short = f"stopped after max_seconds: {blocks.n_done:,} studies; the same call goes on"
        found = replace(found, notes=(*kept, short))
    return PowerRun(found, blocks)


def _tally(question: Question, arrays: Mapping[str, NDArray[Any]]) -> Tally:
    results = Results(**{name: arrays[name] for name in _ARRAYS})
    return tally(
        results, question.goal, question.analysis, truth=question.truth, null=question.null
    )
