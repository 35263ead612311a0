"""Intervals for a rate that treat all trials as independent, whatever cluster they are from.

They are what most logs print. With several trials a cluster they are too narrow where clusters
differ; each says so in its notes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.intervals import Intervals, normal_critical, open_ended
from simtrack.inference.rates.binomial import clopper_pearson, jeffreys, mid_p
from simtrack.inference.rates.wilson import wilson_limits
from simtrack.inference.rates.zeros import rule_of_three, zero_bound
from simtrack.options import Computation, Guarantee, Side

__all__ = [
    "clopper_pearson_pooled",
    "independence_notes",
    "jeffreys_pooled",
    "mid_p_pooled",
    "rule_of_three_pooled",
    "wilson_pooled",
    "zeros_pooled",
]

Floats = NDArray[np.float64]
Limits = Callable[[Floats, Floats], tuple[Floats, Floats]]


def wilson_pooled(totals: Totals, *, level: float = 0.95, side: Side = "two-sided") -> Intervals:
    """Which rates are compatible with the pooled counts, by Wilson's score interval?

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1], summed over clusters.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end.

    Examples
    --------
    >>> found = wilson_pooled(Totals.from_arrays([263], [440]))
    >>> round(float(found.low[0]), 3), round(float(found.high[0]), 3)
    (0.551, 0.643)
    """
    z = normal_critical(level, side)

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return open_ended(*wilson_limits(hits / size, size, z), side)

    return _pooled(totals, limits, level, "Wilson on pooled trials", "asymptotic")


def clopper_pearson_pooled(
    totals: Totals, *, level: float = 0.95, side: Side = "two-sided"
) -> Intervals:
    """Which rates are compatible with the pooled counts, by Clopper and Pearson's exact interval?

    Parameters as in `wilson_pooled`.

    Examples
    --------
    >>> found = clopper_pearson_pooled(Totals.from_arrays([1] * 30, [1] * 30))
    >>> round(float(found.low[0]), 10), float(found.high[0])
    (0.8842966918, 1.0)
    """

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return clopper_pearson(hits, size, level=level, side=side)

    return _pooled(totals, limits, level, "Clopper-Pearson on pooled trials", "finite-sample")


def jeffreys_pooled(totals: Totals, *, level: float = 0.95, side: Side = "two-sided") -> Intervals:
    """Which rates are credible given the pooled counts, under Jeffreys' prior?

    Parameters as in `wilson_pooled`.
    """

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return jeffreys(hits, size, level=level, side=side)

    return _pooled(totals, limits, level, "Jeffreys on pooled trials", "bayesian")


def mid_p_pooled(totals: Totals, *, level: float = 0.95, side: Side = "two-sided") -> Intervals:
    """Which rates are compatible with the pooled counts, by the mid-p exact interval?

    Parameters as in `wilson_pooled`.
    """

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return mid_p(hits, size, level=level, side=side)

    name = "mid-p on pooled trials"
    return _pooled(totals, limits, level, name, "asymptotic", "optimisation")


def rule_of_three_pooled(totals: Totals, *, level: float = 0.95) -> Intervals:
    """Which rate is too high for no event in the pooled trials, as 3/n (one-sided 95 %)?

    Refuses another level. NaN, with the reason, where both outcomes occur.

    Examples
    --------
    >>> float(rule_of_three_pooled(Totals.from_arrays([0], [600])).high[0])
    0.005
    """
    if level != 0.95:
        raise InputError("level", "0.95 for the rule of three", level, cure="Use zero-bound.")

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return _beside_zero(hits, size, rule_of_three(size))

    return _pooled(totals, limits, level, "rule of three on pooled trials", "asymptotic")


def zeros_pooled(totals: Totals, *, level: float = 0.95, side: Side = "upper") -> Intervals:
    """Which rate is too high for no event in the pooled trials, exactly?

    `zero_bound` of the pooled number of trials, one-sided unless `side` is "two-sided". NaN, with
    the reason, where both outcomes occur.

    Examples
    --------
    >>> round(float(zeros_pooled(Totals.from_arrays([0], [600])).high[0]), 6)
    0.00498
    """

    def limits(hits: Floats, size: Floats) -> tuple[Floats, Floats]:
        return _beside_zero(hits, size, zero_bound(size, level=level, side=side))

    return _pooled(totals, limits, level, "exact zero bound on pooled trials", "finite-sample")


def independence_notes(totals: Totals, column: int) -> tuple[str, ...]:
    """Say what a method assumes that treats the trials of one condition as independent."""
    sizes, tops = totals.denominator[:, column], totals.numerator[:, column]
    notes = []
    if sizes.max(initial=0.0) > 1.0:
        notes.append("treats trials as independent: several come from one cluster")
    fractional = (totals.square[:, column] != tops).any() or (tops != np.rint(tops)).any()
    if fractional:
        notes.append("scores between 0 and 1 are taken for counts: too wide for them")
    return tuple(notes)


def _beside_zero(hits: Floats, size: Floats, bound: Floats) -> tuple[Floats, Floats]:
    none, full = hits == 0.0, hits == size
    low = np.where(none, 0.0, np.where(full, 1.0 - bound, np.nan))
    high = np.where(none, bound, np.where(full, 1.0, np.nan))
    return low, high


def _pooled(
    totals: Totals,
    limits: Limits,
    level: float,
    method: str,
    guarantee: Guarantee,
    computation: Computation = "closed-form",
) -> Intervals:
    if ((totals.numerator < 0.0) | (totals.numerator > totals.denominator)).any():
        raise InputError("scores", "between 0 and 1", cure="Use cluster-t for other scores.")
    hits, size = totals.numerator.sum(axis=0), totals.denominator.sum(axis=0)
    some = size > 0.0
    low, high = limits(np.where(some, hits, 0.0), np.where(some, size, 1.0))
    low, high = np.where(some, low, np.nan), np.where(some, high, np.nan)
    notes = []
    for column, trials in enumerate(some.tolist()):
        lines = independence_notes(totals, column)
        if not trials:
            lines = ("no trial: nothing is defined",)
        elif np.isnan(low[column]):
            lines = (*lines, "no bound: both outcomes occur, so use wilson or clopper-pearson")
        notes.append(lines)
    size = np.where(some, size, np.nan)
    undefined = np.full(size.shape, np.nan)
    return Intervals(
        low, high, level, method, undefined, size, tuple(notes), computation, guarantee
    )
