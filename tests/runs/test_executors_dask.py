"""Blocks on a Dask cluster; skipped, and counted, where Dask is absent."""

from __future__ import annotations

import sys

import pytest

from simtrack.errors import DataError, InputError, MissingExtra
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_schedule import block_schedule
from simtrack.runs.dask_executor import DaskExecutor

# Dask's own event loops and sockets are its own business.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_without_dask_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'simtrack\[dask\]'"):
        DaskExecutor("tcp://127.0.0.1:8786")


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed")


def local(distributed, **options):
    return distributed.LocalCluster(
        threads_per_worker=1, dashboard_address=None, silence_logs=50, **options
    )


def test_a_local_cluster_gives_the_same_bytes(distributed, standin, task, tmp_path):
    with local(distributed, n_workers=2, processes=True) as cluster:
        with DaskExecutor(cluster) as dask:
            assert dask.workers == 2
            found = run_blocks(task, block_schedule(200, 7), folder=tmp_path, executor=dask)
            failing = pytest.raises(ZeroDivisionError, match="division by zero")
            with failing as caught:
                run_blocks(standin.Failing(), standin.SCHEDULE, executor=dask)
        with DaskExecutor(cluster.scheduler_address) as dask:
            part = run_blocks(task, standin.SCHEDULE, executor=dask, max_seconds=0)
    assert "in block 1 (replicates 10 to 19)" in caught.value.__notes__
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256
    assert part.n_done in (10, 20)
    again = run_blocks(task, block_schedule(200, 7), folder=tmp_path)
    assert again.n_resumed == len(again.schedule)


def test_no_scheduler_and_no_worker_are_refused(distributed):
    with pytest.raises(DataError, match=r"no Dask worker at tcp://127\.0\.0\.1:9: .*Check the"):
        DaskExecutor("tcp://127.0.0.1:9", patience_s=0.2)
    with (
        local(distributed, n_workers=0, processes=False) as cluster,
        pytest.raises(DataError, match=r"no Dask worker at LocalCluster"),
    ):
        DaskExecutor(cluster, patience_s=0.2)


def test_an_address_without_a_port_is_refused_at_once():
    with pytest.raises(InputError, match=r"dask must be an address such as tcp://host:8786"):
        DaskExecutor("nonsense")
