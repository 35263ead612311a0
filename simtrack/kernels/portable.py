"""exp, log, the logistic function and the normal quantile from + - * / and sqrt alone.

A mathematics library may differ in the last bit from one machine to the next, and a simulated
count would then differ by one. IEEE 754 fixes + - * / and sqrt to the last bit (and scaling by a
power of two is exact), so these functions give the same double everywhere, compiled or not.

References
----------
W. J. Cody and W. Waite, Software Manual for the Elementary Functions, Prentice-Hall (1980), ch. 6.
M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied
Statistics 37 (1988) 477-484, routine PPND16.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from simtrack._jit import inline

__all__ = ["exp", "expit", "log", "normal_quantile", "unit_interval"]

# ln 2 in two parts (Cody-Waite): the first has 32 trailing zero bits, so k times it is exact.
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")
_EXP_UNDERFLOWS = -708.0
_TWO_M53 = 2.0**-53
_BIAS = np.int64(1023)
_MANTISSA_BITS = np.uint64(52)
_ONE = np.uint64(1)
_ELEVEN = np.uint64(11)

# 1/13!, ..., 1/2!: the remainder is below 5e-18 on |r| <= ln(2)/2.
_EXP_SERIES = tuple(float(Fraction(1, math.factorial(k))) for k in range(13, 1, -1))
# 2/25, ..., 2/3: the remainder is below 4e-21 on |s| <= 0.1716.
_LOG_SERIES = tuple(float(Fraction(2, k)) for k in range(25, 1, -2))

# AS 241, PPND16: highest power first. Central: |u - 1/2| <= 0.425; tail: r <= 5; far: r > 5.
_CENTRAL_TOP = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_CENTRAL_BOTTOM = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_TAIL_TOP = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_TAIL_BOTTOM = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_FAR_TOP = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_FAR_BOTTOM = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


@inline
def unit_interval(number: Any) -> Any:
    """Map a 64-bit number to an odd multiple of 2^-53: inside (0, 1), symmetric, never 0 or 1."""
    return np.float64((number >> _ELEVEN) | _ONE) * _TWO_M53


@inline
def exp(x: float) -> float:
    """e^x for -708 <= x <= 700, to about one unit in the last place."""
    k = np.floor(x * _PER_LN2 + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    total = 0.0
    for coefficient in _EXP_SERIES:
        total = total * r + coefficient
    bits = np.uint64(np.int64(k) + _BIAS) << _MANTISSA_BITS  # of the double 2^k
    return float((1.0 + (r + r * r * total)) * np.uint64(bits).view(np.float64))


@inline
def log(x: float) -> float:
    """The natural logarithm of a positive normal double, to about one unit in the last place."""
    mantissa, exponent = math.frexp(x)
    if mantissa < _SQRT_HALF:
        mantissa = mantissa * 2.0
        exponent = exponent - 1
    f = mantissa - 1.0
    s = f / (2.0 + f)  # log(1 + f) = 2 artanh(s)
    square = s * s
    total = 0.0
    for coefficient in _LOG_SERIES:
        total = total * square + coefficient
    half = 0.5 * f * f
    k = float(exponent)
    return k * _LN2_HIGH - ((half - (s * (half + square * total) + k * _LN2_LOW)) - f)


@inline
def expit(x: float) -> float:
    """The logistic function 1 / (1 + e^-x), without loss for large negative x."""
    y = -abs(x)
    e = exp(y) if y > _EXP_UNDERFLOWS else 0.0
    if x < 0.0:
        return e / (1.0 + e)
    return 1.0 / (1.0 + e)


@inline
def normal_quantile(u: float) -> float:
    """The standard normal deviate below which a share u of the mass lies, 0 < u < 1 (AS 241)."""
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _horner(_CENTRAL_TOP, r) / _horner(_CENTRAL_BOTTOM, r)
    r = math.sqrt(-log(min(u, 1.0 - u)))
    if r <= 5.0:
        z = _horner(_TAIL_TOP, r - 1.6) / _horner(_TAIL_BOTTOM, r - 1.6)
    else:
        z = _horner(_FAR_TOP, r - 5.0) / _horner(_FAR_BOTTOM, r - 5.0)
    return -z if q < 0.0 else z


@inline
def _horner(coefficients: Any, x: float) -> float:
    total = 0.0
    for coefficient in coefficients:
        total = total * x + coefficient
    return total
