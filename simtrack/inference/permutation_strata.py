"""Two groups of clusters, in strata, coded so that their assignments can be counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from simtrack.errors import InputError
from simtrack.inference.permutation_law import Stratum, mean_as_fraction, slack_of
from simtrack.inference.signflip_law import as_integers

__all__ = [
    "Group",
    "PermutationStatistic",
    "Value",
    "as_floats",
    "attainable_floor",
    "coded_strata",
    "observed_total",
    "split_by_stratum",
    "stratum_weights",
    "weighted_difference",
]

Value: TypeAlias = int | float | Fraction
#: The values of the first and of the second group in one stratum.
Group: TypeAlias = tuple[list[Value], list[Value]]
PermutationStatistic = Literal["mean-difference", "sum"]


def split_by_stratum(
    one: list[Value], two: list[Value], strata: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[list[Group], tuple[str, ...]]:
    """Sort the values into strata; those with one group only cannot tell anything."""
    if strata is None:
        return [(one, two)], ()
    for name, labels, values in zip(("first", "second"), strata, (one, two), strict=True):
        if len(labels) != len(values):
            raise InputError("strata", f"a label for each of {len(values)} of {name}", len(labels))
    groups: dict[str, Group] = {}
    for side, (labels, values) in enumerate(zip(strata, (one, two), strict=True)):
        for label, value in zip(labels, values, strict=True):
            groups.setdefault(label, ([], []))[side].append(value)
    both = [group for group in groups.values() if group[0] and group[1]]
    alone = len(groups) - len(both)
    if not both:
        raise InputError("strata", "shared by both groups, at least one", "none")
    notes = (f"{alone} strata with one group only left out: nothing to compare there",)
    return both, notes if alone else ()


def stratum_weights(groups: list[Group], statistic: PermutationStatistic) -> list[Fraction]:
    """Weight strata by their clusters, or as Mantel and Haenszel do; the weights add up to 1."""
    sizes = [(len(a), len(b)) for a, b in groups]
    raw = [Fraction(n * m, n + m) if statistic == "sum" else Fraction(n + m) for n, m in sizes]
    return [w / sum(raw) for w in raw]


def weighted_difference(groups: list[Group], weights: list[Fraction]) -> Fraction | float:
    """Give the weighted mean over strata of first minus second, exact where no value is a float."""
    gaps = [mean_as_fraction(a) - mean_as_fraction(b) for a, b in groups]
    if any(isinstance(gap, float) for gap in gaps):
        return math.fsum(float(w) * float(gap) for w, gap in zip(weights, gaps, strict=True))
    return sum((w * gap for w, gap in zip(weights, gaps, strict=True)), Fraction(0))


def coded_strata(groups: list[Group], weights: list[Fraction], sign: int) -> list[Stratum[Any]]:
    """Code every stratum so that its contribution is weight · (difference of means) up to a factor.

    weight · (mean of first - mean of second) = weight / (n1 n2) · (N Σ first - n1 Σ all).
    Whole numbers throughout where all values are; else floats.
    """
    pooled = [v for a, b in groups for v in a + b]
    whole = as_integers(pooled)
    shares = [w / (len(a) * len(b)) for w, (a, b) in zip(weights, groups, strict=True)]
    common = math.lcm(*(share.denominator for share in shares))
    scales = [int(share * common) for share in shares]
    factor = math.gcd(*scales)
    coded: Iterator[Any] = iter(map(float, pooled) if whole is None else whole)
    made: list[Stratum[Any]] = []
    for (a, b), scale in zip(groups, scales, strict=True):
        values = tuple(sign * next(coded) for _ in range(len(a) + len(b)))
        small = scale // factor
        made.append(Stratum(values, len(a), small if whole is not None else float(small)))
    return made


def observed_total(layers: list[Stratum[Any]]) -> Any:
    """Give the total of the data: the first `chosen` values of a stratum are its first group."""
    is_whole = isinstance(layers[0].scale, int)
    add: Callable[[Any], Any] = sum if is_whole else math.fsum
    parts = []
    for s in layers:
        chosen, rest = add(s.values[: s.chosen]), add(s.values[s.chosen :])
        parts.append(s.scale * ((len(s.values) - s.chosen) * chosen - s.chosen * rest))
    return add(parts)


def attainable_floor(layers: list[Stratum[Any]], sides: int) -> Fraction:
    """Give the share of the most extreme assignments: no p-value of these data is smaller."""
    high, low = _ends(layers, True), _ends(layers, False)
    total = math.prod(s.assignments for s in layers)
    if sides == 1:
        return Fraction(high[1], total)
    slack = 0 if isinstance(layers[0].scale, int) else slack_of(layers)
    if abs(high[0] + low[0]) <= slack:
        return min(Fraction(1), Fraction(high[1] + low[1], total))
    return Fraction((high if high[0] > -low[0] else low)[1], total)


def _ends(layers: list[Stratum[Any]], is_high: bool) -> tuple[Any, int]:
    """Give the largest (smallest) total and in how many ways it comes about."""
    ways, ordered = 1, []
    for s in layers:
        values = sorted(s.values, reverse=is_high)
        ordered.append(replace(s, values=tuple(values)))
        cut = values[s.chosen - 1]
        ways *= math.comb(values.count(cut), values[: s.chosen].count(cut))
    return observed_total(ordered), ways


def as_floats(layers: list[Stratum[Any]]) -> list[Stratum[Any]]:
    """Give the same strata in floats."""
    return [Stratum(tuple(map(float, s.values)), s.chosen, float(s.scale)) for s in layers]
