"""The incomplete beta function by own code: one continued fraction, then one-step recurrences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.parameters import Beta

__all__ = ["Block", "beta_survival", "posterior_blocks"]

LENTZ_STEPS = 2000
TINY = 1e-300
#: From this alpha + beta on densities take the saddle-point form.
SADDLE_FROM = 20.0
#: Stirling's series is the sum of x^(1-2k) over these, k = 1, 2, ... (B_2k / (2k (2k - 1))).
STIRLING_DIVISORS = (12.0, -360.0, 1260.0, -1680.0, 1188.0, -360360.0 / 691.0, 156.0)
#: Doubles in one array of a block.
BLOCK_CELLS = 16_000


class Block(NamedTuple):
    """The posteriors Beta(alpha + i, beta + k - i) of some rounds k at m points.

    `rounds` has shape (n,), ascending; `survival` and `term` have shape (n, w, m) by (k, i), with
    w = rounds[-1] + 1. `survival` is P(rate > x); `term` is x^a y^(b-1) / (a B(a, b)) with a, b the
    posterior parameters and y = 1 - x, so that the density is `term * a / x`. Where i > k, which
    cannot happen, `term` is 0 and `survival` means nothing.
    """

    rounds: NDArray[np.int64]
    survival: NDArray[np.float64]
    term: NDArray[np.float64]


def posterior_blocks(
    prior: Beta,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    k_max: int,
    rounds: Sequence[int] | None = None,
) -> Iterator[Block]:
    """What are the survival function and density of every posterior, some rounds at a time?

    Adding a pass adds one positive term to the survival function; adding a fail takes one from the
    row of no passes. Neither loses digits that matter to an absolute 1e-13.

    Parameters
    ----------
    prior : Beta
    x, y : arrays, shape (m,)
        Points in (0, 1) and their complements 1 - x, both given so that neither is rounded away.
    k_max : int
        Last round.
    rounds : sequence of int, optional
        Only these rounds, ascending, none above k_max.

    Yields
    ------
    Block
        Of rounds 0, 1, ..., k_max (or of `rounds`), a few or many in each as memory allows.

    References
    ----------
    DLMF 8.17.20 and 8.17.21 (one-step recurrences of the incomplete beta function). Loader (2000),
    Fast and accurate computation of binomial probabilities, eqs. 2 to 6 (densities at large
    parameters).
    """
    factor = np.tril(_factors(float(prior.alpha), float(prior.beta), k_max))
    passes = _powers_times(np.ones_like(x), x, k_max)
    fails = _powers_times(_first_term(prior, x, y), y, k_max)
    base = _survival_of_no_pass(prior, x, y, factor[:, 0], fails)
    for some in _portions(range(k_max + 1) if rounds is None else rounds, x.size):
        k, width = np.array(some, np.int64), some[-1] + 1
        term = fails[np.maximum(k[:, None] - np.arange(width), 0)]
        term *= passes[:width]
        term *= factor[k, :width, None]
        survival = np.empty_like(term)
        survival[:, 0], survival[:, 1:] = base[k], term[:, :-1]
        yield Block(k, np.cumsum(survival, axis=1, out=survival), term)


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


def _portions(rounds: Sequence[int], m: int) -> Iterator[list[int]]:
    """Cut ascending rounds into runs whose arrays stay in the cache, at least one round each."""
    some: list[int] = []
    for k in rounds:
        if some and (len(some) + 1) * (k + 1) * m > BLOCK_CELLS:
            yield some
            some = []
        some.append(k)
    if some:
        yield some


def _factors(alpha: float, beta: float, k_max: int) -> NDArray[np.float64]:
    """What multiplies x^i y^(k-i) times the first term, shape (k, i); means nothing where i > k.

    It is (alpha + beta)_k / ((alpha + 1)_i (beta)_(k-i)) in rising factorials, built from ratios
    so that nothing overflows.
    """
    count = np.arange(k_max + 1.0)
    out = np.empty((k_max + 1, k_max + 1))
    out[0, 0] = 1.0
    out[1:, 0] = np.cumprod((alpha + beta + count[:-1]) / (beta + count[:-1]))
    np.divide(beta + count[:, None] - count[1:], alpha + count[1:], out=out[:, 1:])
    return np.cumprod(out, axis=1, out=out)


def _powers_times(
    start: NDArray[np.float64], x: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """start * x^i for i = 0 ... n, shape (n + 1, m)."""
    out = np.empty((n + 1, x.size))
    out[0], out[1:] = start, x
    return np.multiply.accumulate(out, axis=0, out=out)


def _survival_of_no_pass(
    prior: Beta,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    factor: NDArray[np.float64],
    fails: NDArray[np.float64],
) -> NDArray[np.float64]:
    """P(rate > x) after k fails and no pass, for every k, shape (k_max + 1, m)."""
    out = np.empty_like(fails)
    out[0] = beta_survival(prior, x, y)
    shrink = float(prior.alpha) / (float(prior.beta) + np.arange(fails.shape[0] - 1.0))
    out[1:] = fails[1:] * (-shrink * factor[:-1])[:, None]
    np.cumsum(out, axis=0, out=out)
    return np.maximum(out, 0.0, out=out)


def _first_term(prior: Beta, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x^a y^(b-1) Gamma(a+b) / (Gamma(a+1) Gamma(b)).

    For large parameters by Loader's saddle-point form, which has no large terms that cancel:
    logarithms of gamma functions would lose three digits at a + b = 2000.
    """
    a, b = float(prior.alpha), float(prior.beta)
    n = a + b
    if n < SADDLE_FROM:
        if prior.is_integer:
            factor = float(math.comb(int(prior.alpha + prior.beta) - 1, int(prior.alpha)))
        else:
            factor = math.exp(math.lgamma(n) - math.lgamma(a + 1.0) - math.lgamma(b))
        return factor * x**a * y ** (b - 1.0)
    error = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    deviance = _deviance(a, n * x) + _deviance(b, n * y)
    # n^n / (a^a b^b) x^a y^b and so on: Gamma(n+1) / (Gamma(a+1) Gamma(b+1)) x^a y^b, then one step
    whole = math.sqrt(n / (2.0 * math.pi * a * b)) * np.exp(error - deviance)
    return whole * (b / n) / y


def _stirling_error(x: float) -> float:
    """log Gamma(x + 1) less Stirling's formula (x + 1/2) log x - x + log(2 pi) / 2."""
    if x < 10.0:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - 0.5 * math.log(2.0 * math.pi)
    total = 0.0
    for divisor in STIRLING_DIVISORS[::-1]:  # the next term is below 1e-16
        total = total / (x * x) + 1.0 / divisor
    return total / x


def _deviance(x: float, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """x log(x / mean) + mean - x, without cancelling where x is near the mean."""
    gap = x - mean
    v = gap / (x + mean)
    near = np.abs(v) < 0.1
    square = np.where(near, v * v, 0.0)
    series = np.zeros_like(mean)
    for power in range(19, 1, -2):  # .1^20 / 21 is below 1e-21
        series = (series + 1.0 / power) * square
    plain = x * np.log(x / mean) - gap
    return np.where(near, gap * v + 2.0 * x * v * series, plain)


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
