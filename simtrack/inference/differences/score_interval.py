"""Score intervals for two rates: difference and ratio, of counts and of clustered totals."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.cluster_difference import satterthwaite
from simtrack.inference.differences.two_rates import (
    Measure,
    Two,
    TwoRates,
    answer_of,
    compared,
    from_counts,
    named,
    two_columns,
)
from simtrack.inference.intervals import normal_critical, open_ended, t_criticals
from simtrack.inference.numerics.roots import turning_point
from simtrack.inference.rates.binomial import checked_counts
from simtrack.inference.rates.clustered import effective_size
from simtrack.method import Method
from simtrack.options import Side

__all__ = [
    "METHODS",
    "difference_limits",
    "difference_score",
    "miettinen_nurminen",
    "miettinen_nurminen_clustered",
    "miettinen_nurminen_pooled",
    "miettinen_nurminen_ratio",
    "miettinen_nurminen_ratio_clustered",
    "miettinen_nurminen_ratio_pooled",
    "ratio_limits",
]


Floats = NDArray[np.float64]
#: Ratios are looked for between e^-300 and e^300.
_LOG_RANGE = 300.0


def miettinen_nurminen(
    successes_first: ArrayLike,
    n_first: ArrayLike,
    successes_second: ArrayLike,
    n_second: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    correction: bool = True,
) -> tuple[Floats, Floats]:
    """Which differences of two independent rates does the score test not reject?

    The test divides first minus second minus δ by its standard error under δ (both rates fitted by
    maximum likelihood with their difference held at δ), times N/(N-1).

    Parameters
    ----------
    successes_first, n_first, successes_second, n_second : arrays that broadcast
        Counts with 0 ≤ successes ≤ n and n > 0. Fractions (effective counts) are allowed.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or -1.
    correction : bool
        With the factor N/(N-1) in the variance; without it the interval is Mee's.

    Returns
    -------
    low, high : float64 arrays
        Within [-1, 1], around the observed difference.

    References
    ----------
    Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226, eq. 8-10 and appendix 1;
    Mee (1984), Biometrics 40, 1175-1176.

    Examples
    --------
    >>> low, high = miettinen_nurminen(56, 70, 48, 80)
    >>> round(float(low), 4), round(float(high), 4)
    (0.0528, 0.3382)
    """
    x1, n1, x2, n2 = _four(successes_first, n_first, successes_second, n_second)
    z = normal_critical(level, side)
    low, high = difference_limits(x1, n1, x2, n2, z, correction=correction)
    return open_ended(low, high, side, (-1.0, 1.0))


def miettinen_nurminen_ratio(
    successes_first: ArrayLike,
    n_first: ArrayLike,
    successes_second: ArrayLike,
    n_second: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    correction: bool = True,
) -> tuple[Floats, Floats]:
    """Which ratios of two independent rates does the score test not reject?

    Parameters as in `miettinen_nurminen`; without `correction` the interval is Koopman's.

    Returns
    -------
    low, high : float64 arrays
        Within [0, ∞]; low is exactly 0 without a success in the first, high infinite without one
        in the second.

    References
    ----------
    Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226, eq. 11-13; Koopman (1984),
    Biometrics 40, 513-517.

    Examples
    --------
    >>> low, high = miettinen_nurminen_ratio(7, 34, 1, 34)
    >>> round(float(low), 4), round(float(high), 4)
    (1.2086, 43.033)
    """
    x1, n1, x2, n2 = _four(successes_first, n_first, successes_second, n_second)
    z = normal_critical(level, side)
    low, high = ratio_limits(x1, n1, x2, n2, z, correction=correction)
    return open_ended(low, high, side, (0.0, np.inf))


def difference_limits(
    x1: Floats, n1: Floats, x2: Floats, n2: Floats, z: Floats | float, *, correction: bool = True
) -> tuple[Floats, Floats]:
    """Where does the score test of a difference stop rejecting at `z` standard errors?"""
    seen = x1 / n1 - x2 / n2

    def score(delta: Floats) -> Floats:
        return difference_score(x1, n1, x2, n2, delta, correction=correction)

    low = turning_point(lambda d: score(d) > z, np.full_like(seen, -1.0), seen)
    high = turning_point(lambda d: score(d) >= -z, seen, np.full_like(seen, 1.0))
    return np.minimum(low, seen), np.maximum(high, seen)


def difference_score(
    x1: Floats, n1: Floats, x2: Floats, n2: Floats, delta: Floats, *, correction: bool = True
) -> Floats:
    """By how many standard errors is first minus second above `delta`, if that is the truth?

    References
    ----------
    Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226, eq. 8; Farrington and Manning
    (1990), Statistics in Medicine 9, 1447-1454 (without the correction).
    """
    p2 = _fitted_second(x1, n1, x2, n2, delta)
    p1 = np.clip(p2 + delta, 0.0, 1.0)
    factor = (n1 + n2) / (n1 + n2 - 1.0) if correction else 1.0
    variance = (p1 * (1.0 - p1) / n1 + p2 * (1.0 - p2) / n2) * factor
    return _standardised(x1 / n1 - x2 / n2 - delta, variance)


def ratio_limits(
    x1: Floats, n1: Floats, x2: Floats, n2: Floats, z: Floats | float, *, correction: bool = True
) -> tuple[Floats, Floats]:
    """Where does the score test of a ratio stop rejecting at `z` standard errors?"""
    p1, p2 = x1 / n1, x2 / n2
    factor = (n1 + n2) / (n1 + n2 - 1.0) if correction else np.ones_like(p1)

    def score(log_ratio: Floats) -> Floats:
        ratio = np.exp(log_ratio)
        b = n1 * ratio + x1 + n2 + x2 * ratio
        root = np.sqrt(np.maximum(b * b - 4.0 * (n1 + n2) * ratio * (x1 + x2), 0.0))
        second = np.minimum(2.0 * (x1 + x2) / (b + root), 1.0)
        first = np.minimum(ratio * second, 1.0)
        variance = first * (1.0 - first) / n1 + ratio * ratio * second * (1.0 - second) / n2
        return _standardised(p1 - ratio * p2, variance * factor)

    some = (x1 > 0.0) & (x2 > 0.0)
    centre = np.log(np.where(some, p1, 1.0)) - np.log(np.where(some, p2, 1.0))
    start = np.where(some, centre, np.where(x1 > 0.0, _LOG_RANGE, -_LOG_RANGE))
    floor, ceiling = np.full_like(p1, -_LOG_RANGE), np.full_like(p1, _LOG_RANGE)
    low = turning_point(lambda t: score(t) > z, floor, start)
    high = turning_point(lambda t: score(t) >= -z, start, ceiling)
    return np.where(x1 > 0.0, np.exp(low), 0.0), np.where(x2 > 0.0, np.exp(high), np.inf)


def _four(x1: ArrayLike, n1: ArrayLike, x2: ArrayLike, n2: ArrayLike) -> list[Floats]:
    first, second = checked_counts(x1, n1), checked_counts(x2, n2)
    return [np.array(v, dtype=np.float64) for v in np.broadcast_arrays(*first, *second)]


def _standardised(gap: Floats, variance: Floats) -> Floats:
    """Divide by the standard error; a gap without variance is infinitely far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0.0, 0.0, gap / np.sqrt(variance))


