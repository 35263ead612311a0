"""Drawn dialogues: every report's number, bin and end as flat arrays, and as a trial table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions
from simtrack.agents.trajectory.laws import BINS, KINDS_OF_REPORT, DialogueLaws, logit_means
from simtrack.counts import Factor
from simtrack.kernels.logistic import logistic
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.rng.plan import Plan
from simtrack.taxonomy import STAGEIF, TRAJECTORY

__all__ = [
    "CLEAN",
    "MALFORMED",
    "OMITTED",
    "ReportRow",
    "Reports",
    "cell_of",
    "checked_draws",
    "draw_reports",
    "read_as",
    "trajectories",
    "trajectory_records",
]

Floats = NDArray[np.float64]
#: Cluster, repetition, place of the kind, place in the dialogue, labels, outcome code.
ReportRow = tuple[int, int, int, int, dict[str, str], str]
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
    agent: DialogueLaws,
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
    how: DrawOptions = {"replicates": draws, "clusters": clusters, "threads": threads}
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


def _accuracy(agent: DialogueLaws, kind: str, bins: Ints, spread: Floats) -> Floats:
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


def _end(agent: DialogueLaws, kind: str, number: Floats, share: Floats) -> Ints:
    """Cut [0, 1): right first, then wrong values in order, ill-formed, and no report."""
    steps = _steps(agent, kind)
    rest = np.where(share < 1.0, (number - share) / np.where(share < 1.0, 1.0 - share, 1.0), 0.0)
    which = np.searchsorted(steps, rest, side="right")
    codes = [*range(1, len(steps)), MALFORMED, OMITTED]
    end = np.array(codes, dtype=np.int64)[np.minimum(which, len(codes) - 1)]
    return np.where(number < share, CLEAN, end)


def _steps(agent: DialogueLaws, kind: str) -> Sequence[float]:
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


def trajectory_records(rows: list[ReportRow], labels: Sequence[Mapping[str, str]]) -> Records:
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
