"""The characteristic function of a sum of random signs, inverted: tails of many reals.

Legend of dims: g = distinct size.

T = Σ ±d_g has the characteristic function Π cos(d_g t). For many differences it is all but 0 beyond
some standard deviations, so a tail costs thousands of short products instead of 2^G patterns.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["smoothed_tail"]

Floats = NDArray[np.float64]
#: A product below this is left at 0: with all its kind it adds less than the rounding of a sum.
_NOTHING = 1e-19
_HALF_DIGIT = 2.0**-52


@kernel
def smoothed_tail(
    sizes: Floats,
    times: Floats,
    at: float,
    width: float,
    spacing: float,
    nodes: int,
    order: int,
    out: Floats,
) -> None:
    """Set `out` to P(T + K >= at) and to how much rounding may have changed it.

    K is a sum of `order` uniform variables that lies within `width` of 0, so the sum has a density
    and its characteristic function falls off as t^-order. Nodes are (k + 1/2) · spacing.

    Parameters
    ----------
    sizes, times : float64 arrays, shape (g,)
        Sizes, the largest first, and how many differences have each.
    """
    total, error, count = 0.5, 0.0, times.sum()
    for k in range(nodes):
        t = (k + 0.5) * spacing
        s = width * t / order
        smooth = (math.sin(s) / s) ** order if s > 1e-8 else 1.0
        product = smooth
        for g in range(sizes.size):
            factor = math.cos(sizes[g] * t)
            product *= factor if times[g] == 1.0 else math.pow(factor, times[g])
            if abs(product) < _NOTHING:
                break
        share = 1.0 / (math.pi * (k + 0.5))
        if abs(product) >= _NOTHING:
            total -= share * product * math.sin(t * at)
            each = count * (2.0 + t * sizes[0]) + 2.0 + t * abs(at) + order
            error += _HALF_DIGIT * (share * abs(smooth) * each + 1.0)
        else:
            error += share * _NOTHING
    out[0], out[1] = total, error + 4.0 * _HALF_DIGIT
