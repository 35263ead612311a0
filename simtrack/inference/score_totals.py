"""Score intervals for two rates from totals: pooled, and on the effective n of clustered trials."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.effective import effective_size
from simtrack.inference.linearised import satterthwaite
from simtrack.inference.score_two import (
    difference_limits,
    miettinen_nurminen,
    miettinen_nurminen_ratio,
    ratio_limits,
)
from simtrack.inference.sides import open_ended, t_criticals
from simtrack.inference.two_rates import (
    Measure,
    Two,
    TwoRates,
    compared,
    from_counts,
    named,
    two_columns,
)
from simtrack.options import Side

__all__ = [
    "miettinen_nurminen_clustered",
    "miettinen_nurminen_pooled",
    "miettinen_nurminen_ratio_clustered",
    "miettinen_nurminen_ratio_pooled",
]

Floats = NDArray[np.float64]


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
