"""Agents of one rate: clusters that differ, in one arm or in two that share their clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import (
    beta_parameters,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.options import choice
from simtrack.rng import Stream
from simtrack.validate import integer, open_unit, real

__all__ = ["ClusterLaw", "ClusteredAgent", "PairedAgent"]

ClusterLaw = Literal["beta", "logit-normal"]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClusteredAgent:
    """An agent that passes with one rate, which varies from cluster to cluster.

    Parameters
    ----------
    rate : float
        Mean success probability, in (0, 1).
    icc : float
        Var(p) / (rate (1 - rate)) over clusters, from 0.
    law : "beta" or "logit-normal"
        The law of a cluster's probability.

    Examples
    --------
    >>> agent = ClusteredAgent(0.9, icc=0.1)
    >>> agent.totals([20] * 12, replicates=3, seed=7).shape
    (12, 3)
    """

    rate: float
    icc: float = 0.0
    law: ClusterLaw = "beta"

    def __post_init__(self) -> None:
        open_unit("rate", self.rate)
        real("icc", self.icc, 0.0, 1.0)
        choice("law", self.law, ClusterLaw)

    def counts(self, sizes: Sequence[int], replicates: int, seed: int) -> Integers:
        """Draw successes by cluster: int64, shape (replicates, clusters)."""
        n = _sizes(sizes)
        stream = Stream(seed, "clustered-agent", law=self.law)
        reps = integer("replicates", replicates, 1)
        if self.icc == 0.0:
            return stream.binomial(n, self.rate, replicates=reps, clusters=n.size)
        if self.law == "beta":
            a, b = beta_parameters(self.rate, self.icc)
            return stream.beta_binomial(n, a, b, replicates=reps, clusters=n.size)
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        return stream.logit_normal_binomial(n, mean, sd, replicates=reps, clusters=n.size)

    def totals(self, sizes: Sequence[int], replicates: int, seed: int) -> Totals:
        """Draw totals whose columns are replicates, as every method for one rate takes them."""
        found = self.counts(sizes, replicates, seed).T
        trials = np.broadcast_to(_sizes(sizes)[:, None], found.shape)
        columns = [(str(r),) for r in range(found.shape[1])]
        return Totals.from_arrays(found, trials, conditions=columns, by=("replicate",))


@dataclass(frozen=True, slots=True)
class PairedAgent:
    """An agent in two arms over the same clusters, whose contrast varies by cluster too.

    In cluster g the logit of the success probability is mean + sd·u_g ± (effect + slope_sd·v_g)/2
    for the first (+) and the second (−) arm, u and v independent standard normal. With effect 0 the
    two arms have the same rate, and cluster differences are symmetric about 0.

    Parameters
    ----------
    rate, icc : float
        Of both arms at effect 0 and slope SD 0; they fix mean and sd.
    effect : float
        Difference of the arms on the logit scale.
    slope_sd : float
        SD of that difference over clusters, on the logit scale, from 0.

    Examples
    --------
    >>> first, second = PairedAgent(0.9, icc=0.1, slope_sd=0.5).counts([20] * 12, 4, seed=7)
    >>> first.shape, second.shape
    ((4, 12), (4, 12))
    """

    rate: float
    icc: float = 0.0
    effect: float = 0.0
    slope_sd: float = 0.0

    def __post_init__(self) -> None:
        open_unit("rate", self.rate)
        real("icc", self.icc, 0.0, 1.0)
        real("effect", self.effect)
        real("slope_sd", self.slope_sd, 0.0)

    def rates(self) -> tuple[float, float]:
        """Give the marginal rates of the two arms: exact, by quadrature."""
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        spread = math.hypot(sd, 0.5 * self.slope_sd)
        first, _ = logit_normal_moments(mean + 0.5 * self.effect, spread)
        second, _ = logit_normal_moments(mean - 0.5 * self.effect, spread)
        return first, second

    def counts(self, sizes: Sequence[int], replicates: int, seed: int) -> tuple[Integers, Integers]:
        """Draw successes of both arms: int64 each, shape (replicates, clusters)."""
        n = _sizes(sizes)
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        stream = Stream(seed, "paired-agent")
        reps = integer("replicates", replicates, 1)
        level, slope = (
            stream.labelled(effect=name).normal(replicates=reps, clusters=n.size)[:, :, 0]
            for name in ("level", "slope")
        )
        half = 0.5 * (self.effect + self.slope_sd * slope)
        found = []
        for arm, sign in (("first", 1.0), ("second", -1.0)):
            share = 1.0 / (1.0 + np.exp(-(mean + sd * level + sign * half)))
            draws = stream.labelled(arm=arm)
            found.append(draws.trial_counts(n, share, replicates=reps, clusters=n.size))
        return found[0], found[1]


def _sizes(sizes: Sequence[int]) -> Integers:
    found = np.array([integer("size", size, 1) for size in sizes], dtype=np.int64)
    if found.size == 0:
        raise InputError("sizes", "one number of trials for each cluster", "none")
    return found
