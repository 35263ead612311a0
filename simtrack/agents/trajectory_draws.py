"""Drawn dialogues: every report's number, bin and end, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.trajectory_law import BINS, logit_means
from simtrack.kernels.logistic import logistic
from simtrack.rng import Stream
from simtrack.rng.plan import Plan

if TYPE_CHECKING:
    from simtrack.agents.trajectory import TrajectoryAgent

__all__ = [
    "CLEAN",
    "KINDS_OF_REPORT",
    "MALFORMED",
    "OMITTED",
    "Reports",
    "checked_draws",
    "draw_reports",
    "read_as",
]

#: Checkpoints of a dialogue, in their order.
KINDS_OF_REPORT = ("before", "mid", "completed")
#: Ends of a report; numbers from 1 on are the wrong values of its row.
CLEAN, OMITTED, MALFORMED = 0, -1, -2
_LONE = len(BINS)  # the bin of a mid-task report that is the only one

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reports:
    """All reports of one kind, one entry each, by draw, cluster and place.

    Parameters
    ----------
    draw, cluster, place, bin, end : int64 arrays, shape (reports,)
        place from 0 in the dialogue; bin 0-4, 5 for a lone mid-task report and for other kinds;
        end as in `CLEAN`, `OMITTED`, `MALFORMED`.
    wrapped : bool array, shape (reports,)
        Whether the reply came in an envelope that a strict reader rejects.
    """

    draw: Ints
    cluster: Ints
    place: Ints
    bin: Ints
    end: Ints
    wrapped: NDArray[np.bool_]


def checked_draws(draws: int | range, threads: int, chunk: int | None) -> range:
    """Check what was asked for, as every draw of a stream does, and give the replicates."""
    zero = np.uint64(0)
    plan = Plan.of((zero, zero), draws, 1, threads, chunk)
    return range(plan.first, plan.first + plan.n_replicates)


def draw_reports(
    agent: TrajectoryAgent,
    own: tuple[tuple[str, str], ...],
    repetition: int,
    clusters: int,
    draws: range,
    seed: int,
    threads: int,
) -> dict[str, Reports]:
    """Draw one dialogue for every draw and cluster, in one cell and repetition.

    A task's deviate is the same in all cells and repetitions; a dialogue's is its own.
    """
    how: dict[str, Any] = {"replicates": draws, "clusters": clusters, "threads": threads}
    cell = Stream(seed, "trajectory-agent", *own, repetition=repetition)
    task = Stream(seed, "trajectory-agent-task").normal(**how)[:, :, 0]
    dialogue = cell.labelled(part="effect").normal(**how)[:, :, 0]
    spread = agent.task_sd * task + agent.trajectory_sd * dialogue
    found = {}
    for kind in KINDS_OF_REPORT:
        law = np.add.accumulate(np.array(agent.law(kind)))
        number = cell.labelled(part="number", kind=kind).uniform(**how)[:, :, 0]
        reports = np.searchsorted(law / law[-1], number, side="right")
        r, g, place = np.nonzero(np.arange(law.size - 1) < reports[:, :, None])
        n = reports[r, g]
        bins = np.full(r.size, _LONE, dtype=np.int64)
        if kind == "mid":
            several = n > 1
            at = len(BINS) * place[several] // (n[several] - 1)
            bins[several] = np.minimum(len(BINS) - 1, at)
        size = law.size - 1
        ends, wraps = (
            cell.labelled(part=part, kind=kind).uniform(**how, draws_each=max(1, size))
            for part in ("end", "envelope")
        )
        share = _accuracy(agent, kind, bins, spread[r, g])
        end = _end(agent, kind, ends[r, g, place], share)
        wrapped = wraps[r, g, place] < agent.envelope
        found[kind] = Reports(r + draws.start, g, place, bins, end, wrapped)
    return found


def read_as(reports: Reports, view: str) -> Reports:
    """What a view makes of the replies: strict reading rejects a report in an envelope."""
    if view == "stripped":
        return reports
    lost = reports.wrapped & (reports.end >= CLEAN)
    end: NDArray[np.int64] = np.where(lost, MALFORMED, reports.end)
    return Reports(reports.draw, reports.cluster, reports.place, reports.bin, end, reports.wrapped)


def _accuracy(agent: TrajectoryAgent, kind: str, bins: Ints, spread: Floats) -> Floats:
    """Give each report's probability of being right; only mid-task ones vary by dialogue."""
    if kind != "mid":
        return np.full(bins.size, agent.before if kind == "before" else agent.completed)
    rates = (*agent.mid, agent.mid[0])
    if agent.sd == 0.0:
        return np.array(rates)[bins]
    mean = logit_means(rates, agent.sd)[bins]
    fixed = ~np.isfinite(mean)
    shares = logistic(np.where(fixed, 0.0, mean) + spread)
    shares[fixed] = np.array(rates)[bins][fixed]
    return shares


def _end(agent: TrajectoryAgent, kind: str, number: Floats, share: Floats) -> Ints:
    """Cut [0, 1): right first, then wrong values in order, ill-formed, and no report."""
    steps = _steps(agent, kind)
    rest = np.where(share < 1.0, (number - share) / np.where(share < 1.0, 1.0 - share, 1.0), 0.0)
    which = np.searchsorted(steps, rest, side="right")
    codes = [*range(1, len(steps)), MALFORMED, OMITTED]
    end = np.array(codes, dtype=np.int64)[np.minimum(which, len(codes) - 1)]
    return np.where(number < share, CLEAN, end)


def _steps(agent: TrajectoryAgent, kind: str) -> Sequence[float]:
    """Cumulative shares among failures: each wrong value, then ill-formed; the rest is omitted."""
    wrong = 1.0 - agent.omitted - agent.malformed
    steps, total = [], 0.0
    for _, share in agent.wrong_values(kind):
        total += share * wrong
        steps.append(total)
    return [*steps, total + agent.malformed]
