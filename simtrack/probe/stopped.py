"""Estimates after a stopped probe: the naive ones, and unbiased ones from the same path counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.probe.parameters import Rule
from simtrack.probe.paths import stopping_states
from simtrack.validate import integer

__all__ = ["StoppedEstimate", "estimate_after_stop"]


@dataclass(frozen=True, slots=True)
class StoppedEstimate(Plain, schema="simtrack.stopped-estimate/1"):
    """Naive and unbiased estimates of both pass rates and of the effect, after a stop at (k, i, j).

    `full` (A), `ablated` and `effect` (B) are i/k, j/k and their difference; the `_unbiased` ones
    average to the truth over repeated probes, whatever the truth, and may lie at 0 or 1.
    """

    k: int
    i: int
    j: int
    full: float
    ablated: float
    effect: float
    full_unbiased: float
    ablated_unbiased: float
    effect_unbiased: float
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"


def estimate_after_stop(rule: Rule, k: int, i: int, j: int) -> StoppedEstimate:
    """What are the pass rates, given that a probe under this rule stopped at this record?

    The unbiased estimate of a pass rate is the share, among the paths that end first at (k, i, j),
    of those whose first draw is a pass: the expectation of one unbiased draw given the stop.

    Parameters
    ----------
    rule : Rule
    k, i, j : int
        Rounds, passes in full form, passes in ablated form, at the stop.

    Returns
    -------
    StoppedEstimate

    Raises
    ------
    InputError
        A probe under this rule cannot stop there.

    References
    ----------
    Girshick, Mosteller and Savage (1946), Annals of Mathematical Statistics 17, 13-23, theorem 4.

    Examples
    --------
    >>> found = estimate_after_stop(Rule(), 7, 7, 0)
    >>> found.full, found.full_unbiased
    (1.0, 1.0)
    """
    k = integer("k", k, 1, rule.k_max)
    i, j = integer("i", i, 0, k), integer("j", j, 0, k)
    states = stopping_states(rule)
    here = np.flatnonzero((states.k == k) & (states.i == i) & (states.j == j))
    if not here.size:
        cure = "Give the record at which the probe stopped."
        raise InputError("(k, i, j)", "a record at which this rule stops", (k, i, j), cure=cure)
    at = int(here[0])
    paths = float(states.paths[at])
    full, ablated = float(states.paths_full[at]) / paths, float(states.paths_ablated[at]) / paths
    return StoppedEstimate(k, i, j, i / k, j / k, (i - j) / k, full, ablated, full - ablated)
