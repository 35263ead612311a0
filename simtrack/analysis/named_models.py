"""Models on clustered scores, for many studies at once: so that power can be asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_results import Results, t_pvalues
from simtrack.inference.models.many import ManyFits
from simtrack.options import Alternative, Correlation, GeeCovariance, MixedCriterion

__all__ = ["gee_clusters", "linear_mixed_clusters", "logistic_mixed_clusters"]

Floats = NDArray[np.float64]


def linear_mixed_clusters(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
    criterion: MixedCriterion = "REML",
) -> Results:
    """The contrast of means in a linear model with a random intercept; see `linear_mixed`.

    Shapes (R, G, T), (R, G, T), (T,): one fixed mean a term.
    """
    from simtrack.inference.models.many import linear_mixed_many

    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    fits = linear_mixed_many(n, total, np.eye(n.shape[2]), criterion=criterion)
    value, _, low, high, _ = fits.contrast(weights, level)
    return Results.of(value, low=low, high=high, pvalue=_pvalues(fits, weights, alternative),
                      refused=_refused(fits, n, weights))  # fmt: skip


def gee_clusters(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
    correlation: Correlation = "exchangeable",
    covariance: GeeCovariance = "kauermann-carroll",
) -> Results:
    """The contrast of log odds by estimating equations, with a p-value and no interval.

    The estimate given is the contrast of pooled rates, which other analyses estimate too.
    """
    from simtrack.inference.models.many import gee_many

    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    fits = gee_many(n, total, np.eye(n.shape[2]), correlation=correlation, covariance=covariance)
    return Results.of(_pooled(n, total, weights), pvalue=_pvalues(fits, weights, alternative),
                      refused=_refused(fits, n, weights))  # fmt: skip


def logistic_mixed_clusters(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
    nodes: int = 7,
) -> Results:
    """The contrast of log odds within clusters, with a p-value and no interval.

    The estimate given is the contrast of pooled rates, which other analyses estimate too.
    """
    from simtrack.inference.models.many import logistic_mixed_many

    n, total = np.asarray(denominator, np.float64), np.asarray(numerator, np.float64)
    fits = logistic_mixed_many(n, total, np.eye(n.shape[2]), nodes=nodes)
    return Results.of(_pooled(n, total, weights), pvalue=_pvalues(fits, weights, alternative),
                      refused=_refused(fits, n, weights))  # fmt: skip


def _pooled(n: Floats, total: Floats, weights: Floats) -> Floats:
    top, bottom = total.sum(axis=1), n.sum(axis=1)
    rates = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    found: Floats = (rates * weights).sum(axis=1)
    return found


def _pvalues(fits: ManyFits, weights: Floats, alternative: Alternative) -> Floats:
    value, error, *_ = fits.contrast(weights)
    df = fits.df[:, np.asarray(weights) != 0.0].min(axis=1)
    return t_pvalues(value / error, df, alternative)


def _refused(fits: ManyFits, n: Floats, weights: Floats) -> dict[str, NDArray[np.bool_]]:
    return {
        "a term without trials": (n.sum(axis=1) <= 0).any(axis=1),
        "fewer than two clusters": (n.sum(axis=2) > 0).sum(axis=1) < 2,
        "no spread between clusters": fits.answered & np.isnan(fits.contrast(weights)[1]),
        "the method refused": ~fits.answered,
    }
