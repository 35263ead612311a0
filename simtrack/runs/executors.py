"""Who computes the blocks: this thread, threads, processes, or any executor that is handed over."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

from simtrack.errors import InputError
from simtrack.options import ExecutorName, choice
from simtrack.validate import integer

__all__ = ["SerialExecutor", "open_executor", "worker_count"]

P = ParamSpec("P")
R = TypeVar("R")


class SerialExecutor(Executor):
    """An executor that computes at once, in the calling thread.

    Examples
    --------
    >>> SerialExecutor().submit(max, 2, 3).result()
    3
    """

    workers = 1

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Call the function now; an error waits in the future, an interrupt does not."""
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_executor(
    wanted: ExecutorName | Executor | None, workers: int | None, task: object
) -> Iterator[Executor]:
    """Open an executor by name, or pass one through: it stays open for whoever handed it over.

    Parameters
    ----------
    wanted : "serial", "threads", "processes", an Executor or None
        None is serial. Processes are spawned, never forked, and end with their parent, even if
        that is killed. A script that uses them needs `if __name__ == "__main__":`.
    workers : int, from 1, or None
        How many, for a name; None is one for each processor.
    task : object
        What will be computed: it must be picklable where it leaves this process.
    """
    if isinstance(wanted, ProcessPoolExecutor) or wanted == "processes":
        _require_picklable(task)
    if isinstance(wanted, Executor):
        if workers is not None:
            raise InputError("workers", "absent where an executor is handed over", workers)
        yield wanted
        return
    name = "serial" if wanted is None else choice("executor", wanted, ExecutorName)
    count = _processors() if workers is None else integer("workers", workers, 1)
    if name == "serial":
        yield SerialExecutor()
    elif name == "threads":
        with _closing(ThreadPoolExecutor(count)) as pool:
            yield pool
    else:
        with _processes(count) as pool:
            yield pool


def worker_count(executor: Executor) -> int:
    """Say how many blocks an executor computes at a time, as far as it can be asked."""
    for name in ("workers", "_max_workers"):  # ours, and that of the standard library
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    return _processors()


def _processors() -> int:
    """Count the processors that this process may use, which may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _closing(pool: Executor) -> Iterator[Executor]:
    """Wait for what runs at the end, but not after an error: then the error comes first."""
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _processes(count: int) -> Iterator[Executor]:
    """Open spawned processes tied to a pipe: they end when its other end closes, or dies with us.

    A pool of the standard library alone would leave its workers behind when its parent is killed.
    """
    context = get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, context, _start_worker, (theirs,))
    try:
        with _closing(pool):
            yield pool
    finally:
        ours.close()
        theirs.close()


def _start_worker(alive: Connection) -> None:
    """Leave interrupts to the parent, and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    try:
        alive.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


def _require_picklable(task: object) -> None:
    try:
        pickle.dumps(task)
    except Exception as error:  # a task's own __reduce__ may raise anything
        reason = " ".join(str(error).split())
        cure = "Define it at the top of a module, or use threads."
        raise InputError("task", "picklable for processes", reason, cure=cure) from None
