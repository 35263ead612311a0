"""Newcombe's square-and-add intervals for a difference: two Wilson intervals made into one."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.cluster_difference import correlation
from simtrack.inference.differences.paired_rates import joint_counts
from simtrack.inference.differences.two_rates import (
    TwoRates,
    answer_of,
    compared,
    from_counts,
    named,
    two_columns,
)
from simtrack.inference.intervals import normal_critical, open_ended, t_criticals
from simtrack.inference.rates.binomial import checked_counts
from simtrack.inference.rates.clustered import effective_size
from simtrack.inference.rates.wilson import wilson_limits
from simtrack.method import Method
from simtrack.options import Side

__all__ = [
    "METHODS",
    "newcombe",
    "newcombe_clustered",
    "newcombe_paired",
    "newcombe_pairs",
    "newcombe_pooled",
]

Floats = NDArray[np.float64]


def newcombe(
    successes_first: ArrayLike,
    n_first: ArrayLike,
    successes_second: ArrayLike,
    n_second: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Floats, Floats]:
    """Which differences of two independent rates fit, by adding Wilson's distances as squares?

    Parameters
    ----------
    successes_first, n_first, successes_second, n_second : arrays that broadcast
        Counts with 0 ≤ successes ≤ n and n > 0. Fractions (effective counts) are allowed.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or -1.

    Returns
    -------
    low, high : float64 arrays
        Within [-1, 1], around the observed difference.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, 873-890, method 10.

    Examples
    --------
    >>> low, high = newcombe(56, 70, 48, 80)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0524, 0.3339)
    """
    z = normal_critical(level, side)
    x1, n1 = checked_counts(successes_first, n_first)
    x2, n2 = checked_counts(successes_second, n_second)
    first, second = wilson_limits(x1 / n1, n1, z), wilson_limits(x2 / n2, n2, z)
    return open_ended(*_squared(x1 / n1, first, x2 / n2, second, 0.0), side, (-1.0, 1.0))


def newcombe_paired(
    both: ArrayLike,
    first_only: ArrayLike,
    second_only: ArrayLike,
    neither: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Floats, Floats]:
    """Which differences of two rates fit, if every pair was tried under both conditions?

    As `newcombe`, with the correlation of the pairs, itself made smaller for continuity; it is
    taken as 0 where a margin of the table is empty.

    Parameters
    ----------
    both, first_only, second_only, neither : arrays that broadcast
        Numbers of pairs by outcome; at least one pair.
    level, side
        As in `newcombe`.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, 2635-2650, method 10.

    Examples
    --------
    >>> low, high = newcombe_paired(59, 6, 16, 80)
    >>> round(float(low), 4), round(float(high), 4)
    (-0.1186, -0.0046)
    """
    cells = [np.asarray(v, dtype=np.float64) for v in (both, first_only, second_only, neither)]
    if not all((np.isfinite(v) & (v >= 0.0)).all() for v in cells):
        raise InputError("pairs", "counts of at least 0")
    a, b, c, d = np.broadcast_arrays(*cells)
    n = a + b + c + d
    checked_counts(a, n)
    z = normal_critical(level, side)
    p1, p2 = (a + b) / n, (a + c) / n
    found = _squared(p1, wilson_limits(p1, n, z), p2, wilson_limits(p2, n, z), _phi(a, b, c, d, n))
    return open_ended(*found, side, (-1.0, 1.0))


def newcombe_pooled(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How much higher is the first pooled rate than the second, all trials taken as independent?

    `newcombe` on the pooled counts of two columns of `totals`, with a note on what that ignores.

    Examples
    --------
    >>> newcombe_pooled(Totals.from_arrays([[56, 48]], [[70, 80]]))
    TwoRates(difference 0.2000, 95%: 0.0524 to 0.3339)
    """
    two = two_columns(totals, first, second)
    limits = partial(newcombe, level=level, side=side)
    return from_counts(two, limits, "difference", level, side, "Newcombe hybrid score")


