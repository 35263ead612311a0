"""What every agent offers: exact expectations, drawn counts, and drawn trials."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.estimands import Contrast, Estimand
from simtrack.records import Records

__all__ = ["Agent"]


@runtime_checkable
class Agent(Protocol):
    """A table of probabilities over a design, with clusters that differ.

    All agents are frozen, hashable and picklable, and `to_dict` gives plain data (with a schema id
    and a `kind`) from which an equal agent is made.
    """

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw studies of this design: one draw a cell, not one a trial.

        `draws` is how many, from 0, or which ones: draw r is the same whatever else is drawn.
        """
        ...

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial, with outcome codes, as a reader of its log gives it."""
        ...

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand under this agent: exact, by quadrature or algebra."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id and the agent's kind."""
        ...
