"""How far is the reading of logs, and how long will it take? A bar on a terminal, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simtrack.logs import ReadSoFar
    from simtrack.runs.progress import Tally

__all__ = ["reading_progress"]

#: Reading that is over sooner shows nothing.
_PATIENCE_S = 1.0


@contextmanager
def reading_progress(
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[ReadSoFar], None] | None]:
    """Give what is told of each file: a bar on standard error, once reading takes a while.

    None where standard error is no terminal, so that pipes and logs stay plain.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        yield _LateBar(stack, clock)


class _LateBar:
    """Open the bar of long runs at the first news after a moment."""

    def __init__(self, stack: ExitStack, clock: Callable[[], float]) -> None:
        self._stack, self._clock = stack, clock
        self._start_s = clock()
        self._show: Callable[..., None] | None = None

    def __call__(self, far: ReadSoFar) -> None:
        elapsed_s = self._clock() - self._start_s
        if self._show is None:
            if elapsed_s < _PATIENCE_S or far.files_done == far.files:
                return
            from simtrack.runs.progress import open_progress

            self._show = self._stack.enter_context(open_progress("auto"))
        self._show(_tally(far, elapsed_s))


def _tally(far: ReadSoFar, elapsed_s: float) -> Tally:
    """Say it as a long run is told of: bytes for replicates, files for blocks."""
    from rich.markup import escape

    from simtrack.report.table import visible
    from simtrack.runs.progress import Tally, clock_text

    class Reading(Tally):
        __slots__ = ()

        def __str__(self) -> str:
            megabytes = f"{self.n_done / 1e6:,.0f} of {self.n_planned / 1e6:,.0f} MB"
            text = f"{far.files_done:,} of {far.files:,} files ({megabytes})"
            if self.eta_s is not None:
                text += f", about {clock_text(self.eta_s)} left"
            return escape(f"{text}: {visible(far.name)}")

    return Reading(
        far.bytes_done, far.bytes_planned, far.files_done, far.files, elapsed_s=elapsed_s
    )
