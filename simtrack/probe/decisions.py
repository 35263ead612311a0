"""What the rule says of every possible record (k, i, j): both sides and the state.

A mass that floating point cannot tell from the confidence is settled as an exact fraction, where
the priors are whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.plain import Plain
from simtrack.probe.parameters import Beta, Rule
from simtrack.probe.posterior import high_masses, zone_blocks
from simtrack.probe.states import (
    A_SIDES,
    B_SIDES,
    HIGH,
    LOW,
    NEGATIVE,
    POSITIVE,
    STATE_OF,
    STATES,
    ZERO,
    ASide,
    BSide,
    State,
)

__all__ = [
    "Decision",
    "DecisionTable",
    "build_table",
    "decide",
    "decision_table",
    "exact_difference",
    "exact_high",
]

#: A mass nearer than this to the confidence is decided in exact arithmetic, if the priors allow.
#: Masses are right to about 1e-14 for all priors in range, so no tie is missed.
NEAR: Final = 1e-12
ZONES: Final = np.array([POSITIVE, ZERO, NEGATIVE], np.int8)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionTable:
    """Both sides and the state after k rounds with i passes in full and j in ablated form.

    Attributes
    ----------
    a_side : int8 array, shape (k_max + 1, k_max + 1)
        Code of the A side by (k, i): 0 undecided, 1 high, 2 low.
    b_side : int8 array, shape (k_max + 1, k_max + 1, k_max + 1)
        Code of the B side by (k, i, j): 0 undecided, 1 positive, 2 zero, 3 negative.
    state : int8 array, shape (k_max + 1, k_max + 1, k_max + 1)
        Index into `STATES` by (k, i, j), `not_confident` where a side is undecided. Cells with
        i > k or j > k cannot occur and read as undecided.
    margin : float
        Distance of the nearest posterior mass to the confidence, over k from 1 on, ties apart.
    n_ties : int
        Records from k = 1 on with a mass that equals the confidence exactly, and so is decided.
    n_unresolved : int
        Records with a mass within 1e-12 of it that floating point had to decide (other priors).
    """

    a_side: NDArray[np.int8]
    b_side: NDArray[np.int8]
    state: NDArray[np.int8]
    margin: float
    n_ties: int
    n_unresolved: int


@lru_cache(maxsize=8)
def decision_table(rule: Rule) -> DecisionTable:
    """What does this rule say of every record? Kept for the rules used last.

    Examples
    --------
    >>> table = decision_table(Rule())
    >>> int(table.a_side[7, 7]), int(table.a_side[6, 6])
    (1, 0)
    """
    return build_table(rule)


def build_table(rule: Rule) -> DecisionTable:
    """Work the decision table out afresh; `decision_table` is the same with a memory.

    A side is decided when a posterior mass is at least the confidence. As the confidence is above
    one half, at most one mass of each side can be.
    """
    k_max, confidence = rule.k_max, float(rule.confidence)
    size = k_max + 1
    watch = _Watch(rule)
    high = high_masses(rule.prior, rule.threshold, k_max)
    a_side = np.zeros((size, size), np.int8)
    watch.note_a(high)
    a_side[high >= confidence] = HIGH
    a_side[1.0 - high >= confidence] = LOW
    b_side = np.zeros((size, size, size), np.int8)
    for rounds, zones in zone_blocks(rule.prior, rule.prior_of_ablated, rule.zero_band, k_max):
        watch.note_b(rounds, zones)
        width = zones.shape[2]
        # at most one of the three wins: its code is the sum over all
        b_side[rounds, :width, :width] = np.einsum("zkij,z->kij", zones >= confidence, ZONES)
    n_ties, n_unresolved = watch.settle(a_side, b_side)
    pair = a_side[:, :, None] * np.int8(len(STATE_OF[0])) + b_side
    state = np.take(np.array(STATE_OF, np.int8).ravel(), pair)
    return DecisionTable(a_side, b_side, state, watch.margin, n_ties, n_unresolved)


_DECISION: Final = "k i j a_side b_side state confident"


@dataclass(frozen=True, slots=True)
class Decision(Plain, schema="simtrack.probe-decision/1", names=_DECISION):
    """What the rule says of the record (k, i, j).

    `state` is one of `STATES`; `confident` is false, and the state not_confident, exactly when a
    side is undecided.
    """

    k: int
    i: int
    j: int
    a_side: ASide
    b_side: BSide
    state: State

    @property
    def confident(self) -> bool:
        """Are both sides decided?"""
        return self.state != "not_confident"


def decide(rule: Rule, k: int, i: int, j: int) -> Decision:
    """What does the rule say of this record, whether or not a probe would stop there?

    Parameters
    ----------
    rule : Rule
    k, i, j : int
        0 <= i, j <= k <= k_max.

    Examples
    --------
    >>> decide(Rule(), 10, 10, 9).b_side
    'zero'
    """
    table = decision_table(rule)
    if not (0 <= k <= rule.k_max and 0 <= i <= k and 0 <= j <= k):
        raise InputError("(k, i, j)", f"0 <= i, j <= k <= {rule.k_max}", (k, i, j))
    a, b = int(table.a_side[k, i]), int(table.b_side[k, i, j])
    code = int(table.state[k, i, j])
    return Decision(k, i, j, A_SIDES[a], B_SIDES[b], STATES[code])


class _Watch:
    """Remembers masses that floating point cannot tell from the confidence, and settles them."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.confidence = float(rule.confidence)
        self.margin = float("inf")
        self.near_a: list[tuple[int, int]] = []
        self.near_b: list[tuple[int, int, int]] = []

    def note_a(self, high: NDArray[np.float64]) -> None:
        gap = np.minimum(abs(high - self.confidence), abs(1.0 - high - self.confidence))
        self.near_a = [(int(k) + 1, int(i)) for k, i in np.argwhere(gap[1:] < NEAR)]
        self._narrow(gap[1:])

    def note_b(self, rounds: NDArray[np.int64], zones: NDArray[np.float64]) -> None:
        from_one = int(rounds[0] == 0)
        gap = np.abs(zones[:, from_one:] - self.confidence)
        nearest = float(gap.min(initial=np.inf))
        if nearest >= NEAR:
            self.margin = min(self.margin, nearest)
            return
        near = np.argwhere((gap < NEAR).any(axis=0))
        self.near_b += [(int(rounds[at + from_one]), int(i), int(j)) for at, i, j in near]
        self._narrow(gap)

    def settle(self, a_side: NDArray[np.int8], b_side: NDArray[np.int8]) -> tuple[int, int]:
        """Decide the near cells in place; return how many were exact ties, how many stay open."""
        exact_a = self.rule.prior.is_integer
        exact_b = exact_a and self.rule.prior_of_ablated.is_integer
        ties = 0
        for k, i in self.near_a if exact_a else ():
            a_side[k, i], tie = _exact_a(self.rule, k, i)
            ties += tie
        for k, i, j in self.near_b if exact_b else ():
            b_side[k, i, j], tie = _exact_b(self.rule, k, i, j)
            ties += tie
        unresolved = (0 if exact_a else len(self.near_a)) + (0 if exact_b else len(self.near_b))
        return ties, unresolved

    def _narrow(self, gap: NDArray[np.float64]) -> None:
        open_gap = gap[gap >= NEAR]  # also drops NaN, the cells that cannot occur
        if open_gap.size:
            self.margin = min(self.margin, float(open_gap.min()))


def _exact_a(rule: Rule, k: int, i: int) -> tuple[int, bool]:
    high = exact_high(*_whole(rule.prior, k, i), rule.threshold)
    return _decide(rule.confidence, (HIGH, high), (LOW, 1 - high))


def _exact_b(rule: Rule, k: int, i: int, j: int) -> tuple[int, bool]:
    full, ablated = _whole(rule.prior, k, i), _whole(rule.prior_of_ablated, k, j)
    positive = exact_difference(full, ablated, rule.zero_band)
    negative = exact_difference(ablated, full, rule.zero_band)
    zero = 1 - positive - negative
    return _decide(rule.confidence, (POSITIVE, positive), (ZERO, zero), (NEGATIVE, negative))


def _decide(confidence: Fraction, *masses: tuple[int, Fraction]) -> tuple[int, bool]:
    code = next((code for code, mass in masses if mass >= confidence), 0)
    return code, any(mass == confidence for _, mass in masses)


def _whole(prior: Beta, k: int, passes: int) -> tuple[int, int]:
    return int(prior.alpha) + passes, int(prior.beta) + k - passes


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
