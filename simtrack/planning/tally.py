"""Sums over simulated studies, from which every property of a design is worked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named import Analysis
from simtrack.planning.goals import Goal
from simtrack.results import FAILED, OK, REASONS, REFUSED, Results

__all__ = ["Tally", "tally"]

#: An interval holds the truth up to rounding.
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened in a block of studies?

    Tallies of consecutive blocks are added in their order; counts are whole numbers, sums are
    taken in the order of the draws within a block.

    Attributes
    ----------
    n, ok, refused, failed : int
        Studies; those with an answer; those in which the method refused or broke down.
    met : int
        Those that reached the goal.
    reasons : tuple of int
        Studies without an answer by reason, in the order of `REASONS`.
    signed, above, below : int
        Studies that met the goal and have an estimate; among them those whose estimate lies above
        the null, and below it. Exact sign tests know the sides without an estimate.
    sum_size : float
        Σ |estimate - null| over `signed`.
    estimated, sum_error, sum_square : int, float, float
        Studies with an estimate, and Σ (estimate - truth) and its squares.
    intervals, covered, sum_width, sum_width_square
        Studies with an interval, those that hold the truth, and widths.
    """

    n: float = 0
    ok: float = 0
    refused: float = 0
    failed: float = 0
    met: float = 0
    reasons: tuple[float, ...] = (0,) * len(REASONS)
    signed: float = 0
    above: float = 0
    below: float = 0
    sum_size: float = 0.0
    estimated: float = 0
    sum_error: float = 0.0
    sum_square: float = 0.0
    intervals: float = 0
    covered: float = 0
    sum_width: float = 0.0
    sum_width_square: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        fields = {
            name: getattr(self, name) + getattr(other, name)
            for name in self.__slots__
            if name != "reasons"
        }
        both = zip(self.reasons, other.reasons, strict=True)
        return Tally(**fields, reasons=tuple(a + b for a, b in both))

    @staticmethod
    def total(parts: Sequence[Tally]) -> Tally:
        """Add tallies of consecutive blocks, in their order."""
        found = Tally()
        for part in parts:
            found = found + part
        return found

    def to_dict(self) -> dict[str, object]:
        """Give plain data; JSON keeps every bit of it."""
        return asdict(self) | {"reasons": list(self.reasons)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """Make the tally that `to_dict` described."""
        return cls(**{**data, "reasons": tuple(data["reasons"])})


def tally(
    results: Results,
    goal: Goal,
    analysis: Analysis,
    *,
    truth: float,
    null: float,
    weights: NDArray[np.float64] | None = None,
    side: NDArray[np.float64] | None = None,
) -> Tally:
    """Sum up studies; with `weights` each stands for a share of all possible ones.

    `side` says on which side of the null each study lies (1 above, -1 below) where the estimate
    does not.
    """
    answered = goal.answered(results, analysis)
    met = goal.met(results, analysis) & answered
    failed = results.status == FAILED
    refused = ~answered & ~failed
    known = ~np.isnan(results.estimate) & (results.status == OK)
    gap = results.estimate - null
    signed, sides = met & known, np.where(known, gap, 0.0) if side is None else side
    width = results.high - results.low
    has = ~np.isnan(width)
    held = has & (results.low <= truth + _SLACK) & (results.high >= truth - _SLACK)
    error = results.estimate - truth

    def count(mask: NDArray[np.bool_]) -> float:
        return int(mask.sum()) if weights is None else float(weights[mask].sum())

    def total(values: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
        picked = values[mask]
        return float((picked if weights is None else picked * weights[mask]).sum())

    silent = refused & (results.status != REFUSED)
    reason = np.where(silent, REASONS.index("the method refused"), results.reason)
    return Tally(
        n=count(np.ones(len(results), dtype=bool)),
        ok=count(answered),
        refused=count(refused),
        failed=count(failed),
        met=count(met),
        reasons=tuple(count(~answered & (reason == k)) for k in range(len(REASONS))),
        signed=count(signed),
        above=count(met & (sides > 0.0)),
        below=count(met & (sides < 0.0)),
        sum_size=total(np.abs(gap), signed),
        estimated=count(known),
        sum_error=total(error, known),
        sum_square=total(error * error, known),
        intervals=count(has),
        covered=count(held),
        sum_width=total(width, has),
        sum_width_square=total(width * width, has),
    )
