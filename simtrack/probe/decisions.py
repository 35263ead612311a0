"""What the rule would say of every possible record (k, i, j): both sides and the state."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.exact import exact_difference, exact_high
from simtrack.probe.posterior import high_masses, zone_blocks
from simtrack.probe.prior import Beta
from simtrack.probe.rule import StoppingRule
from simtrack.probe.states import (
    HIGH,
    LOW,
    NEGATIVE,
    POSITIVE,
    STATE_OF,
    ZERO,
)

__all__ = ["DecisionTable", "build_table", "decision_table"]

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
def decision_table(rule: StoppingRule) -> DecisionTable:
    """What does this rule say of every record? Kept for the rules used last.

    Examples
    --------
    >>> table = decision_table(StoppingRule())
    >>> int(table.a_side[7, 7]), int(table.a_side[6, 6])
    (1, 0)
    """
    return build_table(rule)


def build_table(rule: StoppingRule) -> DecisionTable:
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


class _Watch:
    """Remembers masses that floating point cannot tell from the confidence, and settles them."""

    def __init__(self, rule: StoppingRule) -> None:
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


def _exact_a(rule: StoppingRule, k: int, i: int) -> tuple[int, bool]:
    high = exact_high(*_whole(rule.prior, k, i), rule.threshold)
    return _decide(rule.confidence, (HIGH, high), (LOW, 1 - high))


def _exact_b(rule: StoppingRule, k: int, i: int, j: int) -> tuple[int, bool]:
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
