"""Trials in the order in which they came: what anytime-valid statements are about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Counts, CountsBatch, Sums, Totals
from simtrack.errors import InputError

__all__ = ["ordered_sequence"]

_CURE = "Give the scores one by one, in the order in which they came."


def ordered_sequence(
    name: str, values: object, *, binary: bool = False, low: float = 0.0, high: float = 1.0
) -> NDArray[np.float64]:
    """Check a sequence of scores, and give it as a float64 array of shape (trials,).

    Raises
    ------
    InputError
        Counts, sums or totals, which have no order; a score that is missing or out of range.

    Examples
    --------
    >>> ordered_sequence("outcomes", [True, 0, 1], binary=True).tolist()
    [1.0, 0.0, 1.0]
    """
    if isinstance(values, (Counts, CountsBatch, Sums, Totals)):
        kind = type(values).__name__
        raise InputError(name, "a sequence in order", f"{kind}, which have none", cure=_CURE)
    if isinstance(values, (set, frozenset, dict, str)):
        raise InputError(name, "a sequence in order", type(values).__name__, cure=_CURE)
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, "a sequence of numbers", type(values).__name__, cure=_CURE) from None
    if x.ndim != 1:
        raise InputError(name, "a one-dimensional sequence", x.shape, cure=_CURE)
    if np.isnan(x).any():
        at = int(np.flatnonzero(np.isnan(x))[0])
        cure = "Leave trials without a score out, if why they lack one has nothing to do with it."
        raise InputError(name, "without gaps", f"none at trial {at + 1}", cure=cure)
    bad = ~np.isin(x, (0.0, 1.0)) if binary else (x < low) | (x > high)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        rule = "0 or 1" if binary else f"from {low:g} to {high:g}"
        raise InputError(name, f"{rule} in every trial", f"{x[at]:g} at trial {at + 1}")
    return x
