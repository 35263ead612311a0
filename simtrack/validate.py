"""Small named checks at the public door; everything below trusts its arguments."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

from simtrack.errors import InputError

__all__ = ["decimal_fraction", "integer", "open_unit", "percent_hint", "real"]


def integer(name: str, value: SupportsIndex, low: int, high: int | None = None) -> int:
    """Return `value` as an int in [low, high]; booleans and floats are refused.

    Examples
    --------
    >>> integer("k_max", 30, 1, 200)
    30
    >>> integer("k_max", 2.5, 1, 200)
    Traceback (most recent call last):
    simtrack.errors.InputError: k_max must be an integer from 1 to 200, got 2.5.
    """
    rule = f"an integer from {low} to {high}" if high is not None else f"an integer >= {low}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(name, rule, value)
    found = value.__index__()
    if found < low or (high is not None and found > high):
        raise InputError(name, rule, found)
    return found


def real(name: str, value: SupportsFloat, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite float in [low, high]."""
    rule = f"a finite number from {low:g} to {high:g}"
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise InputError(name, rule, repr(value)) from None
    if not math.isfinite(found) or not low <= found <= high:
        raise InputError(name, rule, found)
    return found


def open_unit(name: str, value: SupportsFloat) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    found = real(name, value)
    if not 0.0 < found < 1.0:
        raise InputError(name, "strictly between 0 and 1", found, cure=percent_hint(found))
    return found


def percent_hint(value: SupportsFloat) -> str:
    """Ask whether a percentage was meant where a share is wanted.

    Examples
    --------
    >>> percent_hint(80)
    'Did you mean 0.8?'
    """
    return f"Did you mean {float(value) / 100:g}?" if 1.0 < float(value) < 100.0 else ""


def decimal_fraction(name: str, value: object) -> Fraction:
    """Return a number as the exact fraction that was typed: 0.8 is 4/5, not its binary neighbour.

    Strings, ints, Fractions and Decimals are exact; a float is read through its shortest decimal.

    Examples
    --------
    >>> decimal_fraction("threshold", 0.8), decimal_fraction("threshold", "2/3")
    (Fraction(4, 5), Fraction(2, 3))
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, (Fraction, int)):
            return Fraction(value)
        if isinstance(value, str):
            return Fraction(value.strip())
        return Fraction(repr(float(str(value))))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(name, "a decimal number or a fraction", repr(value)) from None
