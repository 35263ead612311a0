"""When are two sums of scores equal? As decimals where they are decimals, else up to rounding."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["P_MIN", "TIE_TOLERANCE", "as_pvalue", "rounding_of_sums", "typical_scores",
           "whole_sums"]  # fmt: skip

Floats = NDArray[np.float64]

#: Numbers closer than this share of what they were computed from are equal: rounding is about
#: 1e-16 a term.
TIE_TOLERANCE: Final = 1e-12
#: A p-value below this is given as this: a float has no room for 2^-14042, and 0 would be wrong.
P_MIN: Final = 1e-300
#: Sums are read as decimals of up to nine places, or in parts that 2 to 10 divide.
_SCALES: Final = (*(10**k for k in range(10)), 2_520, 25_200, 252_000)
#: Rounding may move a sum by this share of a step of the lattice, at most, for it to be read so.
_CLEAR: Final = 1e-3


def as_pvalue(p: float) -> float:
    """Hold a p-value within what a p-value can be: above 0, and at most 1.

    Examples
    --------
    >>> as_pvalue(0.5**2000), as_pvalue(1.0 + 1e-15)
    (1e-300, 1.0)
    """
    return min(1.0, max(P_MIN, p))


def rounding_of_sums(trials: Floats, square: Floats) -> Floats:
    """How far may rounding have moved a sum of scores, at most?

    Each of n scores is off by 2^-53 of its size, each of n - 1 additions by 2^-53 of what was added
    so far, and Σ|score| ≤ sqrt(n Σ score²).
    """
    found: Floats = (trials + 4.0) * 2.0**-52 * np.sqrt(trials * square)
    return found


def typical_scores(trials: Floats, square: Floats) -> Floats:
    """Give the root mean square score: the size that a difference of rates is small beside.

    Zero where there are no trials.
    """
    found = np.zeros(np.broadcast(trials, square).shape)
    np.divide(square, trials, out=found, where=trials > 0.0)
    return np.sqrt(found)


def whole_sums(
    sums: Floats, trials: Floats, square: Floats
) -> tuple[NDArray[np.int64], int] | None:
    """Read sums of scores as whole numbers over one scale, or give None for real ones.

    0.1 + 0.2 and 0.15 + 0.15 are both 3 over 10, though their floats differ. Sums are read so only
    where rounding is far smaller than a step of the scale.

    Parameters
    ----------
    sums, trials, square : float64 arrays of one shape
        Σ score, the number of scores, and Σ score².

    Examples
    --------
    >>> s = np.array([0.1 + 0.2, 0.3])
    >>> whole, scale = whole_sums(s, np.array([2.0, 2.0]), np.array([0.05, 0.045]))
    >>> whole.tolist(), scale
    ([3, 3], 10)
    >>> whole_sums(np.array([2**0.5]), np.array([1.0]), np.array([2.0])) is None
    True
    """
    largest = np.abs(sums).max(initial=0.0)
    if largest < 2.0**53 and (sums == np.rint(sums)).all():
        return sums.astype(np.int64), 1
    slack = rounding_of_sums(trials, square)
    for scale in _SCALES:
        moved, steps = scale * slack, scale * sums
        if moved.max(initial=0.0) > _CLEAR or scale * largest >= 2.0**53:
            continue
        nearest = np.rint(steps)
        if (np.abs(steps - nearest) <= moved).all():
            return nearest.astype(np.int64), scale
    return None
