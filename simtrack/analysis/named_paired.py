"""Analyses of cluster differences, for many studies at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_results import Results, cluster_values, t_pvalues, whole_values
from simtrack.errors import InputError
from simtrack.options import Alternative

__all__ = [
    "fair_coin_pvalues",
    "mcnemar_pairs",
    "paired_cluster_t",
    "sign_flip_clusters",
    "sign_test_clusters",
]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12
#: Up to so many reals all sign patterns are counted; of more, coarse bounds come first.
_LISTED, _STEPS = 20, (1 << 12, 1 << 15, 1 << 18)


def paired_cluster_t(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """Student's t on cluster contrasts, clusters counting alike; see `paired_difference`.

    Shapes (R, G, T), (R, G, T), (T,).
    """
    from scipy.special import stdtrit

    values = cluster_values(numerator, denominator, weights)
    n, mean = _means(values)
    centred = np.where(np.isnan(values), 0.0, values - mean[:, None])
    filled = np.where(np.isnan(values), 0.0, values)
    squares = (centred * centred).sum(axis=1)
    flat = squares <= _ROUNDING**2 * np.maximum((filled * filled).sum(axis=1), 1e-300)
    df = np.maximum(n - 1.0, 1.0)
    se = np.sqrt(squares / df / np.maximum(n, 1.0))
    t = np.divide(mean, se, out=np.zeros_like(mean), where=se > 0.0)
    some, which = np.unique(df, return_inverse=True)  # the quantile is dear
    half = stdtrit(some, 0.5 * (1.0 + level))[which] * se
    refused = {
        "a term without trials": n == 0,
        "fewer than two clusters": n < 2,
        "no spread between clusters": flat,
    }
    pvalue = t_pvalues(t, df, alternative)
    return Results.of(mean, low=mean - half, high=mean + half, pvalue=pvalue, refused=refused)


def sign_flip_clusters(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """The exact sign-flip test of cluster contrasts; with a p-value and no interval.

    Refused where no signs of so many clusters reach 1 - level; studies in which fewer clusters
    differ at all are answered, with a p-value that cannot reach it. Of more than 20 reals that
    share no lattice, p may be an upper bound: on the exact one's side of 1 - level, not its equal.
    """
    from simtrack.inference import sign_flip_pvalues

    values = cluster_values(numerator, denominator, weights)
    n, mean = _means(values)
    whole = whole_values(numerator, denominator, weights)
    try:
        used: Any = values if whole is None else whole[0]
        pvalue = sign_flip_pvalues(used, alternative=alternative)
    except InputError:
        pvalue = _one_by_one(values, alternative, 1.0 - level)
    refused = _too_few(n, level, alternative)
    return Results.of(mean, pvalue=pvalue, refused=refused)


def sign_test_clusters(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """The exact sign test of cluster contrasts, ties dropped; with a p-value and no interval."""
    values = cluster_values(numerator, denominator, weights)
    n, mean = _means(values)
    whole = whole_values(numerator, denominator, weights)
    if whole is not None:
        up, down = (whole[0] > 0).sum(axis=1), (whole[0] < 0).sum(axis=1)
    else:
        filled = np.where(np.isnan(values), 0.0, values)
        slack = (_ROUNDING * np.abs(filled).max(axis=1, initial=0.0))[:, None]
        up, down = (filled > slack).sum(axis=1), (filled < -slack).sum(axis=1)
    pvalue = fair_coin_pvalues(up, down, alternative)
    return Results.of(mean, pvalue=pvalue, refused=_too_few(n, level, alternative))


def mcnemar_pairs(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """McNemar's exact test; every cluster is a pair with one trial in either arm."""
    tried = np.asarray(denominator)
    paired = (tried > 0).all(axis=2)
    several = (np.where(paired, tried.max(axis=2), 0) > 1).any(axis=1)
    values = cluster_values(numerator, denominator, weights)
    n, mean = _means(values)
    up, down = (values > 0).sum(axis=1), (values < 0).sum(axis=1)
    refused = {"more than one trial a cluster and arm": several, "a term without trials": n == 0}
    return Results.of(mean, pvalue=fair_coin_pvalues(up, down, alternative), refused=refused)


def _means(values: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Give the number of clusters that have a value, and their mean, in each study."""
    here = ~np.isnan(values)
    n = here.sum(axis=1)
    total = np.where(here, values, 0.0).sum(axis=1)
    return n, np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)


def _too_few(
    n: NDArray[np.int64], level: float, alternative: Alternative
) -> dict[str, NDArray[np.bool_]]:
    sides = 2.0 if alternative == "two-sided" else 1.0
    floor = sides * 0.5 ** n.astype(np.float64)
    return {
        "a term without trials": n == 0,
        "too few clusters to reach alpha": floor > 1.0 - level + _ROUNDING,
    }


def fair_coin_pvalues(up: NDArray[Any], down: NDArray[Any], alternative: Alternative) -> Floats:
    """Give the exact p of a fair coin, from a table of every number of heads that occurs."""
    low = {"two-sided": np.minimum(up, down), "greater": down, "less": up}[alternative]
    sides = 2.0 if alternative == "two-sided" else 1.0
    pairs, which = np.unique(np.stack([low, up + down], axis=1), axis=0, return_inverse=True)
    table = np.array([_binomial_tail(int(k), int(m)) for k, m in pairs], dtype=np.float64)
    found: Floats = np.minimum(1.0, sides * table)[which.ravel()]
    return found


def _binomial_tail(most: int, tosses: int) -> float:
    """P(at most so many heads), exactly rounded."""
    return sum(math.comb(tosses, k) for k in range(most + 1)) / (1 << tosses)


def _one_by_one(values: Floats, alternative: Alternative, alpha: float) -> Floats:
    """Give p-values of studies of many reals: exact, or an upper bound on the exact one's side.

    A coarse lattice gives bounds of p that mostly lie on one side of alpha; only where they do not
    is it made finer, and at last `sign_flip` is asked.
    """
    from simtrack.inference import sign_flip
    from simtrack.inference.exact.signflip import sign_flip_bounds

    found = np.full(len(values), np.nan)
    for r, row in enumerate(values):
        live = row[~np.isnan(row)]
        for steps in _STEPS if np.count_nonzero(live) > _LISTED else ():
            low, high = sign_flip_bounds(live[live != 0.0].tolist(), alternative, steps)
            if high <= alpha or low > alpha:
                found[r] = high
                break
        else:
            if live.size:
                found[r] = sign_flip(live, alternative=alternative).pvalue
    return found
