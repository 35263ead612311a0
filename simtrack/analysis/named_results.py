"""What an analysis says of many simulated studies at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.options import Alternative

__all__ = ["FAILED", "OK", "REASONS", "REFUSED", "Results", "cluster_values", "t_pvalues",
           "whole_values"]  # fmt: skip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

OK: Final = 0
REFUSED: Final = 1
FAILED: Final = 2
#: Why a study has no answer, by reason code.
REASONS: Final = (
    "",
    "a term without trials",
    "fewer than two clusters",
    "no spread between clusters",
    "too few clusters to reach alpha",
    "more than one trial a cluster and arm",
    "clusters in both arms",
    "the method refused",
    "the method broke down",
)
#: Weights of contrasts are fractions with denominators up to this.
_LARGEST_DENOMINATOR: Final = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What did an analysis find in each of R studies?

    Attributes
    ----------
    estimate, low, high, pvalue : float64 arrays, shape (R,)
        NaN where there is none: a method may have a p-value and no interval, or the reverse.
    status : int8 array, shape (R,)
        OK 0, REFUSED 1 (the method says that it cannot answer), FAILED 2 (it broke down).
    reason : int8 array, shape (R,)
        The place in `REASONS`; 0 where the status is OK.
    """

    estimate: Floats
    low: Floats
    high: Floats
    pvalue: Floats
    status: NDArray[np.int8]
    reason: NDArray[np.int8]

    @classmethod
    def of(
        cls,
        estimate: Floats,
        *,
        low: Floats | None = None,
        high: Floats | None = None,
        pvalue: Floats | None = None,
        refused: dict[str, NDArray[np.bool_]] | None = None,
    ) -> Results:
        """Put arrays together; the first reason whose mask holds is given for a refusal."""
        shape = estimate.shape
        status, reason = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
        for why, mask in (refused or {}).items():
            new = mask & (status == OK)
            status[new], reason[new] = REFUSED, REASONS.index(why)
        least, most, p = (
            np.where(status == OK, np.nan if a is None else a, np.nan) for a in (low, high, pvalue)
        )
        return cls(estimate, least, most, p, status, reason)

    def __len__(self) -> int:
        return int(self.estimate.size)


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


def t_pvalues(t: Floats, df: Floats, alternative: Alternative) -> Floats:
    """Give Student's p-values of t on df degrees of freedom."""
    from scipy.special import stdtr

    tail = {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative]
    found: Floats = stdtr(df, tail) * (2.0 if alternative == "two-sided" else 1.0)
    return found
