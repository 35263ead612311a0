"""One clustered rate by t: on the scale of the rate, of logits or of beta quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.inference.intervals import Intervals, open_ended, t_criticals, tail
from simtrack.inference.numerics.special import t_critical
from simtrack.inference.rates.answers import answer_of, studies_of
from simtrack.inference.rates.binomial import clopper_pearson
from simtrack.inference.rates.clustered import (
    ClusteredRates,
    EffectiveSize,
    clustered_rates,
    effective_size,
)
from simtrack.method import Method
from simtrack.options import Side
from simtrack.validate import open_unit

__all__ = [
    "METHODS",
    "cluster_t",
    "cluster_t_rate",
    "korn_graubard",
    "korn_graubard_limits",
    "logit_t",
]


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


# Student t intervals from clustered standard errors, for means that are no rates.
def cluster_t(
    totals: Totals, *, level: float = 0.95, rates: ClusteredRates | None = None
) -> Intervals:
    """Which means are compatible with clustered scores of any range?

    The ratio ± t(G-1) clustered standard errors. It can leave [0, 1] and it has no width where
    clusters show no spread (then it is refused), so for rates prefer `wilson_clustered`.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., section 9.

    Examples
    --------
    >>> scores = Totals.from_arrays([2.0, 4.0, 6.0], [2, 2, 2], square=[2.5, 9.0, 20.0])
    >>> found = cluster_t(scores)
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (-0.4841, 4.4841)
    """
    open_unit("level", level)
    found = rates if rates is not None else clustered_rates(totals)
    defined = (found.clusters > 1) & ~found.no_spread
    critical = np.array(
        [t_critical(level, g - 1.0) if g > 1 else np.nan for g in found.clusters.tolist()]
    )
    half = np.where(defined, critical * found.clustered_se, np.nan)
    notes = tuple(
        (*lines, *_refusal(int(groups), bool(flat)))
        for lines, groups, flat in zip(found.notes, found.clusters, found.no_spread, strict=True)
    )
    return Intervals(
        found.rate - half,
        found.rate + half,
        level,
        "cluster t(G-1)",
        np.where(defined, found.clusters - 1.0, np.nan),
        found.effective_n,
        notes,
    )


def _refusal(groups: int, flat: bool) -> tuple[str, ...]:
    if groups == 1:
        return ("no interval: one cluster cannot say how much clusters differ",)
    if flat:
        return ("no interval: clusters show no spread, so its width would be 0",)
    return ()


# Student t intervals for a rate from clustered trials: on the logit scale, and on the rate's.
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
        As in `simtrack.inference.rates.cluster_t`.

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
        As in `simtrack.inference.rates.cluster_t`.

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


METHODS = (
    Method(
        "cluster-t", "rate",
        "Scores of any range in clusters; many clusters, rates away from 0 and 1.",
        "Few clusters with rates near 0 or 1: it covers too little.",
        "closed-form", "asymptotic", "Liang & Zeger 1986, linearised ratio with G/(G-1) and t(G-1)",
        answer=answer_of(cluster_t), many=studies_of(cluster_t),
    ),
    Method(
        "korn-graubard", "rate",
        "Clustered 0/1 scores where covering too little would be worse than a wide interval.",
        "One cluster; without spread it rests on an assumed ICC; too wide away from 0 and 1.",
        "closed-form", "asymptotic", "Korn & Graubard 1998, Survey Methodology 24, 193-201",
        answer=answer_of(korn_graubard), many=studies_of(korn_graubard), options=("icc", "side"),
    ),
    Method(
        "logit-t", "rate",
        "Clustered scores in [0, 1] with rates inside, as survey software reports them.",
        "Rates of 0 or 1 (Korn-Graubard's ends are given); without spread an assumed ICC.",
        "closed-form", "asymptotic", "Korn & Graubard 1999, section 3.2",
        answer=answer_of(logit_t), many=studies_of(logit_t), options=("icc", "side"),
    ),
    Method(
        "cluster-t-rate", "rate",
        "Clustered scores in [0, 1], many clusters, rates away from 0 and 1; held within [0, 1].",
        "Few clusters with rates near 0 or 1: it covers too little.",
        "closed-form", "asymptotic", "Cochran 1977, section 9, with an assumed ICC without spread",
        answer=answer_of(cluster_t_rate), many=studies_of(cluster_t_rate), options=("icc", "side"),
    ),
)  # fmt: skip
