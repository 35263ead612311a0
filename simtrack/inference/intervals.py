"""Ends of an interval, and the quantiles that go with one side or two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.numerics.special import normal_quantile, t_critical
from simtrack.options import Computation, Guarantee, Side, choice
from simtrack.validate import open_unit

__all__ = ["Intervals", "normal_critical", "open_ended", "t_criticals", "tail"]


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


# Two-sided intervals and one-sided bounds: how much error each end may have.
Floats = NDArray[np.float64]
_LEAST_DF = 0.25


def tail(level: float, side: Side = "two-sided") -> float:
    """How often may one end of the interval miss: (1 - level)/2, or 1 - level for one-sided bounds?

    Raises
    ------
    InputError
        A level outside (0, 1), or a one-sided one of 1/2 or less: its bound would lie on the wrong
        side of the estimate.

    Examples
    --------
    >>> round(tail(0.95), 12), round(tail(0.95, "upper"), 12)
    (0.025, 0.05)
    """
    open_unit("level", level)
    if choice("side", side, Side) == "two-sided":
        return (1.0 - level) / 2.0
    if level <= 0.5:
        raise InputError("level", "above 0.5 for a one-sided bound", level)
    return 1.0 - level


def normal_critical(level: float, side: Side = "two-sided") -> float:
    """How many standard errors does the interval extend to each side, by the normal law?

    Examples
    --------
    >>> round(normal_critical(0.95), 6), round(normal_critical(0.95, "lower"), 6)
    (1.959964, 1.644854)
    """
    return -normal_quantile(tail(level, side))


def t_criticals(level: float, side: Side, df: ArrayLike) -> Floats:
    """How many standard errors does the interval extend to each side, by Student's t?

    Gives NaN where `df` is 0 or NaN. Below 1/4, `df` is taken as 1/4: a multiple of millions says
    "anything is possible" as well as an infinite one, and can be computed with.

    Examples
    --------
    >>> t_criticals(0.95, "two-sided", [11.0, 0.0]).round(6).tolist()
    [2.200985, nan]
    """
    two_sided = 1.0 - 2.0 * tail(level, side)
    found = np.asarray(df, dtype=np.float64)
    each = [
        t_critical(two_sided, max(v, _LEAST_DF)) if v > 0.0 else np.nan
        for v in found.ravel().tolist()
    ]
    return np.array(each).reshape(found.shape)


def open_ended(
    low: Floats, high: Floats, side: Side, ends: tuple[float, float] = (0.0, 1.0)
) -> tuple[Floats, Floats]:
    """Give the interval with the end that a one-sided bound does not have at its limit."""
    if side == "upper":
        return np.where(np.isnan(low), low, ends[0]), high
    if side == "lower":
        return low, np.where(np.isnan(high), high, ends[1])
    return low, high
