"""How often does an interval hold the truth, and a test reject a true null, with few clusters?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError

__all__ = ["Coverage", "Size", "cluster_sizes", "interval_coverage", "rejection_rate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How did one interval method do over simulated studies?

    Attributes
    ----------
    method : str
    n_replicates, n_refused : int
        Simulated studies, and those in which the method gave no interval. A refusal is neither a
        hit nor a miss.
    coverage, mcse : float
        Share of the given intervals that hold the truth, and its Monte Carlo standard error; NaN
        if none was given.
    missed_below, missed_above : float
        Share of intervals that lie wholly above (so the truth is below) and wholly below the truth.
    mean_width : float
    """

    method: str
    n_replicates: int
    n_refused: int
    coverage: float
    mcse: float
    missed_below: float
    missed_above: float
    mean_width: float


@dataclass(frozen=True, slots=True)
class Size:
    """How often did one test reject at alpha?

    `rejected` counts refused tests as no rejection, which is what their user reports.
    """

    method: str
    n_replicates: int
    n_refused: int
    rejected: float
    mcse: float


def cluster_sizes(clusters: int, trials: Sequence[int]) -> tuple[int, ...]:
    """Give clusters these numbers of trials in turn.

    Examples
    --------
    >>> cluster_sizes(4, (10, 20, 40))
    (10, 20, 40, 10)
    """
    return tuple(trials[g % len(trials)] for g in range(clusters))


def interval_coverage(
    name: str, low: Floats, high: Floats, truth: float, slack: float = 1e-12
) -> Coverage:
    """Score intervals, one a replicate, against the truth; NaN ends are refusals."""
    given = np.isfinite(low) & np.isfinite(high)
    n, used = low.size, int(given.sum())
    if used == 0:
        return Coverage(name, n, n, *(math.nan,) * 5)
    a, b = low[given], high[given]
    below, above = (a > truth + slack), (b < truth - slack)
    share = 1.0 - (float(below.mean()) + float(above.mean()))
    return Coverage(
        name,
        n,
        n - used,
        share,
        math.sqrt(max(share * (1.0 - share), 1.0 / used) / used),
        float(below.mean()),
        float(above.mean()),
        float((b - a).mean()),
    )


def rejection_rate(name: str, pvalues: Floats, alpha: float = 0.05) -> Size:
    """Score p-values, one a replicate; NaN is a refused test."""
    if pvalues.size == 0:
        raise InputError("pvalues", "one for each replicate", "none")
    refused = int(np.isnan(pvalues).sum())
    share = float((np.nan_to_num(pvalues, nan=1.0) <= alpha + 1e-12).mean())
    mcse = math.sqrt(max(share * (1.0 - share), 1.0 / pvalues.size) / pvalues.size)
    return Size(name, pvalues.size, refused, share, mcse)
