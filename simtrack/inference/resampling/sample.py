"""What is resampled: clusters in independent pools, and the statistic of their sums."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.options import choice

__all__ = [
    "BootstrapStatistic",
    "Pool",
    "Sample",
    "checked_sample",
    "evaluate",
    "standard_errors",
    "studentized",
    "with_products",
]


BootstrapStatistic = Literal["contrast", "ratio"]
#: Rounding of a few sums and divisions, as a share of the largest term.
_ROUNDING = 1e-14
#: A float weight is read as a fraction with at most this denominator, so 1/3 is one third.
_MOST_DENOMINATOR = 10**6

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Clusters that are resampled among themselves, independently of other pools.

    Attributes
    ----------
    label : str
    top, bottom : float64 arrays, shape (clusters, columns)
        Numerators and denominators; a pool of one arm has 0 in the columns of the others.
    """

    label: str
    top: Floats
    bottom: Floats

    @property
    def size(self) -> int:
        """How many clusters there are, and how many are drawn."""
        return len(self.top)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The pools, and the statistic: weighted ratios of column sums.

    Attributes
    ----------
    pools : tuple of Pool
    weights : tuple of Fraction
        One a column. A contrast is Σ w r; a ratio is Σ_{w>0} w r over Σ_{w<0} |w| r.
    statistic : str
    top, bottom : float64 arrays, shape (columns,)
        The sums over all clusters as observed.
    estimate : float
    bounds : (float, float)
        Between which values the statistic must lie; infinite for scores beyond [0, 1].
    tie : float
        Values no further apart than this are equal but for rounding.
    notes : tuple of str
    """

    pools: tuple[Pool, ...]
    weights: tuple[Fraction, ...]
    statistic: BootstrapStatistic
    top: Floats
    bottom: Floats
    estimate: float
    bounds: tuple[float, float]
    tie: float
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> int:
        """All clusters, over the pools."""
        return sum(pool.size for pool in self.pools)

    def evaluate(self, top: Floats, bottom: Floats) -> Floats:
        """Give the statistic of column sums of shape (columns, n); NaN where it is undefined."""
        return evaluate(top, bottom, [float(w) for w in self.weights], self.statistic)

    def jackknife(self) -> tuple[Floats, ...]:
        """Give the statistic without each cluster, one array a pool."""
        return tuple(
            self.evaluate((self.top - pool.top).T, (self.bottom - pool.bottom).T)
            for pool in self.pools
        )


def evaluate(
    top: Floats, bottom: Floats, weights: Sequence[float], statistic: BootstrapStatistic
) -> Floats:
    """Give Σ w top/bottom, or the ratio of its positive to its negative part, of (columns, n)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "contrast":
            return _weighted(top, bottom, weights, range(len(weights)))
        above = [c for c, w in enumerate(weights) if w > 0]
        below = [c for c, w in enumerate(weights) if w < 0]
        found = _weighted(top, bottom, weights, above) / -_weighted(top, bottom, weights, below)
        found[~np.isfinite(found)] = np.nan
        return found


def _weighted(
    top: Floats, bottom: Floats, weights: Sequence[float], columns: Sequence[int]
) -> Floats:
    total: Floats | None = None
    for c in columns:
        term = top[c] / bottom[c]
        if weights[c] != 1.0:
            term *= weights[c]
        total = term if total is None else total + term
    assert total is not None  # checked_sample refuses an empty side
    return total


def checked_sample(
    totals: Totals,
    weights: Sequence[float | Fraction] | NDArray[np.float64] | None,
    statistic: BootstrapStatistic,
    groups: Sequence[Hashable] | None,
    strata: Sequence[Hashable] | None,
) -> Sample:
    """Check what the user gave, and lay it out in pools."""
    choice("statistic", statistic, BootstrapStatistic)
    exact = _weights(weights, totals.shape[1], statistic)
    used = [c for c, w in enumerate(exact) if w != 0]
    exact = tuple(exact[c] for c in used)
    top, bottom = totals.numerator, totals.denominator
    if len(used) != len(totals.conditions):
        top, bottom = top[:, used], bottom[:, used]
    with np.errstate(invalid="ignore"):  # infinities are refused below
        sums: tuple[Floats, Floats] = (top.sum(axis=0), bottom.sum(axis=0))
    _check_cells(totals, used, top, bottom, sums)
    pools, notes = _pools(totals, used, top, bottom, groups, strata)
    _refuse_single(pools)
    numbers = [float(w) for w in exact]
    estimate = float(evaluate(sums[0][:, None], sums[1][:, None], numbers, statistic)[0])
    if math.isnan(estimate):
        raise InputError(
            "totals", "such that the ratio is defined", "a ratio over 0", cure="Take a difference."
        )
    bounds, scale = _range(top, bottom, exact, statistic, estimate)
    return Sample(pools, exact, statistic, *sums, estimate, bounds, _ROUNDING * scale, notes)


