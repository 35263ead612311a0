"""What a method says of many studies at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer

__all__ = ["FAILED", "OK", "REASONS", "REFUSED", "Results"]

Floats = NDArray[np.float64]

OK: Final = 0
REFUSED: Final = 1
FAILED: Final = 2
#: Why a study has no answer, by reason code.
REASONS: Final = (
    "",
    "a term without trials",
    "fewer than two clusters",
    "no spread between clusters",
    "too few clusters to reach alpha",
    "more than one trial a cluster and arm",
    "clusters in both arms",
    "the method refused",
    "the method broke down",
    "arms with very different numbers of trials",
)


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What did a method find in each of R studies?

    Attributes
    ----------
    estimate, low, high, pvalue : float64 arrays, shape (R,)
        NaN where there is none: a method may have a p-value and no interval, or the reverse.
    status : int8 array, shape (R,)
        OK 0, REFUSED 1 (the method says that it cannot answer), FAILED 2 (it broke down).
    reason : int8 array, shape (R,)
        The place in `REASONS`; 0 where the status is OK.
    """

    estimate: Floats
    low: Floats
    high: Floats
    pvalue: Floats
    status: NDArray[np.int8]
    reason: NDArray[np.int8]

    @classmethod
    def of(
        cls,
        estimate: Floats,
        *,
        low: Floats | None = None,
        high: Floats | None = None,
        pvalue: Floats | None = None,
        refused: dict[str, NDArray[np.bool_]] | None = None,
    ) -> Results:
        """Put arrays together; the first reason whose mask holds is given for a refusal."""
        shape = estimate.shape
        status, reason = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
        for why, mask in (refused or {}).items():
            new = mask & (status == OK)
            status[new], reason[new] = REFUSED, REASONS.index(why)
        least, most, p = (
            np.where(status == OK, np.nan if a is None else a, np.nan) for a in (low, high, pvalue)
        )
        return cls(estimate, least, most, p, status, reason)

    def answer(self, r: int) -> Answer:
        """Give what it says of one study, without notes."""
        numbers = [float(a[r]) for a in (self.estimate, self.low, self.high, self.pvalue)]
        shown = [None if math.isnan(x) else x for x in numbers]
        return Answer(shown[0], shown[1], shown[2], shown[3], refused=REASONS[int(self.reason[r])])

    def __len__(self) -> int:
        return int(self.estimate.size)
