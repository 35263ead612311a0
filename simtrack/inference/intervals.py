"""What every interval method returns, one interval a condition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.options import Computation, Guarantee

__all__ = ["Intervals"]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Which values are compatible with the data, in each condition?

    Attributes
    ----------
    low, high : float64 arrays, shape (conditions,)
        The ends; NaN where an interval is refused, with the reason in `notes`.
    level : float
        Confidence level.
    method : str
        The method in words.
    df, effective_n : float64 arrays, shape (conditions,)
        Degrees of freedom of the t quantile; trials the interval was computed on.
    notes : tuple of tuples of str
        For each condition, what was assumed, and why something is missing.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    level: float
    method: str
    df: NDArray[np.float64]
    effective_n: NDArray[np.float64]
    notes: tuple[tuple[str, ...], ...]
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        return f"Intervals({self.low.size} at {self.level:g}, {self.method})"
