"""Is relapse more prevalent at the deepest than at the shallowest depth, slice by slice?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import DataError, InputError
from simtrack.inference import BootstrapInterval, bootstrap
from simtrack.inference.resampling.draws import quantile_error
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.records import Records

__all__ = [
    "Crossing",
    "DepthDifference",
    "crossing_of",
    "deepest_minus_shallowest",
    "depths_of",
    "first_crossings",
    "pooled_over",
]


#: Codes of episodes that cannot be judged.
_UNDEFINED = ("TRANSPORT", "EMPTY", "UNPARSEABLE")

_WRITTEN = (
    "shallow deep difference low high level pairs left_out unpaired notes computation guarantee"
)


@dataclass(frozen=True, slots=True, eq=False)
class DepthDifference(Plain, schema="simtrack.depth-difference/1", names=_WRITTEN):
    """How much more prevalent is relapse at the deepest than at the shallowest depth?

    Attributes
    ----------
    shallow, deep : float
    difference : float
        Mean over pairs of (relapsed at the deepest) - (relapsed at the shallowest).
    low, high : float or None
        Percentile cluster bootstrap; see `interval`.
    pairs, left_out, unpaired : int
        Pairs that parse at both depths, pairs that do not, and episodes without a partner.
    interval : BootstrapInterval
    notes : tuple of str
    """

    shallow: float
    deep: float
    difference: float
    low: float | None
    high: float | None
    level: float
    pairs: int
    left_out: int
    unpaired: int
    interval: BootstrapInterval
    notes: tuple[str, ...]
    computation: Computation
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        ends = "no interval" if self.low is None else f"{self.low:+.4f} to {self.high:+.4f}"
        return f"DepthDifference({self.difference:+.4f}, {ends}, {self.pairs} pairs)"


def deepest_minus_shallowest(
    records: Records,
    *,
    depth: str = "depth",
    on: Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> DepthDifference:
    """How much does prevalence change from the shallowest to the deepest depth, paired by slice?

    Episodes of the two depths are joined by their labels; those that do not parse at one of the two
    leave both, and are counted.

    Parameters
    ----------
    records : Records
        Episodes (`score_rebind`) of one arm and load.
    on : sequence of str
        Columns that name a slice and repetition; `unit` and `repetition` by default.
    level, n_resamples, seed
        As in `simtrack.inference.bootstrap`, which computes the law exactly where it can.

    Source: ReBIND section 5.3.
    """
    depths = depths_of(records, depth)
    shallow, deep = depths[0][1], depths[-1][1]
    if len(depths) < 2:
        raise DataError(f"{depth} has one level, {shallow}: a difference needs two.")
    rows = records.select(**{depth: [shallow, deep]})
    counts = rows.counts(cluster=cluster, pair=depth, on=on)
    flip = rows.factors[depth].compact().levels[0] == deep
    moves = np.zeros((len(counts.outcomes), 2))
    for k, joint in enumerate(counts.outcomes):
        codes = joint.split("|")[:: -1 if flip else 1]
        if not set(codes) & set(_UNDEFINED):
            moves[k] = (codes[1] == "TRUE_RELAPSE") - int(codes[0] == "TRUE_RELAPSE"), 1.0
    cells = counts.cells.astype(np.float64)
    sums = np.zeros((3, len(counts.cluster.levels)))
    for line, weight in zip(sums, (moves[:, 0], moves[:, 1], moves[:, 0] ** 2), strict=True):
        np.add.at(line, counts.cluster.codes, (cells * weight).sum(axis=1))
    totals = Totals.from_arrays(sums[0], sums[1], square=sums[2]).column(0)
    if not len(totals.clusters):
        raise DataError(f"no slice has a parseable episode at {shallow} and at {deep}.")
    found = bootstrap(totals, level=level, n_resamples=n_resamples, seed=seed)
    pairs = int(sums[1].sum())
    unpaired = sum(x.n for x in counts.losses.entries if x.kind == "unpaired")
    return DepthDifference(
        depths[0][0], depths[-1][0], found.estimate, found.low, found.high, level, pairs,
        int(cells.sum()) - pairs, unpaired, found, (*pooled_over(rows, depth), *found.notes),
        found.computation,
    )  # fmt: skip


def depths_of(records: Records, depth: str) -> list[tuple[float, str]]:
    """Give the levels of the column of depths as numbers, ascending."""
    factor = records.factor(depth)
    if (factor.codes < 0).any():
        row = int(np.flatnonzero(factor.codes < 0)[0]) + 1
        raise DataError(f"row {row} has no {depth}. Label it or leave it out.")
    found = []
    for label in factor.compact().levels:
        try:
            number = float(label)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(depth, "a column of numbers", repr(label))
        found.append((number, label))
    return sorted(found)


def pooled_over(records: Records, depth: str) -> tuple[str, ...]:
    """Say which conditions are added up."""
    names = [n for n in ("arm", "load", "condition", "model") if n in records.factors]
    several = [n for n in names if n != depth and len(records.factors[n].compact().levels) > 1]
    return (f"added up over {', '.join(several)}",) if several else ()


# Where does a curve first reach a level, and how sure is that, if it need not do so at all?
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Crossing:
    """At which depth does prevalence first reach a level, if it does within what was observed?

    Attributes
    ----------
    depth : float or None
        None where it is not reached: right-censored at `horizon`.
    low, high : float or None
        Percentile interval over resampled clusters, in which a resample that does not reach the
        level lies beyond every depth. None for an end that lies beyond the horizon.
    horizon : float
        The deepest observed depth.
    at : float
        The level that is crossed.
    censored_share : float
        Share of resamples that do not reach it.
    mcse_low, mcse_high, mcse_censored : float or None
    notes : tuple of str
    """

    depth: float | None
    low: float | None
    high: float | None
    horizon: float
    at: float
    level: float
    censored_share: float
    mcse_low: float | None
    mcse_high: float | None
    mcse_censored: float
    n_resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    computation: Computation = "monte-carlo"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        beyond = f"beyond {self.horizon:g}"
        found, low, high = (beyond if v is None else f"{v:.3g}"
                            for v in (self.depth, self.low, self.high))  # fmt: skip
        return f"Crossing({found}, {self.level:.0%}: {low} to {high})"


def first_crossings(
    depths: Sequence[float] | Floats, prevalence: ArrayLike, *, at: float = 0.5, anchor: bool = True
) -> Floats:
    """Where do curves first reach a level, on straight lines between depths; infinity if never?

    Parameters
    ----------
    depths : array_like, shape (depths,)
        Ascending.
    prevalence : array_like, shape (depths, curves)
        NaN is skipped.
    at, anchor
        As in `prevalence_by_depth`; a curve that begins at or above the level crosses at its first
        depth.

    Examples
    --------
    >>> first_crossings([0, 4, 8], [[0.2, 0.2], [0.4, 0.4], [0.6, 0.3]]).tolist()
    [6.0, inf]
    """
    values = np.asarray(prevalence, dtype=np.float64)
    found = np.full(values.shape[1], np.inf)
    is_anchored = anchor and depths[0] > 0.0
    before_at = np.full(values.shape[1], 0.0 if is_anchored else np.nan)
    before = before_at.copy()
    for place, row in zip(np.asarray(depths, dtype=np.float64).tolist(), values, strict=True):
        known = ~np.isnan(row)
        here = known & (row >= at) & np.isinf(found)
        rise = np.where(here, row - before, 1.0)
        share = np.where(rise > 0.0, (at - before) / np.where(rise > 0.0, rise, 1.0), 1.0)
        crossed = before_at + (place - before_at) * share
        found = np.where(here, np.where(np.isnan(crossed), place, crossed), found)
        before, before_at = np.where(known, row, before), np.where(known, place, before_at)
    return found


def crossing_of(
    seen: float, ordered: Floats, horizon: float, at: float, level: float, seed: int
) -> Crossing:
    """Sum resampled crossings up, ascending, those beyond every depth at infinity."""
    n = ordered.size
    ends: list[tuple[float | None, float | None]] = []
    for p in ((1.0 - level) / 2.0, (1.0 + level) / 2.0):
        end = float(ordered[min(max(math.ceil(p * n - 1e-9), 1), n) - 1])
        finite = ordered[np.isfinite(ordered)]
        error = quantile_error(ordered, p, p * (1.0 - p)) if finite.size == n else math.nan
        ends.append(
            (None, None) if math.isinf(end) else (end, None if math.isnan(error) else error)
        )
    share = float(np.isinf(ordered).mean())
    notes = []
    if math.isinf(seen):
        notes.append(f"right-censored: {at:g} is not reached by depth {horizon:g}, the deepest")
    if ends[0][0] is None:
        notes.append("both ends lie beyond the deepest depth")
    elif ends[1][0] is None:
        notes.append("the upper end lies beyond the deepest depth")
    return Crossing(
        None if math.isinf(seen) else seen, ends[0][0], ends[1][0], horizon, at, level, share,
        ends[0][1], ends[1][1], math.sqrt(share * (1.0 - share) / n), n, seed, tuple(notes),
    )  # fmt: skip
