"""How ready is a slice to relapse: a Beta law over slices, with a part that its task shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.categories import look_up
from simtrack.agents.heterogeneity import beta_parameters
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.rng import Stream, require_distinct
from simtrack.taxonomy import RELAPSE

if TYPE_CHECKING:
    from simtrack.agents.relapse.agent import RelapseAgent

__all__ = [
    "OUTCOMES",
    "SLICES",
    "EpisodeDraws",
    "cell_weights",
    "latent_cells",
    "latent_thresholds",
    "propensities",
    "turn_of",
]


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: A Beta law is cut into this many equally likely parts, each at its own mean: the mean of the law
#: is kept exactly; its variance falls by some 1e-5 of itself, and by 2e-3 at a rate of 0.01.
SLICES = 1024


@lru_cache(maxsize=256)
def propensities(rate: float, icc: float) -> Floats:
    """Give the propensities of `SLICES` equally likely kinds of slices, rising.

    Parameters
    ----------
    rate : float
        Their mean, from 0 to 1.
    icc : float
        Var / (rate (1 - rate)), from 0 to below 1; 0 gives the rate to every slice.

    Returns
    -------
    float64 array, shape (SLICES,)
        Rounded to multiples of 2^-40, so that libraries differ in no draw to speak of.

    Examples
    --------
    >>> kinds = propensities(0.25, 0.2)  # Beta(1, 3)
    >>> round(float(kinds.mean()), 9), round(float(kinds.var()) / (0.25 * 0.75), 4)
    (0.25, 0.2)
    """
    if icc == 0.0 or rate in (0.0, 1.0):
        return _frozen(np.full(SLICES, rate))
    from scipy.special import betainc, betaincinv

    a, b = beta_parameters(rate, icc)
    share = np.arange(SLICES + 1) / SLICES
    ends = betaincinv(a, b, share)
    # the mean of a part of Beta(a, b) is a difference of Beta(a + 1, b) probabilities
    means = np.clip(rate * SLICES * np.diff(betainc(a + 1.0, b, ends)), ends[:-1], ends[1:])
    return _frozen(np.round(means * 2.0**40) / 2.0**40)


@lru_cache(maxsize=1)
def latent_thresholds() -> Floats:
    """Give the normal deviates between which the kinds of slices lie: (SLICES - 1,), rising."""
    from scipy.special import ndtri

    return _frozen(np.round(ndtri(np.arange(1, SLICES) / SLICES) * 2.0**40) / 2.0**40)


def latent_cells(task: Floats, own: Floats, task_share: float) -> Ints:
    """Give the kind of each slice from its task's deviate and its own.

    `task_share` is the correlation of the latent deviates of two slices of one task.
    """
    z = math.sqrt(task_share) * task + math.sqrt(1.0 - task_share) * own
    return np.searchsorted(latent_thresholds(), z, side="right").astype(np.int64)


def cell_weights(task: Floats, task_share: float) -> Floats:
    """Give P(kind | task's deviate): shape (deviates, SLICES)."""
    from scipy.special import ndtr

    if task_share >= 1.0:
        weights = np.zeros((task.size, SLICES))
        weights[np.arange(task.size), latent_cells(task, task, 1.0)] = 1.0
        return weights
    centre = math.sqrt(task_share) * task[:, None]
    reached = ndtr((latent_thresholds() - centre) / math.sqrt(1.0 - task_share))
    ends = np.concatenate([np.zeros((task.size, 1)), reached, np.ones((task.size, 1))], axis=1)
    return np.diff(ends, axis=1)


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values


# Episodes of a relapse agent, drawn one by one: the same numbers for any threads and chunks.
Codes = NDArray[np.int8]
#: The codes that an episode of the agent can end in.
OUTCOMES = RELAPSE.codes[1:]
_EMPTY, _UNPARSEABLE, _RELAPSE, _MISS = range(4)
_MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True)
class EpisodeDraws:
    """The episodes of some draws of a design.

    All arrays have the shape (draws, clusters, repetitions). Every number has a stream of its own:
    format, attribution and status (by turn) of an episode, and what its slice and its task add.
    """

    agent: RelapseAgent
    design: Design
    draws: range
    seed: int
    threads: int = 1

    def check(self) -> None:
        """Refuse a design in which two quantities would get the same numbers."""
        found = [self._stream("task"), *(self._stream("slice", **self._slice(c)) for c in self._c)]
        for cell in self._c:
            base, shared = _without(cell, "depth"), _without(cell, "depth", "arm")
            found += [self._stream(part, **cell) for part in ("format", "attribution")]
            found += [self._stream("coin", **shared)]
            for turn in range(turn_of(cell) + 1):
                for part in ("status", "kept"):
                    found += [self._turn(part, turn, base, "own")]
                    found += [self._turn(part, turn, shared, "shared")]
        require_distinct(dict.fromkeys(found))

    def codes(self, cell: Mapping[str, str]) -> Codes:
        """Give the outcome of every episode of a cell, as an index into `OUTCOMES`."""
        agent, kinds = self.agent, self.kinds(cell)
        rate = look_up("rate", agent.rate, cell)
        endings = agent.ending(cell, propensities(rate, agent.icc))
        unparseable, relapse, miss = (part[kinds][:, :, None] for part in endings)
        codes = self._attribution(cell, miss)
        codes[self._status(cell, relapse)] = _RELAPSE
        empty = look_up("empty", agent.empty, cell)
        if empty > 0.0 or np.any(unparseable > 0.0):
            word = self._numbers(self._stream("format", **cell))
            codes[word < empty + (1.0 - empty) * unparseable] = _UNPARSEABLE
            codes[word < empty] = _EMPTY
        return codes

    def kinds(self, cell: Mapping[str, str]) -> NDArray[np.int64]:
        """Give the kind of every task's slice in a cell: (draws, clusters)."""
        how = self._how()
        task = self._stream("task").normal(**how)[:, :, 0]
        own = self._stream("slice", **self._slice(cell)).normal(**how)[:, :, 0]
        return latent_cells(task, own, self.agent.task_share)

    def _status(self, cell: Mapping[str, str], p: Floats) -> NDArray[np.bool_]:
        """Current status at the cell's turn, from the one before: kept, or drawn anew."""
        keep, last = self.agent.persistence, turn_of(cell)
        first = last if keep == 0.0 else 0
        status = self._common("status", first, cell) < p
        for turn in range(first + 1, last + 1):
            fresh = self._common("status", turn, cell) < p
            status = np.where(self._common("kept", turn, cell) < keep, status, fresh)
        return status

    def _common(self, part: str, turn: int, cell: Mapping[str, str]) -> Floats:
        """Numbers of a turn: those that all arms share, or the cell's own, episode by episode."""
        strength = self.agent.common
        base, shared = _without(cell, "depth"), _without(cell, "depth", "arm")
        if strength == 0.0:
            return self._numbers(self._turn(part, turn, base, "own"))
        found = self._numbers(self._turn(part, turn, shared, "shared"))
        if strength < 1.0:
            own = self._numbers(self._turn(part, turn, base, "own"))
            coin = self._numbers(self._stream("coin", **shared))
            found = np.where(coin < strength, found, own)
        return found

    def _attribution(self, cell: Mapping[str, str], miss: Floats) -> Codes:
        """What an artifact without relapse is: a miss, one of the three classes, or no trace."""
        shape = (len(self.draws), self.design.clusters, self.design.repetitions)
        codes = np.full(shape, len(OUTCOMES) - 1, dtype=np.int8)
        if sum(self.agent.classes) == 0.0 and not np.any(miss > 0.0):
            return codes
        word = self._numbers(self._stream("attribution", **cell))
        reached = miss + (1.0 - miss) * sum(self.agent.classes)
        for k in range(len(self.agent.classes), 0, -1):
            codes[word < reached] = _MISS + k
            reached = reached - (1.0 - miss) * self.agent.classes[k - 1]
        codes[word < miss] = _MISS
        return codes

    def _numbers(self, stream: Stream) -> Floats:
        return stream.uniform(**self._how(), draws_each=self.design.repetitions)

    def _how(self) -> dict[str, Any]:
        return {
            "replicates": self.draws,
            "clusters": self.design.clusters,
            "threads": self.threads,
        }

    @property
    def _c(self) -> tuple[dict[str, str], ...]:
        return self.design.cells

    def _slice(self, cell: Mapping[str, str]) -> dict[str, str]:
        return {name: cell[name] for name in self.agent.slices if name in cell}

    def _turn(self, part: str, turn: int, cell: Mapping[str, str], whose: str) -> Stream:
        labels = tuple(cell.items())
        return Stream(self.seed, "relapse-agent", part, turn, whose, cell=labels)

    def _stream(self, part: str, **cell: str) -> Stream:
        return Stream(self.seed, "relapse-agent", part, cell=tuple(cell.items()))


def turn_of(cell: Mapping[str, str]) -> int:
    """Give the turn of a cell: its `depth`, a whole number; 0 where the design has none."""
    text = cell.get("depth", "0")
    if not text.isdecimal() or int(text) > _MOST_TURNS:
        raise InputError("depth", f"a whole number of turns from 0 to {_MOST_TURNS}", repr(text))
    return int(text)


def _without(cell: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: level for name, level in cell.items() if name not in names}
