"""Draw studies from hard populations, and count how often each interval holds the truth.

usage: python studies/hard_populations/hard.py [OUT_FOLDER]

Writes table.csv, one row a cell and method, and table.md; about four minutes of one core.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from simtrack.agents import PairedAgent
from simtrack.counts import Totals
from simtrack.files import write_text
from simtrack.inference import (
    bounded_mean_limits,
    cluster_t,
    effective_size,
    newcombe_clustered,
    paired_difference,
    wilson_clustered,
    wilson_guarded,
    wilson_limits,
)
from simtrack.inference.intervals import t_criticals
from simtrack.rng import Stream
from simtrack.runs.study import load_study

PLACE = Path(__file__).resolve().parent
HEADS = ("family", "law", "clusters", "trials", "target", "method", "coverage", "missed_low",
         "missed_high", "width", "refused", "replicates")  # fmt: skip
#: Trials of clusters of unequal sizes, over and over.
UNEQUAL = (1, 1, 2, 3, 5, 20)
SHAPES = {"beta": (8.0, 2.0), "U-shaped": (0.3, 0.3)}


class Cell(NamedTuple):
    """Simulated studies of one population: sums and trials by cluster, and the truth."""

    top: np.ndarray
    bottom: np.ndarray
    square: np.ndarray
    truth: float


# ---- graded scores: one law of scores, shared within clusters or not
def graded(law: str, u: np.ndarray) -> np.ndarray:
    """Turn uniform numbers of shape (..., 2) into scores of this law."""
    first, second = u[..., 0], u[..., 1]
    if law == "3 % at 0, rest (.9, 1)":
        return np.where(first < 0.03, 0.0, 0.9 + 0.1 * second)
    if law == "near 0 or 1":
        return np.where(first < 0.1, 0.02 * second, 1.0 - 0.02 * second)
    if law == "constant .7":
        return np.full(first.shape, 0.7)
    if law == "95 % at 1, rest .5":
        return np.where(first < 0.05, 0.5, 1.0)
    a, b = {"U-shaped": (0.2, 0.2), "continuous": (8.0, 2.0), "narrow": (20.0, 20.0),
            "fifths": (8.0, 2.0)}[law]  # fmt: skip
    drawn = stats.beta.ppf(first, a, b)
    return np.rint(5.0 * drawn) / 5.0 if law == "fifths" else drawn


def mean_of(law: str) -> float:
    """The mean of a law of graded scores."""
    if law == "fifths":
        return sum(float(stats.beta.sf((2 * j - 1) / 10, 8, 2)) for j in range(1, 6)) / 5.0
    return {"3 % at 0, rest (.9, 1)": 0.97 * 0.95, "U-shaped": 0.5, "near 0 or 1": 0.892,
            "constant .7": 0.7, "continuous": 0.8, "narrow": 0.5,
            "95 % at 1, rest .5": 0.975}[law]  # fmt: skip


def graded_cell(stream: Stream, law: str, clusters: int, trials: str, runs: int) -> Cell:
    """One trial a cluster; or unequal clusters whose trials are alike, or independent ("own")."""
    sizes = np.resize(UNEQUAL, clusters) if trials != "one" else np.ones(clusters, dtype=int)
    most = int(sizes.max()) if trials == "own" else 1
    u = stream.uniform(replicates=runs, clusters=clusters, draws_each=2 * most)
    scores = graded(law, u.reshape(runs, clusters, most, 2))
    used = np.arange(most) < (sizes[:, None] if trials == "own" else 1)
    times = 1.0 if trials == "own" else sizes
    top = (scores * used).sum(axis=2) * times
    square = (scores**2 * used).sum(axis=2) * times
    bottom = np.broadcast_to(sizes.astype(float), top.shape)
    return Cell(np.minimum(top, bottom), bottom, square, mean_of(law))


# ---- 0/1 trials: clusters are impossible, certain, of one rate, or of beta rates
def parts(law: str) -> list[tuple[float, float | tuple[float, float]]]:
    """Give the shares of a population of clusters, each with its rate or its beta law."""
    if law in SHAPES:
        return [(1.0, SHAPES[law])]
    kind, _, value = law.partition(" ")
    if kind == "beta":  # an intracluster correlation of .3
        rate = float(value)
        return [(1.0, (rate * 7.0 / 3.0, (1.0 - rate) * 7.0 / 3.0))]
    if kind == "pure":
        return [(float(value), 1.0), (1.0 - float(value), 0.0)]
    head, _, rest = law.partition(", rest ")
    share, _, what = head.partition(" % ")
    few = int(share) / 100.0
    other = SHAPES[rest] if rest in SHAPES else float(rest)
    return [(few, 1.0 if what == "certain" else 0.0), (1.0 - few, other)]


def passes(stream: Stream, law: str, sizes: np.ndarray, runs: int) -> np.ndarray:
    """Draw passes of each cluster, shape (runs, clusters): first its part, then its trials."""
    clusters = len(sizes)
    u = stream.labelled(what="part").uniform(replicates=runs, clusters=clusters)[:, :, 0]
    out, start = np.zeros((runs, clusters), dtype=np.int64), 0.0
    for place, (share, rate) in enumerate(parts(law)):
        own = stream.labelled(what=f"trials {place}")
        if isinstance(rate, tuple):
            drawn = own.beta_binomial(sizes, *rate, replicates=runs, clusters=clusters)
        else:
            drawn = own.binomial(sizes, rate, replicates=runs, clusters=clusters)
        out = np.where((start <= u) & (u < start + share), drawn, out)
        start += share
    return out


def expected(law: str, value: Callable[[float], float], moment: Callable[..., float]) -> float:
    """Average over the population: `value` of a rate, `moment` of a beta law."""
    return sum(s * (moment(*r) if isinstance(r, tuple) else value(r)) for s, r in parts(law))


def trials_cell(stream: Stream, law: str, clusters: int, trials: str, runs: int) -> Cell:
    """Clusters of so many 0/1 trials."""
    sizes = np.resize(UNEQUAL if trials == "unequal" else int(trials), clusters)
    top = passes(stream, law, sizes, runs).astype(float)
    truth = expected(law, lambda p: p, lambda a, b: a / (a + b))
    return Cell(top, np.broadcast_to(sizes.astype(float), top.shape), top, truth)


def pass_cell(passed: np.ndarray, law: str, n: int, k: int, rule: str) -> Cell:
    """Estimates of pass@k or pass^k of each task, as one score a task."""
    if rule == "all":
        table = [math.comb(c, k) / math.comb(n, k) for c in range(n + 1)]
        truth = expected(law, lambda p: p**k, lambda a, b: beta_power(a, b, k))
    else:
        table = [1.0 - math.comb(n - c, k) / math.comb(n, k) for c in range(n + 1)]
        truth = expected(law, lambda p: 1 - (1 - p) ** k, lambda a, b: 1 - beta_power(b, a, k))
    top = np.array(table)[passed]
    return Cell(top, np.ones(top.shape), top**2, truth)


def beta_power(a: float, b: float, k: int) -> float:
    """E p^k of a beta law."""
    return math.prod((a + j) / (a + b + j) for j in range(k))


# ---- intervals, of all simulated studies at once
def totals_of(cell: Cell) -> Totals:
    columns = tuple((str(r),) for r in range(len(cell.top)))
    clusters = tuple(str(g) for g in range(cell.top.shape[1]))
    return Totals(cell.top.T, cell.bottom.T, cell.square.T, clusters, columns, ("study",))


def capped(totals: Totals, *, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson with no more effective trials than clusters (Kish's number, by their weight)."""
    found = effective_size(totals, guard=True)
    n = np.minimum(found.trials, found.df + 1.0)
    return wilson_limits(found.rates.rate, n, t_criticals(level, "two-sided", found.df))


