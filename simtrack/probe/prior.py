"""The Beta prior of a pass rate, kept as the exact decimals that were typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from simtrack.errors import InputError
from simtrack.probe.decimals import decimal_text
from simtrack.validate import decimal_fraction

__all__ = ["PRIOR_MAX", "PRIOR_MIN", "Beta"]

#: Outside these limits the quadrature of the difference has not been checked.
PRIOR_MIN = Fraction(1, 100)
PRIOR_MAX = Fraction(1000)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Beta:
    """What is believed of a pass rate before the first round?

    Parameters
    ----------
    alpha, beta : decimal
        Prior passes and fails, each in [0.01, 1000], read exactly as typed.

    Raises
    ------
    InputError
        A parameter is not a decimal number or lies outside [0.01, 1000].

    Examples
    --------
    >>> Beta(1, 1), Beta("0.5", 0.5).is_integer
    (Beta(1, 1), False)
    """

    alpha: Fraction
    beta: Fraction

    def __init__(self, alpha: object = 1, beta: object = 1) -> None:
        for name, value in (("alpha", alpha), ("beta", beta)):
            found = decimal_fraction(f"prior {name}", value)
            if not PRIOR_MIN <= found <= PRIOR_MAX:
                rule = f"from {decimal_text(PRIOR_MIN)} to {decimal_text(PRIOR_MAX)}"
                raise InputError(f"prior {name}", rule, decimal_text(found))
            object.__setattr__(self, name, found)

    @property
    def is_integer(self) -> bool:
        """Are both parameters whole, so that every posterior mass is a rational number?"""
        return self.alpha.denominator == 1 and self.beta.denominator == 1

    def __iter__(self) -> Iterator[Fraction]:
        yield self.alpha
        yield self.beta

    def __repr__(self) -> str:
        return f"Beta({decimal_text(self.alpha)}, {decimal_text(self.beta)})"
