"""Exact tests of many studies at once: sign flips, signs, pairs and dealt labels."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.cautions import MOST_IMBALANCE
from simtrack.inference.exact.exact_test import fair_coin_tail
from simtrack.inference.exact.signflip import sign_flip, sign_flip_bounds
from simtrack.inference.studies import (
    cluster_values,
    means_over_clusters,
    shifted_values,
    whole_values,
)
from simtrack.method import Ask
from simtrack.options import Alternative
from simtrack.results import Results

__all__ = [
    "fair_coin_pvalues",
    "mcnemar_pairs",
    "permutation_arms",
    "sign_flip_clusters",
    "sign_test_clusters",
]

Floats = NDArray[np.float64]
Masks = dict[str, NDArray[np.bool_]]
_ROUNDING = 1e-12
#: Up to so many reals all sign patterns are counted; of more, coarse bounds come first.
_LISTED, _WIDTHS = 20, (2.0**-3, 2.0**-6, 2.0**-9)
#: More assignments of labels than this are counted study by study.
_MOST_LISTED = 20_000
_CELLS_AT_ONCE = 2_000_000


def sign_flip_clusters(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """The exact sign-flip test of cluster contrasts; with a p-value and no interval.

    Refused where no signs of so many clusters reach 1 - level; studies in which fewer clusters
    differ at all are answered, with a p-value that cannot reach it. Of more than 20 reals that
    share no lattice, p may be an upper bound: on the exact one's side of 1 - level, not its equal.
    With the option `null` it is the test of that mean difference.
    """
    from simtrack.inference.exact.signflip_law import sign_flip_pvalues

    values = cluster_values(numerator, denominator, weights)
    n, mean = means_over_clusters(values)
    whole = whole_values(numerator, denominator, weights)
    if null := float(ask.options.get("null", 0.0)):
        values = values - null
        whole = None if whole is None else shifted_values(*whole, null)
    try:
        used: Any = values if whole is None else whole[0]
        pvalue = sign_flip_pvalues(used, alternative=ask.alternative)
    except InputError:
        pvalue = _one_by_one(values, ask.alternative, ask.alpha)
    refused = _too_few(n, ask) | _unequal(np.asarray(denominator), ask)
    return Results.of(mean, pvalue=pvalue, refused=refused)


def sign_test_clusters(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """The exact sign test of cluster contrasts, ties dropped; with a p-value and no interval."""
    values = cluster_values(numerator, denominator, weights)
    n, mean = means_over_clusters(values)
    whole = whole_values(numerator, denominator, weights)
    if whole is not None:
        up, down = (whole[0] > 0).sum(axis=1), (whole[0] < 0).sum(axis=1)
    else:
        filled = np.where(np.isnan(values), 0.0, values)
        slack = (_ROUNDING * np.abs(filled).max(axis=1, initial=0.0))[:, None]
        up, down = (filled > slack).sum(axis=1), (filled < -slack).sum(axis=1)
    pvalue = fair_coin_pvalues(up, down, ask.alternative)
    return Results.of(mean, pvalue=pvalue, refused=_too_few(n, ask))


def mcnemar_pairs(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results:
    """McNemar's exact test; every cluster is a pair with one trial in either arm."""
    tried = np.asarray(denominator)
    paired = (tried > 0).all(axis=2)
    several: NDArray[np.bool_] = np.any(np.where(paired, tried.max(axis=2), 0) > 1, axis=1)
    values = cluster_values(numerator, denominator, weights)
    n, mean = means_over_clusters(values)
    up, down = (values > 0).sum(axis=1), (values < 0).sum(axis=1)
    refused: Masks = {"more than one trial a cluster and arm": several}
    return Results.of(
        mean,
        pvalue=fair_coin_pvalues(up, down, ask.alternative),
        refused=refused | _too_few(n, ask),
    )


def _too_few(n: NDArray[np.int64], ask: Ask) -> Masks:
    floor = ask.sides * 0.5 ** n.astype(np.float64)
    return {"a term without trials": n == 0, "too few clusters to reach alpha": floor > ask.alpha}


