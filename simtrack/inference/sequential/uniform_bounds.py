"""Curves that a sum of centred terms stays below at all times at once, with probability 1 - alpha.

Every function takes the intrinsic time v (the variance that has come in: for scores in [0, 1], n/4
at most) and gives the bound on the sum at v; dividing by n bounds the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from simtrack.inference.numerics.special import beta_cdf, normal_cdf
from simtrack.options import choice
from simtrack.validate import open_unit, real

__all__ = ["best_rho", "beta_binomial_bound", "normal_mixture_bound", "stitched_bound"]

OneOrBoth = Literal["two-sided", "upper"]
_SEARCH_STEPS = 200
_LEAST_SHARE = 1e-3
_MOST_ALPHA = 0.999
_ZETA_TERMS = 40


def best_rho(v_opt: float, alpha: float) -> float:
    """Which mixture is (nearly) tightest at intrinsic time `v_opt`?

    Examples
    --------
    >>> round(best_rho(100, 0.05), 5)
    12.60056

    References
    ----------
    Howard, Ramdas, McAuliffe and Sekhon (2021), Annals of Statistics 49, 1055-1080, section 3.5.
    """
    spread = -2.0 * math.log(open_unit("alpha", alpha))
    return _time(v_opt) / (spread + math.log1p(spread))


def normal_mixture_bound(
    v: float, alpha: float, v_opt: float, *, side: OneOrBoth = "two-sided"
) -> float:
    """How far may a sub-Gaussian sum stray upwards, at intrinsic time `v`?

    Parameters
    ----------
    side : {"two-sided", "upper"}
        Whether alpha pays for both directions, or for this one alone.

    Examples
    --------
    >>> round(normal_mixture_bound(100, 0.05, 100), 5)
    30.35209
    >>> round(normal_mixture_bound(100, 0.05, 100, side="upper"), 5)
    27.66071

    References
    ----------
    Howard et al. (2021), section 3.2, Propositions 5 and 6.
    """
    if choice("side", side, OneOrBoth) == "two-sided":
        rho = best_rho(v_opt, alpha)
        total = _time(v) + rho
        return math.sqrt(total * (math.log(total / rho) - 2.0 * math.log(alpha)))
    rho = best_rho(v_opt, min(2.0 * open_unit("alpha", alpha), _MOST_ALPHA))
    total = _time(v) + rho

    def log_capital(s: float) -> float:
        half = 0.5 * math.log(4.0 * rho / total) + s * s / (2.0 * total)
        return half + math.log(normal_cdf(s / math.sqrt(total)))

    return _crossing(log_capital, -math.log(alpha))


def beta_binomial_bound(
    v: float,
    alpha: float,
    v_opt: float,
    g: float,
    h: float,
    *,
    side: OneOrBoth = "two-sided",
) -> float:
    """How far may a sum of terms in [-g, h] of mean 0 stray upwards, at intrinsic time `v`?

    Parameters
    ----------
    v, v_opt : float
        Intrinsic times: g h for each term.
    g, h : float
        For a Bernoulli rate p, g = p and h = 1 - p.
    side : {"two-sided", "upper"}
        Whether alpha pays for both directions, or for this one alone.

    Examples
    --------
    >>> round(beta_binomial_bound(100, 0.05, 100, 0.2, 0.8), 4)
    31.4308
    >>> round(beta_binomial_bound(100, 0.05, 100, 0.2, 0.8, side="upper"), 5)
    28.41238

    References
    ----------
    Howard et al. (2021), section 3.2, Proposition 7.
    """
    g, h = real("g", g, 1e-9), real("h", h, 1e-9)
    gh, width = g * h, g + h
    is_upper = choice("side", side, OneOrBoth) == "upper"
    share = min(2.0 * open_unit("alpha", alpha), _MOST_ALPHA) if is_upper else alpha
    r = max(best_rho(v_opt, share) - gh, _LEAST_SHARE * gh)

    def log_mixture(a: float, b: float) -> float:
        below = math.log(beta_cdf(h / width, a, b)) if is_upper else 0.0
        return _log_beta(a, b) + below

    start = log_mixture(r / (g * width), r / (h * width))

    def log_capital(s: float) -> float:
        left = (v + h * s) / (h * width)
        right = (v - g * s) / (g * width)
        mixed = log_mixture((r + v - g * s) / (g * width), (r + v + h * s) / (h * width))
        flat = v / gh * math.log(width) - left * math.log(g) - right * math.log(h)
        return flat + mixed - start

    _time(v)
    farthest = (r + v) / g * (1.0 - 1e-12)
    return min(_crossing(log_capital, -math.log(alpha), farthest), v / g)


def stitched_bound(
    v: float, alpha: float, v_min: float, *, c: float = 0.0, s: float = 1.4, eta: float = 2.0
) -> float:
    """How far may a sub-gamma sum stray upwards: the closed form that grows with log log v?

    Parameters
    ----------
    v, v_min : float
        Intrinsic time, and the time from which the bound is meant to be tight.
    c : float
        Scale of the sub-gamma tail; 0 is sub-Gaussian.
    s, eta : float
        Shape of the stitching.

    Examples
    --------
    >>> round(stitched_bound(100, 0.05, 10, c=3), 5)
    64.48755

    References
    ----------
    Howard et al. (2021), Theorem 1 and equation 10.
    """
    open_unit("alpha", alpha)
    s, eta = real("s", s, 1.0 + 1e-6), real("eta", eta, 1.0 + 1e-6)
    start = max(_time(v), _time(v_min))
    level = s * math.log(math.log(eta * start / v_min))
    level += math.log(_zeta(s) / (alpha * math.log(eta) ** s))
    first = (eta**0.25 + eta**-0.25) / math.sqrt(2.0)
    second = (math.sqrt(eta) + 1.0) / 2.0
    linear = second * c * level
    return math.sqrt(first * first * start * level + linear * linear) + linear


def _time(v: float) -> float:
    return real("v", v, 1e-30)


def _crossing(
    log_capital: Callable[[float], float], target: float, farthest: float = math.inf
) -> float:
    """Find where an increasing function of s >= 0 reaches `target`."""
    high = min(1.0, farthest)
    while high < farthest and log_capital(high) < target:
        high = min(2.0 * high, farthest)
    if log_capital(high) < target:
        return high
    low = 0.0
    for _ in range(_SEARCH_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if log_capital(middle) < target else (low, middle)
    return high


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _zeta(s: float) -> float:
    """Riemann's zeta at s > 1 by Euler and Maclaurin."""
    n = _ZETA_TERMS
    total: float = math.fsum(k**-s for k in range(1, n))
    total += n ** (1.0 - s) / (s - 1.0) + 0.5 * n**-s
    term = s * n ** (-s - 1.0)
    for k, number in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30)):
        total += number / math.factorial(2 * k + 2) * term
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (n * n)
    return total