FRACTIONS = np.array([(j + 0.5) / 48 for j in range(48)]) ** 1.5


def betting(cell: Cell, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The bounded mean by betting at one look, a mixture over fractions, clusters scaled alike."""
    low = richest(cell.top, cell.bottom, (1.0 - level) / 2.0)
    return low, 1.0 - richest(cell.bottom - cell.top, cell.bottom, (1.0 - level) / 2.0)


def richest(x: np.ndarray, m: np.ndarray, alpha: float) -> np.ndarray:
    most = m.max(axis=1, keepdims=True)
    low, high = np.zeros(len(x)), np.maximum(x.sum(axis=1) / m.sum(axis=1), 1e-12)
    for _ in range(30):
        theta = 0.5 * (low + high)[:, None]
        gain = np.zeros((len(x), FRACTIONS.size))
        for g in range(x.shape[1]):
            y = 1.0 - m[:, g] / most[:, 0] + x[:, g] / most[:, 0] / theta[:, 0]
            gain += np.log1p(FRACTIONS * (y - 1.0)[:, None])
        holds = np.exp(gain).mean(axis=1) >= 1.0 / alpha
        low, high = np.where(holds, theta[:, 0], low), np.where(holds, high, theta[:, 0])
    return low


def ends_of(method: str, cell: Cell, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every study's interval, shape (studies,) each."""
    if method == "bounded-mean":
        return bounded_mean_limits(cell.top, cell.bottom, level=level)
    if method == "betting":
        return betting(cell, level)
    totals = totals_of(cell)
    if method == "wilson-capped":
        return capped(totals, level=level)
    known: Mapping[str, Any] = {"wilson-guarded": wilson_guarded, "cluster-t": cluster_t,
                                "wilson-clustered": wilson_clustered}  # fmt: skip
    found = known[method](totals, level=level)
    return found.low, found.high


def counted(ends: tuple[np.ndarray, np.ndarray], truth: float) -> list[str]:
    """Coverage among intervals that were given, misses on each side, width and refusals."""
    low, high = ends
    given = ~(np.isnan(low) | np.isnan(high))
    low, high, slack = low[given], high[given], 1e-9
    below, above = high < truth - slack, low > truth + slack
    width = np.clip(high, -1.0, 1.0) - np.clip(low, -1.0, 1.0)
    refused = [f"{1.0 - given.mean():.4f}", str(len(given))]
    if not given.any():
        return ["", "", "", "", *refused]
    share = [1.0 - below.mean() - above.mean(), above.mean(), below.mean(), width.mean()]
    return [*(f"{v:.4f}" for v in share), *refused]


# ---- pairs of arms
def pairs(
    law: str, clusters: int, trials: int, runs: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Passes of both arms, shape (runs, clusters) each, and the difference of their rates."""
    if law.startswith("5 % fail"):
        stream = Stream(seed, "hard populations", family="paired", clusters=clusters, trials=trials)
        sizes = np.full(clusters, trials)
        laws = {"a": "0 % impossible, rest .95", "b": "5 % impossible, rest .95"}
        first, second = (passes(stream.labelled(arm=a), p, sizes, runs) for a, p in laws.items())
        return first, second, 0.05 * 0.95
    rates, *more = law.removeprefix("equal ").split(", ")
    named = {name: float(value) for name, value in (part.split(" ") for part in more)}
    one, _, two = rates.partition(" and ")
    agent = PairedAgent.from_rates(float(one), float(two or one), icc=named.get("ICC", 0.0),
                                   slope_sd=named.get("slope", 0.0))  # fmt: skip
    first, second = agent.successes([trials] * clusters, runs, seed)
    truth = agent.rates()
    return first, second, truth[0] - truth[1]


def paired_ends(
    method: str, first: np.ndarray, second: np.ndarray, trials: int, level: float
) -> tuple[np.ndarray, np.ndarray]:
    if method == "bounded-mean of differences":
        gaps = 0.5 + (first - second) / (2.0 * trials)  # from [-1, 1] to [0, 1]
        low, high = bounded_mean_limits(gaps, np.ones(gaps.shape), level=level)
        return 2.0 * low - 1.0, 2.0 * high - 1.0
    interval = {"paired-cluster-t": paired_difference, "newcombe-clustered": newcombe_clustered}
    found = []
    for x in np.stack([first, second], axis=2).astype(float):
        ends = interval[method](Totals.from_arrays(x, np.full(x.shape, trials)), level=level)
        found.append([math.nan if e is None else float(e) for e in (ends.low, ends.high)])
    return tuple(np.array(found).T)


# ---- the study
def rows(settings: Mapping[str, Any], families: Sequence[str] = ()) -> Iterator[list[str]]:
    """Give every row of table.csv, or those of some families."""
    run = settings["run"]
    most, few, level, seed = (run[n] for n in ("replicates", "slow_replicates", "level", "seed"))
    for family, make in (("graded", graded_cell), ("trials", trials_cell)):
        for law in settings[family]["laws"] if family in families or not families else ():
            for clusters in settings[family]["clusters"]:
                for trials in settings[family]["trials"]:
                    stream = Stream(seed, "hard populations", family=family, law=law,
                                    clusters=clusters, trials=trials)  # fmt: skip
                    cell = make(stream, law, clusters, trials, most)
                    for method in settings[family]["methods"]:
                        part = few if method in run["slow"] else most
                        shown = Cell(*(a[:part] for a in cell[:3]), cell.truth)
                        yield [family, law, str(clusters), trials, "mean", method,
                               *counted(ends_of(method, shown, level), cell.truth)]  # fmt: skip
    if "pass_k" in families or not families:
        yield from pass_rows(settings["pass_k"], most, level, seed)
    if "paired" in families or not families:
        asked = settings["paired"]
        for law in asked["laws"]:
            for clusters, trials in asked["designs"]:
                first, second, truth = pairs(law, clusters, trials, most, seed)
                for method in asked["methods"]:
                    ends = paired_ends(method, first, second, trials, level)
                    yield ["paired", law, str(clusters), str(trials), "difference", method,
                           *counted(ends, truth)]  # fmt: skip


def pass_rows(asked: Mapping[str, Any], runs: int, level: float, seed: int) -> Iterator[list[str]]:
    for law in asked["laws"]:
        for clusters in asked["clusters"]:
            for k in asked["k"]:
                for n in dict.fromkeys({"k": k, "2k": 2 * k, "10": 10}[t] for t in asked["trials"]):
                    stream = Stream(seed, "hard populations", family="pass_k", law=law,
                                    clusters=clusters, trials=n)  # fmt: skip
                    passed = passes(stream, law, np.full(clusters, n), runs)
                    for rule, sign in (("any", "@"), ("all", "^")):
                        cell = pass_cell(passed, law, n, k, rule)
                        for method in asked["methods"]:
                            yield ["pass_k", law, str(clusters), str(n), f"pass{sign}{k}", method,
                                   *counted(ends_of(method, cell, level), cell.truth)]  # fmt: skip


# ---- the summary
TITLES = {
    "graded": "Mean of graded scores",
    "trials": "Rate of 0/1 trials",
    "pass_k": "pass@k and pass^k",
    "paired": "Paired difference of two rates",
}
#: Cells that a reader meets: family, law, clusters, trials, target.
SHOWN = (
    ("graded", "3 % at 0, rest (.9, 1)", "12", "one", "mean"),
    ("graded", "3 % at 0, rest (.9, 1)", "30", "one", "mean"),
    ("graded", "3 % at 0, rest (.9, 1)", "67", "one", "mean"),
    ("graded", "continuous", "30", "one", "mean"),
    ("graded", "fifths", "30", "one", "mean"),
    ("trials", "beta .9", "12", "10", "mean"),
    ("trials", "beta .9", "67", "10", "mean"),
    ("trials", "pure .95", "30", "10", "mean"),
    ("trials", "3 % impossible, rest .95", "30", "10", "mean"),
    ("trials", "10 % impossible, rest .95", "12", "10", "mean"),
    ("trials", "beta .98", "67", "1", "mean"),
    ("pass_k", "10 % impossible, rest .5", "12", "8", "pass@4"),
    ("pass_k", "30 % impossible, rest beta", "30", "8", "pass@4"),
    ("pass_k", "60 % impossible, rest beta", "30", "8", "pass^4"),
    ("paired", "equal .9", "12", "20", "difference"),
    ("paired", ".98 and .9, ICC .2, slope .5", "12", "20", "difference"),
    ("paired", ".98 and .9, ICC .2, slope .5", "30", "1", "difference"),
    ("paired", ".99 and .97, ICC .2", "30", "1", "difference"),
    ("paired", "5 % fail in one arm, rest .95", "12", "20", "difference"),
)


def summary(table: Sequence[Mapping[str, str]], title: str) -> str:
    """Lay out the least and the mean coverage by method and clusters, then some cells."""
    told = [row for row in table if row["coverage"]]
    lines = [
        f"# {title}",
        "",
        "Coverage of 95 % intervals: mean over the cells / least; below it the mean width.",
        "The Monte Carlo error of a cell is .007 (betting .013): see `table.csv`.",
    ]
    for family, name in TITLES.items():
        mine = [row for row in told if row["family"] == family]
        sizes = sorted({int(row["clusters"]) for row in mine})
        lines += ["", f"## {name}", "", f"{name_cells(mine)} cells.", "",
                  "| method | " + " | ".join(f"G = {g}" for g in sizes) + " |",
                  "|---|" + "---|" * len(sizes)]  # fmt: skip
        for method in dict.fromkeys(row["method"] for row in mine):
            shown = []
            for g in sizes:
                cells = [r for r in mine if (r["method"], r["clusters"]) == (method, str(g))]
                held, width = ([float(r[n]) for r in cells] for n in ("coverage", "width"))
                shown.append(f"{sum(held) / len(held):.3f} / {min(held):.3f}<br>"
                             f"{sum(width) / len(width):.3f}")  # fmt: skip
            lines.append(f"| {method} | " + " | ".join(shown) + " |")
    lines += ["", "## Some cells", "", "Coverage (mean width); refused, where an interval is.", ""]
    for family, name in TITLES.items():
        cells = [cell for cell in SHOWN if cell[0] == family]
        methods = list(dict.fromkeys(r["method"] for r in table if r["family"] == family))
        lines += [f"| {name} | clusters | trials | " + " | ".join(methods) + " |",
                  "|---|---|---|" + "---|" * len(methods)]  # fmt: skip
        for cell in cells:
            found = {r["method"]: r for r in table if tuple(r[h] for h in HEADS[:5]) == cell}
            shown = [one_cell(found[m]) for m in methods]
            target = "" if cell[4] in ("mean", "difference") else f", {cell[4]}"
            lines.append(f"| {cell[1]}{target} | {cell[2]} | {cell[3]} | {' | '.join(shown)} |")
        lines.append("")
    return "\n".join(lines)


def name_cells(mine: Sequence[Mapping[str, str]]) -> int:
    return len({tuple(row[h] for h in HEADS[:5]) for row in mine})


def one_cell(row: Mapping[str, str]) -> str:
    refused = "" if row["refused"] == "0.0000" else f", {float(row['refused']):.3f} refused"
    return f"{float(row['coverage']):.3f} ({float(row['width']):.3f}{refused})"


def main(target: str = str(PLACE)) -> None:
    study = load_study(PLACE / "study.toml")
    found = list(rows(study.settings))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADS)
    writer.writerows(found)
    table = [dict(zip(HEADS, row, strict=True)) for row in found]
    write_text(Path(target) / "table.csv", out.getvalue())
    write_text(Path(target) / "table.md", summary(table, study.title))


if __name__ == "__main__":
    main(*sys.argv[1:2])
