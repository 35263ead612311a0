"""Analyses of one rate, for many studies at once: intervals, and the exact binomial test."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_loop import rates_at_once
from simtrack.analysis.named_results import Results
from simtrack.errors import InputError
from simtrack.options import Alternative
from simtrack.validate import open_unit

__all__ = ["binomial_exact", "rate_interval"]

Floats = NDArray[np.float64]


def rate_interval(name: str) -> Any:
    """Give the analysis that applies this interval for one rate of the catalogue."""

    def analysis(
        numerator: Any,
        denominator: Any,
        weights: Floats,
        level: float,
        *,
        alternative: Alternative = "two-sided",
        **options: Any,
    ) -> Results:
        return rates_at_once(name, numerator, denominator, level=level, options=options)

    return analysis


def binomial_exact(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
    null: float = 0.5,
) -> Results:
    """The exact binomial test of one pooled rate against `null`, with the Clopper-Pearson interval.

    Trials are taken as independent. The two-sided p is twice the smaller tail, never above 1, so
    that it agrees with the interval.
    """
    from simtrack.inference import clopper_pearson
    from simtrack.inference.rates.binomial import binomial_tails

    null = open_unit("null", null)
    if np.asarray(numerator).shape[2] != 1:
        raise InputError("estimand", "one rate for binomial-exact", "a contrast")
    hits = np.asarray(numerator).sum(axis=(1, 2)).astype(np.float64)
    trials = np.asarray(denominator).sum(axis=(1, 2)).astype(np.float64)
    upper, lower = binomial_tails(hits, trials, null)
    both = np.minimum(1.0, 2.0 * np.minimum(upper, lower))
    pvalue = {"two-sided": both, "greater": upper, "less": lower}[alternative]
    some = trials > 0
    low, high = clopper_pearson(hits, np.where(some, trials, 1.0), level=level)
    rate = np.divide(hits, trials, out=np.full(hits.shape, np.nan), where=some)
    refused = {"a term without trials": ~some}
    return Results.of(rate, low=low, high=high, pvalue=pvalue, refused=refused)
