"""A small task for tests of long runs: paired cluster t of two agents of one rate.

Run as a script it computes blocks into a folder, so that it can be killed:
blocks_standin.py FOLDER EXECUTOR PAUSE_S

In other processes the hash of the code is the one that the test names, so that a file edited while
the tests run does not look like other code: that is tested on its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing import parent_process

import numpy as np

from simtrack.agents import ClusteredAgent
from simtrack.design import Design
from simtrack.runs import blocks, checkpoint_manifest
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_schedule import block_schedule

CODE = "BLOCKS_STANDIN_CODE"
if CODE in os.environ and (parent_process() or __name__ in ("__main__", "__mp_main__")):
    blocks.source_hash = checkpoint_manifest.source_hash = lambda: os.environ[CODE]


@dataclass(frozen=True)
class PairedT:
    """Difference of two arms, its cluster t and whether it rejects, replicate by replicate."""

    clusters: int = 6
    trials: int = 10
    rates: tuple[float, float] = (0.9, 0.7)
    seed: int = 7
    pause_s: float = 0.0

    def __call__(self, replicates: range) -> dict[str, np.ndarray]:
        time.sleep(self.pause_s)
        design = Design(self.clusters, self.trials)
        passes = [
            ClusteredAgent(rate, icc=0.1)
            .counts(design, replicates, self.seed + arm)
            .cells[:, :, 0, 1]
            for arm, rate in enumerate(self.rates)
        ]
        differences = (passes[0] - passes[1]) / self.trials
        means = differences.sum(axis=1) / self.clusters
        squares = ((differences - means[:, None]) ** 2).sum(axis=1)
        errors = np.sqrt(squares / (self.clusters * (self.clusters - 1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = means / errors  # NaN where all differences are 0: its bits must survive too
        return {
            "difference": means,
            "t": t,
            "differences": differences,
            "rejects": np.abs(t) > 2.571,
        }

    def identity(self) -> dict[str, object]:
        return {
            "design": {"clusters": self.clusters, "trials": self.trials},
            "agent": {"rates": list(self.rates)},
            "analysis": "paired cluster t",
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Dying(PairedT):
    """The same, but the process ends in block 2 as if it had run out of memory."""

    dies: bool = True

    def __call__(self, replicates: range) -> dict[str, np.ndarray]:
        if self.dies and replicates.start == 2 * BLOCK:
            os._exit(9)
        return PairedT.__call__(self, replicates)


class Failing(PairedT):
    """The same, but block 1 fails."""

    def __call__(self, replicates: range) -> dict[str, np.ndarray]:
        if replicates.start == BLOCK:
            raise ZeroDivisionError("division by zero")
        return PairedT.__call__(self, replicates)


N_REPLICATES, BLOCK = 200, 10
SCHEDULE = block_schedule(N_REPLICATES, BLOCK)

if __name__ == "__main__":
    # A job in the background of a script is born deaf to interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, executor, pause_s = sys.argv[1:]
    run_blocks(
        PairedT(pause_s=float(pause_s)), SCHEDULE, folder=folder, executor=executor,
        workers=None if executor == "serial" else 2,
    )  # fmt: skip
