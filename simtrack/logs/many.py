"""Read many files, one after another or spread, and say how far it is; results in given order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from dataclasses import dataclass
from pathlib import Path

from simtrack.errors import DataError, InputError
from simtrack.logs.formats import Request
from simtrack.logs.opening import Attempt, Found, ReadAs, attempt

__all__ = ["Job", "ReadSoFar", "Tellings", "Watcher", "attempts"]


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """How far is the reading of many files?

    Attributes
    ----------
    files_done, files : int
    bytes_done, bytes_planned : int
        By the sizes of the files on disk.
    name : str
        The file that is read next, or that was finished last if several are read at a time.
    """

    files_done: int
    files: int
    bytes_done: int
    bytes_planned: int
    name: str = ""


Watcher = Callable[[ReadSoFar], None]
Job = tuple[Path, str, bool, Request]


def attempts(
    jobs: Sequence[Job],
    read: ReadAs[Found],
    executor: Executor | None = None,
    progress: Watcher | None = None,
) -> list[Attempt[Found]]:
    """Read every file; what becomes of them does not depend on the executor.

    Raises
    ------
    InputError
        Options that do not fit one of the files.
    DataError
        A worker that ended before it had read its file.
    """
    paths = [job[0] for job in jobs]
    told = Tellings(paths, [job[1] for job in jobs], progress)
    if executor is None or len(jobs) < 2:
        found = []
        for k, job in enumerate(jobs):
            told.next(k)
            found.append(attempt(*job, read))
            told.done(k)
        return found
    return _spread(jobs, read, executor, told)


class Tellings:
    """Tell a watcher, if there is one, which file comes next and which are done."""

    def __init__(
        self, paths: Sequence[Path], labels: Sequence[str], watcher: Watcher | None
    ) -> None:
        self._labels, self._watcher = labels, watcher
        self._sizes = [_size(path) for path in paths] if watcher is not None else []
        self._files_done = self._bytes_done = 0

    def next(self, k: int) -> None:
        """Say that file `k` is read next."""
        self._tell(k)

    def done(self, k: int) -> None:
        """Say that file `k` is done."""
        if self._watcher is not None:
            self._files_done += 1
            self._bytes_done += self._sizes[k]
            self._tell(k)

    def _tell(self, k: int) -> None:
        if self._watcher is not None:
            self._watcher(ReadSoFar(self._files_done, len(self._labels), self._bytes_done,
                                    sum(self._sizes), self._labels[k]))  # fmt: skip


def _spread(
    jobs: Sequence[Job], read: ReadAs[Found], executor: Executor, told: Tellings
) -> list[Attempt[Found]]:
    """Submit the largest files first, so that no worker is left with one at the end."""
    largest_first = sorted(range(len(jobs)), key=lambda k: -_size(jobs[k][0]))
    waiting = {executor.submit(_apart, jobs[k], read): k for k in largest_first}
    found: dict[int, Attempt[Found]] = {}
    try:
        for future in as_completed(waiting):
            k = waiting[future]
            found[k] = future.result() or attempt(*jobs[k], read)
            told.done(k)
    except BrokenExecutor:
        left = [jobs[k][1] for k in range(len(jobs)) if k not in found]
        raise DataError(
            f"{left[0]}: a process that read files ended early, as where memory runs out. "
            "Use fewer workers."
        ) from None
    finally:
        for future in waiting:
            future.cancel()
    return [found[k] for k in range(len(jobs))]


def _apart(job: Job, read: ReadAs[Found]) -> Attempt[Found] | None:
    """Read one file in another process; None where an option does not fit, to be raised at home."""
    try:
        return attempt(*job, read)
    except InputError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
