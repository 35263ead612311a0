"""A betting confidence sequence for the mean of bounded scores, and for a paired difference.

A gambler who holds that the mean is m bets fixed fractions of his capital on scores above m; the
average over a fixed grid of fractions is a test martingale, without any quadrature error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.sequential.confidence_sequence import ConfidenceSequence, held_at_once
from simtrack.inference.sequential.sequence import ordered_sequence
from simtrack.validate import integer, open_unit, real

__all__ = ["betting_sequence", "looks_at", "paired_sequence"]

Floats = NDArray[np.float64]
#: Fractions of the capital that are bet, each with an equal share of it.
_FRACTIONS = np.array([(k + 0.5) / 48 for k in range(48)]) ** 1.5
#: Looks are at all trials up to this much work, and at about so many beyond it.
_ALL_UP_TO, _LOOKS = 40_000, 120
_ROWS_AT_ONCE = 256
#: More different scores than this are rounded outwards to this many.
_MOST_VALUES = 512
_STEPS, _TINY = 40, 1e-12


def betting_sequence(
    scores: object,
    *,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    looks: Sequence[int] | None = None,
    running: bool = True,
) -> ConfidenceSequence:
    """Between which values does the mean of bounded scores lie, whenever you look?

    With y = (x - low) / (high - low), the capital against a mean m is the average over fractions g
    of prod_i (1 + g (y_i / m - 1)); it falls in m. Half of alpha goes to each side.

    Parameters
    ----------
    scores : sequence of numbers from `low` to `high`, in the order in which they came
        Counts have no order and are refused.
    low, high : float
        Known before the first trial, not taken from the scores.
    alpha : float
    looks : sequence of int, optional
        Numbers of trials to look at; all of them, or about 120 where that would take long. The
        statement holds at every trial all the same.
    running : bool
        Intersect with all earlier looks.

    References
    ----------
    Waudby-Smith and Ramdas (2024), JRSS B 86, 1-27, section 4; Cover (1991), Mathematical
    Finance 1, 1-29.

    Examples
    --------
    >>> betting_sequence([0.5, 1.0, 0.75, 1.0] * 25)
    ConfidenceSequence(100 trials: 0.8125, 0.7441 to 0.8734)
    """
    open_unit("alpha", alpha)
    low, high = real("low", low), real("high", high)
    if low >= high:
        raise InputError("high", f"above low, {low:g}", high)
    x = ordered_sequence("scores", scores, low=low, high=high)
    y = (x - low) / (high - low)
    at = looks_at(y.size, min(np.unique(y).size, _MOST_VALUES), looks)
    mean = np.cumsum(y)[at - 1] / at
    below = _lower_ends(y, at, mean, alpha / 2.0)
    above = 1.0 - _lower_ends(1.0 - y, at, 1.0 - mean, alpha / 2.0)
    width = high - low
    ends = (low + width * below, low + width * above)
    return held_at_once(at, *ends, low + width * mean, alpha, running)


def paired_sequence(
    first: object,
    second: object,
    *,
    alpha: float = 0.05,
    looks: Sequence[int] | None = None,
    running: bool = True,
) -> ConfidenceSequence:
    """Between which values does first minus second lie, pair by pair, whenever you look?

    Parameters
    ----------
    first, second : sequences of scores from 0 to 1, paired by their place
        In the order in which the pairs came.
    alpha, looks, running
        As in `betting_sequence`.

    Examples
    --------
    >>> paired_sequence([1, 1, 1, 0] * 30, [1, 0, 0, 0] * 30)
    ConfidenceSequence(120 trials: 0.5000, 0.3675 to 0.6431)
    """
    a, b = ordered_sequence("first", first), ordered_sequence("second", second)
    if a.size != b.size:
        raise InputError("second", f"as long as the first, {a.size}", b.size)
    return betting_sequence(a - b, low=-1.0, high=1.0, alpha=alpha, looks=looks, running=running)


def _lower_ends(y: Floats, at: NDArray[np.int64], mean: Floats, alpha: float) -> Floats:
    """Up to which mean is the gambler who bets on more ruined: shape (looks,).

    Of very many different scores, each is rounded down, which only takes from his capital.
    """
    values, which = np.unique(y, return_inverse=True)
    if values.size > _MOST_VALUES:
        values, which = np.unique(np.floor(y * _MOST_VALUES) / _MOST_VALUES, return_inverse=True)
    counts = np.zeros((at.size, values.size))
    start, seen = 0, np.zeros(values.size)
    for row, stop in enumerate(at.tolist()):
        seen += np.bincount(which[start:stop], minlength=values.size)
        counts[row], start = seen, stop
    found = np.zeros(at.size)
    for start in range(0, at.size, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = _ruined_up_to(values, counts[part], mean[part], alpha)
    return found


def _ruined_up_to(values: Floats, counts: Floats, mean: Floats, alpha: float) -> Floats:
    target = -math.log(alpha) + math.log(_FRACTIONS.size)
    rest = np.log1p(-_FRACTIONS)

    def ruined(m: Floats) -> NDArray[np.bool_]:
        # r = look, g = fraction, v = value: sum over v of count_rv log(1 - g + g y_v / m)
        gain = np.zeros((m.size, _FRACTIONS.size))
        for v, value in enumerate(values.tolist()):
            each = rest if value == 0.0 else np.log1p(_FRACTIONS * (value / m[:, None] - 1.0))
            gain += counts[:, v, None] * each
        top = gain.max(axis=1)
        capital = np.log(np.exp(gain - top[:, None]).sum(axis=1)) + top
        found: NDArray[np.bool_] = capital >= target
        return found

    low, high = np.zeros_like(mean), np.maximum(mean, _TINY)
    for _ in range(_STEPS):  # the lower end of the last step is ruined for certain
        middle = 0.5 * (low + high)
        holds = ruined(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(mean > 0.0, low, 0.0)


def looks_at(trials: int, values: int, looks: Sequence[int] | None = None) -> NDArray[np.int64]:
    """Give the numbers of trials to look at: all, or about 120 where that would take long."""
    if looks is not None:
        at = sorted({integer("looks", n, 1, trials) for n in looks})
        return np.array(at, dtype=np.int64)
    if trials * values <= _ALL_UP_TO:
        return np.arange(1, trials + 1, dtype=np.int64)
    spread = np.unique(np.rint(np.geomspace(1, trials, _LOOKS)).astype(np.int64))
    return spread
