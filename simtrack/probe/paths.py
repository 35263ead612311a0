"""How many draw sequences end first at each record, and sums over them at true pass rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.decisions import build_table, decision_table
from simtrack.probe.parameters import Rule
from simtrack.probe.states import NOT_CONFIDENT, STATES

__all__ = [
    "INT64_K_MAX",
    "StoppingStates",
    "StoppingSums",
    "build_stopping_states",
    "stopping_states",
]

Floats = NDArray[np.float64]
Counts = NDArray[Any]  # int64 or float64
#: The largest single count is C(k, k/2)^2, which fits an int64 up to here; doubles after.
INT64_K_MAX: Final = 34


@dataclass(frozen=True, slots=True, eq=False)
class StoppingStates:
    """The records (k, i, j) at which a probe can end, and the paths that end there first.

    All arrays have shape (n,), ordered by k, then i, then j. Counts are int64 up to k_max 34
    (exact) and float64 beyond (all terms are positive, relative error about k_max * 1e-16).

    Attributes
    ----------
    k, i, j : int64 arrays
        Rounds, passes in full form, passes in ablated form.
    state : int8 array
        Index into `STATES`.
    paths : array
        Sequences of paired draws that end here.
    paths_full, paths_ablated : array
        Those of them whose first full (ablated) draw is a pass.
    """

    k: NDArray[np.int64]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    state: NDArray[np.int8]
    paths: Counts
    paths_full: Counts
    paths_ablated: Counts


@lru_cache(maxsize=8)
def stopping_states(rule: Rule) -> StoppingStates:
    """Where can a probe under this rule end, and along how many paths? Kept for the last rules.

    Examples
    --------
    >>> states = stopping_states(Rule())
    >>> states.k.size, sum(int(n) * 4 ** (30 - int(k)) for n, k in zip(states.paths, states.k))
    (1525, 1152921504606846976)
    >>> 4 ** 30
    1152921504606846976
    """
    return build_stopping_states(rule, decision_table(rule).state)


def build_stopping_states(rule: Rule, state: NDArray[np.int8] | None = None) -> StoppingStates:
    """Count the paths afresh by a forward recursion of four moves a round.

    Parameters
    ----------
    rule : Rule
    state : int8 array, shape (k_max + 1, k_max + 1, k_max + 1), optional
        The state of each record, as in `DecisionTable.state`; worked out if not given.

    Returns
    -------
    StoppingStates
    """
    state = build_table(rule).state if state is None else state
    exact = rule.k_max <= INT64_K_MAX
    # c = all paths, paths that begin with a full pass, paths that begin with an ablated pass
    alive: Counts = np.zeros((3, 2, 2), np.int64 if exact else np.float64)
    alive[0], alive[1, 1, :], alive[2, :, 1] = 1, 1, 1
    found: list[tuple[NDArray[Any], ...]] = []
    counts: list[Counts] = []
    for k in range(1, rule.k_max + 1):
        if k > 1:
            alive = _next_round(alive)
        here = state[k, : k + 1, : k + 1]
        ends = alive[0] > 0
        if k < rule.k_max:
            ends &= here != NOT_CONFIDENT if k >= rule.k_min else False
        i, j = np.nonzero(ends)
        found.append((np.full(i.size, k), i, j, here[i, j]))
        counts.append(alive[:, i, j])
        alive[:, i, j] = 0
    k_, i_, j_, state_ = (np.concatenate(column) for column in zip(*found, strict=True))
    paths = np.concatenate(counts, axis=1)
    return StoppingStates(k_, i_, j_, state_.astype(np.int8), paths[0], paths[1], paths[2])


def _next_round(alive: Counts) -> Counts:
    """Both fail, the full draw passes, the ablated draw passes, both pass."""
    n = alive.shape[1]
    grown = np.zeros((3, n + 1, n + 1), alive.dtype)
    grown[:, :-1, :-1] = alive
    grown[:, 1:, :-1] += alive
    grown[:, :-1, 1:] += alive
    grown[:, 1:, 1:] += alive
    return grown


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
