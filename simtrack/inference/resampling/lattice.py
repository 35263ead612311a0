"""Whole numbers behind a statistic: when its law can be had by convolution."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.exact.signflip_law import as_integers
from simtrack.inference.resampling.sample import Sample

__all__ = ["Line", "Plane", "as_line", "as_plane"]

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

#: Sums up to here are exact in a float, so a quotient of two is rounded once.
_MOST_SUM = 2**52
#: Two different quotients of whole numbers up to here are different floats.
_MOST_PART = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A statistic that is a sum over clusters: Σ (origin + step · place) / unit.

    Attributes
    ----------
    places : tuple of int64 arrays
        For each pool, one place a cluster; the smallest of a pool is 0.
    origin : int
        The sum when every draw has place 0.
    step, unit : int
    size : int
        How many places the sum can have.
    """

    places: tuple[Ints, ...]
    origin: int
    step: int
    unit: int
    size: int

    def values(self) -> Floats:
        """Give the value of each place of the sum."""
        numbers = self.origin + self.step * np.arange(self.size)
        return np.asarray(numbers / self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """A statistic that is one sum over another, times `factor`: two lines with unit 1.

    The upper sum is that of `top` plus `tilt` times the lower one: failures take fewer places than
    successes where most trials succeed.
    """

    top: Line
    bottom: Line
    factor: float
    tilt: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """How many places either sum can have."""
        return self.top.size, self.bottom.size


def as_line(sample: Sample) -> Line | None:
    """Write the statistic as a sum of whole numbers over the clusters, or give None.

    That is possible where the denominators of each column are the same in all clusters of a pool
    (then they are not random) and the scores are whole numbers or short decimals.
    """
    if sample.statistic != "contrast" or not _constant(sample):
        return None
    sizes = _whole_sums(sample)
    if sizes is None:
        return None
    parts = [w / m for w, m in zip(sample.weights, sizes, strict=True)]
    unit = math.lcm(*(p.denominator for p in parts))
    found = _combine(sample, [p.numerator * (unit // p.denominator) for p in parts], unit)
    return None if found is None else _line(*found)


def as_plane(sample: Sample) -> Plane | None:
    """Write the statistic as one sum of whole numbers over another, or give None.

    So it is for one ratio; for a contrast of ratios whose denominators are the same, or in fixed
    proportion, in each cluster (arms that share their trials); and for a ratio of two arms with
    such or with constant denominators.
    """
    sizes = _whole_sums(sample)
    if sizes is None:
        return None
    proportional = _proportional(sample, sizes)
    if not proportional and (sample.statistic == "contrast" or not _constant(sample)):
        return None
    parts = [w * sizes[0] / m for w, m in zip(sample.weights, sizes, strict=True)]
    unit = math.lcm(*(p.denominator for p in parts))
    whole = [p.numerator * (unit // p.denominator) for p in parts]
    contrast = sample.statistic == "contrast"
    # Of a ratio what is common to both parts cancels.
    above = _combine(sample, whole if contrast else [max(w, 0) for w in whole], unit)
    below = _combine(sample, [max(-w, 0) for w in whole], unit)
    if contrast:
        below = [pool.bottom[:, 0].astype(np.int64) for pool in sample.pools], 1
    if above is None or below is None:
        return None
    top, bottom = _line(*above), _line(*below)
    if max(_reach(top), _reach(bottom)) > _MOST_PART:
        return None
    factor = Fraction(bottom.unit, top.unit) * Fraction(_common(top), _common(bottom))
    top, bottom = _reduced(top), _reduced(bottom)
    tilted = _tilted(top, bottom)
    if tilted.size < top.size:
        return Plane(tilted, bottom, float(factor), 1)
    return Plane(top, bottom, float(factor))


def _tilted(top: Line, bottom: Line) -> Line:
    """Give the upper sum less the lower one."""
    pairs = zip(top.places, bottom.places, strict=True)
    line = _line([top.step * i - bottom.step * j for i, j in pairs], 1)
    return replace(line, origin=line.origin + top.origin - bottom.origin)


def _constant(sample: Sample) -> bool:
    return all(bool((pool.bottom == pool.bottom[0]).all()) for pool in sample.pools)


def _whole_sums(sample: Sample) -> list[int] | None:
    """Give the observed denominators if those of all clusters are whole, else None."""
    if not all(_is_whole(pool.bottom) for pool in sample.pools):
        return None
    found = [int(m) for m in sample.bottom.tolist()]
    return found if max(found) < _MOST_PART else None


def _is_whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())


def _proportional(sample: Sample, sizes: list[int]) -> bool:
    """Whether in each cluster the denominators stand as their sums do."""
    if len(sizes) == 1:
        return True
    ratio = np.array(sizes, dtype=np.float64)
    return all(
        bool((pool.bottom * ratio[0] == pool.bottom[:, :1] * ratio).all()) for pool in sample.pools
    )


def _combine(sample: Sample, factors: list[int], unit: int) -> tuple[list[Ints], int] | None:
    """Give Σ_c factor_c · numerator_gc as whole numbers, one array a pool, and their unit."""
    tops = [pool.top for pool in sample.pools]
    if not all(_is_whole(top) for top in tops):
        flat = [v for top in tops for v in top.ravel().tolist()]
        typed = as_integers(flat)
        if typed is None:
            return None
        place, peak = 0, max(range(len(flat)), key=lambda k: abs(flat[k]))
        share = Fraction(typed[peak]) / Fraction(repr(flat[peak]))
        if share.denominator != 1:  # a common factor was taken out
            typed = [v * share.denominator for v in typed]
        unit *= share.numerator
        whole = []
        for top in tops:
            part = typed[place : place + top.size]
            whole.append(np.array(part, dtype=np.float64).reshape(top.shape))
            place += top.size
        tops = whole
    largest = sum(abs(f) for f in factors) * int(max(np.abs(top).max() for top in tops))
    if largest * sample.clusters > _MOST_SUM or unit > _MOST_SUM:
        return None
    row = np.array(factors, dtype=np.float64)
    return [(top * row).sum(axis=1).astype(np.int64) for top in tops], unit


def _line(numbers: list[Ints], unit: int) -> Line:
    lowest = [int(n.min()) for n in numbers]
    shifted = [n - low for n, low in zip(numbers, lowest, strict=True)]
    step = math.gcd(*(int(np.gcd.reduce(s)) for s in shifted)) or 1
    origin = sum(n.size * low for n, low in zip(numbers, lowest, strict=True))
    places = tuple(shifted if step == 1 else [s // step for s in shifted])
    return Line(places, origin, step, unit, 1 + sum(p.size * int(p.max()) for p in places))


def _reach(line: Line) -> int:
    return max(abs(line.origin), abs(line.origin + line.step * (line.size - 1))) // _common(line)


def _common(line: Line) -> int:
    return math.gcd(line.origin, line.step) or 1


def _reduced(line: Line) -> Line:
    common = _common(line)
    return Line(line.places, line.origin // common, line.step // common, 1, line.size)