def newcombe_pairs(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How much higher is the first rate than the second, if each cluster was tried once in both?

    `newcombe_paired` on the joint counts (`joint_counts`), which refuses more than one trial a
    cluster and condition.

    Examples
    --------
    >>> newcombe_pairs(Totals.from_arrays([[1, 0], [1, 1], [0, 0], [1, 0]], [[1, 1]] * 4))
    TwoRates(difference 0.5000, 95%: -0.1355 to 0.7891)
    """
    two, cells, notes = joint_counts(totals, first, second)
    low = high = np.array(np.nan)
    if sum(cells) > 0:
        low, high = newcombe_paired(*cells, level=level, side=side)
    method = "Newcombe paired hybrid score"
    return compared(two, "difference", float(low), float(high), level, side, method, notes)


def newcombe_clustered(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
) -> TwoRates:
    """How much higher is the first rate than the second, given that trials come in clusters?

    Newcombe's square-and-add on two intervals of `wilson_clustered`, with the correlation of the
    two estimates over the clusters that have both (0 if none has, or if one condition shows no
    spread). So conditions may share all, some or none of their clusters, and 0/n and n/n give an
    interval (on an ICC, assumed or given).

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    first, second : int
        Columns of `totals`.
    level, side
        As in `newcombe`.
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters show no spread.

    References
    ----------
    Zou and Donner (2008), Statistics in Medicine 27, 1693-1702 (square-and-add of any two
    intervals, correlated or not).

    Examples
    --------
    >>> hits = [[18, 14], [19, 15], [15, 12], [19, 18], [12, 9], [17, 13]]
    >>> newcombe_clustered(Totals.from_arrays(hits, [[20, 20]] * 6))
    TwoRates(difference 0.1583, 95%: 0.0791 to 0.2454)
    """
    two = two_columns(totals, first, second)
    size = effective_size(two.totals, icc=icc, rates=two.rates)
    critical = t_criticals(level, side, size.df)
    ends = (np.nan, np.nan)
    if not np.isnan(critical).any():
        p = two.rates.rate
        low, high = wilson_limits(p, size.trials, critical)
        found = _squared(p[0], (low[0], high[0]), p[1], (low[1], high[1]), correlation(two))
        least, most = open_ended(*found, side, (-1.0, 1.0))
        ends = float(least), float(most)
    return compared(
        two,
        "difference",
        *ends,
        level,
        side,
        "Newcombe hybrid score on the effective n, t",
        named(size.notes),
        n=(float(size.trials[0]), float(size.trials[1])),
        df=float(size.df.min()),
    )


def _squared(
    p1: Floats,
    first: tuple[Floats, Floats],
    p2: Floats,
    second: tuple[Floats, Floats],
    rho: Floats | float,
) -> tuple[Floats, Floats]:
    """Add the distances from each rate to its ends as squares, less what correlation explains."""
    down1, up1 = p1 - first[0], first[1] - p1
    down2, up2 = p2 - second[0], second[1] - p2
    gap = np.asarray(p1 - p2)
    below = down1**2 - 2.0 * rho * down1 * up2 + up2**2
    above = up1**2 - 2.0 * rho * up1 * down2 + down2**2
    low, high = gap - np.sqrt(np.maximum(below, 0.0)), gap + np.sqrt(np.maximum(above, 0.0))
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _phi(a: Floats, b: Floats, c: Floats, d: Floats, n: Floats) -> Floats:
    """Give the correlation of a paired table, with Newcombe's continuity correction above 0."""
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = a * d - b * c
    cross = np.where(cross > 0.0, np.maximum(cross - n / 2.0, 0.0), cross)
    return np.asarray(
        np.divide(cross, np.sqrt(margins), out=np.zeros_like(cross), where=margins > 0.0)
    )


METHODS = (
    Method(
        "newcombe-clustered", "difference",
        "Two arms of clustered 0/1 trials, shared clusters or not; rates of 0 and 1 too.",
        "One cluster in an arm; without spread in an arm an assumed ICC and no correlation.",
        "closed-form", "asymptotic", "Newcombe 1998; Zou & Donner 2008 on Wilson with effective n",
        answer=answer_of(newcombe_clustered), terms=2, options=("icc", "side"),
    ),
    Method(
        "newcombe", "difference",
        "Two sets of independent 0/1 trials, small or near 0 and 1.",
        "Several trials a cluster, or the same clusters in both arms.",
        "closed-form", "asymptotic", "Newcombe 1998, Stat. Med. 17, 873-890, method 10",
        answer=answer_of(newcombe_pooled), terms=2, options=("side",),
    ),
    Method(
        "newcombe-pairs", "difference",
        "Pairs of 0/1 trials: each cluster tried once in both arms.",
        "More than one trial a cluster and arm (refused).",
        "closed-form", "asymptotic", "Newcombe 1998, Stat. Med. 17, 2635-2650, method 10",
        answer=answer_of(newcombe_pairs), terms=2, options=("side",), pairing="trials",
    ),
)  # fmt: skip
