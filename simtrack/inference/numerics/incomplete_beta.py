"""The incomplete beta function and its inverse in plain Python floats."""

from __future__ import annotations

import math

from simtrack.errors import InputError

__all__ = [
    "beta_cdf",
    "beta_logit",
    "beta_quantile",
    "check_positive",
    "check_probability",
    "log_beta_cdf",
    "log_beta_tail",
    "stirling_error",
]

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_TINY = 1e-300
_EPSILON = 2.0**-53
#: Below this argument log-gamma is small enough for Stirling's error to be a plain difference.
_STIRLING_FROM = 16.0
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def beta_cdf(x: float, a: float, b: float) -> float:
    """How likely is a Beta(a, b) variable at most `x` (regularised incomplete beta)?

    Examples
    --------
    >>> f"{beta_cdf(0.5, 2, 3):.12f}", beta_cdf(0.0, 2, 3), beta_cdf(1.0, 2, 3)
    ('0.687500000000', 0.0, 1.0)
    """
    check_positive("a", a)
    check_positive("b", b)
    check_probability(x, "x")
    if x in {0.0, 1.0}:
        return x
    if x <= a / (a + b):
        return math.exp(log_beta_tail(x, 1.0 - x, a, b))
    return -math.expm1(log_beta_tail(1.0 - x, x, b, a))


def beta_quantile(p: float, a: float, b: float) -> float:
    """Which value does a Beta(a, b) variable stay below with probability `p`?

    Examples
    --------
    >>> f"{beta_quantile(0.025, 77, 4):.12f}", beta_quantile(1.0, 2, 3)
    ('0.894298014983', 1.0)
    """
    check_positive("a", a)
    check_positive("b", b)
    check_probability(p)
    if p in {0.0, 1.0}:
        return p
    if p <= beta_cdf(a / (a + b), a, b):
        return _logistic(beta_logit(math.log(p), a, b))
    return _logistic(-beta_logit(math.log1p(-p), b, a))


def beta_logit(log_p: float, a: float, b: float) -> float:
    """Solve log I_x(a, b) = log_p for u = logit x, for a target below the value at the mean.

    A Beta variable has a log-concave law on the logit scale, so its log cdf is concave in u and
    Newton's steps rise to the root without passing it: no bracket is needed.
    """
    u = math.log(a / b)
    for _ in range(200):
        x, y = _logistic(u), _logistic(-u)
        log_x = u - math.log1p(math.exp(u)) if u < 0.0 else -math.log1p(math.exp(-u))
        log_tail = log_beta_tail(x, y, a, b, log_x)
        # d log I_x / du = front / I_x, and the continued fraction is I_x / front.
        step = (log_p - log_tail) * _beta_fraction(x, y, a, b)
        u += step
        if abs(step) <= 4.0 * _EPSILON * max(1.0, abs(u)):
            break
    return u


def log_beta_tail(x: float, y: float, a: float, b: float, log_x: float | None = None) -> float:
    """Give log I_x(a, b) with y = 1 - x, for x at or below the mean; x = 0 needs `log_x`."""
    return _log_beta_front(x, y, a, b, log_x) + math.log(_beta_fraction(x, y, a, b))


def log_beta_cdf(x: float, y: float, a: float, b: float) -> float:
    """Give log I_x(a, b) with y = 1 - x for any x inside, from the tail on whose side it is.

    Examples
    --------
    >>> round(log_beta_cdf(0.5, 0.5, 5001, 1), 3), round(log_beta_cdf(0.5, 0.5, 1, 2), 3)
    (-3466.429, -0.288)
    """
    if a * y >= b * x:
        return log_beta_tail(x, y, a, b)
    return math.log1p(-math.exp(log_beta_tail(y, x, b, a)))


def _beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """Give I_x(a, b) over its front factor x^a y^b / B(a, b), by a continued fraction.

    A. R. DiDonato and A. H. Morris (1992), ACM TOMS 18, 360-373, equation 9: it takes a·y - b·x
    as one number, so it does not cancel where x is close to 1.
    """
    gap = a * y - b * x
    first = a / (a + 1.0) * (gap + 1.0)
    value = c = first if abs(first) > _TINY else _TINY
    d = 0.0
    for n in range(1, 10_000_000):
        low = a + 2 * n - 1.0
        top = (a + n - 1.0) / low * ((a + b + n - 1.0) / low) * n * (b - n) * x * x
        bottom = n + n * (b - n) * x / low + (a + n) / (low + 2.0) * (gap + 1.0 + n * (1.0 + y))
        d = bottom + top * d
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = bottom + top / c
        c = c if abs(c) > _TINY else _TINY
        value *= c * d
        if abs(c * d - 1.0) <= 2.0 * _EPSILON:
            break
    return 1.0 / value


def _log_beta_front(x: float, y: float, a: float, b: float, log_x: float | None = None) -> float:
    """Give log of x^a y^b / B(a, b), by deviances so that large `a` and `b` do not cancel.

    C. Loader (2000), Fast and accurate computation of binomial probabilities.
    """
    n = a + b
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b)
    gap = a * y - b * x
    deviance = _deviance(a, n, x, gap, log_x) + _deviance(b, n, y, -gap)
    return errors - deviance + 0.5 * math.log(a / n * b) - _HALF_LOG_2PI


def _deviance(k: float, n: float, x: float, gap: float, log_x: float | None = None) -> float:
    """Give k log(k/m) + m - k for m = n·x, where gap = k - m comes without cancellation."""
    both = k + n * x
    if abs(gap) >= 0.1 * both:
        return k * (math.log(k / n) - (math.log(x) if log_x is None else log_x)) - gap
    v = gap / both
    total, term, odd = gap * v, 2.0 * k * v, 1
    while True:
        term *= v * v
        odd += 2
        grown = total + term / odd
        if grown == total:
            return grown
        total = grown


def stirling_error(z: float) -> float:
    """Give log Γ(z + 1) - ((z + 1/2) log z - z + log(2π)/2), the error of Stirling's formula."""
    if z < _STIRLING_FROM:
        return math.lgamma(z + 1.0) - (z + 0.5) * math.log(z) + z - _HALF_LOG_2PI
    square, total = 1.0 / (z * z), 0.0
    for coefficient in reversed(_STIRLING):
        total = total * square + coefficient
    return total / z


def _logistic(u: float) -> float:
    if u >= 0.0:
        return 1.0 / (1.0 + math.exp(-u))
    return math.exp(u) / (1.0 + math.exp(u))


def check_probability(p: float, name: str = "p") -> None:
    """Refuse what is no probability."""
    if not 0.0 <= p <= 1.0:
        raise InputError(name, "between 0 and 1", p)


def check_positive(name: str, value: float) -> None:
    """Refuse what is not above 0."""
    if not value > 0.0:
        raise InputError(name, "above 0", value)
