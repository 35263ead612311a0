"""Blocks on a Dask cluster. The only file that knows Dask, which is loaded when it is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from simtrack.errors import DataError, InputError, MissingExtra

__all__ = ["DaskExecutor"]

P = ParamSpec("P")
R = TypeVar("R")
_PATIENCE_S = 30
_ADDRESS = re.compile(r"inproc://.+|.+:\d+/?")


class DaskExecutor(Executor):
    """An executor whose workers are those of a Dask scheduler.

    Workers must have the same simtrack: a block computed by other code is refused. A worker that is
    lost is no harm, since Dask gives its block to another one and blocks are pure.

    Parameters
    ----------
    cluster : str or cluster
        The address of a scheduler ("tcp://host:8786"), or a cluster of `distributed` such as
        LocalCluster, which stays open.
    patience_s : float
        How many seconds to wait for the scheduler and for its first worker.

    Raises
    ------
    MissingExtra
        Without `distributed`.
    InputError
        The address has no port.
    DataError
        If no scheduler answers or no worker comes.

    Examples
    --------
    >>> with DaskExecutor("tcp://host:8786") as dask:               # doctest: +SKIP
    ...     run_blocks(task, block_schedule(10_000), folder="blocks", executor=dask)
    """

    def __init__(self, cluster: Any, *, patience_s: float = _PATIENCE_S) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise MissingExtra("distributed", "dask") from None
        if isinstance(cluster, str) and not _ADDRESS.fullmatch(cluster):  # else a minute is lost
            raise InputError("dask", "an address such as tcp://host:8786", repr(cluster))
        client = None
        try:
            client = distributed.Client(cluster, timeout=patience_s, set_as_default=False)
            client.wait_for_workers(1, timeout=patience_s)
        except (OSError, TimeoutError, ValueError) as error:
            if client is not None:
                client.close()
            raise DataError(
                f"no Dask worker at {cluster}: {error}. Check the address and that workers run."
            ) from None
        self._client = client
        # Not pure in Dask's sense: it would keep results by a hash of the arguments.
        self._executor = client.get_executor(pure=False)

    @property
    def workers(self) -> int:
        """How many blocks the cluster computes at a time."""
        return max(1, sum(map(int, self._client.nthreads().values())))

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Send one call to the cluster."""
        future: Future[R] = self._executor.submit(fn, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; without `wait` or with `cancel_futures` its work for us is dropped."""
        self._executor.shutdown(wait=wait and not cancel_futures)
        self._client.close()
