"""Run something long in blocks of replicates: the same bytes however it is cut, spread or killed.

A block is a pure function of its range of replicates. Blocks are kept as they come, in a folder if
there is one, and put together in index order when all are there; nothing is summed on arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TypeAlias

from simtrack.errors import DataError, InputError
from simtrack.options import ExecutorName, ProgressStyle, Stopped
from simtrack.runs.blocks_schedule import (
    Arrays,
    Blocks,
    Columns,
    Prefix,
    assemble,
    canonical_arrays,
    checked_schedule,
    chosen_blocks,
    layout_of,
)
from simtrack.runs.checkpoint import Checkpoint, open_checkpoint
from simtrack.runs.checkpoint_manifest import environment, manifest_of
from simtrack.runs.executors import SerialExecutor, open_executor, worker_count
from simtrack.runs.progress import Progress, Tally, clock_s, open_progress
from simtrack.runs.provenance import source_hash
from simtrack.validate import real

__all__ = ["Enough", "Task", "run_blocks"]

#: A rule that looks at the arrays of the first blocks, in index order, and may call it a day.
Enough: TypeAlias = Callable[[Arrays], bool]


class Task(Protocol):
    """What a long run computes: a picklable, pure function of a range of replicates."""

    def __call__(self, replicates: range, /) -> Arrays:
        """Give named arrays of numbers or booleans, one row a replicate.

        Row i depends on replicates[i] and on what the task is, never on the other replicates.
        """
        ...

    def identity(self) -> Mapping[str, object]:
        """Say in plain data, part by part, everything that decides the rows.

        For a power simulation: design, agent, analysis, seed. Needed where there is a folder.
        """
        ...


def run_blocks(
    task: Task | Callable[[range], Arrays],
    blocks: Sequence[range],
    *,
    folder: str | Path | None = None,
    executor: ExecutorName | Executor | None = None,
    workers: int | None = None,
    max_seconds: float | None = None,
    progress: ProgressStyle | Progress | None = None,
    resume: bool = True,
    first: int = 0,
    last: int | None = None,
    enough: Enough | None = None,
) -> Blocks:
    """What does the task give for every replicate, whatever interrupts it?

    Parameters
    ----------
    task : Task
        For processes and Dask it must be picklable.
    blocks : sequence of range
        The fixed schedule, each block beginning where the one before ends: `block_schedule`.
    folder : path, optional
        Where finished blocks are kept. The same call again goes on from there, with any executor.
    executor : "serial", "threads", "processes", Executor or None
        None is serial; see `open_executor` and `DaskExecutor`.
    workers : int, optional
        How many threads or processes; default one for each processor.
    max_seconds : float, optional
        No block is begun after so many seconds; those that run are finished and kept. At least one
        is computed, so that repeated calls come to an end.
    progress : "auto", "plain", "quiet", None or callable
    resume : bool
        Off: a folder that already holds blocks is refused.
    first, last : int
        Numbers of the first and the last block to run here, both included; None is the last one.
        Parts from several machines are put together by `merge_blocks`.
    enough : callable, optional
        Looks at the arrays of blocks 0..k, in index order, for k = 0, 1, ...; at the first k at
        which it says yes the run ends with just these blocks, whatever was computed beyond.

    Returns
    -------
    Blocks
        Equal bytes for any executor, number of workers, block sizes, kills and resumes.

    Raises
    ------
    InputError
    DataError
        For a folder of another run (what changed is named) or in use, and for lost workers.

    Examples
    --------
    >>> import numpy as np
    >>> from simtrack.runs.blocks_schedule import block_schedule
    >>> found = run_blocks(lambda r: {"square": np.array(r) ** 2}, block_schedule(5, 2))
    >>> found, found.arrays["square"].tolist()
    (Blocks(5 of 5 replicates, finished: square), [0, 1, 4, 9, 16])
    """
    schedule = checked_schedule(blocks)
    chosen = chosen_blocks(schedule, first, last)
    begun_s = clock_s()
    seconds = None if max_seconds is None else real("max_seconds", max_seconds, 0.0)
    if enough is not None and first > 0:
        raise InputError("first", "0 where a rule looks at all blocks so far", first)
    with ExitStack() as stack:
        store = None
        if folder is not None:
            manifest = manifest_of(task, schedule)
            store = stack.enter_context(open_checkpoint(folder, manifest, resume=resume))
        pool = stack.enter_context(open_executor(executor, workers, task))
        show = stack.enter_context(open_progress(progress))
        run = _Run(task, schedule, chosen, store, show, enough, begun_s)
        run.restore()
        run.compute(pool, seconds)
        return run.result()


class _Run:
    """The blocks found so far, and what is still to do."""

    def __init__(
        self,
        task: Callable[[range], Arrays],
        schedule: tuple[range, ...],
        chosen: range,
        store: Checkpoint | None,
        show: Progress,
        enough: Enough | None,
        begun_s: float,
    ) -> None:
        self.task, self.schedule, self.chosen = task, schedule, chosen
        self.store, self.show, self.enough, self.begun_s = store, show, enough, begun_s
        self.found: dict[int, Arrays] = {}
        self.layout: dict[str, str] | None = None
        self.resumed: set[int] = set()
        self.n_found = self.n_resumed = 0  # replicates
        self.n_planned = sum(len(schedule[n]) for n in chosen)
        self.computing_s = begun_s
        self.looked_at = chosen.start  # all blocks before this one were looked at by `enough`
        self.seen = Prefix(self.n_planned)
        self.stopped: Stopped = "finished"
        self.notes: list[str] = []

    def restore(self) -> None:
        """Take what the folder holds."""
        if self.store is None:
            return
        for number in self.chosen:
            if self.stopped == "enough":
                break
            arrays = self.store.load(number)
            if arrays is not None:
                self.resumed.add(number)
                self._take(number, arrays)
        self.n_resumed = self.n_found
        if self.resumed:
            self.show(self._tally())

    def compute(self, pool: Executor, seconds: float | None) -> None:
        """Compute what is missing, in index order, a few blocks ahead of the workers."""
        todo = deque(n for n in self.chosen if n not in self.found)
        ahead = seconds is None and not isinstance(pool, SerialExecutor)
        window = worker_count(pool) * (2 if ahead else 1)
        running: dict[Future[_Work], int] = {}
        begun = False
        self.computing_s = clock_s()
        try:
            while self.stopped != "enough" and (todo or running):
                while todo and len(running) < window and self.stopped == "finished":
                    if begun and seconds is not None and clock_s() - self.begun_s >= seconds:
                        self.stopped = "max-seconds"
                        break
                    number = todo.popleft()
                    running[pool.submit(_work, self.task, self.schedule[number])] = number
                    begun = True
                if not running:
                    break
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=running.__getitem__):
                    self._finish(running.pop(future), future)
        except BrokenExecutor as error:
            raise DataError(f"the workers are gone: {error} {self._cure()}") from error
        except BaseException as error:
            error.add_note(self._kept())
            raise
        finally:
            for future in running:
                future.cancel()

    def result(self) -> Blocks:
        """Put the done blocks together, in index order."""
        end = self.looked_at if self.stopped == "enough" else self.chosen.stop
        done = [n for n in self.chosen if n in self.found and n < end]
        notes = [*(self.store.notes if self.store else ()), *self.notes]
        return Blocks(
            assemble([self.found[n] for n in done]),
            tuple(self.schedule[n] for n in self.chosen),
            tuple(self.schedule[n] for n in done),
            self.stopped,
            len(self.resumed.intersection(done)),
            tuple(dict.fromkeys(notes)),
        )

    def _finish(self, number: int, future: Future[_Work]) -> None:
        block = self.schedule[number]
        try:
            arrays, code, place = future.result()
        except BrokenExecutor:
            raise
        except Exception as error:
            error.add_note(f"in block {number} (replicates {block.start} to {block.stop - 1})")
            raise
        if code != source_hash():
            cure = "Install the same simtrack there, or begin anew if its files changed."
            raise DataError(f"a worker runs other code than this process. {cure}")
        if place != environment():
            self.notes.append(f"a worker has other versions, floats may differ by 1e-12: {place}")
        if self.store is not None:
            self.store.save(number, arrays)
        self._take(number, arrays)
        self.show(self._tally())

    def _take(self, number: int, arrays: Arrays) -> None:
        """Keep a block, and look as far as all earlier ones are there."""
        layout = layout_of(arrays)
        if self.layout not in (None, layout):
            rule = f"a function that gives the same arrays for every block ({self.layout})"
            raise InputError("task", rule, layout, where=f"block {number}")
        self.layout = layout
        self.found[number] = arrays
        self.n_found += len(self.schedule[number])
        while self.enough and self.stopped != "enough" and self.looked_at in self.found:
            rows = self.seen.grow(self.found[self.looked_at])
            self.looked_at += 1
            if self.enough(rows):
                self.stopped = "enough"

    def _tally(self) -> Tally:
        return Tally(
            self.n_found, self.n_planned, len(self.found), len(self.chosen),
            self.n_resumed, clock_s() - self.computing_s,
        )  # fmt: skip

    def _kept(self) -> str:
        counts = f"{len(self.found)} of {len(self.chosen)} blocks"
        if self.store is None:
            return f"{counts} were done; with a folder they would have been kept"
        return f"{counts} are kept in {self.store.folder}; the same call resumes"

    def _cure(self) -> str:
        return (
            f"{self._kept()}. Fewer workers need less memory; a script that starts processes needs "
            'if __name__ == "__main__".'
        )


_Work: TypeAlias = tuple[Columns, str, dict[str, str]]


def _work(task: Callable[[range], Arrays], block: range) -> _Work:
    """Compute one block, wherever this runs, and say which code and libraries did."""
    return canonical_arrays(task(block), block), source_hash(), environment()
