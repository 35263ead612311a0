"""Posterior masses as exact fractions, for whole-number priors: what decides a tie."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["exact_difference", "exact_high"]


def exact_high(alpha: int, beta: int, threshold: Fraction) -> Fraction:
    """What is P(F > threshold) exactly, for F ~ Beta(alpha, beta) with whole parameters?

    The survival function of such a Beta is a binomial sum (DLMF 8.17.5).

    Parameters
    ----------
    alpha, beta : int
        Posterior parameters, at least 1.
    threshold : Fraction
        In (0, 1).

    Examples
    --------
    >>> exact_high(2, 1, Fraction(1, 2))
    Fraction(3, 4)
    """
    n = alpha + beta - 1
    low, whole = threshold.numerator, threshold.denominator
    high = whole - low
    total = sum(math.comb(n, r) * low**r * high ** (n - r) for r in range(alpha))
    return Fraction(total, whole**n)


def exact_difference(full: tuple[int, int], ablated: tuple[int, int], band: Fraction) -> Fraction:
    """What is P(F - S > band) exactly, for two Betas with whole parameters?

    With y = 1 - band - s, P(F > s + band) is the distribution function of Beta(b, a) at y and the
    density of S is a polynomial in y; both are expanded in units of 1/denominator and the product
    is integrated term by term in integers.

    Parameters
    ----------
    full, ablated : tuple of int
        Posterior parameters (alpha, beta), each at least 1.
    band : Fraction
        In (0, 1); the mass is that of a difference strictly above it.

    Examples
    --------
    >>> exact_difference((1, 1), (1, 1), Fraction(1, 5))
    Fraction(8, 25)
    """
    (a, b), (c, d) = full, ablated
    unit, step = band.denominator, band.numerator
    width = unit - step
    # P(F > s + band) in powers u^(b + r) of u = unit * y, over the common factor `share`
    share = math.lcm(*range(b, a + b))
    rising = [
        math.comb(a - 1, r) * (-1) ** r * (share // (b + r)) * unit ** (a - 1 - r) for r in range(a)
    ]
    falling = _product(_power(width, -1, c - 1), _power(step, 1, d - 1))
    total = 0
    lcm = math.lcm(*range(b + 1, a + b + c + d))
    for power, factor in enumerate(_product(rising, falling)):
        exponent = b + power + 1
        total += factor * width**exponent * (lcm // exponent)
    scale = lcm * share * unit ** (a + b - 1) * unit ** (c + d - 1)
    return Fraction(total, scale) / (_beta(a, b) * _beta(c, d))


def _beta(a: int, b: int) -> Fraction:
    """The beta function of whole parameters."""
    return Fraction(1, a * math.comb(a + b - 1, a))


def _power(constant: int, slope: int, exponent: int) -> list[int]:
    """Coefficients of (constant + slope * u) ** exponent."""
    return [
        math.comb(exponent, r) * constant ** (exponent - r) * slope**r for r in range(exponent + 1)
    ]


def _product(left: list[int], right: list[int]) -> list[int]:
    out = [0] * (len(left) + len(right) - 1)
    for i, x in enumerate(left):
        for j, y in enumerate(right):
            out[i + j] += x * y
    return out
