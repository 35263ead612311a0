"""The t interval for a difference of two clustered rates, whatever clusters they share."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.inference.linearised import (
    ROUNDING,
    assumed_variances,
    covariance,
    satterthwaite,
)
from simtrack.inference.sides import open_ended, t_criticals
from simtrack.inference.special import t_cdf
from simtrack.inference.two_rates import TwoRates, compared, two_columns
from simtrack.options import Side

__all__ = ["cluster_difference"]

Floats = NDArray[np.float64]


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
            notes = (*notes, "the interval is cut off where a difference of rates ends")
        least, most = open_ended(np.array(low), np.array(high), side, (-1.0, 1.0))
        low, high = float(least), float(most)
    elif se == 0.0:
        notes = (*notes, "no interval: no spread, so its width would be 0; use newcombe-clustered")
    name = "cluster t on pooled rates"
    return compared(
        two, "difference", low, high, level, side, name, notes, se=se, df=df, pvalue=pvalue
    )
