"""The incomplete beta function by own code: one continued fraction, then one-step recurrences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.prior import Beta

__all__ = ["Level", "beta_survival", "levels"]

LENTZ_STEPS = 2000
TINY = 1e-300


class Level(NamedTuple):
    """The posteriors Beta(alpha + i, beta + k - i) of one round k at m points; shapes (k+1, m).

    `survival[i]` is P(rate > x); `term[i]` is x^a y^(b-1) / (a B(a, b)) with a, b the posterior
    parameters and y = 1 - x, so that the density is `term * a / x`.
    """

    k: int
    survival: NDArray[np.float64]
    term: NDArray[np.float64]


def levels(
    prior: Beta, x: NDArray[np.float64], y: NDArray[np.float64], k_max: int
) -> Iterator[Level]:
    """What are the survival function and density of every posterior, round after round?

    Adding a pass adds one positive term to the survival function; adding a fail takes one from the
    row of no passes. Neither loses digits that matter to an absolute 1e-13.

    Parameters
    ----------
    prior : Beta
    x, y : arrays, shape (m,)
        Points in (0, 1) and their complements 1 - x, both given so that neither is rounded away.
    k_max : int
        Last round.

    Yields
    ------
    Level
        For k = 0, 1, ..., k_max.

    References
    ----------
    DLMF 8.17.20 and 8.17.21 (one-step recurrences of the incomplete beta function).
    """
    alpha, beta = float(prior.alpha), float(prior.beta)
    term = _first_term(prior, x, y)[None, :]
    base = beta_survival(prior, x, y)
    passes = np.arange(k_max + 1, dtype=np.float64)[:, None]
    for k in range(k_max + 1):
        survival = np.empty((k + 1, x.size))
        survival[0] = base
        np.cumsum(term[:k], axis=0, out=survival[1:])
        survival[1:] += base
        yield Level(k, survival, term)
        if k == k_max:
            return
        base = np.maximum(base - term[0] * (alpha / (beta + k)) * y, 0.0)
        grown = np.empty((k + 2, x.size))
        fails = beta + (k - passes[: k + 1])
        np.multiply(term, ((alpha + beta + k) / fails) * y, out=grown[:-1])
        grown[-1] = term[-1] * ((alpha + beta + k) / (alpha + k + 1.0)) * x
        term = grown


def beta_survival(
    prior: Beta, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What is P(rate > x) for a rate with this Beta distribution?

    Parameters
    ----------
    prior : Beta
    x, y : arrays, shape (m,)
        Points in (0, 1) and their complements.

    Returns
    -------
    array, shape (m,)
        Probabilities, to about 1e-15 absolute.

    Examples
    --------
    >>> x = np.array([0.25])
    >>> round(float(beta_survival(Beta(2, 3), x, 1 - x)[0]), 12)
    0.73828125
    """
    a, b = float(prior.alpha), float(prior.beta)
    if a == 1.0:
        return y**b
    if b == 1.0:
        return 1.0 - x**a
    below = x < (a + 1.0) / (a + b + 2.0)
    out = np.empty_like(x)
    front = _first_term(prior, x, y) * y  # x^a y^b / (a B(a, b))
    out[below] = 1.0 - front[below] * _lentz(a, b, x[below])
    above = ~below
    out[above] = front[above] * (a / b) * _lentz(b, a, y[above])
    return out


def _first_term(prior: Beta, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x^a y^(b-1) Gamma(a+b) / (Gamma(a+1) Gamma(b))."""
    a, b = float(prior.alpha), float(prior.beta)
    if prior.is_integer:
        log_factor = math.log(math.comb(int(prior.alpha + prior.beta) - 1, int(prior.alpha)))
    else:
        log_factor = math.lgamma(a + b) - math.lgamma(a + 1.0) - math.lgamma(b)
    if a + b < 100.0:
        return math.exp(log_factor) * x**a * y ** (b - 1.0)
    return np.exp(log_factor + a * np.log(x) + (b - 1.0) * np.log(y))


def _lentz(a: float, b: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The continued fraction of DLMF 8.17.22 by the modified Lentz method, for all points."""
    if not x.size:
        return x
    c = np.ones_like(x)
    d = _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    d = 1.0 / d
    value = d.copy()
    for n in range(1, LENTZ_STEPS):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        for step in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + step * d)
            c = _away_from_zero(1.0 + step / c)
            value = value * (c * d)
        if np.abs(c * d - 1.0).max() < 3e-16:
            break
    return value


def _away_from_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) < TINY, TINY, values)
