"""How many draw sequences end first at each record: counted once, for every true rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.probe.decisions import build_table, decision_table
from simtrack.probe.rule import StoppingRule
from simtrack.probe.states import NOT_CONFIDENT

__all__ = ["INT64_K_MAX", "StoppingStates", "build_stopping_states", "stopping_states"]

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
def stopping_states(rule: StoppingRule) -> StoppingStates:
    """Where can a probe under this rule end, and along how many paths? Kept for the last rules.

    Examples
    --------
    >>> states = stopping_states(StoppingRule())
    >>> states.k.size, sum(int(n) * 4 ** (30 - int(k)) for n, k in zip(states.paths, states.k))
    (1525, 1152921504606846976)
    >>> 4 ** 30
    1152921504606846976
    """
    return build_stopping_states(rule, decision_table(rule).state)


def build_stopping_states(
    rule: StoppingRule, state: NDArray[np.int8] | None = None
) -> StoppingStates:
    """Count the paths afresh by a forward recursion of four moves a round.

    Parameters
    ----------
    rule : StoppingRule
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
