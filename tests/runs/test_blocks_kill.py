"""Killed at any moment, a run goes on to the same bytes."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from simtrack.rng import Stream
from simtrack.runs.blocks import run_blocks

HERE = pathlib.Path(__file__).parent
N_KILLS, N_QUICK = 20, 3
SEED = 2026
PAUSE_S = 0.02
EXECUTORS = ("serial", "threads", "processes")


@dataclass(frozen=True)
class Moment:
    """Kill when so many blocks are there and so much of a pause more has gone by."""

    n_blocks: int
    wait_s: float
    executor: str


def moments(n_blocks):
    """Draw the schedule of kills: after the first block and before the last but two."""
    shares = Stream(SEED, "kill").uniform(replicates=N_KILLS, clusters=3)[:, :, 0]
    return [
        Moment(1 + int(a * (n_blocks - 4)), 2 * b * PAUSE_S, EXECUTORS[int(c * len(EXECUTORS))])
        for a, b, c in shares.tolist()
    ]


def blocks_in(folder):
    return len(list(folder.glob("block-*.npz")))


def killed(folder, moment, n_blocks):
    """Start a run in its own process and kill it at that moment; say how many blocks it left."""
    command = [sys.executable, str(HERE / "blocks_standin.py"), str(folder), moment.executor]
    with subprocess.Popen([*command, str(PAUSE_S)]) as run:
        while blocks_in(folder) < moment.n_blocks:
            assert run.poll() is None, "it ended before it was killed"
            time.sleep(0.001)
        time.sleep(moment.wait_s)
        run.kill()
    return blocks_in(folder)


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[] if n < N_QUICK else pytest.mark.slow) for n in range(N_KILLS)],
)
def test_killed_after_the_first_block_and_before_the_last(task, standin, tmp_path, number):
    n_blocks = len(standin.SCHEDULE)
    left = killed(tmp_path, moments(n_blocks)[number], n_blocks)
    assert 1 <= left < n_blocks
    found = run_blocks(task, standin.SCHEDULE, folder=tmp_path)
    assert found.n_resumed == left
    assert found.complete
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256


@pytest.mark.slow
def test_killed_again_and_again(task, standin, tmp_path):
    n_blocks = len(standin.SCHEDULE)
    for n_before, executor in zip((1, 5, 9, 13), (*EXECUTORS, "serial"), strict=True):
        left = killed(tmp_path, Moment(n_before, PAUSE_S / 2, executor), n_blocks)
        assert left < n_blocks
    found = run_blocks(task, standin.SCHEDULE, folder=tmp_path)
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256
