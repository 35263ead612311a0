"""Where does a curve first reach a level, and how sure is that, if it need not do so at all?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.inference.resampling.draws import quantile_error
from simtrack.options import Computation, Guarantee

__all__ = ["Crossing", "crossing_of", "first_crossings"]

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
