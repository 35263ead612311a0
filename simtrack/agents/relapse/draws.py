"""Episodes of a relapse agent, drawn one by one: the same for any threads and chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions
from simtrack.agents.categories import look_up
from simtrack.agents.relapse.laws import OUTCOMES, EpisodeLaws, latent_cells, propensities, turn_of
from simtrack.design import Design
from simtrack.rng import Stream, require_distinct

__all__ = ["EpisodeDraws"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
_EMPTY, _UNPARSEABLE, _RELAPSE, _MISS = range(4)


@dataclass(frozen=True, slots=True)
class EpisodeDraws:
    """The episodes of some draws of a design.

    All arrays have the shape (draws, clusters, repetitions). Every number has a stream of its own:
    format, attribution and status (by turn) of an episode, and what its slice and its task add.
    """

    agent: EpisodeLaws
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

    def _how(self) -> DrawOptions:
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


def _without(cell: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: level for name, level in cell.items() if name not in names}