def _fitted_second(x1: Floats, n1: Floats, x2: Floats, n2: Floats, delta: Floats) -> Floats:
    """Give the second rate at the maximum of the likelihood with the first delta above it.

    The middle root of the cubic of Miettinen and Nurminen's appendix, held within what delta
    allows.
    """
    total, events = n1 + n2, x1 + x2
    l3 = total
    l2 = (n1 + 2.0 * n2) * delta - total - events
    l1 = (n2 * delta - total - 2.0 * x2) * delta + events
    l0 = x2 * delta * (1.0 - delta)
    shift = l2 / (3.0 * l3)
    q = shift**3 - l1 * l2 / (6.0 * l3 * l3) + l0 / (2.0 * l3)
    p = np.copysign(np.sqrt(np.maximum(shift * shift - l1 / (3.0 * l3), 0.0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0.0, 0.0, np.clip(q / p**3, -1.0, 1.0))
    rate = 2.0 * p * np.cos((np.pi + np.arccos(cosine)) / 3.0) - shift
    low, high = np.maximum(0.0, -delta), np.minimum(1.0, 1.0 - delta)
    return np.asarray(np.clip(rate, low, high))


# Score intervals for two rates from totals: pooled, and on the effective n of clustered trials.
def miettinen_nurminen_pooled(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How much higher is the first pooled rate, by the score test, all trials independent?

    `miettinen_nurminen` on the pooled counts of two columns of `totals`, with a note on what that
    ignores.

    Examples
    --------
    >>> miettinen_nurminen_pooled(Totals.from_arrays([[56, 48]], [[70, 80]]))
    TwoRates(difference 0.2000, 95%: 0.0528 to 0.3382)
    """
    return _pooled(totals, first, second, "difference", level, side)


def miettinen_nurminen_ratio_pooled(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How many times higher is the first pooled rate, by the score test, all trials independent?

    `miettinen_nurminen_ratio` on the pooled counts of two columns of `totals`.

    Examples
    --------
    >>> miettinen_nurminen_ratio_pooled(Totals.from_arrays([[7, 1]], [[34, 34]]))
    TwoRates(ratio 7.0000, 95%: 1.2086 to 43.0330)
    """
    return _pooled(totals, first, second, "ratio", level, side)


def miettinen_nurminen_clustered(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
) -> TwoRates:
    """How much higher is the first rate, by the score test, in conditions that share no cluster?

    The score test on p n* successes of n* trials, n* being the effective number of trials in each
    condition (`effective_size`), with Student's t for the normal quantile. Its degrees of freedom
    are Welch and Satterthwaite's for the variances p(1-p)/n*. Replacing counts by effective counts
    is Rao and Scott's adjustment; the t quantile is ours, by analogy with `wilson_clustered`.

    Raises
    ------
    InputError
        Conditions that share clusters: the score test has no place for their correlation.

    References
    ----------
    Rao and Scott (1992), Biometrics 48, 577-585; Miettinen and Nurminen (1985).

    Examples
    --------
    >>> hits = [[x, 0] for x in (18, 19, 15, 19, 12, 17)] + [[0, x] for x in (14, 15, 12, 18, 9)]
    >>> trials = [[20, 0]] * 6 + [[0, 20]] * 5
    >>> miettinen_nurminen_clustered(Totals.from_arrays(hits, trials))
    TwoRates(difference 0.1533, 95%: -0.0651 to 0.3699)
    """
    return _clustered(totals, first, second, "difference", level, side, icc)


def miettinen_nurminen_ratio_clustered(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
    icc: float | None = None,
) -> TwoRates:
    """How many times higher is the first rate, in conditions that share no cluster?

    As `miettinen_nurminen_clustered`, for the ratio.
    """
    return _clustered(totals, first, second, "ratio", level, side, icc)


def _pooled(
    totals: Totals, first: int, second: int, measure: Measure, level: float, side: Side
) -> TwoRates:
    two = two_columns(totals, first, second)
    method = miettinen_nurminen if measure == "difference" else miettinen_nurminen_ratio
    return from_counts(
        two,
        partial(method, level=level, side=side),
        measure,
        level,
        side,
        "Miettinen-Nurminen score",
        notes=_empty(two, measure),
        computation="optimisation",
    )


def _clustered(
    totals: Totals,
    first: int,
    second: int,
    measure: Measure,
    level: float,
    side: Side,
    icc: float | None,
) -> TwoRates:
    two = two_columns(totals, first, second)
    if two.shared:
        raise InputError(
            "conditions",
            "without shared clusters",
            f"{two.shared} clusters with both",
            cure="Use newcombe-clustered or paired-cluster-t.",
        )
    size = effective_size(two.totals, icc=icc, rates=two.rates)
    notes = named(size.notes)
    n, p = size.trials, two.rates.rate
    ends, df = (np.nan, np.nan), np.nan
    if not np.isnan(n).any():
        df = satterthwaite(p * (1.0 - p) / n, two)
        limits = difference_limits if measure == "difference" else ratio_limits
        hits, each = p * n, n
        found = limits(hits[:1], each[:1], hits[1:], each[1:], float(t_criticals(level, side, df)))
        outer = (-1.0, 1.0) if measure == "difference" else (0.0, np.inf)
        low, high = open_ended(*found, side, outer)
        ends = float(low[0]), float(high[0])
        notes = (*notes, *_empty(two, measure))
    return compared(
        two,
        measure,
        *ends,
        level,
        side,
        "Miettinen-Nurminen score on the effective n, t",
        notes,
        n=(float(n[0]), float(n[1])),
        df=df,
        computation="optimisation",
    )


def _empty(two: Two, measure: Measure) -> tuple[str, ...]:
    if measure == "difference" or not (two.n > 0.0).all():
        return ()
    if not two.hits.any():
        return ("no success in either condition: the data say nothing of the ratio",)
    if two.hits[1] == 0.0:
        return ("no success in the second condition: the ratio has no upper end",)
    return ()


METHODS = (
    Method(
        "miettinen-nurminen-clustered", "difference",
        "Two arms of clustered 0/1 trials that share no cluster; rates of 0 and 1 too.",
        "Arms that share clusters (refused); one cluster in an arm.",
        "optimisation", "asymptotic", "Rao & Scott 1992; Miettinen & Nurminen 1985",
        answer=answer_of(miettinen_nurminen_clustered), terms=2, options=("icc", "side"),
    ),
    Method(
        "miettinen-nurminen", "difference",
        "Two sets of independent 0/1 trials, as regulators ask for it.",
        "Several trials a cluster, or the same clusters in both arms.",
        "optimisation", "asymptotic", "Miettinen & Nurminen 1985, Stat. Med. 4, 213-226",
        answer=answer_of(miettinen_nurminen_pooled), terms=2, options=("side",),
    ),
    Method(
        "miettinen-nurminen-ratio-clustered", "difference",
        "The ratio of two clustered rates that share no cluster; rates of 0 and 1 too.",
        "Arms that share clusters (refused); one cluster in an arm.",
        "optimisation", "asymptotic", "Rao & Scott 1992; Miettinen & Nurminen 1985",
        answer=answer_of(miettinen_nurminen_ratio_clustered), terms=2, quantity="ratio",
        options=("icc", "side"),
    ),
    Method(
        "miettinen-nurminen-ratio", "difference",
        "The ratio of two rates from independent 0/1 trials; rates of 0 and 1 too.",
        "Several trials a cluster, or the same clusters in both arms.",
        "optimisation", "asymptotic", "Miettinen & Nurminen 1985; Koopman 1984",
        answer=answer_of(miettinen_nurminen_ratio_pooled), terms=2, quantity="ratio",
        options=("side",),
    ),
)  # fmt: skip
