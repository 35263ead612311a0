"""Intervals for the ratio of two rates on the logarithmic scale: Katz's, and a clustered one."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.inference.differences.cluster_difference import (
    ROUNDING,
    assumed_variances,
    covariance,
    satterthwaite,
)
from simtrack.inference.differences.two_rates import (
    TwoRates,
    answer_of,
    compared,
    from_counts,
    two_columns,
)
from simtrack.inference.intervals import normal_critical, open_ended, t_criticals
from simtrack.inference.numerics.special import t_cdf
from simtrack.inference.rates.binomial import checked_counts
from simtrack.method import Method
from simtrack.note import Note
from simtrack.options import Side

__all__ = ["METHODS", "cluster_ratio", "katz", "katz_pooled"]

Floats = NDArray[np.float64]
_REFUSED = "no interval: {} (use miettinen-nurminen-ratio)"


def katz(
    successes_first: ArrayLike,
    n_first: ArrayLike,
    successes_second: ArrayLike,
    n_second: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Floats, Floats]:
    """Which ratios of two independent rates lie within so many standard errors of its logarithm?

    Parameters
    ----------
    successes_first, n_first, successes_second, n_second : arrays that broadcast
        Counts with 0 ≤ successes ≤ n and n > 0.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is ∞ or 0.

    Returns
    -------
    low, high : float64 arrays
        NaN where a condition has no success, or neither has a failure: the logarithm or its
        standard error is not defined there, or is 0. `miettinen_nurminen_ratio` has an interval.

    References
    ----------
    Katz, Baptista, Azen and Pike (1978), Biometrics 34, 469-474.

    Examples
    --------
    >>> low, high = katz(7, 34, 1, 34)
    >>> round(float(low), 4), round(float(high), 4)
    (0.9096, 53.8695)
    """
    z = normal_critical(level, side)
    x1, n1 = checked_counts(successes_first, n_first)
    x2, n2 = checked_counts(successes_second, n_second)
    some = (x1 > 0.0) & (x2 > 0.0) & ((x1 < n1) | (x2 < n2))
    top, bottom = np.where(some, x1, 1.0), np.where(some, x2, 1.0)
    se = np.sqrt(np.maximum(1.0 / top - 1.0 / n1 + 1.0 / bottom - 1.0 / n2, 0.0))
    centre = np.log(top / n1) - np.log(bottom / n2)
    low = np.where(some, np.exp(centre - z * se), np.nan)
    high = np.where(some, np.exp(centre + z * se), np.nan)
    return open_ended(low, high, side, (0.0, np.inf))


def katz_pooled(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How many times higher is the first pooled rate, by Katz, all trials taken as independent?

    `katz` on the pooled counts of two columns of `totals`, with a note on what that ignores.

    Examples
    --------
    >>> katz_pooled(Totals.from_arrays([[7, 1]], [[34, 34]]))
    TwoRates(ratio 7.0000, 95%: 0.9096 to 53.8695)
    """
    two = two_columns(totals, first, second)
    limits = partial(katz, level=level, side=side)
    undefined = _REFUSED.format("a rate of 0, or two of 1, has no such standard error")
    return from_counts(two, limits, "ratio", level, side, "Katz log ratio", undefined=undefined)


def cluster_ratio(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
) -> TwoRates:
    """How many times higher is the first rate than the second, given that trials come in clusters?

    Student's t on the logarithm of the ratio of the pooled rates, with its linearised clustered
    variance v1/p1² + v2/p2² - 2 cov/(p1 p2); the conditions may share all, some or none of their
    clusters. Variances and degrees of freedom as in `cluster_difference`.

    Parameters
    ----------
    totals, first, second, level, side, icc
        As in `simtrack.inference.differences.cluster_difference`.

    Examples
    --------
    >>> both = Totals.from_arrays([[18, 14], [20, 15], [15, 12], [19, 18]], [[20, 20]] * 4)
    >>> cluster_ratio(both)
    TwoRates(ratio 1.2203, 95%: 1.0179 to 1.4631)
    """
    two = two_columns(totals, first, second)
    variances, notes = assumed_variances(two, icc)
    p = two.rates.rate
    se = df = low = high = pvalue = math.nan
    if (two.n > 0.0).all() and not np.isnan(variances).any():
        if (p == 0.0).any():
            told = _REFUSED.format("a rate of 0 has no logarithm")
            notes = (*notes, Note("no-interval", told))
        else:
            parts = variances / p**2
            square = float(parts.sum()) - 2.0 * covariance(two) / float(p[0] * p[1])
            square = 0.0 if square <= ROUNDING * float(parts.sum()) else square
            se, df = math.sqrt(square), satterthwaite(parts, two)
    if se > 0.0:
        centre = math.log(p[0] / p[1])
        half = float(t_criticals(level, side, df)) * se
        least, most = np.array(math.exp(centre - half)), np.array(math.exp(centre + half))
        low, high = (float(e) for e in open_ended(least, most, side, (0.0, math.inf)))
        pvalue = 2.0 * t_cdf(-abs(centre) / se, df)
    elif se == 0.0:
        told = _REFUSED.format("no spread between clusters, so its width would be 0")
        notes = (*notes, Note("no-interval", told))
    name = "cluster t on the log ratio"
    return compared(two, "ratio", low, high, level, side, name, notes, se=se, df=df, pvalue=pvalue)


METHODS = (
    Method(
        "cluster-t-ratio", "difference",
        "The ratio of two clustered rates, shared clusters or not, both well above 0.",
        "A rate of 0 (refused); few clusters.",
        "closed-form", "asymptotic", "Linearised log ratio (Cochran 1977, 6.11), t",
        answer=answer_of(cluster_ratio), terms=2, quantity="ratio", options=("icc", "side"),
        has_pvalue=True,
    ),
    Method(
        "katz", "difference",
        "The ratio of two rates from many independent 0/1 trials.",
        "A rate of 0 (refused), small counts, several trials a cluster.",
        "closed-form", "asymptotic", "Katz et al. 1978, Biometrics 34, 469-474",
        answer=answer_of(katz_pooled), terms=2, quantity="ratio", options=("side",),
    ),
)  # fmt: skip
