"""Where a decreasing yes-or-no question changes its answer, for arrays of problems at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["turning_point"]

Floats = NDArray[np.float64]


def turning_point(
    still: Callable[[Floats], NDArray[np.bool_]], low: Floats, high: Floats
) -> Floats:
    """Up to which point, between `low` and `high`, does `still` hold?

    Halves until the middle is one of its neighbours, so the answer is exact to the last digit or
    to 2^-70 of the first width, whichever comes first. The ends are never evaluated: `still` is
    taken to hold at `low` and not at `high`.

    Examples
    --------
    >>> root = turning_point(lambda x: x * x < 2.0, np.array([0.0]), np.array([2.0]))
    >>> f"{root[0]:.15f}"
    '1.414213562373095'
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    for _ in range(70):
        middle = 0.5 * (low + high)
        if ((middle == low) | (middle == high)).all():
            break
        holds = still(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return 0.5 * (low + high)
