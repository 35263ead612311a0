"""How large an effect does a clause without any show by chance: the width of a zero band."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from simtrack.errors import InputError
from simtrack.validate import decimal_fraction, integer

__all__ = ["placebo_quantile"]


def placebo_quantile(
    k: int, rate: Fraction | float | str, probability: Fraction | float | str = "0.95"
) -> Fraction:
    """Below which |effect| does a clause without an effect stay, with this probability?

    After k rounds the estimate is (passes with the clause - passes without) / k, both binomial
    with the same rate: the smallest lattice value whose chance is at least `probability`. Exact.

    Parameters
    ----------
    k : int, 1 to 1,000
    rate, probability : Fraction, float or str, 0 to 1
        Floats are taken as typed.

    Source: ReBIND appendix C, which observed .200 after 10 rounds at high adherence.

    Examples
    --------
    >>> placebo_quantile(10, "0.95")
    Fraction(1, 5)
    """
    n = integer("k", k, 1, 1000)
    p, wanted = decimal_fraction("rate", rate), decimal_fraction("probability", probability)
    for name, value in (("rate", p), ("probability", wanted)):
        if not 0 <= value <= 1:
            raise InputError(name, "from 0 to 1", value)
    # Integer weights over a common denominator: no rounding, however small a tail.
    a, b = p.numerator, p.denominator - p.numerator
    law = [comb(n, s) * a**s * b ** (n - s) for s in range(n + 1)]
    total = p.denominator ** (2 * n)
    chance = 0
    for gap in range(n + 1):
        both = sum(law[s] * law[s + gap] for s in range(n + 1 - gap))
        chance += both if gap == 0 else 2 * both
        if chance * wanted.denominator >= wanted.numerator * total:
            return Fraction(gap, n)
    return Fraction(1)
