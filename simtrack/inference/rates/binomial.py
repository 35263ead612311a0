"""Intervals for the rate of independent trials: Clopper-Pearson, Jeffreys and mid-p."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.intervals import open_ended, tail
from simtrack.inference.numerics.roots import turning_point
from simtrack.inference.numerics.special import beta_cdf, beta_quantile
from simtrack.options import Side

__all__ = ["binomial_tails", "checked_counts", "clopper_pearson", "jeffreys", "mid_p"]

Floats = NDArray[np.float64]


def clopper_pearson(
    successes: ArrayLike, n: ArrayLike, *, level: float = 0.95, side: Side = "two-sided"
) -> tuple[Floats, Floats]:
    """Which rates does no one-tailed exact binomial test reject?

    It covers with at least the level at every rate, so on average it covers more.

    Parameters
    ----------
    successes, n : arrays that broadcast
        Counts with 0 ≤ successes ≤ n and n > 0. Fractions (effective counts) are allowed.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or 0.

    Returns
    -------
    low, high : float64 arrays
        Within [0, 1]; exactly 0 at no success, exactly 1 at no failure.

    References
    ----------
    Clopper and Pearson (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 30], [23, 30])
    >>> low.round(10).tolist(), high.round(10).tolist()
    ([0.0, 0.8842966918], [0.1481851289, 1.0])
    """
    hits, size = checked_counts(successes, n)
    alpha = tail(level, side)
    low = _each(lambda k, m: beta_quantile(alpha, k, m - k + 1.0) if k > 0.0 else 0.0, hits, size)
    high = _each(
        lambda k, m: beta_quantile(1.0 - alpha, k + 1.0, m - k) if k < m else 1.0, hits, size
    )
    return open_ended(low, high, side)


def jeffreys(
    successes: ArrayLike, n: ArrayLike, *, level: float = 0.95, side: Side = "two-sided"
) -> tuple[Floats, Floats]:
    """Which rates are credible under Jeffreys' prior, with equal tails?

    Quantiles of Beta(k + 1/2, n - k + 1/2), but 0 as the low end at no success and 1 as the high
    end at no failure. Parameters and results as in `clopper_pearson`.

    References
    ----------
    Brown, Cai and DasGupta (2001), Statistical Science 16, 101-133, section 4.1.2.

    Examples
    --------
    >>> low, high = jeffreys(13, 16)
    >>> round(float(low), 4), round(float(high), 4)
    (0.5792, 0.9442)
    """
    hits, size = checked_counts(successes, n)
    alpha = tail(level, side)
    low = _each(
        lambda k, m: beta_quantile(alpha, k + 0.5, m - k + 0.5) if k > 0.0 else 0.0, hits, size
    )
    high = _each(
        lambda k, m: beta_quantile(1.0 - alpha, k + 0.5, m - k + 0.5) if k < m else 1.0,
        hits,
        size,
    )
    return open_ended(low, high, side)


def mid_p(
    successes: ArrayLike, n: ArrayLike, *, level: float = 0.95, side: Side = "two-sided"
) -> tuple[Floats, Floats]:
    """Which rates does the exact test keep if the observed count weighs one half?

    The low end solves P(X > k) + P(X = k)/2 = (1 - level)/2, the high end the mirror image. Its
    coverage is near the level on average but may fall below it. Parameters and results as in
    `clopper_pearson`.

    References
    ----------
    Lancaster (1961), JASA 56, 223-234; Berry and Armitage (1995), The Statistician 44, 417-423.

    Examples
    --------
    >>> low, high = mid_p(13, 16)
    >>> round(float(low), 4), round(float(high), 4)
    (0.5699, 0.95)
    """
    hits, size = checked_counts(successes, n)
    alpha = tail(level, side)
    low, high = _mid_p_low(hits, size, alpha), 1.0 - _mid_p_low(size - hits, size, alpha)
    # At no success the equation is (1 - p)^n / 2 = alpha: in closed form the digits stay.
    none = -np.expm1(np.log(2.0 * alpha) / size)
    return open_ended(low, np.where(hits == 0.0, none, high), side)


def binomial_tails(successes: ArrayLike, n: ArrayLike, null: float) -> tuple[Floats, Floats]:
    """How likely are at least, and at most, so many successes at the rate `null`?

    Each tail is summed from its own end, so that a small one keeps its digits.

    Examples
    --------
    >>> [float(p) for p in binomial_tails(0, 100, 0.5)] == [1.0, 0.5**100]
    True
    """
    from scipy.special import betainc

    hits = np.asarray(successes, dtype=np.float64)
    missed = np.asarray(n, dtype=np.float64) - hits
    upper = np.where(hits > 0, betainc(np.maximum(hits, 1.0), missed + 1.0, null), 1.0)
    lower = np.where(missed > 0, betainc(np.maximum(missed, 1.0), hits + 1.0, 1.0 - null), 1.0)
    return upper, lower


def checked_counts(successes: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Give counts as arrays of one shape, or refuse what is no count of so many trials."""
    try:
        hits, size = np.broadcast_arrays(
            np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
        )
    except ValueError:
        raise InputError("n", "numbers of the same shape as successes, or of one value") from None
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        raise InputError("n", "above 0", cure="A rate without trials has no interval.")
    if not ((hits >= 0.0) & (hits <= size)).all():
        wrong = ~((hits >= 0.0) & (hits <= size))
        raise InputError("successes", "between 0 and n", float(hits[wrong][0]))
    return hits, size


def _each(function: Callable[[float, float], float], first: Floats, second: Floats) -> Floats:
    """Apply a function of two numbers, once for each distinct pair."""
    pairs = np.stack([first.ravel(), second.ravel()], axis=1)
    rows, place = np.unique(pairs, axis=0, return_inverse=True)
    values = np.array([function(a, b) for a, b in rows.tolist()])
    return np.asarray(values[place.ravel()].reshape(first.shape))


def _mid_p_low(hits: Floats, size: Floats, alpha: float) -> Floats:
    """Solve P(X > k) + P(X = k)/2 = alpha for the rate; 0 at no success."""
    pairs = np.stack([hits.ravel(), size.ravel()], axis=1)
    rows, place = np.unique(pairs, axis=0, return_inverse=True)
    ends = [_mid_p_bracket(k, m, alpha) for k, m in rows.tolist()]
    low, high = np.array([e[0] for e in ends]), np.array([e[1] for e in ends])

    def still(rate: Floats) -> NDArray[np.bool_]:
        tails = [
            0.5 * (beta_cdf(p, k, m - k + 1.0) + beta_cdf(p, k + 1.0, m - k)) if 0 < k < m else 0.0
            for p, (k, m) in zip(rate.tolist(), rows.tolist(), strict=True)
        ]
        return np.array(tails) < alpha

    values = np.where(low == high, low, turning_point(still, low, high))
    return np.asarray(values[place.ravel()].reshape(hits.shape))


def _mid_p_bracket(k: float, m: float, alpha: float) -> tuple[float, float]:
    """Give the rates at which P(X ≥ k) and P(X > k) reach alpha: the mid-p end lies between."""
    if k == 0.0:
        return 0.0, 0.0
    if k == m:
        end = float(np.exp(np.log(2.0 * alpha) / m))
        return end, end
    return beta_quantile(alpha, k, m - k + 1.0), beta_quantile(alpha, k + 1.0, m - k)
