"""The difference of two ratios, whether arms share their clusters, some or none."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.inference.differences.two_rates import Two, TwoRates, compared, two_columns
from simtrack.inference.intervals import open_ended, t_criticals
from simtrack.inference.numerics.special import t_cdf
from simtrack.inference.rates.clustered import effective_size
from simtrack.note import Note
from simtrack.options import Side

__all__ = [
    "ROUNDING",
    "assumed_variances",
    "cluster_difference",
    "correlation",
    "covariance",
    "satterthwaite",
]


#: A variance below this share of what it is the difference of is rounding, not spread.
ROUNDING = 1e-12

Floats = NDArray[np.float64]


def assumed_variances(two: Two, icc: float | None) -> tuple[Floats, tuple[Note, ...]]:
    """How far may each pooled rate be off, as a variance; and what had to be assumed?

    The linearised clustered variance; where clusters show no spread, p(1-p) over the effective
    number of trials (`effective_size`), which is 0 at a rate of 0 or 1. NaN with fewer than two
    clusters. The notes name the condition.
    """
    size = effective_size(two.totals, icc=icc, rates=two.rates)
    p, flat = two.rates.rate, two.rates.no_spread
    variances = np.where(flat, p * (1.0 - p) / size.trials, two.rates.clustered_se**2)
    notes: list[Note] = []
    for name, lines, same, rate in zip(("first", "second"), size.notes, flat, p, strict=True):
        notes.extend(line.at(name) for line in lines if line.code != "less-than-chance")
        if same and rate in {0.0, 1.0}:
            told = f"a rate of {rate:g} adds no variance, so the interval is too narrow"
            notes.append(Note("no-variance", told).at(name))
    return variances, tuple(notes)


def covariance(two: Two) -> float:
    """How do the two pooled rates vary together, over the clusters that have both?

    Σ_g e_g1 e_g2 √(G1/(G1-1) · G2/(G2-1)) with the linearised contributions
    e_gc = (x_gc - p_c m_gc) / M_c. It is 0 without shared clusters; with all of them shared,
    var(1) + var(2) - 2 cov is the linearised variance of the difference.
    """
    g1, g2 = two.clusters
    if two.shared == 0 or min(g1, g2) < 2:
        return 0.0
    top, bottom = two.totals.numerator, two.totals.denominator
    influence = (top - two.rates.rate * bottom) / two.n
    factor = math.sqrt(g1 / (g1 - 1.0) * g2 / (g2 - 1.0))
    return float((influence[:, 0] * influence[:, 1]).sum()) * factor


def correlation(two: Two) -> float:
    """How strongly are the two pooled rates correlated over shared clusters, from -1 to 1?

    Held against the larger of the clustered and the naive standard errors; 0 where one of the
    conditions shows no spread between clusters.
    """
    se = np.fmax(two.rates.clustered_se, two.rates.naive_se)
    if two.rates.no_spread.any() or not (se > 0.0).all():
        return 0.0
    return float(np.clip(covariance(two) / (se[0] * se[1]), -1.0, 1.0))


def satterthwaite(variances: Floats, two: Two) -> float:
    """How many degrees of freedom has the standard error of the comparison?

    Welch and Satterthwaite's for clusters of which none is shared; G - 1 where all are; one less
    than the smaller number of clusters where some are, or where a condition adds no variance:
    the safe side.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2, 110-114; Welch (1947), Biometrika 34, 28-35.
    """
    smaller = min(two.clusters) - 1.0
    if two.shared > 0 or not (variances > 0.0).all():
        return smaller
    parts = variances**2 / (np.array(two.clusters) - 1.0)
    return max(float(variances.sum() ** 2 / parts.sum()), smaller)


# The t interval for a difference of two clustered rates, whatever clusters they share.
def cluster_difference(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
) -> TwoRates:
    """How much higher is the first pooled rate than the second, given that trials come in clusters?

    Student's t on the difference of the pooled rates with its linearised clustered variance,
    v1 + v2 - 2 cov. The conditions may share all, some or none of their clusters: the covariance is
    over the shared ones. Degrees of freedom: Welch and Satterthwaite's where none is shared, G - 1
    where all are, one less than the smaller number of clusters in between (the safe side). It
    weights clusters by their trials, unlike `paired_difference`, which weights them equally.

    A condition whose clusters show no spread gets its variance from an ICC, given or assumed. At a
    rate of 0 or 1 that variance is 0 too, and the notes say so; two such conditions are refused.
    `newcombe_clustered` has an interval there.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    first, second : int
        Columns of `totals`.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or -1.
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters show no spread.

    Returns
    -------
    TwoRates
        Ends within [-1, 1], with a note where they were cut off.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., sections 6.11 and 9; Welch (1947), Biometrika 34,
    28-35.

    Examples
    --------
    >>> hits = [[18, 0], [20, 0], [15, 0], [0, 14], [0, 15], [0, 10]]
    >>> trials = [[20, 0]] * 3 + [[0, 20]] * 3
    >>> cluster_difference(Totals.from_arrays(hits, trials))
    TwoRates(difference 0.2333, 95%: -0.0596 to 0.5263)
    """
    two = two_columns(totals, first, second)
    variances, notes = assumed_variances(two, icc)
    se = df = low = high = pvalue = math.nan
    if not np.isnan(variances).any():
        square = float(variances.sum()) - 2.0 * covariance(two)
        square = 0.0 if square <= ROUNDING * float(variances.sum()) else square
        se, df = math.sqrt(square), satterthwaite(variances, two)
    if se > 0.0:
        gap = float(two.rates.rate[0] - two.rates.rate[1])
        half = float(t_criticals(level, side, df)) * se
        pvalue = 2.0 * t_cdf(-abs(gap) / se, df)
        low, high = max(gap - half, -1.0), min(gap + half, 1.0)
        if gap - half < -1.0 or gap + half > 1.0:
            told = "the interval is cut off where a difference of rates ends"
            notes = (*notes, Note("cut-off", told))
        least, most = open_ended(np.array(low), np.array(high), side, (-1.0, 1.0))
        low, high = float(least), float(most)
    elif se == 0.0:
        told = "no interval: no spread, so its width would be 0; use newcombe-clustered"
        notes = (*notes, Note("no-interval", told))
    name = "cluster t on pooled rates"
    return compared(
        two, "difference", low, high, level, side, name, notes, se=se, df=df, pvalue=pvalue
    )
