"""Bootstrap intervals for one rate or mean in each condition."""

from __future__ import annotations

import math

import numpy as np

from simtrack.counts import Totals
from simtrack.inference.bootstrap import bootstrap
from simtrack.inference.bootstrap_intervals import BootstrapKind
from simtrack.inference.bootstrap_result import BootstrapInterval
from simtrack.inference.intervals import Intervals
from simtrack.options import Computation
from simtrack.validate import open_unit

__all__ = ["basic_rates", "bca_rates", "percentile_rates", "studentized_rates"]

_WEAKEST: tuple[Computation, ...] = ("monte-carlo", "enumeration", "convolution")


def percentile_rates(
    totals: Totals, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Intervals:
    """Which rates lie between the quantiles of the cluster bootstrap's law?

    Percentile cluster bootstrap, law computed exactly (by Monte Carlo where it cannot be, and then
    the notes say so). An exact law is not exact coverage: with few clusters it covers too little.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions).
    level, n_resamples, seed
        As in `simtrack.inference.bootstrap.bootstrap`.

    Returns
    -------
    Intervals
        Degrees of freedom and effective n are NaN: the bootstrap uses neither. Ends are NaN where
        a condition has one cluster, or where all resamples give one value; the notes say so.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3.

    Examples
    --------
    >>> found = percentile_rates(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> float(found.low[0]), float(found.high[0]), found.method
    (0.8, 0.975, 'percentile cluster bootstrap, law computed exactly')
    """
    return _intervals(totals, "percentile", level, n_resamples, seed)


def basic_rates(
    totals: Totals, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Intervals:
    """Which rates lie between the bootstrap's quantiles mirrored at the estimate?

    Ends are cut off at 0 and 1. Otherwise as `percentile_rates`.

    References
    ----------
    Davison and Hinkley (1997), Bootstrap Methods and their Application, eq. 5.6.
    """
    return _intervals(totals, "basic", level, n_resamples, seed)


def bca_rates(
    totals: Totals, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Intervals:
    """Which rates lie between quantiles that are corrected for bias and for skewness?

    Otherwise as `percentile_rates`.

    References
    ----------
    Efron (1987), JASA 82, 171-185.
    """
    return _intervals(totals, "bca", level, n_resamples, seed)


def studentized_rates(
    totals: Totals, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> Intervals:
    """Which rates are compatible with the clusters, by the bootstrap law of their t value?

    Resamples without spread have an infinite t value; an end that they reach is cut off at 0 or 1.
    Otherwise as `percentile_rates`.

    References
    ----------
    Davison and Hinkley (1997), Bootstrap Methods and their Application, eq. 2.43.
    """
    return _intervals(totals, "studentized", level, n_resamples, seed)


def _intervals(
    totals: Totals, kind: BootstrapKind, level: float, n_resamples: int, seed: int
) -> Intervals:
    open_unit("level", level)
    columns = [totals.column(k) for k in range(totals.shape[1])]
    found = [
        bootstrap(column, kind=kind, level=level, n_resamples=n_resamples, seed=seed)
        if column.shape[0] > 1
        else _no_interval(column)
        for column in columns
    ]
    done = [f for f in found if isinstance(f, BootstrapInterval)]
    missing = np.full(len(found), np.nan)
    kinds = {f.computation for f in done}
    exact = "monte-carlo" not in kinds
    how = "computed exactly" if exact else "partly estimated by Monte Carlo"
    return Intervals(
        np.array([_end(f, "low") for f in found]),
        np.array([_end(f, "high") for f in found]),
        level,
        f"{'BCa' if kind == 'bca' else kind} cluster bootstrap, law {how}",
        missing,
        missing,
        tuple((f,) if isinstance(f, str) else _notes(f) for f in found),
        next((c for c in _WEAKEST if c in kinds), "enumeration"),
    )


def _no_interval(column: Totals) -> str:
    if column.shape[0] == 0:
        return "no trial: nothing is defined"
    return "no interval: one cluster cannot say how much clusters differ"


def _end(found: BootstrapInterval | str, name: str) -> float:
    end = None if isinstance(found, str) else getattr(found, name)
    return math.nan if end is None else float(end)


def _notes(found: BootstrapInterval) -> tuple[str, ...]:
    if found.route != "monte-carlo":
        return found.notes
    low, high = found.mcse_low, found.mcse_high
    errors = "" if low is None or high is None else f", standard errors {low:.2g} and {high:.2g}"
    drawn = f"ends from {found.n_resamples:,} random resamples, seed {found.seed}{errors}"
    return (*found.notes, drawn)