def _weights(
    weights: Sequence[float | Fraction] | NDArray[np.float64] | None,
    columns: int,
    statistic: BootstrapStatistic,
) -> tuple[Fraction, ...]:
    if weights is None:
        if columns > 2 or (columns == 1 and statistic == "ratio"):
            raise InputError("weights", "given", f"none for {columns} columns")
        return (Fraction(1), Fraction(-1))[:columns]
    if len(weights) != columns:
        raise InputError("weights", f"one for each of {columns} columns", len(weights))
    found = tuple(_fraction(w) for w in weights)
    signs = {(w > 0) - (w < 0) for w in found} - {0}
    if not signs or (statistic == "ratio" and len(signs) < 2):
        rule = "above 0 for the upper and below 0 for the lower part" if signs else "not all 0"
        raise InputError("weights", rule, [float(w) for w in found])
    return found


def _fraction(weight: float | Fraction) -> Fraction:
    if isinstance(weight, (int, Fraction)):
        return Fraction(weight)
    value = float(weight)
    if not np.isfinite(value):
        raise InputError("weights", "finite", value)
    near = Fraction(value).limit_denominator(_MOST_DENOMINATOR)
    return near if float(near) == value else Fraction(value)


def _check_cells(
    totals: Totals, used: list[int], top: Floats, bottom: Floats, sums: tuple[Floats, Floats]
) -> None:
    if not all(map(math.isfinite, (*sums[0].tolist(), *sums[1].tolist()))):
        cure = "Leave unscored trials out of both parts."
        raise InputError("totals", "finite", "NaN or infinity", cure=cure)
    smallest = bottom.min() if bottom.size else 0.0
    if smallest < 0 or (smallest == 0 and (top[bottom == 0] != 0).any()):
        raise InputError("totals", "0 over 0 or over a denominator above 0 in each cell")
    for place, total in enumerate(sums[1].tolist()):
        if total == 0:
            label = "/".join(totals.conditions[used[place]]) or totals.name
            raise InputError("totals", "with trials in each column", "none", where=label)


def _pools(
    totals: Totals,
    used: list[int],
    top: Floats,
    bottom: Floats,
    groups: Sequence[Hashable] | None,
    strata: Sequence[Hashable] | None,
) -> tuple[tuple[Pool, ...], tuple[str, ...]]:
    if groups is not None and strata is not None:
        raise InputError("strata", "given without groups", "both")
    if groups is not None:
        if len(groups) != totals.shape[1]:
            raise InputError("groups", f"one label for each of {totals.shape[1]} columns", groups)
        return _arms([groups[c] for c in used], top, bottom), ()
    if strata is None and bottom.size and bottom.min() > 0:
        return (Pool("all", top, bottom),), ()
    present: NDArray[np.bool_] = np.asarray(bottom.any(axis=1))
    notes = _presence(bottom, present)
    if strata is None:
        return (Pool("all", top[present], bottom[present]),), notes
    if len(strata) != totals.shape[0]:
        raise InputError("strata", f"one label for each of {totals.shape[0]} clusters", len(strata))
    pools = []
    for label in dict.fromkeys(strata):
        here = np.array([s == label for s in strata]) & present
        if here.any():
            pools.append(Pool(f"stratum {label}", top[here], bottom[here]))
    return tuple(pools), notes


def _arms(groups: list[Hashable], top: Floats, bottom: Floats) -> tuple[Pool, ...]:
    """One pool a group of columns: its clusters are those with a trial in one of them."""
    pools = []
    for label in dict.fromkeys(groups):
        own = np.array([g == label for g in groups])
        rows = (bottom * own).any(axis=1)
        pools.append(Pool(f"group {label}", (top * own)[rows], (bottom * own)[rows]))
    return tuple(pools)


