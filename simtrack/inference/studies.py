"""Cluster contrasts and Student's p of many studies at once: what the quick forms share."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.options import Alternative
from simtrack.validate import decimal_fraction

__all__ = ["cluster_values", "means_over_clusters", "shifted_values", "t_pvalues", "whole_values"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Weights of contrasts are fractions with denominators up to this.
_LARGEST_DENOMINATOR: Final = 10**6


def cluster_values(numerator: Floats, denominator: Floats, weights: Floats) -> Floats:
    """Give Σ_t w_t · numerator / denominator cluster by cluster; NaN where a term has no trials.

    Shapes (R, G, T), (R, G, T), (T,) to (R, G).
    """
    found = np.zeros(numerator.shape[:2])
    for t, weight in enumerate(weights.tolist()):
        top, bottom = numerator[:, :, t], denominator[:, :, t]
        rate = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
        found += weight * rate
    return found


def whole_values(
    numerator: Integers, denominator: Integers, weights: Floats
) -> tuple[Integers, int] | None:
    """Give cluster values as whole numbers over one denominator, if trials are balanced.

    Returns
    -------
    values, scale : int64 array of shape (R, G) and int, or None
        `cluster_values` = values / scale. None where the trials of a term differ between clusters
        or studies, or a weight is no fraction.
    """
    if numerator.size == 0 or numerator.dtype.kind not in "iu":
        return None
    sizes = denominator.reshape(-1, denominator.shape[2])
    if (sizes != sizes[0]).any() or (sizes[0] == 0).any():
        return None
    shares = [Fraction(w).limit_denominator(_LARGEST_DENOMINATOR) for w in weights.tolist()]
    if any(float(s) != w for s, w in zip(shares, weights.tolist(), strict=True)):
        return None
    each = [s / int(n) for s, n in zip(shares, sizes[0].tolist(), strict=True)]
    scale = lcm(*(f.denominator for f in each))
    if scale > _LARGEST_DENOMINATOR:
        return None
    factors = np.array([int(f * scale) for f in each], dtype=np.int64)
    found = np.zeros(numerator.shape[:2], dtype=np.int64)
    for t, factor in enumerate(factors.tolist()):
        found += factor * numerator[:, :, t]
    return found, scale


def shifted_values(values: Integers, scale: int, null: float) -> tuple[Integers, int] | None:
    """Give whole cluster values less `null`, as typed, over a denominator that holds both.

    None where that denominator is too large.

    Examples
    --------
    >>> shifted_values(np.array([[1, 3]]), 4, -0.1)
    (array([[ 7, 17]]), 20)
    """
    shift = decimal_fraction("null", null)
    common = lcm(scale, shift.denominator)
    if common > _LARGEST_DENOMINATOR:
        return None
    return values * (common // scale) - int(shift * common), common


def t_pvalues(t: Floats, df: Floats, alternative: Alternative) -> Floats:
    """Give Student's p-values of t on df degrees of freedom."""
    from scipy.special import stdtr

    tail = {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative]
    found: Floats = stdtr(df, tail) * (2.0 if alternative == "two-sided" else 1.0)
    return found


def means_over_clusters(values: Floats) -> tuple[Integers, Floats]:
    """Give the number of clusters that have a value, and their mean, in each study.

    Shape (R, G) to (R,) twice; the mean is NaN where no cluster has a value.
    """
    here = ~np.isnan(values)
    n = here.sum(axis=1)
    total = np.where(here, values, 0.0).sum(axis=1)
    return n, np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
