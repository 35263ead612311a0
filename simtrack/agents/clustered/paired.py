"""An agent in two arms over the same clusters, whose contrast varies by cluster too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials, shuffled_records
from simtrack.agents.clustered.clustered import (
    binomial_coefficients,
    binomial_products,
    cluster_tables,
    plane_nodes,
)
from simtrack.agents.heterogeneity import (
    logit_normal_mean,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.plain import Document
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.taxonomy import PLAIN
from simtrack.validate import integer, open_unit, real

__all__ = ["PairedAgent"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
_ARMS = 2
_FIXED_POINT_STEPS = 60
_SETTLED = 1e-14
_LARGEST_SLOPE_SD = 20.0


@dataclass(frozen=True, slots=True)
class PairedAgent(Document, schema="simtrack.agent/1", kind="paired"):
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
        SD of that difference over clusters, on the logit scale, from 0 to 20.
    factor : str
        The condition of the design, of two levels, that holds the arms; its first level is the
        first arm. Other conditions make no difference.

    Examples
    --------
    >>> agent = PairedAgent(0.9, icc=0.1, slope_sd=0.5)
    >>> agent.counts(Design(12, 20, {"arm": ("new", "old")}), draws=4, seed=7).cells.shape
    (4, 12, 2, 2)
    >>> first, second = agent.successes([20] * 12, 4, seed=7)
    >>> first.shape, second.shape
    ((4, 12), (4, 12))
    """

    rate: float
    icc: float = 0.0
    effect: float = 0.0
    slope_sd: float = 0.0
    factor: str = "arm"

    def __post_init__(self) -> None:
        open_unit("rate", self.rate)
        real("icc", self.icc, 0.0, 1.0)
        real("effect", self.effect)
        real("slope_sd", self.slope_sd, 0.0, _LARGEST_SLOPE_SD)

    @classmethod
    def from_rates(
        cls,
        first: float,
        second: float,
        *,
        icc: float = 0.0,
        slope_sd: float = 0.0,
        factor: str = "arm",
    ) -> PairedAgent:
        """Which agent has these marginal rates in its two arms?

        `icc` is that of an arm half-way between them on the logit scale, at slope SD 0.

        Examples
        --------
        >>> agent = PairedAgent.from_rates(0.85, 0.7, icc=0.2, slope_sd=0.5)
        >>> [round(rate, 9) for rate in agent.rates()]
        [0.85, 0.7]
        """
        open_unit("first", first)
        open_unit("second", second)
        rate = 0.5 * (first + second)
        for _ in range(_FIXED_POINT_STEPS):
            _, sd = logit_normal_parameters(rate, icc)
            spread = math.hypot(sd, 0.5 * real("slope_sd", slope_sd, 0.0, _LARGEST_SLOPE_SD))
            ends = [logit_normal_mean(r, spread) for r in (first, second)]
            middle, _ = logit_normal_moments(0.5 * (ends[0] + ends[1]), sd)
            settled, rate = abs(middle - rate) <= _SETTLED, middle
            if settled:
                break
        return cls(rate, icc, ends[0] - ends[1], slope_sd, factor)

    def rates(self) -> tuple[float, float]:
        """Give the marginal rates of the two arms: exact, by quadrature."""
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        spread = math.hypot(sd, 0.5 * self.slope_sd)
        first, _ = logit_normal_moments(mean + 0.5 * self.effect, spread)
        second, _ = logit_normal_moments(mean - 0.5 * self.effect, spread)
        return first, second

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw failures and passes by cluster and cell; see `Agent.counts`.

        Trials are drawn one by one: more repetitions, clusters, draws or conditions keep the old
        ones, and a larger effect turns failures of the first arm into passes, never the other way.
        """
        how: DrawOptions = {
            "replicates": draws,
            "clusters": design.clusters,
            "threads": threads,
            "chunk": chunk,
        }
        trials, arms = planned_trials(design), self._arms(design)
        stream = Stream(seed, "paired-agent-counts")
        level, slope = (
            stream.labelled(effect=name).normal(**how)[:, :, 0] for name in ("level", "slope")
        )
        shares = self._shares(level, slope)
        passes = [
            stream.labelled(cell=tuple(cell.items())).trial_counts(trials[:, c], shares[arm], **how)
            for c, (cell, arm) in enumerate(zip(design.cells, arms, strict=True))
        ]
        found = np.stack(passes, axis=2)
        cells = np.stack([trials - found, found], axis=3)
        return CountsBatch(cells, PLAIN.codes, design.cells, design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial: its counts are those of draw 0 of `counts`."""
        return shuffled_records(self.counts(design, 1, seed), Stream(seed, "paired-agent-order"))

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand: exact, by quadrature."""
        rates = np.array(self.rates())[self._arms(design)]
        shares = np.stack([1.0 - rates, rates], axis=1)
        return expected_value(what, design, PLAIN.codes, planned_trials(design)[..., None] * shares)

    def cluster_law(self, design: Design) -> tuple[CountsBatch, Floats] | None:
        """Give every table that one cluster can have, and its probability: by quadrature.

        Returns
        -------
        tables, probabilities : CountsBatch of single clusters, float64 array of shape (tables,)
            None where factors vary between clusters, or where there are too many tables.
        """
        tables, arms = cluster_tables(design, PLAIN.codes), self._arms(design)
        if tables is None:
            return None
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        level, slope, weight = plane_nodes(sd, 0.5 * self.slope_sd)
        half = 0.5 * self.effect + 0.5 * self.slope_sd * slope
        n = design.repetitions * arms.count(0)
        laws = [binomial_products(mean + sd * level + sign * half, n) for sign in (1.0, -1.0)]
        joint = np.einsum("k,ki,kj->ij", weight, *laws)
        passes = tables.cells[:, 0, :, 1]
        ways = binomial_coefficients(design.repetitions)[passes].prod(axis=1)
        first, second = (passes[:, [a == arm for a in arms]].sum(axis=1) for arm in range(_ARMS))
        return tables, ways * joint[first, second]

    def successes(
        self, sizes: Sequence[int], replicates: int, seed: int
    ) -> tuple[Integers, Integers]:
        """Draw successes of both arms: int64 each, shape (replicates, clusters)."""
        n = np.array([integer("size", size, 1) for size in sizes], dtype=np.int64)
        if n.size == 0:
            raise InputError("sizes", "one number of trials for each cluster", "none")
        stream = Stream(seed, "paired-agent")
        reps = integer("replicates", replicates, 1)
        level, slope = (
            stream.labelled(effect=name).normal(replicates=reps, clusters=n.size)[:, :, 0]
            for name in ("level", "slope")
        )
        shares = self._shares(level, slope)
        first, second = (
            stream.labelled(arm=arm).trial_counts(n, share, replicates=reps, clusters=n.size)
            for arm, share in zip(("first", "second"), shares, strict=True)
        )
        return first, second

    def _shares(self, level: Floats, slope: Floats) -> tuple[Floats, Floats]:
        """Give each cluster's success probability in both arms."""
        from simtrack.kernels.logistic import logistic

        mean, sd = logit_normal_parameters(self.rate, self.icc)
        half = 0.5 * (self.effect + self.slope_sd * slope)
        first, second = (logistic(mean + sd * level + sign * half) for sign in (1.0, -1.0))
        return first, second

    def _arms(self, design: Design) -> list[int]:
        """Give 0 or 1 for each cell of the design."""
        levels = dict(design.conditions).get(self.factor, ())
        if len(levels) != _ARMS:
            raise InputError(
                "design",
                f"of a condition {self.factor} with two levels, which the paired agent acts on",
                ", ".join(name for name, _ in design.conditions) or "none",
                cure=f"Use Design(..., conditions={{'{self.factor}': ('first', 'second')}}).",
            )
        return [levels.index(cell[self.factor]) for cell in design.cells]
