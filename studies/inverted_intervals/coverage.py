"""Coverage of the intervals that invert the sign-flip and the permutation test, without simulation.

python studies/inverted_intervals/coverage.py writes table.csv and table.md beside itself.

A difference takes few values, so every sample of G clusters is a multiset of them: all are gone
through, each with its multinomial probability, and each with the interval that simtrack gives.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from simtrack.counts import Totals
from simtrack.inference import paired_difference, permutation_interval, sign_flip_interval

HERE = Path(__file__).resolve().parent
LEVEL = 0.95

Ends = tuple[float | None, float | None]
Law = dict[int, Fraction]


@dataclass(frozen=True)
class Row:
    """What 95 % intervals do under one law, as shares of all samples."""

    interval: str
    law: str
    clusters: str
    truth: float
    covers: float
    withheld: float
    t_covers: float
    t_withheld: float


def tenths(**shares: str) -> Law:
    """Read a law such as zero=".9", one=".1" as exact probabilities."""
    names = {"minus": -1, "zero": 0, "one": 1, "three": 3, "ten": 10}
    return {names[name]: Fraction(share) for name, share in shares.items()}


#: Differences of clusters: of one 0/1 trial an arm, of graded scores, and of a plain shift.
LAWS: dict[str, Law] = {
    "1 w.p. .02, else 0": tenths(zero=".98", one=".02"),
    "1 w.p. .05, else 0": tenths(zero=".95", one=".05"),
    "1 w.p. .1, else 0": tenths(zero=".9", one=".1"),
    "1 w.p. .2, else 0": tenths(zero=".8", one=".2"),
    "1 w.p. .5, else 0": tenths(zero=".5", one=".5"),
    "1 w.p. .15, -1 w.p. .05, else 0": tenths(minus=".05", zero=".8", one=".15"),
    "1 w.p. .3, -1 w.p. .1, else 0": tenths(minus=".1", zero=".6", one=".3"),
    "1 and -1 w.p. .1, else 0 (symmetric)": tenths(minus=".1", zero=".8", one=".1"),
    "skewed: 0, 1, 3, 10 w.p. .5, .3, .15, .05": tenths(
        zero=".5", one=".3", three=".15", ten=".05"
    ),
    "heavy ties: 0, 1, 10 w.p. .85, .1, .05": tenths(zero=".85", one=".1", ten=".05"),
}
#: Rates of 0/1 scores in two arms that share no cluster.
ARMS = (("0", "0.1"), ("0.1", "0.5"), ("0.5", "0.5"), ("0.02", "0.1"), ("0.7", "0.95"))


def samples(law: Law, clusters: int) -> Iterator[tuple[list[int], float]]:
    """Give every multiset of differences, and how likely it is."""
    values = list(law)

    def counts(kinds: int, left: int) -> Iterator[tuple[int, ...]]:
        if kinds == 1:
            yield (left,)
            return
        for k in range(left + 1):
            for rest in counts(kinds - 1, left - k):
                yield (k, *rest)

    for many in counts(len(values), clusters):
        ways = math.factorial(clusters)
        chance = Fraction(1)
        for value, k in zip(values, many, strict=True):
            ways //= math.factorial(k)
            chance *= law[value] ** k
        drawn = [v for v, k in zip(values, many, strict=True) for _ in range(k)]
        yield drawn, float(ways * chance)


def of_differences(name: str, law: Law, clusters: int) -> Row:
    """Go through all samples of cluster differences."""
    truth = sum(v * p for v, p in law.items())
    chances = list(samples(law, clusters))
    ours = [(chance, _flips(d)) for d, chance in chances]
    theirs = [(chance, _student(d)) for d, chance in chances]
    return Row("sign-flip inverted", name, str(clusters), float(truth), *_shares(ours, truth),
               *_shares(theirs, truth))  # fmt: skip


def of_arms(first: str, second: str, clusters: int) -> Row:
    """Go through all samples of two arms that share no cluster."""
    p, q = Fraction(first), Fraction(second)
    ours = []
    for d, one in samples({0: 1 - p, 1: p}, clusters):
        for e, two in samples({0: 1 - q, 1: q}, clusters):
            found = permutation_interval(d, e, level=LEVEL)
            ours.append((one * two, (found.low, found.high)))
    return Row("permutation inverted", f"0/1 at rates {first} and {second}",
               f"{clusters} + {clusters}", float(p - q), *_shares(ours, p - q),
               math.nan, math.nan)  # fmt: skip


def _flips(d: Sequence[int]) -> Ends:
    found = sign_flip_interval(d, level=LEVEL)
    return found.low, found.high


def _student(d: Sequence[int]) -> Ends:
    pairs = [[v, 0] for v in d]
    square = [[v * v, 0] for v in d]
    totals = Totals.from_arrays(pairs, [[1, 1]] * len(d), square=square)
    found = paired_difference(totals, level=LEVEL)
    return found.low, found.high


def _shares(found: Sequence[tuple[float, Ends]], truth: Fraction | int) -> tuple[float, float]:
    """Give the chance to cover the truth (to 1e-9 of it), and to give no interval."""
    value, slack = float(truth), 1e-9
    covers = [c for c, (low, high) in found if low is not None and high is not None
              and low - slack <= value <= high + slack]  # fmt: skip
    withheld = [c for c, (low, _) in found if low is None]
    return math.fsum(covers), math.fsum(withheld)


def rows() -> Iterator[Row]:
    """Go through the grid."""
    for clusters in (6, 12, 20):
        for name, law in LAWS.items():
            yield of_differences(name, law, clusters)
    for clusters in (6, 12):
        for first, second in ARMS:
            yield of_arms(first, second, clusters)


def write(found: Sequence[Row], shown: Callable[[float], str] = "{:.3f}".format) -> None:
    """Write the table twice: for programs and for people."""
    names = list(Row.__dataclass_fields__)
    with (HERE / "table.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in found:
            writer.writerow([v if isinstance(v, str) else f"{v:.10g}" for v in
                             (getattr(row, n) for n in names)])  # fmt: skip
    lines = [(HERE / "about.md").read_text("utf-8"),
             "| interval | law | clusters | truth | covers | withheld | given one | t covers "
             "| t withheld |", "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in found:
        given = row.covers / (1.0 - row.withheld) if row.withheld < 1.0 else math.nan
        cells = [row.interval, row.law, row.clusters, f"{row.truth:.3g}", shown(row.covers),
                 shown(row.withheld), shown(given), shown(row.t_covers),
                 shown(row.t_withheld)]  # fmt: skip
        lines.append("| " + " | ".join("–" if c == "nan" else c for c in cells) + " |")
    (HERE / "table.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write(list(rows()))
