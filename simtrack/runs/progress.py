"""How far is a long run, and how long will it take? On standard error, and only if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

from simtrack.options import ProgressStyle, choice

__all__ = ["Progress", "Tally", "clock_s", "clock_text", "open_progress"]

_EVERY_S = 5.0
clock_s = time.monotonic


@dataclass(frozen=True, slots=True)
class Tally:
    """How many replicates and blocks are done, and how long may the rest take?

    Attributes
    ----------
    n_done, n_planned : int
        Replicates, with those that were read from a folder.
    blocks_done, blocks_planned : int
    n_resumed : int
        Replicates among `n_done` that were read from a folder.
    elapsed_s : float
        Since this call began.

    Examples
    --------
    >>> str(Tally(3000, 10_000, 30, 100, n_resumed=1000, elapsed_s=20.0))
    '3,000 of 10,000 replicates (30 of 100 blocks), about 1:10 left'
    """

    n_done: int
    n_planned: int
    blocks_done: int
    blocks_planned: int
    n_resumed: int = 0
    elapsed_s: float = 0.0

    @property
    def eta_s(self) -> float | None:
        """Seconds that the rest takes at the pace of this call; None before its first block."""
        fresh = self.n_done - self.n_resumed
        return (self.n_planned - self.n_done) * self.elapsed_s / fresh if fresh else None

    def __str__(self) -> str:
        text = (
            f"{self.n_done:,} of {self.n_planned:,} replicates "
            f"({self.blocks_done:,} of {self.blocks_planned:,} blocks)"
        )
        if self.eta_s is None or self.n_done == self.n_planned:
            return text
        return f"{text}, about {clock_text(self.eta_s)} left"


class Progress(Protocol):
    """Who is told how far a run is."""

    def __call__(self, tally: Tally) -> None:
        """Hear of each finished block, in order of arrival."""
        ...


@contextmanager
def open_progress(
    wanted: ProgressStyle | Progress | None,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = clock_s,
) -> Iterator[Progress]:
    """Open what shows progress: a bar on a terminal, else a line at most every few seconds.

    Parameters
    ----------
    wanted : "auto", "plain", "quiet", None or callable
        "auto" draws a bar if `stream` is a terminal and prints plain lines if not. None is quiet.
        A callable is given each `Tally` itself.
    stream : text stream, default standard error
    clock : callable
        Seconds, for tests.
    """
    if callable(wanted):
        yield wanted
        return
    style = "quiet" if wanted is None else choice("progress", wanted, ProgressStyle)
    target = sys.stderr if stream is None else stream
    if style == "quiet":
        yield _quiet
    elif style == "auto" and target.isatty():
        with _Bar(target) as bar:
            yield bar
    else:
        yield _Lines(target, clock)


def _quiet(tally: Tally) -> None:
    """Say nothing."""


class _Lines:
    """A line for the first block and the last, and between them one every few seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._next_s = float("-inf")
        self._knows_pace = False

    def __call__(self, tally: Tally) -> None:
        now = self._clock()
        first = tally.eta_s is not None and not self._knows_pace
        if first or now >= self._next_s or tally.blocks_done == tally.blocks_planned:
            self._next_s = now + _EVERY_S
            self._knows_pace = tally.eta_s is not None
            print(tally, file=self._stream, flush=True)


class _Bar:
    """A bar that rich draws; rich is loaded only for it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns: tuple[Any, ...] = (BarColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(file=stream), transient=True)
        self._task = self._bar.add_task("before the first block", total=None)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self._bar.stop()

    def __call__(self, tally: Tally) -> None:
        self._bar.update(
            self._task, total=tally.n_planned, completed=tally.n_done, description=str(tally)
        )


def clock_text(seconds: float) -> str:
    """Write a duration as minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
