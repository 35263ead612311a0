"""Student's t on differences of many studies at once, arms paired within clusters or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.differences.cluster_difference import cluster_difference
from simtrack.inference.differences.two_rates import answer_of
from simtrack.inference.studies import cluster_values, means_over_clusters, t_pvalues
from simtrack.method import Ask, one_by_one
from simtrack.results import Results

__all__ = ["cluster_t_arms", "paired_cluster_t"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


def paired_cluster_t(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """Student's t on cluster contrasts, clusters counting alike; see `paired_difference`.

    Shapes (R, G, T), (R, G, T), (T,). Scores lie in [0, 1]: ends are held where contrasts end.
    """
    from scipy.special import stdtrit

    values = cluster_values(numerator, denominator, weights)
    n, mean = means_over_clusters(values)
    centred = np.where(np.isnan(values), 0.0, values - mean[:, None])
    filled = np.where(np.isnan(values), 0.0, values)
    squares = (centred * centred).sum(axis=1)
    flat = squares <= _ROUNDING**2 * np.maximum((filled * filled).sum(axis=1), 1e-300)
    df = np.maximum(n - 1.0, 1.0)
    se = np.sqrt(squares / df / np.maximum(n, 1.0))
    t = np.divide(mean, se, out=np.zeros_like(mean), where=se > 0.0)
    some, which = np.unique(df, return_inverse=True)  # the quantile is dear
    half = stdtrit(some, 0.5 * (1.0 + ask.level))[which] * se
    refused = {
        "a term without trials": n == 0,
        "fewer than two clusters": n < 2,
        "no spread between clusters": flat,
    }
    pvalue = t_pvalues(t, df, ask.alternative)
    least = float(np.minimum(weights, 0.0).sum())
    most = float(np.maximum(weights, 0.0).sum())
    low, high = np.maximum(mean - half, least), np.minimum(mean + half, most)
    return Results.of(mean, low=low, high=high, pvalue=pvalue, refused=refused)


def cluster_t_arms(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results | None:
    """Student's t on the difference of pooled rates; see `cluster_difference`.

    Studies in which an arm shows no spread between clusters go to `cluster_difference` itself,
    which assumes an ICC there. None with a one-sided interval.
    """
    from scipy.special import stdtrit

    if "side" in ask.options:
        return None

    top, bottom = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    n, here = bottom.sum(axis=1), bottom > 0.0
    groups = here.sum(axis=1)
    rate = np.divide(top.sum(axis=1), n, out=np.full(n.shape, np.nan), where=n > 0.0)
    influence = (top - rate[:, None, :] * bottom) / np.maximum(n, 1.0)[:, None, :]
    size = np.abs(influence).max(axis=1, initial=0.0)
    influence = np.where(np.abs(influence) <= _ROUNDING, 0.0, influence)
    factor = groups / np.maximum(groups - 1.0, 1.0)
    variances = factor * (influence * influence).sum(axis=1)
    regular = (groups > 1).all(axis=1) & (size > 1e3 * _ROUNDING).all(axis=1)
    shared = here.all(axis=2).sum(axis=1)
    cross = (influence[:, :, 0] * influence[:, :, 1]).sum(axis=1) * np.sqrt(factor.prod(axis=1))
    square = variances.sum(axis=1) - 2.0 * np.where(shared > 0, cross, 0.0)
    square = np.where(square <= _ROUNDING * variances.sum(axis=1), 0.0, square)
    se, smaller = np.sqrt(np.maximum(square, 0.0)), groups.min(axis=1) - 1.0
    parts = (variances**2 / np.maximum(groups - 1.0, 1.0)).sum(axis=1)
    welch = np.divide(variances.sum(axis=1) ** 2, parts, out=smaller.copy(), where=parts > 0.0)
    df = np.maximum(np.where(shared > 0, smaller, np.maximum(welch, smaller)), 1.0)
    gap = rate[:, 0] - rate[:, 1]
    t = np.divide(gap, se, out=np.zeros_like(gap), where=se > 0.0)
    half = stdtrit(df, 0.5 * (1.0 + ask.level)) * se
    low, high = np.maximum(gap - half, -1.0), np.minimum(gap + half, 1.0)
    found = Results.of(
        gap, low=low, high=high, pvalue=t_pvalues(t, df, ask.alternative),
        refused={"no spread between clusters": se == 0.0},
    )  # fmt: skip
    rest = np.flatnonzero(~regular)
    if rest.size:
        answer = answer_of(cluster_difference)
        theirs = one_by_one(answer, numerator[rest], denominator[rest], weights, ask)
        for name in Results.__slots__:
            getattr(found, name)[rest] = getattr(theirs, name)
    return found
