"""Clopper and Pearson's interval on the effective number of clustered trials."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.inference.binomial import clopper_pearson
from simtrack.inference.clustered import ClusteredRates
from simtrack.inference.effective import EffectiveSize, effective_size
from simtrack.inference.intervals import Intervals
from simtrack.inference.sides import t_criticals, tail
from simtrack.options import Side

__all__ = ["korn_graubard", "korn_graubard_limits"]

Floats = NDArray[np.float64]


def korn_graubard(
    totals: Totals,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials, on the cautious side?

    Clopper and Pearson's interval at p n* successes of n* trials, with
    n* = p (1-p) / se² · (t(n-1) / t(G-1))², the standard error being the larger of the clustered
    and the naive one. Without spread between clusters n over the design effect of an assumed ICC
    takes the place of p (1-p) / se² (`effective_size`). With one trial a cluster n* is n - 1, as
    Korn and Graubard have it. One cluster has no interval.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end.
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters show no spread.
    rates : ClusteredRates, optional
        What `clustered_rates(totals)` gave, if it is at hand.

    References
    ----------
    Korn and Graubard (1998), Survey Methodology 24, 193-201. The cap at n: Parker et al. (2017),
    Vital and Health Statistics 2(175).

    Examples
    --------
    >>> found = korn_graubard(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (0.5953, 0.9956)
    """
    found = effective_size(totals, icc=icc, rates=rates)
    size = _adjusted(found, level, side)
    low, high = korn_graubard_limits(found, size, level, side)
    return Intervals(low, high, level, "Korn-Graubard, t(G-1)", found.df, size, found.notes)


def korn_graubard_limits(
    found: EffectiveSize, size: Floats | None = None, level: float = 0.95, side: Side = "two-sided"
) -> tuple[Floats, Floats]:
    """Give the two ends from an effective size; NaN where it is not defined."""
    size = _adjusted(found, level, side) if size is None else size
    some = ~np.isnan(size)
    n = np.where(some, size, 1.0)
    hits = np.where(some, np.minimum(found.rates.rate * n, n), 0.0)
    low, high = clopper_pearson(hits, n, level=level, side=side)
    return np.where(some, low, np.nan), np.where(some, high, np.nan)


def _adjusted(found: EffectiveSize, level: float, side: Side) -> Floats:
    """Give the effective number of trials, made smaller for the few clusters it was judged by."""
    tail(level, side)
    at_n = t_criticals(level, side, found.rates.n - 1.0)
    at_g = t_criticals(level, side, found.df)
    n = found.rates.n
    unit = np.divide(n - 1.0, n, out=np.ones_like(n), where=(n > 1.0) & ~found.rates.no_spread)
    return np.asarray(found.trials * unit * (at_n / at_g) ** 2)