def _presence(bottom: Floats, present: NDArray[np.bool_]) -> tuple[str, ...]:
    lost = int((~present).sum())
    partial = int((present & (bottom == 0).any(axis=1)).sum())
    lines = []
    if lost:
        lines.append(f"clusters without a trial left out: {lost}")
    if partial:
        lines.append(f"clusters with trials in some conditions only, resampled as such: {partial}")
    return tuple(lines)


def _refuse_single(pools: tuple[Pool, ...]) -> None:
    for pool in pools:
        if pool.size == 1:
            raise InputError(
                "clusters",
                "at least 2 in each pool that is resampled",
                1,
                where=pool.label,
                cure="One cluster cannot say how much clusters differ.",
            )


def _range(
    top: Floats,
    bottom: Floats,
    weights: tuple[Fraction, ...],
    statistic: BootstrapStatistic,
    estimate: float,
) -> tuple[tuple[float, float], float]:
    """Give the values that the statistic must lie between, and the size of its largest term."""
    in_unit = bool(((top >= 0) & (top <= bottom)).all())
    if statistic == "ratio":
        return ((0.0 if in_unit else -np.inf), np.inf), abs(estimate)
    if in_unit:
        low = float(sum(w for w in weights if w < 0))
        high = float(sum(w for w in weights if w > 0))
        return (low, high), high - low
    largest = np.divide(np.abs(top), bottom, out=np.zeros_like(top), where=bottom > 0).max(axis=0)
    scale = sum(abs(float(w)) * m for w, m in zip(weights, largest.tolist(), strict=True))
    return (-np.inf, np.inf), scale


# The linearised standard error of a statistic in every resample, from sums of products.
#: A sum of squares below this share of its terms is rounding.
_ROUNDING_OF_VARIANCE = 1e-12


def with_products(pool: Pool) -> Floats:
    """Give numerators, denominators and the products of all pairs of them, times G/(G-1).

    Shape (clusters, 2C + C(2C+1)). Sums of these columns over a resample give the standard error
    of any contrast of the ratios in it.
    """
    parts = np.concatenate([pool.top, pool.bottom], axis=1)
    upper = np.triu_indices(parts.shape[1])
    factor = pool.size / (pool.size - 1.0)
    return np.concatenate([parts, factor * parts[:, upper[0]] * parts[:, upper[1]]], axis=1)


def standard_errors(sample: Sample, sums: Floats) -> Floats:
    """Give the linearised standard error for column sums of shape (2C + C(2C+1), n).

    The influence of a cluster is u = Σ_c a_c (x_c - r_c m_c) / M_c with a_c the derivative of the
    statistic by the ratio r_c; the variance is G/(G-1) Σ u², written out as a quadratic form.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., section 6.13.
    """
    columns = len(sample.weights)
    top, bottom = sums[:columns], sums[columns : 2 * columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = top / bottom
        slopes = _slopes(sample, rates) / bottom
        beta = np.concatenate([slopes, -slopes * rates])
        total, size = np.zeros(sums.shape[1]), np.zeros(sums.shape[1])
        first, second = np.triu_indices(2 * columns)
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            term = (1.0 if i == j else 2.0) * beta[i] * beta[j] * sums[2 * columns + k]
            total += term
            size += np.abs(term)
        return np.sqrt(
            np.where(total > _ROUNDING_OF_VARIANCE * size, total, np.where(size >= 0, 0.0, np.nan))
        )


def studentized(sample: Sample, sums: Floats) -> tuple[Floats, Floats]:
    """Give the statistic and its t value around the estimate, for each column of sums.

    Without spread in a resample t is infinite, or NaN where the statistic is the estimate.
    """
    columns = len(sample.weights)
    values = sample.evaluate(sums[:columns], sums[columns : 2 * columns])
    errors = standard_errors(sample, sums)
    gap = values - sample.estimate
    gap = np.where(np.abs(gap) <= sample.tie, 0.0, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return values, gap / errors


def _slopes(sample: Sample, rates: Floats) -> Floats:
    weights = np.array([float(w) for w in sample.weights])[:, None]
    if sample.statistic == "contrast":
        return np.asarray(np.broadcast_to(weights, rates.shape))
    above = (np.maximum(weights, 0.0) * rates).sum(axis=0)
    below = (np.maximum(-weights, 0.0) * rates).sum(axis=0)
    # d(A/B) = dA/B - (A/B) dB/B, and the weights of B are below 0
    return np.asarray(np.where(weights > 0, weights / below, weights * above / below**2))