def _unequal(n: NDArray[Any], ask: Ask) -> Masks:
    """Say in which studies two levels have very different numbers of trials within clusters."""
    if not ask.factor:
        return {}
    paired: NDArray[np.bool_] = np.asarray((n > 0).all(axis=2))
    both = np.where(paired[:, :, None], n, 0).astype(np.float64)
    apart, all_of = np.abs(both[:, :, 0] - both[:, :, 1]).sum(axis=1), both.sum(axis=(1, 2))
    uneven: NDArray[np.bool_] = np.asarray(apart > MOST_IMBALANCE * all_of)
    return {"arms with very different numbers of trials": uneven}


def fair_coin_pvalues(up: NDArray[Any], down: NDArray[Any], alternative: Alternative) -> Floats:
    """Give the exact p of a fair coin, from a table of every number of heads that occurs."""
    low = {"two-sided": np.minimum(up, down), "greater": down, "less": up}[alternative]
    sides = 2.0 if alternative == "two-sided" else 1.0
    pairs, which = np.unique(np.stack([low, up + down], axis=1), axis=0, return_inverse=True)
    table = np.array([fair_coin_tail(int(k), int(m))[1] for k, m in pairs], dtype=np.float64)
    found: Floats = np.minimum(1.0, sides * table)[which.ravel()]
    return found


def _one_by_one(values: Floats, alternative: Alternative, alpha: float) -> Floats:
    """Give p-values of studies of many reals: exact, or an upper bound on the exact one's side.

    Wide bounds of p mostly lie on one side of alpha; only where they do not are they made closer,
    and at last `sign_flip` is asked.
    """
    found = np.full(len(values), np.nan)
    for r, row in enumerate(values):
        live = row[~np.isnan(row)]
        for width in _WIDTHS if np.count_nonzero(live) > _LISTED else ():
            low, high = sign_flip_bounds(live[live != 0.0].tolist(), alternative, width)
            if high <= alpha or low > alpha:
                found[r] = high
                break
        else:
            if live.size:
                found[r] = sign_flip(live, alternative=alternative).pvalue
    return found


def permutation_arms(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results | None:
    """The exact permutation test of mean cluster rates, arms sharing no cluster; p-value only.

    None where arms share clusters or differ between studies, or assignments are too many to list.
    """
    here = np.asarray(denominator) > 0
    first, second = here[0, :, 0], here[0, :, 1]
    one, two = int(first.sum()), int(second.sum())
    same = bool((here == here[0]).all())
    if not same or (first & second).any() or math.comb(one + two, one) > _MOST_LISTED:
        return None
    arm = [
        cluster_values(numerator[:, mine, t : t + 1], denominator[:, mine, t : t + 1], np.ones(1))
        for t, mine in enumerate((first, second))
    ]
    if one == 0 or two == 0:
        nothing = np.full(len(numerator), np.nan)
        return Results.of(nothing, refused={"a term without trials": np.isnan(nothing)})
    pvalue = _listed(np.concatenate(arm, axis=1), one, ask.alternative)
    sides = 2.0 if ask.alternative == "two-sided" and one == two else 1.0
    floor = sides / math.comb(one + two, one)
    few = np.full(len(pvalue), floor > ask.alpha)
    gap = arm[0].sum(axis=1) / one - arm[1].sum(axis=1) / two
    return Results.of(gap, pvalue=pvalue, refused={"too few clusters to reach alpha": few})


def _listed(values: Floats, one: int, alternative: Alternative) -> Floats:
    """Share of all assignments of the first arm's label with a sum at least as extreme."""
    studies, clusters = values.shape
    places = np.array(list(combinations(range(clusters), one)), dtype=np.int64)
    centred = values - values.sum(axis=1, keepdims=True) / clusters
    slack = _ROUNDING * np.maximum(np.abs(values).sum(axis=1), 1e-300)
    sign = -1.0 if alternative == "less" else 1.0
    found = np.empty(studies)
    step = max(1, _CELLS_AT_ONCE // len(places))
    for start in range(0, studies, step):
        rows = slice(start, start + step)
        sums = np.zeros((len(centred[rows]), len(places)))
        for k in range(one):
            sums += centred[rows][:, places[:, k]]
        sums = np.abs(sums) if alternative == "two-sided" else sign * sums
        # the observed assignment is the first one listed
        extreme = sums >= sums[:, :1] - slack[rows][:, None]
        found[rows] = extreme.sum(axis=1) / len(places)
    return found
