"""An agent of one table of outcomes: what restating a rule mends, which rule an answer follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials, shuffled_records
from simtrack.agents.categories import Table, categorise, frozen_table, look_up
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.options import choice
from simtrack.plain import Document
from simtrack.records import Records
from simtrack.rng import Stream, require_distinct
from simtrack.taxonomy import LEDGER, RECOVERY, Taxonomy

__all__ = ["OutcomeAgent", "OutcomeScheme"]

#: What is asked: how a collapsed probe recovers, or which rule is enforced after a change.
OutcomeScheme = Literal["recovery", "ledger"]
_SCHEMES: dict[str, Taxonomy] = {"recovery": RECOVERY, "ledger": LEDGER}
_SUM = 1e-9


@dataclass(frozen=True, slots=True, init=False)
class OutcomeAgent(Document, schema="simtrack.agent/1", kind="outcome"):
    """How often does each outcome of a scheme occur, by condition?

    Parameters
    ----------
    scheme : "recovery" or "ledger"
        The outcomes: FULL, PARTIAL, NONE of a probe that had collapsed; or STALE, UPDATED_CLEAN,
        OTHER after a rule was changed (an arm whose ledger is stale enforces the old one).
    shares : table of three floats
        In the scheme's order; one value or lines of (labels, value). They sum to 1.

    Examples
    --------
    >>> from simtrack.estimands import estimand
    >>> lines = [({"arm": "stale"}, (0.75, 0.2, 0.05)), ({}, (0.03, 0.94, 0.03))]
    >>> agent = OutcomeAgent("ledger", lines)
    >>> agent.expectation(estimand("stale_enforcement"), Design(5, 7, {"arm": ("stale",)}))
    0.75
    """

    scheme: OutcomeScheme
    shares: Table[tuple[float, float, float]]

    def __init__(self, scheme: OutcomeScheme, shares: object) -> None:
        choice("scheme", scheme, OutcomeScheme)
        if isinstance(shares, (list, tuple)) and all(isinstance(v, (int, float)) for v in shares):
            shares = [({}, tuple(shares))]
        table = frozen_table("shares", shares)
        object.__setattr__(self, "scheme", scheme)
        object.__setattr__(self, "shares", table)
        for _, line in self.shares:
            if len(line) != len(self.outcomes) or min(line) < 0 or abs(sum(line) - 1) > _SUM:
                rule = f"shares of {', '.join(self.outcomes)} that sum to 1"
                raise InputError("shares", rule, line)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The codes of the scheme."""
        return _SCHEMES[self.scheme].codes

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw outcomes by cluster and cell, trial by trial; see `Agent.counts`."""
        how: DrawOptions = {
            "replicates": draws,
            "clusters": design.clusters,
            "threads": threads,
            "chunk": chunk,
        }
        trials = planned_trials(design)
        whose = Stream(seed, "outcome-agent", self.scheme)
        streams = [whose.labelled(cell=tuple(cell.items())) for cell in design.cells]
        require_distinct(streams)
        found = [
            categorise(stream, trials[:, c], np.array(look_up("shares", self.shares, cell)), how)
            for c, (stream, cell) in enumerate(zip(streams, design.cells, strict=True))
        ]
        cells = np.stack(found, axis=2)
        return CountsBatch(cells, self.outcomes, design.cells, design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial: its counts are those of draw 0 of `counts`."""
        order = Stream(seed, "outcome-agent", "order")
        return shuffled_records(self.counts(design, 1, seed), order)

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand, exactly."""
        shares = np.array([look_up("shares", self.shares, cell) for cell in design.cells])
        trials = planned_trials(design).astype(np.float64)
        return expected_value(what, design, self.outcomes, trials[..., None] * shares)
