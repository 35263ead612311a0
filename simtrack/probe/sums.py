"""Sums over the stopping states of a rule at many true pass rates at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.paths import StoppingStates
from simtrack.probe.states import STATES

__all__ = ["StoppingSums"]

Floats = NDArray[np.float64]


class StoppingSums:
    """Sums over stopping states at all truths at once.

    # s = stopping state (sorted by state code, k, i), g = run of equal (state, k, i),
    # p, q = true rates; the factor in p is constant along a run, so q is summed first
    """

    def __init__(
        self,
        found: StoppingStates,
        p: Sequence[Fraction],
        q: Sequence[Fraction],
        paired: bool,
    ) -> None:
        self.order = np.lexsort((found.j, found.i, found.k, found.state))
        k, i, j = found.k[self.order], found.i[self.order], found.j[self.order]
        code = found.state[self.order].astype(np.int64)
        self.paired = paired
        new = np.flatnonzero(np.diff(code) | np.diff(k) | np.diff(i)) + 1
        self.starts = np.concatenate([[0], new])
        self.k, self.code = k[self.starts], code[self.starts]
        fail_p, pass_p = [1 - value for value in p], p
        fail_q, pass_q = [1 - value for value in q], q
        i_run = i[self.starts]
        self.in_p = _powers(pass_p, i_run) * _powers(fail_p, self.k - i_run)
        self.in_q = _powers(pass_q, j) * _powers(fail_q, k - j) * found.paths[self.order]
        self.effect = _differences(p, q, paired)

    def marginals(self, k_max: int) -> tuple[Floats, Floats]:
        """Probabilities of each state and of each number of rounds."""
        runs = np.add.reduceat(self.in_q, self.starts, axis=1)
        by_state = np.zeros((len(STATES), *self.effect.shape))
        by_round = np.zeros((k_max + 1, *self.effect.shape))
        edges = np.flatnonzero(np.diff(self.code) | np.diff(self.k)) + 1
        for low, high in zip([0, *edges], [*edges, self.k.size], strict=True):
            part = self._contract(self.in_p[:, low:high], runs[:, low:high])
            by_state[self.code[low]] += part
            by_round[self.k[low]] += part
        return by_state, by_round

    def expect(self, value: Floats) -> Floats:
        """Mean at the stop of a value given for each stopping state in its first order."""
        weighted = np.add.reduceat(self.in_q * value[self.order], self.starts, axis=1)
        return self._contract(self.in_p, weighted)

    def rmse_effect(self, value: Floats, mean: Floats) -> Floats:
        """Root of the mean squared distance of a value with this mean to the true effect."""
        second = self.expect(value**2) - 2.0 * self.effect * mean + self.effect**2
        return np.sqrt(np.maximum(second, 0.0))

    def _contract(self, in_p: Floats, in_q: Floats) -> Floats:
        pattern = "pg,pg->p" if self.paired else "pg,qg->pq"
        total: Floats = np.einsum(pattern, in_p, in_q)
        return total


def _differences(p: Sequence[Fraction], q: Sequence[Fraction], paired: bool) -> Floats:
    """p - q, subtracted in integers over a common denominator and rounded once."""
    unit = math.lcm(*(value.denominator for value in (*p, *q)))
    whole_p = [value.numerator * (unit // value.denominator) for value in p]
    whole_q = [value.numerator * (unit // value.denominator) for value in q]
    if paired:
        return np.array([(a - b) / unit for a, b in zip(whole_p, whole_q, strict=True)])
    return np.array([[(a - b) / unit for b in whole_q] for a in whole_p])


def _powers(base: Sequence[Fraction], exponent: NDArray[np.int64]) -> Floats:
    """base ** exponent, shape (base, exponent); 0 ** 0 is 1."""
    table = np.array([float(b) for b in base])[:, None] ** np.arange(exponent.max() + 1.0)
    chosen: Floats = table[:, exponent]
    return chosen
