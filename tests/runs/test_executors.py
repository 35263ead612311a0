"""Serial, threads, spawned processes and executors that are handed over."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from simtrack.errors import DataError, InputError
from simtrack.runs import blocks
from simtrack.runs.blocks import run_blocks
from simtrack.runs.executors import SerialExecutor, open_executor, worker_count
from simtrack.runs.provenance import source_hash

HERE = pathlib.Path(__file__).parent


def test_serial_keeps_errors_in_the_future_and_lets_interrupts_out():
    def fail(kind):
        raise kind

    future = SerialExecutor().submit(fail, KeyError)
    with pytest.raises(KeyError):
        future.result()
    with pytest.raises(KeyboardInterrupt):
        SerialExecutor().submit(fail, KeyboardInterrupt)


def test_an_executor_that_is_handed_over_stays_open(task, standin):
    with ThreadPoolExecutor(2) as pool:
        found = run_blocks(task, standin.SCHEDULE, executor=pool)
        assert pool.submit(max, 1, 2).result() == 2
        with pytest.raises(InputError, match="workers must be absent where an executor"):
            run_blocks(task, standin.SCHEDULE, executor=pool, workers=2)
        assert worker_count(pool) == 2
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256
    assert worker_count(SerialExecutor()) == 1


def test_what_cannot_be_pickled_is_refused_before_any_process_starts():
    schedule = [range(3)]
    message = r"task must be picklable for processes, got .*lambda.*Define it at the top"
    with pytest.raises(InputError, match=message):
        run_blocks(lambda r: {}, schedule, executor="processes")
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(InputError, match=message),
    ):
        run_blocks(lambda r: {}, schedule, executor=pool)


def test_a_worker_that_dies_is_told_and_the_folder_resumes(standin, task, tmp_path):
    dying = standin.Dying()
    message = r"the workers are gone: .*[012] of 20 blocks are kept in .*; the same call resumes\."
    with pytest.raises(DataError, match=message):
        run_blocks(dying, standin.SCHEDULE, folder=tmp_path, executor="processes", workers=1)
    again = run_blocks(standin.Dying(dies=False), standin.SCHEDULE, folder=tmp_path)
    assert again.complete
    assert again.sha256 == run_blocks(task, standin.SCHEDULE).sha256


@pytest.mark.slow  # and only while nobody edits the package
def test_a_spawned_process_hashes_the_same_code(task):
    source_hash.cache_clear()
    with open_executor("processes", 1, task) as pool:
        assert pool.submit(source_hash).result() == source_hash()


def test_other_code_in_a_worker_is_refused(task, standin, monkeypatch):
    with open_executor("processes", 1, task) as pool:
        monkeypatch.setattr(blocks, "source_hash", lambda: "0" * 64)
        with pytest.raises(DataError, match="a worker runs other code than this process"):
            run_blocks(task, standin.SCHEDULE, executor=pool)


@pytest.mark.skipif(not pathlib.Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_a_killed_or_interrupted_parent(task, standin, tmp_path, sent):
    command = [sys.executable, str(HERE / "blocks_standin.py"), str(tmp_path), "processes", "0.6"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as parent:
        wait_for(lambda: parent.poll() is not None or list(tmp_path.glob("block-*.npz")))
        children = descendants(parent.pid)
        assert len(children) >= 2
        if sent == signal.SIGINT:  # a terminal interrupts the whole group: workers stay calm
            wait_for(lambda: all(ignores_interrupts(pid) for pid in children))
            seen = len(list(tmp_path.glob("block-*.npz")))
            for pid in children:
                os.kill(pid, sent)
            wait_for(
                lambda: parent.poll() is not None or len(list(tmp_path.glob("block-*"))) > seen + 1
            )
            assert parent.poll() is None
        parent.send_signal(sent)
        said = parent.stderr.read()
    wait_for(lambda: not any(alive(pid) for pid in children))
    assert parent.returncode == -sent
    if sent == signal.SIGINT:
        assert f"blocks are kept in {tmp_path}; the same call resumes" in said
        assert said.count("Traceback") == 1  # the parent's own: no worker wrote one
    found = run_blocks(task, standin.SCHEDULE, folder=tmp_path)
    assert 1 <= found.n_resumed < len(standin.SCHEDULE)
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256


def wait_for(condition, patience_s=60):
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def descendants(pid):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def ignores_interrupts(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) & 1 << (signal.SIGINT - 1))


def alive(pid):
    try:
        os.kill(pid, 0)
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
