"""Exact laws of a dialogue's reports: how many, in which bin, all wrong or all right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.stage.effects import logit_mean
from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.kernels.logistic import logistic
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.rng.plan import Plan
from simtrack.taxonomy import STAGEIF, TRAJECTORY
from simtrack.validate import integer, real

if TYPE_CHECKING:
    from simtrack.agents.trajectory.agent import TrajectoryAgent

__all__ = [
    "BINS",
    "CLEAN",
    "KINDS_OF_REPORT",
    "MALFORMED",
    "OMITTED",
    "Reports",
    "all_alike",
    "bin_counts",
    "bin_of",
    "cell_of",
    "checked_draws",
    "count_law",
    "draw_reports",
    "logit_means",
    "read_as",
    "trajectories",
    "trajectory_records",
]


#: Equal-width bins of a mid-task report's position between the first and the last of its dialogue.
BINS = ("q1", "q2", "q3", "q4", "q5")
_STEP, _REACH = 1 / 16, 10.0
Floats = NDArray[np.float64]


def count_law(
    mean: float, *, size: float | None = None, least: int = 0, most: int = 60
) -> tuple[float, ...]:
    """With which probability does a dialogue have 0, 1, 2, … checkpoints of a kind?

    `least` plus a Poisson number, or with `size` a negative binomial one (variance
    m + m²/size), cut at `most` and scaled to add up to 1.

    Examples
    --------
    >>> law = count_law(3.0, least=2)
    >>> law[:2], round(sum(k * p for k, p in enumerate(law)), 9)
    ((0.0, 0.0), 3.0)
    """
    low = integer("least", least, 0, 1000)
    high = integer("most", most, low, 1000)
    rest = real("mean", mean, low) - low
    log = []
    for k in range(high - low + 1):
        if size is None:
            log.append(k * math.log(rest) - math.lgamma(k + 1) if rest > 0 else -k * 1e9)
        else:
            r = real("size", size, 1e-3, 1e6)
            log.append(
                math.lgamma(k + r) - math.lgamma(k + 1) + k * math.log(rest / (rest + r))
                if rest > 0
                else -k * 1e9
            )
    weights = [math.exp(value - max(log)) for value in log]
    total = sum(weights)
    return (0.0,) * low + tuple(w / total for w in weights)


def bin_of(place: int, reports: int) -> int:
    """In which of the five bins is report `place` (from 0) of a dialogue with so many, two or more?

    Examples
    --------
    >>> [bin_of(i, 6) for i in range(6)]
    [0, 1, 2, 3, 4, 4]
    """
    return min(len(BINS) - 1, len(BINS) * place // (reports - 1))


def bin_counts(most: int) -> NDArray[np.int64]:
    """How many reports of a dialogue with n of them lie in each bin? int64, (most + 1, bins)."""
    found = np.zeros((most + 1, len(BINS)), dtype=np.int64)
    for n in range(2, most + 1):
        for place in range(n):
            found[n, bin_of(place, n)] += 1
    return found


def logit_means(rates: Sequence[float], sd: float) -> Floats:
    """Give the logit mean for each rate; ±inf stands for rates of 0 and 1, which do not vary."""
    ends = {0.0: -math.inf, 1.0: math.inf}
    return np.array([ends[r] if r in ends else logit_mean(r, sd) for r in rates])


def all_alike(
    law: Sequence[float], mid: Sequence[float], sd: float, kept: float
) -> tuple[float, float, float]:
    """How likely are all mid-task reports wrong, all right, and are there two or more at all?

    Parameters
    ----------
    law : sequence of float
        Probability of 0, 1, 2, … mid-task reports.
    mid : sequence of float
        Mean accuracy in each bin.
    sd : float
        SD over dialogues, on the logit scale.
    kept : float
        Share of right reports that the view can read.

    Returns
    -------
    wrong, right, two : float
        Probabilities over all dialogues; the first two include two or more reports.
    """
    if sum(law[2:]) == 0.0:
        raise InputError("mid_law", "with two or more reports at times", tuple(law))
    z = np.arange(-_REACH, _REACH + _STEP / 2, _STEP) if sd > 0 else np.zeros(1)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    with np.errstate(over="ignore"):
        shares = kept / (1.0 + np.exp(-(logit_means(mid, sd)[:, None] + sd * z)))
    times = bin_counts(len(law) - 1)
    wrong = right = 0.0
    for n, chance in enumerate(law):
        if n >= 2 and chance > 0.0:
            power = times[n][:, None]
            wrong += chance * float((weight * np.prod((1.0 - shares) ** power, axis=0)).sum())
            right += chance * float((weight * np.prod(shares**power, axis=0)).sum())
    return wrong, right, float(sum(law[2:]))


# Drawn dialogues: every report's number, bin and end, as flat arrays.
#: Checkpoints of a dialogue, in their order.
KINDS_OF_REPORT = ("before", "mid", "completed")
#: Ends of a report; numbers from 1 on are the wrong values of its row.
CLEAN, OMITTED, MALFORMED = 0, -1, -2
_LONE = len(BINS)  # the bin of a mid-task report that is the only one

Ints = NDArray[np.int64]


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


# Drawn dialogues as the trial table that a reader of their log would give.
def trajectories(records: Records) -> Records:
    """Were a dialogue's mid-task reports all wrong, all right, or both? One row a dialogue.

    Dialogues with fewer than two mid-task reports leave the table, as in StageIF §2.2.

    Parameters
    ----------
    records : Records
        One reading: columns trajectory, cluster, stage and outcome; select a `view` first.
    """
    rows = records.select(stage="POST_OBS")
    names = [n for n in rows.factors if n not in _OF_REPORTS]
    keys = [tuple(rows.factors[n].values()[k] for n in names) for k in range(len(rows))]
    clean = [value == "CLEAN" for value in rows.factor("outcome").values()]
    found: dict[tuple[str | None, ...], list[bool]] = {}
    for key, right in zip(keys, clean, strict=True):
        found.setdefault(key, []).append(right)
    several = {key: rights for key, rights in found.items() if len(rights) > 1}
    columns = {n: [key[k] for key in several] for k, n in enumerate(names)}
    columns["outcome"] = [
        "ALL_RIGHT" if all(rights) else "MIXED" if any(rights) else "ALL_WRONG"
        for rights in several.values()
    ]
    levels = {n: rows.factors[n].levels for n in names} | {"outcome": TRAJECTORY.codes}
    return Records.from_columns(columns, levels=levels, kind="episode")


_OF_REPORTS = ("unit", "duty", "stage", "bin", "gold", "reported", "emitted", "outcome")


def cell_of(label: Mapping[str, str], cells: Sequence[Mapping[str, str]]) -> int:
    """Say in which cell a row with these labels lies."""
    return next(k for k, cell in enumerate(cells) if all(label[n] == v for n, v in cell.items()))


def trajectory_records(rows: list[tuple[Any, ...]], labels: Sequence[Mapping[str, str]]) -> Records:
    """Build the table from (cluster, repetition, kind, place, labels, code) rows."""
    names = list(labels[0])
    columns: dict[str, list[str]] = {
        "cluster": [f"{row[0] + 1}" for row in rows],
        "trajectory": [f"{row[0] + 1}.{row[1] + 1}" for row in rows],
        "unit": [f"{row[0] + 1}.{row[1] + 1}:{row[2] + 1}.{row[3] + 1}" for row in rows],
        "repetition": [f"{row[1] + 1}" for row in rows],
    }
    columns |= {name: [row[4][name] for row in rows] for name in names}
    columns["outcome"] = [row[5] for row in rows]
    levels: dict[str, tuple[str, ...]] = {
        name: tuple(dict.fromkeys(label[name] for label in labels)) for name in names
    }
    levels["outcome"] = STAGEIF.codes
    factors = {n: Factor.from_values(v, levels.get(n)) for n, v in columns.items()}
    value = np.array([float(row[5] == "CLEAN") for row in rows])
    return Records(factors, {"value": value}, kind="checkpoint")
