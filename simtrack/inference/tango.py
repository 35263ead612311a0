"""Tango's score interval for the difference of two rates from pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.inference.binomial import checked_counts
from simtrack.inference.joint import joint_counts
from simtrack.inference.roots import turning_point
from simtrack.inference.sides import normal_critical, open_ended
from simtrack.inference.two_rates import TwoRates, compared
from simtrack.options import Side

__all__ = ["tango", "tango_pairs"]

Floats = NDArray[np.float64]


def tango(
    first_only: ArrayLike,
    second_only: ArrayLike,
    pairs: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Floats, Floats]:
    """Which differences of two rates does the score test on pairs not reject?

    Only the discordant pairs and the number of pairs matter. At 0 it is McNemar's test.

    Parameters
    ----------
    first_only, second_only : arrays that broadcast
        Pairs that succeeded in one condition only.
    pairs : array
        All pairs, above 0 and at least the discordant ones.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or -1.

    Returns
    -------
    low, high : float64 arrays
        Of first minus second, within [-1, 1].

    References
    ----------
    Tango (1998), Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> low, high = tango(6, 16, 161)
    >>> round(float(low), 4), round(float(high), 4)
    (-0.124, -0.0054)
    """
    b, c, n = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (first_only, second_only, pairs))
    )
    checked_counts(b, n)
    checked_counts(c, n)
    checked_counts(b + c, n)
    z = normal_critical(level, side)
    seen = np.asarray((b - c) / n)

    def score(delta: Floats) -> Floats:
        variance = n * (2.0 * _fitted_second_only(b, c, n, delta) + delta * (1.0 - delta))
        gap = b - c - n * delta
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0.0, 0.0, gap / np.sqrt(np.maximum(variance, 0.0)))

    low = turning_point(lambda d: score(d) > z, np.full_like(seen, -1.0), seen)
    high = turning_point(lambda d: score(d) >= -z, seen, np.full_like(seen, 1.0))
    return open_ended(np.minimum(low, seen), np.maximum(high, seen), side, (-1.0, 1.0))


def tango_pairs(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How much higher is the first rate than the second, if each cluster was tried once in both?

    `tango` on the joint counts (`joint_counts`), which refuses more than one trial a cluster and
    condition.

    Examples
    --------
    >>> tango_pairs(Totals.from_arrays([[1, 0], [1, 1], [0, 0], [1, 0]], [[1, 1]] * 4))
    TwoRates(difference 0.5000, 95%: -0.2348 to 0.8500)
    """
    two, (both, first_only, second_only, neither), notes = joint_counts(totals, first, second)
    pairs = both + first_only + second_only + neither
    low = high = np.array(np.nan)
    if pairs > 0.0:
        low, high = tango(first_only, second_only, pairs, level=level, side=side)
    method = "Tango paired score"
    ends = float(low), float(high)
    return compared(
        two, "difference", *ends, level, side, method, notes, computation="optimisation"
    )


def _fitted_second_only(b: Floats, c: Floats, n: Floats, delta: Floats) -> Floats:
    """Give P(second only) at the maximum of the likelihood with the difference held at delta."""
    half = (2.0 * n - b + c) * delta - b - c
    product = c * delta * (1.0 - delta)
    root = np.sqrt(np.maximum(half * half + 8.0 * n * product, 0.0))
    # The larger root of 2n q² + half q - product, in the form that does not cancel.
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(half + root > 0.0, 2.0 * product / (half + root), 0.0)
    return np.asarray(np.where(half > 0.0, up, (root - half) / (4.0 * n)))
