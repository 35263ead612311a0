"""What a clause truly is, from its true pass rates in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.probe.parameters import Rule
from simtrack.probe.states import (
    ADVERSE,
    HIGH,
    LOW,
    NEGATIVE,
    POSITIVE,
    STATE_OF,
    STATES,
    ZERO,
    State,
)
from simtrack.validate import decimal_fraction, integer, percent_hint

__all__ = ["Truth", "grid", "rates", "true_state", "truths"]


@dataclass(frozen=True, slots=True)
class Truth:
    """The state of a clause, and how far its rates lie from where the state changes.

    With the effect d = p - q, the states change at p = threshold and at d = zero_band and
    d = -zero_band; where the effect is negative the threshold changes nothing. `distance` is the
    least of |p - threshold|, |d - zero_band| and |d + zero_band| over the changes that this truth
    can meet, an exact fraction: for an adverse truth it is |d + zero_band| alone. `accepted` are
    the codes of the states that a truth within the margin could be taken for: every level and
    every effect whose boundary is nearer than the margin, each boundary by itself. It is the true
    state alone if and only if `distance` is at least the margin.
    """

    state: State
    distance: Fraction
    accepted: tuple[int, ...]


def rates(name: str, values: object) -> tuple[Fraction, ...]:
    """Return pass rates as typed, each checked to lie in [0, 1]; one rate may stand alone."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        values = (values,)
    found = tuple(decimal_fraction(name, value) for value in values)
    if not found:
        raise InputError(name, "at least one pass rate", "none")
    for value in found:
        if not 0 <= value <= 1:
            raise InputError(name, "pass rates from 0 to 1", float(value), cure=percent_hint(value))
    return found


def grid(steps: int) -> tuple[Fraction, ...]:
    """Which rates divide [0, 1] into this many equal steps, ends included?

    Examples
    --------
    >>> len(grid(20)), grid(20)[6]
    (21, Fraction(3, 10))
    """
    steps = integer("steps", steps, 1)
    return tuple(Fraction(n, steps) for n in range(steps + 1))


def true_state(rule: Rule, full: object, ablated: object) -> State:
    """What is a clause with these true pass rates, by this rule's threshold and zero band?

    A is high if and only if p > threshold (at the threshold it is low); B is zero if and only if
    |p - q| <= zero_band (the ends of the band belong to it). Both are compared as fractions.

    Examples
    --------
    >>> true_state(Rule(), 0.9, 0.7), true_state(Rule(), 0.8, 0.5)
    ('redundant', 'weak')
    """
    (p,), (q,) = rates("full", full), rates("ablated", ablated)
    return STATES[_code(rule, p, q)]


def truths(
    rule: Rule,
    full: object,
    ablated: object,
    *,
    margin: object = 0,
    paired: bool = False,
) -> NDArray[np.object_]:
    """What is a clause at each of these truths, and which truths lie in the indifference zone?

    Parameters
    ----------
    rule : Rule
    full, ablated : decimal or sequence of decimals
        True pass rates.
    margin : decimal
        At a truth nearer than this to a boundary between states, the states across that boundary
        are accepted too; 0 accepts the true state alone, also on a boundary.
    paired : bool
        Points instead of an outer grid.

    Returns
    -------
    object array of Truth, shape (full, ablated), or (points,) if paired
    """
    p, q = rates("full", full), rates("ablated", ablated)
    wide = decimal_fraction("margin", margin)
    if wide < 0:
        raise InputError("margin", "0 or more", float(wide))
    if paired:
        out = np.empty(len(p), object)
        out[:] = [_truth(rule, a, b, wide) for a, b in zip(p, q, strict=True)]
        return out
    out = np.empty((len(p), len(q)), object)
    for row, a in enumerate(p):
        out[row, :] = [_truth(rule, a, b, wide) for b in q]
    return out


def _truth(rule: Rule, p: Fraction, q: Fraction, margin: Fraction) -> Truth:
    code = _code(rule, p, q)
    to_threshold = abs(p - rule.threshold)
    to_positive, to_negative = abs(p - q - rule.zero_band), abs(p - q + rule.zero_band)
    levels = {HIGH, LOW} if to_threshold < margin else {HIGH if p > rule.threshold else LOW}
    effects = {_effect(rule, p - q)}
    effects |= {ZERO, POSITIVE} if to_positive < margin else set()
    effects |= {ZERO, NEGATIVE} if to_negative < margin else set()
    accepted = {STATE_OF[a][b] for a in levels for b in effects} | {code}
    # an adverse clause stays adverse across the threshold
    distance = to_negative if code == ADVERSE else min(to_threshold, to_positive, to_negative)
    return Truth(STATES[code], distance, tuple(sorted(accepted)))


def _code(rule: Rule, p: Fraction, q: Fraction) -> int:
    return STATE_OF[HIGH if p > rule.threshold else LOW][_effect(rule, p - q)]


def _effect(rule: Rule, difference: Fraction) -> int:
    if abs(difference) <= rule.zero_band:
        return ZERO
    return POSITIVE if difference > 0 else NEGATIVE
