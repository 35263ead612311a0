"""Estimands as data: numerator codes over denominator codes, at chosen conditions."""

from simtrack.estimands.catalogue import CATALOGUE, RATE, Unavailable, estimand
from simtrack.estimands.estimand import (
    Condition,
    Contrast,
    Estimand,
    equal_weight,
    factorial_effect,
    where,
)
from simtrack.estimands.interaction import factorial_interaction

__all__ = [
    "CATALOGUE",
    "RATE",
    "Condition",
    "Contrast",
    "Estimand",
    "Unavailable",
    "equal_weight",
    "estimand",
    "factorial_effect",
    "factorial_interaction",
    "where",
]
