"""An agent fitted to a pilot, with what the pilot leaves open: agents to draw for assurance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import Agent
from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.rng import Stream
from simtrack.validate import confidence_level, integer

__all__ = ["FittedAgent"]

Floats = NDArray[np.float64]
_WRITTEN = "agent parameters=summary computation guarantee notes n seed"


@dataclass(frozen=True, slots=True, eq=False)
class FittedAgent(Plain, schema="simtrack.fitted-agent/1", names=_WRITTEN):
    """Which agents could have made the pilot, and how likely is each?

    Parameters
    ----------
    agent : Agent
        The one at the posterior mean (or the estimate) of every parameter.
    kind : str
        The family of the agent: "clustered", "paired" or "stage".
    names : tuple of str
        The parameters.
    atoms : float64 array, shape (atoms, parameters)
        Parameter values: a grid, or draws from their law.
    weights : float64 array, shape (atoms,)
        Their probabilities; they add up to 1.
    make : callable
        From parameters by name to an agent of the family.
    computation, guarantee
        How the law was worked out and what it promises.
    notes : tuple of str
        What was assumed and what the pilot cannot show.
    n, seed : int, optional
        Monte Carlo draws and their seed, where there were any.
    """

    agent: Agent
    kind: str
    names: tuple[str, ...]
    atoms: Floats
    weights: Floats
    make: Callable[[Mapping[str, float]], Agent]
    computation: Computation
    guarantee: Guarantee
    notes: tuple[str, ...] = ()
    n: int | None = None
    seed: int | None = None

    def parameters(self, seed: int, index: int) -> dict[str, float]:
        """Draw the parameters of one agent: the same ones for this seed and index, always."""
        place = integer("index", index, 0)
        stream = Stream(seed, "fitted-agent", self.kind)
        number = float(stream.uniform(replicates=range(place, place + 1), clusters=1)[0, 0, 0])
        steps = np.add.accumulate(self.weights)
        atom = int(np.searchsorted(steps, number * steps[-1], side="right"))
        row = self.atoms[min(atom, len(self.atoms) - 1)]
        return dict(zip(self.names, row.tolist(), strict=True))

    def draw(self, seed: int, index: int) -> Agent:
        """Draw one agent that could have made the pilot, for assurance."""
        return self.make(self.parameters(seed, index))

    def possible(self) -> Iterator[tuple[float, Agent]]:
        """Give every agent that could have made the pilot, after its probability."""
        for weight, row in zip(self.weights.tolist(), self.atoms.tolist(), strict=True):
            yield weight, self.make(dict(zip(self.names, row, strict=True)))

    def mean(self, name: str) -> float:
        """Give the mean of a parameter."""
        return float((self.weights * self._column(name)).sum())

    def sd(self, name: str) -> float:
        """Give the standard deviation of a parameter."""
        deviation = self._column(name) - self.mean(name)
        return float(np.sqrt((self.weights * deviation * deviation).sum()))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Give the central interval of a parameter, by its quantiles."""
        tail = 0.5 * (1.0 - confidence_level("level", level))
        column = self._column(name)
        order = np.argsort(column, kind="stable")
        steps = np.add.accumulate(self.weights[order])
        ends = np.searchsorted(steps / steps[-1], [tail, 1.0 - tail])
        low, high = column[order][np.minimum(ends, column.size - 1)]
        return float(low), float(high)

    def summary(self) -> dict[str, dict[str, object]]:
        """Give each parameter's mean, SD and central 95 % interval."""
        return {
            name: {
                "mean": self.mean(name),
                "sd": self.sd(name),
                "interval_95": list(self.interval(name)),
            }
            for name in self.names
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{n} {self.mean(n):.3g} ± {self.sd(n):.2g}" for n in self.names[:4])
        more = ", …" if len(self.names) > 4 else ""
        return f"FittedAgent({self.kind}: {shown}{more})"

    def _column(self, name: str) -> Floats:
        if name not in self.names:
            raise InputError("parameter", f"one of {', '.join(self.names)}", repr(name))
        return self.atoms[:, self.names.index(name)]
