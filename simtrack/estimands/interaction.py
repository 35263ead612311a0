"""The interaction of two factors, on a scale that is declared."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Literal

from simtrack.errors import InputError
from simtrack.estimands.estimand import Contrast, Estimand
from simtrack.options import choice

__all__ = ["InteractionScale", "factorial_interaction"]

#: A difference of differences, or half of it, as regression on -1/+1 coding has it.
InteractionScale = Literal["difference-of-differences", "half"]


def factorial_interaction(
    estimand: Estimand,
    factors: Mapping[str, tuple[str, str]],
    of: tuple[str, str],
    *,
    scale: InteractionScale = "difference-of-differences",
) -> Contrast:
    """How much larger is the effect of one factor at the high level of another?

    Averaged over the levels of all further factors with equal weight per cell, as main effects
    are (StageIF Eq. 16). The paper's Table 10 prints interactions without a scale: name yours.

    Parameters
    ----------
    estimand : Estimand
    factors : mapping of name to (low, high)
        All two-level factors of the design.
    of : pair of str
        The two factors.
    scale : {"difference-of-differences", "half"}

    Examples
    --------
    >>> from simtrack.estimands import RATE
    >>> found = factorial_interaction(RATE, {"O": ("0", "1"), "X": ("0", "1")}, ("O", "X"))
    >>> [str(weight) for weight, _ in found.terms]
    ['1', '-1', '-1', '1']
    """
    choice("scale", scale, InteractionScale)
    first, second = of
    if first == second or first not in factors or second not in factors:
        raise InputError("of", f"two different factors of {', '.join(factors)}", of)
    others = [name for name in factors if name not in of]
    share = Fraction(1, 2 ** len(others)) * (Fraction(1, 2) if scale == "half" else 1)
    terms = []
    for rest in product(*(factors[name] for name in others)):
        cell = dict(zip(others, rest, strict=True))
        for a, b in product((0, 1), (0, 1)):
            sign = 1 if a == b else -1
            at = cell | {first: factors[first][a], second: factors[second][b]}
            terms.append((sign * share, estimand.at(**at)))
    name = f"interaction of {first} and {second} on {estimand.name} ({scale})"
    return Contrast(name, tuple(terms), source="StageIF Table 10")
