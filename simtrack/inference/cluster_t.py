"""Student t intervals from clustered standard errors, for means that are no rates."""

from __future__ import annotations

import numpy as np

from simtrack.counts import Totals
from simtrack.inference.clustered import ClusteredRates, clustered_rates
from simtrack.inference.intervals import Intervals
from simtrack.inference.special import t_critical
from simtrack.validate import open_unit

__all__ = ["cluster_t"]


def cluster_t(
    totals: Totals, *, level: float = 0.95, rates: ClusteredRates | None = None
) -> Intervals:
    """Which means are compatible with clustered scores of any range?

    The ratio ± t(G-1) clustered standard errors. It can leave [0, 1] and it has no width where
    clusters show no spread (then it is refused), so for rates prefer `wilson_clustered`.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., section 9.

    Examples
    --------
    >>> scores = Totals.from_arrays([2.0, 4.0, 6.0], [2, 2, 2], square=[2.5, 9.0, 20.0])
    >>> found = cluster_t(scores)
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (-0.4841, 4.4841)
    """
    open_unit("level", level)
    found = rates if rates is not None else clustered_rates(totals)
    defined = (found.clusters > 1) & ~found.no_spread
    critical = np.array(
        [t_critical(level, g - 1.0) if g > 1 else np.nan for g in found.clusters.tolist()]
    )
    half = np.where(defined, critical * found.clustered_se, np.nan)
    notes = tuple(
        (*lines, *_refusal(int(groups), bool(flat)))
        for lines, groups, flat in zip(found.notes, found.clusters, found.no_spread, strict=True)
    )
    return Intervals(
        found.rate - half,
        found.rate + half,
        level,
        "cluster t(G-1)",
        np.where(defined, found.clusters - 1.0, np.nan),
        found.effective_n,
        notes,
    )


def _refusal(groups: int, flat: bool) -> tuple[str, ...]:
    if groups == 1:
        return ("no interval: one cluster cannot say how much clusters differ",)
    if flat:
        return ("no interval: clusters show no spread, so its width would be 0",)
    return ()
