"""Where a function, or a yes-or-no question, changes its sign, for arrays of problems at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["crossing", "turning_point"]

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


def crossing(
    function: Callable[[Floats], Floats],
    low: Floats,
    high: Floats,
    at_low: float,
    at_high: float,
) -> Floats:
    """Where, between `low` and `high`, does `function` cross 0?

    Chandrupatla's method: inverse quadratic steps where three points lie well, else halves. The
    ends are never evaluated; the function is taken to be `at_low` and `at_high` there, of opposite
    signs. The answer is within 4 units in the last digit plus 1e-15.

    References
    ----------
    Chandrupatla (1997), Advances in Engineering Software 28, 145-149.

    Examples
    --------
    >>> root = crossing(lambda x: x * x - 2.0, np.array([0.0]), np.array([2.0]), -2.0, 2.0)
    >>> f"{root[0]:.14f}"
    '1.41421356237310'
    """
    a, b = np.array(high, dtype=np.float64), np.array(low, dtype=np.float64)
    fa, fb = np.full(a.shape, float(at_high)), np.full(a.shape, float(at_low))
    share = np.full(a.shape, 0.5)
    best = b
    for _ in range(200):
        x = a + share * (b - a)
        f = function(x)
        same = np.sign(f) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, f
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        slack = 4.0 * np.finfo(np.float64).eps * np.abs(best) + 1e-15
        width = np.abs(b - a)
        if ((width <= 2.0 * slack) | (fa == 0.0)).all():
            break
        least = np.minimum(slack / np.maximum(width, slack), 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
                fc - fb
            )
        good = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi) & np.isfinite(step)
        share = np.clip(np.where(good, step, 0.5), least, 1.0 - least)
    return best
