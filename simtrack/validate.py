"""Small named checks at the public door; everything below trusts its arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex

from simtrack.errors import InputError

__all__ = ["confidence_level", "decimal_fraction", "integer", "open_unit", "percent_hint", "real"]

#: Decimals and fractions longer than this, or with a larger power of ten, are no measurement.
_TEXT_MAX, _EXPONENT_MAX = 400, 400
_LOWEST_LEVEL, _HIGHEST_LEVEL = 0.01, 0.9999999
_EXPONENT = re.compile(r"[eE]([+-]?[0-9_]+)\s*$")
_SHOWN = 60


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
        raise InputError(name, rule, _short(str, value))
    found = value.__index__()
    if found < low or (high is not None and found > high):
        raise InputError(name, rule, _short(str, found))
    return found


def real(name: str, value: SupportsFloat, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite float in [low, high]."""
    rule = f"a finite number from {low:g} to {high:g}"
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, rule, _short(repr, value)) from None
    if not math.isfinite(found) or not low <= found <= high:
        raise InputError(name, rule, found)
    return found


def open_unit(name: str, value: SupportsFloat) -> float:
    """Return `value` as a float strictly between 0 and 1."""
    found = real(name, value)
    if not 0.0 < found < 1.0:
        raise InputError(name, "strictly between 0 and 1", found, cure=percent_hint(found))
    return found


def confidence_level(name: str, value: SupportsFloat) -> float:
    """Return `value` as a level that leaves a tail to speak of, and something to cover.

    Examples
    --------
    >>> confidence_level("level", 0.95)
    0.95
    >>> confidence_level("level", 1e-320)
    Traceback (most recent call last):
    simtrack.errors.InputError: level must be a share from 0.01 to 0.9999999, got 1e-320.
    """
    found = open_unit(name, value)
    if not _LOWEST_LEVEL <= found <= _HIGHEST_LEVEL:
        rule = f"a share from {_LOWEST_LEVEL} to {_HIGHEST_LEVEL}"
        raise InputError(name, rule, found)
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
            found = Fraction(value)
        elif isinstance(value, (str, Decimal)):
            found = Fraction(_bounded(str(value).strip()))
        else:
            found = Fraction(repr(float(str(value))))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        rule = "a decimal number or a fraction"
        raise InputError(name, rule, _short(repr, value)) from None
    # A million digits would take the exact arithmetic behind this door hours.
    if max(abs(found.numerator), found.denominator) >= 10 ** (2 * _EXPONENT_MAX):
        rule = f"a number of at most {_TEXT_MAX} digits"
        raise InputError(name, rule, _short(repr, value))
    return found


def _bounded(text: str) -> str:
    """Refuse, before any arithmetic, what would make a number of endless digits."""
    exponent = _EXPONENT.search(text)
    if len(text) > _TEXT_MAX or (exponent and abs(int(exponent[1])) > _EXPONENT_MAX):
        raise ValueError
    return text


def _short(show: Callable[[object], str], value: object) -> str:
    try:
        text = " ".join(show(value).split())
    except ValueError:  # an integer of thousands of digits has no text
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
