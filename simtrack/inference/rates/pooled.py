"""Intervals for a rate that treat all trials as independent, whatever cluster they are from.

They are what most logs print. With several trials a cluster they are too narrow where clusters
differ; each says so in its notes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.intervals import Intervals, normal_critical, open_ended
from simtrack.inference.rates.answers import answer_of, studies_of
from simtrack.inference.rates.binomial import binomial_tails, clopper_pearson, jeffreys, mid_p
from simtrack.inference.rates.wilson import wilson_limits
from simtrack.inference.rates.zeros import rule_of_three, zero_bound
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Computation, Guarantee, Side
from simtrack.results import Results
from simtrack.validate import open_unit

__all__ = [
    "METHODS",
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


def _binomial_exact_many(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """The exact binomial test of one pooled rate against `null`, with the Clopper-Pearson interval.

    Trials are taken as independent. The two-sided p is twice the smaller tail, never above 1, so
    that it agrees with the interval.
    """
    hits = np.asarray(numerator).sum(axis=(1, 2)).astype(np.float64)
    trials = np.asarray(denominator).sum(axis=(1, 2)).astype(np.float64)
    upper, lower = binomial_tails(hits, trials, open_unit("null", ask.options.get("null", 0.5)))
    both = np.minimum(1.0, 2.0 * np.minimum(upper, lower))
    pvalue = {"two-sided": both, "greater": upper, "less": lower}[ask.alternative]
    some = trials > 0
    low, high = clopper_pearson(hits, np.where(some, trials, 1.0), level=ask.level)
    rate = np.divide(hits, trials, out=np.full(hits.shape, np.nan), where=some)
    refused = {"a term without trials": ~some}
    return Results.of(rate, low=low, high=high, pvalue=pvalue, refused=refused)


def _binomial_exact(layout: Layout, ask: Ask) -> Answer:
    found = answer_of(clopper_pearson_pooled)(layout, replace(ask, options={}))
    totals = layout.totals
    p = _binomial_exact_many(totals.numerator[None], totals.denominator[None], np.ones(1), ask)
    null = ask.options.get("null", 0.5)
    note = Note("null", f"p of a rate of {null:g}, {ask.alternative}")
    return replace(found, pvalue=float(p.pvalue[0]), notes=(*found.notes, note))


METHODS = (
    Method(
        "wilson", "rate",
        "Independent 0/1 trials: one a cluster, or clusters that do not differ.",
        "Several trials a cluster: it covers too little.",
        "closed-form", "asymptotic", "Wilson 1927, JASA 22, 209-212",
        answer=answer_of(wilson_pooled), many=studies_of(wilson_pooled), options=("side",),
        lattice="pooled",
    ),
    Method(
        "clopper-pearson", "rate",
        "Independent 0/1 trials where coverage must be at least the level at every rate.",
        "Several trials a cluster; on average it is wider than the level asks.",
        "closed-form", "finite-sample", "Clopper & Pearson 1934, Biometrika 26, 404-413",
        answer=answer_of(clopper_pearson_pooled), many=studies_of(clopper_pearson_pooled),
        options=("side",), lattice="pooled",
    ),
    Method(
        "jeffreys", "rate",
        "Independent 0/1 trials; coverage near the level on average.",
        "Several trials a cluster; rates very near 0 or 1, where coverage dips.",
        "closed-form", "bayesian", "Brown, Cai & DasGupta 2001, Statistical Science 16, 101-133",
        answer=answer_of(jeffreys_pooled), many=studies_of(jeffreys_pooled), options=("side",),
        lattice="pooled",
    ),
    Method(
        "mid-p", "rate",
        "Independent 0/1 trials; the exact interval without its excess of coverage.",
        "Several trials a cluster; coverage may fall below the level at some rates.",
        "optimisation", "asymptotic", "Berry & Armitage 1995, The Statistician 44, 417-423",
        answer=answer_of(mid_p_pooled), many=studies_of(mid_p_pooled), options=("side",),
    ),
    Method(
        "rule-of-three", "rate",
        "No event (or nothing but events) in independent trials; one-sided 95 % only.",
        "Both outcomes occur (refused); several trials a cluster.",
        "closed-form", "asymptotic", "Hanley & Lippman-Hand 1983, JAMA 249, 1743-1745",
        answer=answer_of(rule_of_three_pooled), many=studies_of(rule_of_three_pooled),
    ),
    Method(
        "zero-bound", "rate",
        "No event (or nothing but events) in independent trials: 1 - α^(1/n), one-sided.",
        "Both outcomes occur (refused); several trials a cluster.",
        "closed-form", "finite-sample", "Clopper & Pearson 1934 at 0/n, one-sided",
        answer=answer_of(zeros_pooled), many=studies_of(zeros_pooled), options=("side",),
    ),
    Method(
        "binomial-exact", "rate",
        "Independent 0/1 trials against a rate that was named in advance (option null).",
        "Several trials a cluster: it rejects too often.",
        "closed-form", "finite-sample",
        "Clopper & Pearson 1934, Biometrika 26, 404-413; twice the smaller tail",
        answer=_binomial_exact, many=_binomial_exact_many, options=("null",), has_pvalue=True,
        lattice="pooled",
    ),
)  # fmt: skip
