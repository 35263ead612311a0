"""Wilson intervals for a rate, on the effective number of trials where they come in clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.intervals import Intervals, t_criticals
from simtrack.inference.numerics.special import normal_quantile
from simtrack.inference.rates.answers import answer_of, studies_of
from simtrack.inference.rates.clustered import ClusteredRates, EffectiveSize, effective_size
from simtrack.method import Method
from simtrack.validate import open_unit, real

__all__ = ["METHODS", "wilson", "wilson_clustered", "wilson_guarded", "wilson_limits"]

Floats = NDArray[np.float64]


def wilson_limits(rate: ArrayLike, n: ArrayLike, critical: ArrayLike) -> tuple[Floats, Floats]:
    """Where does the score test at `critical` standard errors stop rejecting?

    Parameters
    ----------
    rate, n, critical : arrays that broadcast
        Rates in [0, 1], numbers of (effective) trials above 0, and normal or t quantiles.

    Returns
    -------
    low, high : float64 arrays
        0 ≤ low ≤ rate ≤ high ≤ 1 holds exactly; a rate of 0 gives low = 0, of 1 high = 1.

    References
    ----------
    Wilson (1927), JASA 22, 209-212. The end nearer to 0 or 1 is taken from the product of the
    roots, which does not cancel.

    Examples
    --------
    >>> low, high = wilson_limits(1.0, 46, 1.959963984540054)
    >>> f"{float(low):.10f}", float(high)
    ('0.9229264369', 1.0)
    """
    p, size, z = (np.asarray(v, dtype=np.float64) for v in (rate, n, critical))
    q = 1.0 - p
    root = z * np.sqrt(z * z + 4.0 * size * p * q)
    up, down = 2.0 * size * p + z * z + root, 2.0 * size * q + z * z + root
    low = 2.0 * size * p * p / up
    high = np.where(p < 0.5, up / (2.0 * (size + z * z)), 1.0 - 2.0 * size * q * q / down)
    return np.minimum(low, p), np.clip(high, p, 1.0)


def wilson(successes: float, n: float, *, level: float = 0.95) -> tuple[float, float]:
    """Which rates are compatible with `successes` of `n` independent trials?

    Examples
    --------
    >>> [round(end, 4) for end in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    open_unit("level", level)
    size = real("n", n, 0.0)
    if size == 0.0:
        raise InputError("n", "above 0", n, cure="A rate without trials has no interval.")
    hits = real("successes", successes, 0.0, size)
    z = -normal_quantile((1.0 - level) / 2.0)
    low, high = wilson_limits(hits / size, size, z)
    return float(low), float(high)


def wilson_clustered(
    totals: Totals,
    *,
    level: float = 0.95,
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials scored from 0 to 1?

    Wilson's interval on the effective number of trials (`effective_size`), with the t quantile
    for G - 1. Chance agreement between clusters buys nothing; where clusters show no spread at
    all, an ICC is assumed and the notes say so. With one trial a cluster the effective number is
    n, and the interval is Wilson's plain one with t for z. One cluster has no interval.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    level : float
        Confidence level.
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters show no spread.
    rates : ClusteredRates, optional
        What `clustered_rates(totals)` gave, if it is at hand.

    References
    ----------
    Korn and Graubard (1998), Survey Methodology 24, 193-201 (effective sample size with t);
    Dean and Pagano (2015), J. Survey Statistics and Methodology 3, 484-503 (Wilson's variant).

    Examples
    --------
    >>> found = wilson_clustered(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (0.6243, 0.9799)
    """
    return _on_effective_n(effective_size(totals, icc=icc, rates=rates), level, "t(G-1)")


def wilson_guarded(
    totals: Totals,
    *,
    level: float = 0.95,
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials, where few clusters show what they could?

    `wilson_clustered` with two guards (`effective_size`): where the rarer outcome occurs in fewer
    than five clusters, the design effect is at least that of an assumed ICC, so that 239/240 is not
    called surer than 240/240; and degrees of freedom count clusters by their trials,
    (Σm)²/Σm² - 1, so that one large cluster among small ones does not pass for many. For
    clusters whose rates follow a beta law it covers .90 or more (`studies/few_clusters`). Where a
    few clusters never pass, or trials of a cluster all agree, it falls to .73 at 30 clusters, and
    for graded scores to .40 at 12 (`studies/hard_populations`): `bounded_mean` holds there.

    Parameters
    ----------
    totals, level, icc, rates
        As in `wilson_clustered`.

    Examples
    --------
    >>> found = wilson_guarded(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (0.4426, 0.9903)
    """
    found = effective_size(totals, icc=icc, rates=rates, guard=True)
    return _on_effective_n(found, level, "t by cluster weight")


def _on_effective_n(found: EffectiveSize, level: float, quantile: str) -> Intervals:
    critical = t_criticals(level, "two-sided", found.df)
    defined = ~np.isnan(critical)
    low, high = wilson_limits(
        np.where(defined, found.rates.rate, 0.0),
        np.where(defined, found.trials, 1.0),
        np.where(defined, critical, 1.0),
    )
    return Intervals(
        np.where(defined, low, np.nan),
        np.where(defined, high, np.nan),
        level,
        f"Wilson on the effective n, {quantile}",
        found.df,
        found.trials,
        found.notes,
    )


METHODS = (
    Method(
        "wilson-guarded", "rate",
        "0/1 scores in clusters whose rates vary smoothly; narrower than bounded-mean.",
        "One cluster. A few clusters that never pass, or trials that repeat alike: it covers as "
        "little as .7 with 30 clusters; skewed graded scores: .4 with 12.",
        "closed-form", "asymptotic",
        "Wilson 1927 on the effective sample size, with Kish's effective number of clusters",
        answer=answer_of(wilson_guarded), many=studies_of(wilson_guarded), options=("icc",),
    ),
    Method(
        "wilson-clustered", "rate",
        "Binary or [0, 1] scores in ten or more clusters of similar size, rates from .1 to .9.",
        "Rates near 0 or 1 with strong clustering, very unequal clusters: it covers too little.",
        "closed-form", "asymptotic",
        "Wilson 1927 on the effective sample size, with t(G-1) (Korn & Graubard 1998)",
        answer=answer_of(wilson_clustered), many=studies_of(wilson_clustered), options=("icc",),
    ),
)  # fmt: skip
