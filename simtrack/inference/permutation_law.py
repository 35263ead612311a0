"""Counting assignments: how many ways to choose n of the clusters give at least this sum?

A stratum holds the values of its clusters and how many of them, `chosen`, are in the first group.
Its contribution is scale · (N · Σ chosen values - chosen · Σ all values), which is 0 on average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.signflip_law import TIE_TOLERANCE

__all__ = [
    "Stratum",
    "extreme_by_convolution",
    "extreme_by_lists",
    "extreme_by_size",
    "is_listable",
    "is_splittable",
    "subset_law",
    "subset_sums",
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


def mean_as_fraction(values: Sequence[int | float | Fraction]) -> Fraction | float:
    """Give the mean, exact where no value is a float."""
    if any(isinstance(v, float) for v in values):
        return math.fsum(map(float, values)) / len(values)
    return Fraction(sum(Fraction(v) for v in values), 1) / len(values)
