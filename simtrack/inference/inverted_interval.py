"""What every interval that inverts a test returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simtrack.options import Computation, Guarantee

__all__ = ["InvertedInterval", "ends_of_draws"]


@dataclass(frozen=True, slots=True)
class InvertedInterval:
    """Which values would the test not reject?

    Attributes
    ----------
    low, high : float or None
        None where refused, with the reason in `notes`.
    level : float
        The level asked for.
    attained : Fraction
        The level that the interval has for continuous data.
    rank : int
        The ends are this many candidates from either end of their order.
    clusters : int
    computation, guarantee, notes
    mcse : (float, float) or None
        Monte Carlo only, as are `n_resamples` and `seed`: standard error of either end.
    """

    low: float | None
    high: float | None
    level: float
    attained: Fraction
    rank: int
    clusters: int
    computation: Computation
    notes: tuple[str, ...] = ()
    guarantee: Guarantee = "finite-sample"
    mcse: tuple[float, float] | None = None
    n_resamples: int | None = None
    seed: int | None = None

    schema: ClassVar[str] = "simtrack.inverted-interval/1"

    def to_dict(self) -> dict[str, object]:
        """Give plain values."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own |= {"attained": float(self.attained), "notes": list(self.notes)}
        own["mcse"] = None if self.mcse is None else list(self.mcse)
        return {"schema": self.schema} | own

    def __repr__(self) -> str:
        name = type(self).__name__
        if self.low is None:
            return f"{name}(refused: {self.notes[-1]})"
        return f"{name}({self.low:.6g} to {self.high:.6g}, rank {self.rank})"


def ends_of_draws(
    draws: NDArray[np.float64], rank: int
) -> tuple[float, float, tuple[float, float]]:
    """Give the draws at this rank from either end, and the standard error of each end.

    The rank of a quantile of m draws has standard deviation sqrt(rank (1 - rank / m)); half the
    distance between the draws that far to either side estimates what that does to the end.
    """
    ordered = np.sort(draws)
    spread = max(1, round(math.sqrt(rank * (1.0 - rank / ordered.size))))
    errors = []
    for centre in (rank - 1, ordered.size - rank):
        left, right = max(centre - spread, 0), min(centre + spread, ordered.size - 1)
        errors.append(float(ordered[right] - ordered[left]) / 2.0)
    low, high = float(ordered[rank - 1]), float(ordered[ordered.size - rank])
    return low, high, (errors[0], errors[1])
