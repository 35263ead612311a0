"""How many ways to deal clusters to two arms reach a difference, in one stratum or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.signflip_law import as_integers, mean_of
from simtrack.inference.numerics.ties import TIE_TOLERANCE

__all__ = [
    "Group",
    "PermutationStatistic",
    "Stratum",
    "Value",
    "as_floats",
    "attainable_floor",
    "coded_strata",
    "extreme_by_convolution",
    "extreme_by_lists",
    "extreme_by_size",
    "is_listable",
    "is_splittable",
    "observed_total",
    "split_by_stratum",
    "stratum_weights",
    "subset_law",
    "subset_sums",
    "weighted_difference",
]


Number = TypeVar("Number", int, float)
Floats = NDArray[np.float64]

#: The polynomial of a stratum may take this many bits (16 MB).
_MOST_BITS = 1 << 27
#: Sums that the combined law of all strata may have.
_MOST_SUMS = 1 << 20
#: Assignments that are listed, over all strata or in each half of them.
_MOST_LISTED = 1 << 20
#: Clusters whose subsets are listed at once; twice as many where two halves are matched.
_MOST_CLUSTERS = 21


@dataclass(frozen=True, slots=True)
class Stratum(Generic[Number]):
    """Which values are there, how many are chosen, and what does their sum count for?"""

    values: tuple[Number, ...]
    chosen: int
    scale: Number

    @property
    def assignments(self) -> int:
        """Give the number of ways to choose."""
        return math.comb(len(self.values), self.chosen)


def subset_law(values: Sequence[int], chosen: int) -> tuple[int, int, list[int]] | None:
    """How many subsets of `chosen` of these whole numbers have each sum?

    The generating function Π (1 + y x^value) is held in one Python integer, x = 2^width wide
    enough that coefficients never meet and y = x^row; rows beyond `chosen` are cut off as they
    come. Values are moved to start at 0 and freed of a common factor first.

    Returns
    -------
    start, step, ways
        `ways[k]` subsets have the sum start + k · step; None where it would take over 16 MB.

    References
    ----------
    Pagano and Tritchler (1983), JASA 78, 435-440.

    Examples
    --------
    >>> subset_law([1, 2, 3, 4], 2)
    (3, 1, [1, 1, 2, 1, 1])
    """
    least = min(values)
    moved = sorted(v - least for v in values)
    step = math.gcd(*moved) or 1
    moved = [v // step for v in moved]
    row = sum(moved[len(moved) - chosen :]) + 1
    byte_width = len(values) // 8 + 1
    width = 8 * byte_width
    if width * row * (chosen + 1) > _MOST_BITS:
        return None
    mask = (1 << (width * row * (chosen + 1))) - 1
    packed = 1
    for value in moved:
        packed = (packed + (packed << (width * (value + row)))) & mask
    cells = (packed >> (width * row * chosen)).to_bytes(row * byte_width, "little")
    ways = [
        int.from_bytes(cells[k * byte_width : (k + 1) * byte_width], "little") for k in range(row)
    ]
    low = next(k for k, w in enumerate(ways) if w)
    return chosen * least + low * step, step, ways[low:]


def extreme_by_convolution(strata: Sequence[Stratum[int]], observed: int, sides: int) -> int | None:
    """Count assignments with a total of at least `observed`; with 2 sides, of at least that size.

    Returns None where the combined law would be too large.
    """
    law = {0: 1}
    for stratum in strata:
        found = subset_law(stratum.values, stratum.chosen)
        if found is None or len(law) * len(found[2]) > _MOST_SUMS:
            return None
        start, step, ways = found
        n, total = len(stratum.values), stratum.chosen * sum(stratum.values)
        parts = [
            (stratum.scale * (n * (start + k * step) - total), w) for k, w in enumerate(ways) if w
        ]
        combined: dict[int, int] = {}
        for so_far, count in law.items():
            for part, w in parts:
                combined[so_far + part] = combined.get(so_far + part, 0) + count * w
        law = combined
    if sides == 1:
        return sum(w for total, w in law.items() if total >= observed)
    return sum(w for total, w in law.items() if abs(total) >= abs(observed))


def is_listable(strata: Sequence[Stratum[Any]]) -> bool:
    """Say whether all assignments of all strata can be listed."""
    return (
        max(len(s.values) for s in strata) <= _MOST_CLUSTERS
        and math.prod(s.assignments for s in strata) <= _MOST_LISTED
    )


def is_splittable(strata: Sequence[Stratum[Any]]) -> bool:
    """Say whether one stratum can be counted by matching the subsets of two halves."""
    return len(strata) == 1 and len(strata[0].values) <= 2 * _MOST_CLUSTERS


def extreme_by_lists(strata: Sequence[Stratum[float]], observed: float, sides: int) -> int:
    """Count as `extreme_by_convolution` does, from a list of all totals; reals tie within 1e-12."""
    totals = np.zeros(1)
    for stratum in strata:
        sums = subset_sums(_centred(stratum))[stratum.chosen]
        totals = (totals[:, None] + sums[None, :]).ravel()
    if sides == 2:
        totals, observed = np.abs(totals), abs(observed)
    return int(np.count_nonzero(totals >= observed - slack_of(strata)))


def extreme_by_size(strata: Sequence[Stratum[float]], observed: float, sides: int) -> int:
    """Count for one stratum of up to 42 clusters by matching the subsets of two halves by size.

    References
    ----------
    Horowitz and Sahni (1974), J. ACM 21, 277-292, with subsets of every size kept apart.
    """
    (stratum,) = strata
    values = np.sort(_centred(stratum))
    left, right = subset_sums(values[::2]), subset_sums(values[1::2])
    bound = (abs(observed) if sides == 2 else observed) - slack_of(strata)
    if sides == 2 and bound <= 0.0:
        return stratum.assignments
    count = 0
    for size, sums in enumerate(left):
        if not 0 <= stratum.chosen - size < len(right):
            continue
        ordered = np.sort(right[stratum.chosen - size])
        above = np.searchsorted(ordered, bound - sums, side="left")
        count += ordered.size * sums.size - int(above.sum())
        if sides == 2:
            count += int(np.searchsorted(ordered, -bound - sums, side="right").sum())
    return count


def slack_of(strata: Sequence[Stratum[Any]]) -> float:
    """Give how far apart rounding may drive two equal totals: 1e-12 of the sizes of all parts."""
    found = 0.0
    for stratum in strata:
        parts = np.abs(_centred(stratum))
        reach = abs(stratum.scale) * len(parts) ** 2 * max(abs(float(v)) for v in stratum.values)
        found += TIE_TOLERANCE * float(parts.sum()) + 2.0**-50 * reach
    return found


def _centred(stratum: Stratum[Any]) -> Floats:
    """Give scale · N · (value - mean): `chosen` of these add up to a contribution."""
    values = np.array([float(v) for v in stratum.values])
    mean = math.fsum(values.tolist()) / values.size
    return np.asarray(float(stratum.scale) * values.size * (values - mean))


def subset_sums(values: Floats) -> list[Floats]:
    """Give the sums of all subsets, one array for each size 0, 1, ..., len(values)."""
    sums, sizes = np.zeros(1 << values.size), np.zeros(1 << values.size, dtype=np.int8)
    for place, value in enumerate(values.tolist()):
        half = 1 << place
        np.add(sums[:half], value, out=sums[half : 2 * half])
        np.add(sizes[:half], 1, out=sizes[half : 2 * half])
    order = np.argsort(sizes, kind="stable")
    cuts = np.cumsum(np.bincount(sizes, minlength=values.size + 1))[:-1]
    return np.split(sums[order], cuts)


# Two groups of clusters, in strata, coded so that their assignments can be counted.
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
    gaps = [mean_of(a) - mean_of(b) for a, b in groups]
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
