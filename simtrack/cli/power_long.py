"""`simtrack power` as a long run: kept in a folder, spread, stopped and gone on with, split."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import click

from simtrack.cli.rehearse import grouped
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.options import ExecutorName

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from simtrack.planning import Exactness, Power, Question
    from simtrack.runs.blocks_schedule import Blocks

__all__ = ["LongRun", "long_options", "long_run", "one_part", "run_line"]


@dataclass(frozen=True, slots=True)
class LongRun:
    """Where blocks of studies are kept, who computes them, and which of them."""

    folder: str | None
    executor: ExecutorName | None
    workers: int | None
    dask: str | None
    max_seconds: float | None
    part: str | None
    merge: tuple[str, ...]

    def given(self) -> list[str]:
        """Name the options that were given."""
        return [f"--{f.name.replace('_', '-')}" for f in fields(self)
                if getattr(self, f.name) not in {None, ()}]  # fmt: skip


long_options = grouped("long", LongRun, (
    click.option("--folder", type=click.Path(file_okay=False),
                 help="Keep finished blocks here; the same call goes on from them."),
    click.option("--executor", type=click.Choice(("serial", "threads", "processes")),
                 help="How blocks are spread [serial]."),
    click.option("--workers", type=int, help="Threads or processes [one a processor]."),
    click.option("--dask", metavar="SCHEDULER",
                 help="Address of a Dask scheduler to spread over."),
    click.option("--max-seconds", type=float, help="Begin no block after so many seconds."),
    click.option("--part", metavar="I/N", help="Do one part of --max-draws, kept in --folder."),
    click.option("--merge", multiple=True, metavar="FOLDER",
                 help="Answer from the parts' folders."),
))  # fmt: skip


def long_run(question: Question, exact: Exactness, long: LongRun) -> tuple[Power, Blocks | None]:
    """Simulate in blocks, or merge what parts have kept: the power with what is known of the run.

    The blocks are None where the power is exact.
    """
    from simtrack.runs.blocks_power import merge_power, run_power

    if long.merge:
        for name in long.given():
            if name != "--merge":
                raise InputError(name, "left out with --merge")
        return merge_power(question, long.merge)
    with ExitStack() as stack:
        answered, kept = run_power(
            question, exact=exact, folder=long.folder, executor=_executor(long, stack),
            workers=long.workers, max_seconds=long.max_seconds, progress="auto",
        )  # fmt: skip
    if kept is None:
        note = Note("exact", "exact: nothing was simulated, so nothing is kept or spread")
        return replace(answered, notes=(*answered.notes, note)), None
    return answered, kept


def one_part(question: Question, long: LongRun) -> dict[str, object]:
    """Do one part of the schedule, and say what was kept."""
    from simtrack.runs.blocks_power import run_power_part

    part, sign, parts = (long.part or "").partition("/")
    if not (sign and part.isdecimal() and parts.isdecimal()):
        raise InputError("--part", "of the form 2/3", repr(long.part))
    if long.folder is None:
        raise InputError("--folder", "given with --part", cure="Each part has a folder of its own.")
    with ExitStack() as stack:
        blocks = run_power_part(
            question, int(part), int(parts), folder=long.folder,
            executor=_executor(long, stack), workers=long.workers,
            max_seconds=long.max_seconds, progress="auto",
        )  # fmt: skip
    told = (f"{long.folder}: part {long.part}, {blocks.n_done:,} blocks kept, stopped: "
            f"{blocks.stopped}. With all parts: --merge FOLDER --merge FOLDER ...")  # fmt: skip
    return {"schema": "simtrack.planning-part/1", "told": told, "run": blocks.to_dict()}


def run_line(run: Blocks) -> str:
    """Say in a line how far the run came."""
    return (f"  run                   {len(run.done):,} of at most {len(run.schedule):,} "
            f"blocks, stopped: {run.stopped}; sha256 {run.sha256[:16]}")  # fmt: skip


def _executor(long: LongRun, stack: ExitStack) -> ExecutorName | Executor | None:
    if long.dask is None:
        return long.executor
    from simtrack.runs.dask_executor import DaskExecutor

    return stack.enter_context(DaskExecutor(long.dask))
