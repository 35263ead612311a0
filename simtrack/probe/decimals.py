"""Exact fractions written as a person would type them, so that they read back unchanged."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["decimal_text", "is_decimal"]


def is_decimal(value: Fraction) -> bool:
    """Does the fraction end as a decimal: is its denominator made of twos and fives alone?

    Examples
    --------
    >>> is_decimal(Fraction(4, 5)), is_decimal(Fraction(2, 3))
    (True, False)
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def decimal_text(value: Fraction) -> str:
    """How is this fraction typed: as a decimal where it ends, else as numerator/denominator?

    Examples
    --------
    >>> decimal_text(Fraction(4, 5)), decimal_text(Fraction(2, 3)), decimal_text(Fraction(7))
    ('0.8', '2/3', '7')
    """
    if not is_decimal(value):
        return str(value)
    places = 0
    while value.denominator > 10**places or 10**places % value.denominator:
        places += 1
    digits = abs(value.numerator) * (10**places // value.denominator)
    sign = "-" if value < 0 else ""
    if not places:
        return f"{sign}{digits}"
    text = str(digits).rjust(places + 1, "0")
    return f"{sign}{text[:-places]}.{text[-places:]}"
