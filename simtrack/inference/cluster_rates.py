"""Student t intervals for a rate from clustered trials: on the logit scale, and on the rate's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.inference.clustered import ClusteredRates
from simtrack.inference.effective import EffectiveSize, effective_size
from simtrack.inference.intervals import Intervals
from simtrack.inference.korn_graubard import korn_graubard_limits
from simtrack.inference.sides import open_ended, t_criticals
from simtrack.options import Side

__all__ = ["cluster_t_rate", "logit_t"]

Floats = NDArray[np.float64]


def logit_t(
    totals: Totals,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials, by t(G-1) on the logit scale?

    logit p ± t se / (p (1-p)), turned back to rates. The standard error is the larger of the
    clustered and the naive one; where clusters show no spread it comes from an assumed ICC
    (`effective_size`). A rate of 0 or 1 has no logit: there the ends of `korn_graubard` are given,
    and the notes say so.

    Parameters
    ----------
    totals, level, side, icc, rates
        As in `simtrack.inference.korn_graubard`.

    References
    ----------
    Korn and Graubard (1999), Analysis of Health Surveys, section 3.2; the "xlogit" interval of
    R's survey package (Lumley 2010, Complex Surveys).

    Examples
    --------
    >>> found = logit_t(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (0.5714, 0.9838)
    """
    found = effective_size(totals, icc=icc, rates=rates)
    p = found.rates.rate
    inner = (p > 0.0) & (p < 1.0)
    safe = np.where(inner, p, 0.5)
    half = t_criticals(level, side, found.df) * _standard_error(found) / (safe * (1.0 - safe))
    centre = np.log(safe) - np.log1p(-safe)
    low, high = open_ended(_logistic(centre - half), _logistic(centre + half), side)
    return _with_ends(found, inner, low, high, level, side, "logit t(G-1)", "has no logit")


def cluster_t_rate(
    totals: Totals,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials, by t(G-1) on the rates themselves?

    p ± t se, cut off at 0 and 1 (the notes say where). Unlike `cluster_t`, the standard error is
    at least the naive one, and where clusters show no spread it comes from an assumed ICC
    (`effective_size`). At a rate of 0 or 1 it would be 0: there the ends of `korn_graubard` are
    given, and the notes say so.

    Parameters
    ----------
    totals, level, side, icc, rates
        As in `simtrack.inference.korn_graubard`.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., section 9.

    Examples
    --------
    >>> found = cluster_t_rate(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), float(found.high[0]), found.notes[0]
    (0.7281, 1.0, ('cut off at 1: the interval would leave [0, 1]',))
    """
    found = effective_size(totals, icc=icc, rates=rates)
    p = found.rates.rate
    inner = (p > 0.0) & (p < 1.0)
    half = t_criticals(level, side, found.df) * _standard_error(found)
    low, high = open_ended(p - half, p + half, side)
    cut = _cut_notes(low, high, inner)
    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    method = "cluster t(G-1) within [0, 1]"
    return _with_ends(
        found, inner, low, high, level, side, method, "has a standard error of 0", cut
    )


def _standard_error(found: EffectiveSize) -> Floats:
    p = found.rates.rate
    assumed = np.sqrt(p * (1.0 - p) / found.trials)
    observed = np.fmax(found.rates.clustered_se, found.rates.naive_se)
    return np.where(found.rates.no_spread, assumed, observed)


def _with_ends(
    found: EffectiveSize,
    inner: NDArray[np.bool_],
    low: Floats,
    high: Floats,
    level: float,
    side: Side,
    method: str,
    why: str,
    more: tuple[tuple[str, ...], ...] | None = None,
) -> Intervals:
    """Put the ends of `korn_graubard` where the rate is 0 or 1."""
    edge_low, edge_high = korn_graubard_limits(found, None, level, side)
    defined = ~np.isnan(found.df)
    notes = []
    for k, lines in enumerate(found.notes):
        extra = more[k] if more is not None else ()
        if defined[k] and not inner[k]:
            extra = (f"a rate of {found.rates.rate[k]:g} {why}: Korn-Graubard's ends are given",)
        notes.append((*lines, *extra))
    return Intervals(
        np.where(inner & defined, low, edge_low),
        np.where(inner & defined, high, edge_high),
        level,
        method,
        found.df,
        found.trials,
        tuple(notes),
    )


def _cut_notes(low: Floats, high: Floats, inner: NDArray[np.bool_]) -> tuple[tuple[str, ...], ...]:
    notes = []
    for below, above, inside in zip(low < 0.0, high > 1.0, inner, strict=True):
        ends = [end for end, over in (("0", below), ("1", above)) if over and inside]
        where = " and ".join(ends)
        notes.append((f"cut off at {where}: the interval would leave [0, 1]",) if ends else ())
    return tuple(notes)


def _logistic(u: Floats) -> Floats:
    small = np.exp(-np.abs(u))
    return np.where(u >= 0.0, 1.0, small) / (1.0 + small)
