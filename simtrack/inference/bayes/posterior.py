"""What a posterior law of one quantity says: intervals, probabilities, zones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError, MissingExtra
from simtrack.inference.bayes.posterior_law import Law
from simtrack.options import Computation, Guarantee
from simtrack.rng import Stream
from simtrack.validate import confidence_level, integer, open_unit, real

__all__ = ["Posterior", "Rope", "describe", "law_draws", "shares", "to_arviz"]


Floats = NDArray[np.float64]
_HPD_GRID, _HPD_ROUNDS = 64, 7
_TWO_MODES = "the posterior has more than one mode: the HPD interval is the shortest interval"


@dataclass(frozen=True, slots=True)
class Rope:
    """How probable is a value below, inside and above a region of practical equivalence?

    Attributes
    ----------
    low, high : float
        The region, with both ends.
    below, inside, above : float
        Posterior probabilities; they sum to 1.
    """

    low: float
    high: float
    below: float
    inside: float
    above: float

    def to_dict(self) -> dict[str, float]:
        """Give plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is known about one quantity after the data, under a stated prior?

    Attributes
    ----------
    name : str
        The quantity.
    law : Law
        Its whole posterior: cdf, density, quantiles.
    mean, sd, median : float
    low, high : float
        Equal-tailed credible interval.
    level : float
    prior : str
        The prior in words.
    notes : tuple of str
    """

    name: str
    law: Law
    mean: float
    sd: float
    median: float
    low: float
    high: float
    level: float
    prior: str
    notes: tuple[str, ...]
    computation: Computation
    guarantee: Guarantee = "bayesian"

    def cdf(self, x: float) -> float:
        """Give the probability of a value of at most `x`."""
        return float(self.law.cdf(np.array([_number("x", x)]))[0])

    def density(self, x: float) -> float:
        """Give the posterior density at `x`."""
        return float(self.law.density(np.array([_number("x", x)]))[0])

    def quantile(self, p: float) -> float:
        """Give the value that is not exceeded with probability `p`."""
        return float(self.law.quantile(np.array([open_unit("p", p)]))[0])

    def probability(self, low: float = -math.inf, high: float = math.inf) -> float:
        """Give the probability of a value between `low` and `high`."""
        below = 0.0 if low == -math.inf else self.cdf(low)
        return (1.0 if high == math.inf else self.cdf(high)) - below

    def rope(self, low: float, high: float) -> Rope:
        """How probable is a value below, inside and above `low` to `high`?

        Examples
        --------
        >>> from simtrack.inference.bayes.beta_binomial import beta_posterior
        >>> zones = beta_posterior(8, 10).rope(0.45, 0.55)
        >>> round(zones.below, 4), round(zones.inside, 4), round(zones.above, 4)
        (0.0148, 0.0504, 0.9348)
        """
        bottom, top = _number("low", low), _number("high", high)
        if not bottom < top:
            raise InputError("low", "below high", low, where="rope")
        below, through = self.cdf(bottom), self.cdf(top)
        return Rope(bottom, top, below, through - below, 1.0 - through)

    def interval(self, level: float | None = None) -> tuple[float, float]:
        """Give the equal-tailed credible interval at a level (default: its own)."""
        tail = 0.5 * (1.0 - (self.level if level is None else confidence_level("level", level)))
        low, high = self.law.quantile(np.array([tail, 1.0 - tail])).tolist()
        return low, high

    def hpd(self, level: float | None = None) -> tuple[float, float]:
        """Give the shortest credible interval; of highest density if there is one mode.

        Examples
        --------
        >>> from simtrack.inference.bayes.beta_binomial import beta_posterior
        >>> [round(end, 4) for end in beta_posterior(0, 10).hpd()]
        [0.0, 0.2384]
        """
        share = self.level if level is None else confidence_level("level", level)
        return shortest(self.law, share)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        shown = ("name", "mean", "sd", "median", "low", "high", "level", "prior")
        return {
            "schema": "simtrack.posterior/1",
            **{name: getattr(self, name) for name in shown},
            "hpd": list(self.hpd()),
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def to_arviz(self, *, draws: int = 1000, chains: int = 4, seed: int = 0) -> Any:
        """Hand the posterior to the installed ArviZ; see `posterior_arviz.to_arviz`."""

        return to_arviz({self.name: law_draws(self.law, self.name, draws, chains, seed)})

    to_inference_data = to_arviz

    def __repr__(self) -> str:
        return (
            f"Posterior({self.name}: mean {self.mean:.4f}, "
            f"{self.level:.0%}: {self.low:.4f} to {self.high:.4f})"
        )


def describe(
    name: str, law: Law, level: float, prior: str, notes: tuple[str, ...] = ()
) -> Posterior:
    """Summarise a law."""
    tail = 0.5 * (1.0 - level)
    low, median, high = law.quantile(np.array([tail, 0.5, 1.0 - tail])).tolist()
    if _modes(law) > 1:
        notes = (*notes, _TWO_MODES)
    return Posterior(
        name, law, law.mean, law.sd, median, low, high, level, prior, notes, law.computation
    )


def shortest(law: Law, level: float) -> tuple[float, float]:
    """Give the shortest interval that holds `level` of a law.

    Its lower tail p is where the densities at both ends agree; the width falls with p as long as
    the lower end is the less dense one.
    """

    def ends(p: Floats) -> tuple[Floats, Floats]:
        return law.quantile(p), law.quantile(p + level)

    spare = 1.0 - level
    grid = spare * np.arange(_HPD_GRID + 1) / _HPD_GRID
    low, high = ends(grid)
    best = int(np.argmin(high - low))
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _HPD_GRID)])
    for _ in range(_HPD_ROUNDS):
        grid = left + (right - left) * np.arange(_HPD_GRID + 1) / _HPD_GRID
        low, high = ends(grid)
        falls = law.density(low) < law.density(high)
        turn = int(np.argmin(falls)) if not falls.all() else _HPD_GRID
        left, right = float(grid[max(turn - 1, 0)]), float(grid[turn])
    p = left if left == 0.0 or right < spare else spare
    low, high = ends(np.array([p]))
    return float(low[0]), float(high[0])


def _modes(law: Law) -> int:
    """Count the peaks between the outer quantiles that stand out."""
    inner = law.quantile(np.arange(1, 80) / 80.0)
    height = law.density(np.linspace(inner[0], inner[-1], 160))
    rises = np.diff(height) > 1e-9 * height[np.isfinite(height)].max(initial=0.0)
    falls = np.diff(height) < -1e-9 * height[np.isfinite(height)].max(initial=0.0)
    way = [bool(r) for r, f in zip(rises, falls, strict=True) if r or f]
    turns = sum(a and not b for a, b in pairwise(way))
    return turns + (not way[0] if way else 0) + (way[-1] if way else 0)


def _number(name: str, x: float) -> float:
    return real(name, x)


# Posteriors in the form that the installed ArviZ reads, so that its summaries and plots work.
_DRAWS_MAX, _CHAINS_MAX, _SEED_MAX = 1_000_000, 1000, 2**63 - 1


def law_draws(law: Law, name: str, draws: int = 1000, chains: int = 4, seed: int = 0) -> Floats:
    """Draw from a law by its quantiles at the uniforms of a counter-based stream.

    Returns
    -------
    float64 array, shape (chains, draws)
        The same for the same seed and name on every machine, to about 1e-12; more draws or chains
        leave the old ones as they were. Independent draws: ArviZ's R-hat is 1 and its effective
        size the number of draws, but for chance.

    Examples
    --------
    >>> from simtrack.inference.bayes.posterior_law import BetaLaw
    >>> law_draws(BetaLaw(8.0, 4.0), "rate", 3, 1).shape
    (1, 3)
    """
    p = shares(name, draws, chains, seed, 1)[:, :, 0]
    found: Floats = law.quantile(p.ravel()).reshape(p.shape)
    return found


def shares(name: str, draws: int, chains: int, seed: int, each: int) -> Floats:
    """Give uniforms of the stream of a posterior, shape (chains, draws, each)."""
    count = integer("draws", draws, 1, _DRAWS_MAX)
    several = integer("chains", chains, 1, _CHAINS_MAX)
    stream = Stream(integer("seed", seed, 0, _SEED_MAX), "posterior draws", name)
    found = stream.uniform(replicates=count, clusters=several, draws_each=each)
    return np.ascontiguousarray(found.transpose(1, 0, 2))


def to_arviz(
    draws: Mapping[str, Floats],
    *,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Hand draws to ArviZ: an `InferenceData` to versions 0.x, a `DataTree` to 1.x.

    Parameters
    ----------
    draws : mapping of name to float64 array, shape (chains, draws, ...)
    dims, coords : mappings, optional
        Names and labels of the further dimensions.

    Raises
    ------
    MissingExtra
        ArviZ is not installed.
    """
    for name, values in draws.items():
        if np.ndim(values) < 2:
            raise InputError(name, "of shape (chains, draws, ...)", np.shape(values))
    arviz = _installed()
    named = {name: list(labels) for name, labels in (dims or {}).items()}
    placed = {name: list(labels) for name, labels in (coords or {}).items()}
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.from_dict(posterior=dict(draws), dims=named, coords=placed)
    return arviz.from_dict({"posterior": dict(draws)}, dims=named, coords=placed)


def _installed() -> Any:
    """Import ArviZ; version 0.23 announces its successor on import, which is no fault of data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module("arviz")
    except ImportError:
        raise MissingExtra("arviz", "bayes") from None
