"""Analyses of two arms whose clusters may be apart, for many studies at once."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_loop import loop_over
from simtrack.analysis.named_results import Results, cluster_values, t_pvalues
from simtrack.options import Alternative

__all__ = ["cluster_t_arms", "permutation_arms"]

Floats = NDArray[np.float64]
_ROUNDING = 1e-12
#: More assignments of labels than this are counted by `permutation_totals`, study by study.
_MOST_LISTED = 20_000
_CELLS_AT_ONCE = 2_000_000


def cluster_t_arms(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """Student's t on the difference of pooled rates; see `cluster_difference`.

    Studies in which an arm shows no spread between clusters go to `cluster_difference` itself,
    which assumes an ICC there.
    """
    from scipy.special import stdtrit

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
    half = stdtrit(df, 0.5 * (1.0 + level)) * se
    low, high = np.maximum(gap - half, -1.0), np.minimum(gap + half, 1.0)
    found = Results.of(
        gap, low=low, high=high, pvalue=t_pvalues(t, df, alternative),
        refused={"no spread between clusters": se == 0.0},
    )  # fmt: skip
    rest = np.flatnonzero(~regular)
    return found if not rest.size else _replaced(found, rest, numerator, denominator, level,
                                                 alternative)  # fmt: skip


def permutation_arms(
    numerator: Any,
    denominator: Any,
    weights: Floats,
    level: float,
    *,
    alternative: Alternative = "two-sided",
) -> Results:
    """The exact permutation test of mean cluster rates, arms sharing no cluster; p-value only."""
    here = np.asarray(denominator) > 0
    first, second = here[0, :, 0], here[0, :, 1]
    one, two = int(first.sum()), int(second.sum())
    same = bool((here == here[0]).all())
    if not same or (first & second).any() or math.comb(one + two, one) > _MOST_LISTED:
        return loop_over(
            "permutation", numerator, denominator,
            weights=weights, level=level, alternative=alternative,
        )  # fmt: skip
    arm = [
        cluster_values(numerator[:, mine, t : t + 1], denominator[:, mine, t : t + 1], np.ones(1))
        for t, mine in enumerate((first, second))
    ]
    if one == 0 or two == 0:
        nothing = np.full(len(numerator), np.nan)
        return Results.of(nothing, refused={"a term without trials": np.isnan(nothing)})
    pvalue = _listed(np.concatenate(arm, axis=1), one, alternative)
    sides = 2.0 if alternative == "two-sided" and one == two else 1.0
    floor = sides / math.comb(one + two, one)
    few = np.full(len(pvalue), floor > 1.0 - level + _ROUNDING)
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


def _replaced(
    found: Results,
    rows: NDArray[np.int64],
    numerator: Any,
    denominator: Any,
    level: float,
    alternative: Alternative,
) -> Results:
    """Put the answers of the reference function where the quick formula does not hold."""
    theirs = loop_over(
        "cluster-t-difference", numerator[rows], denominator[rows],
        weights=np.array([1.0, -1.0]), level=level, alternative=alternative,
    )  # fmt: skip
    for name in Results.__slots__:
        getattr(found, name)[rows] = getattr(theirs, name)
    return found
