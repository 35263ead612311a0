"""Wilson intervals for a rate, on the effective number of trials where they come in clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.clustered import ClusteredRates, clustered_rates, design_effect_from_icc
from simtrack.inference.intervals import Intervals
from simtrack.inference.special import normal_quantile, t_critical
from simtrack.validate import open_unit, real

__all__ = ["ASSUMED_ICC", "wilson", "wilson_clustered", "wilson_limits"]

#: What is assumed where clusters show no spread and nobody gave an ICC. Under a true ICC up to
#: 0.6 (evaluation logs show 0.4 to 0.65 for repetitions of a task) the one-sided miss of 0/n and
#: n/n then stays below 0.034 for 5 to 67 clusters of 2 to 20 trials; 0.1 would let it reach 0.19.
ASSUMED_ICC = 0.3

Floats = NDArray[np.float64]


def wilson_limits(rate: ArrayLike, n: ArrayLike, critical: ArrayLike) -> tuple[Floats, Floats]:
    """Where does the score test at `critical` standard errors stop rejecting?

    Parameters
    ----------
    rate, n, critical : arrays that broadcast
        Rates in [0, 1], numbers of (effective) trials above 0, and normal or t quantiles.

    Returns
    -------
    low, high : float64 arrays
        0 ≤ low ≤ rate ≤ high ≤ 1 holds exactly; a rate of 0 gives low = 0, of 1 high = 1.

    References
    ----------
    Wilson (1927), JASA 22, 209-212. The end nearer to 0 or 1 is taken from the product of the
    roots, which does not cancel.

    Examples
    --------
    >>> low, high = wilson_limits(1.0, 46, 1.959963984540054)
    >>> f"{float(low):.10f}", float(high)
    ('0.9229264369', 1.0)
    """
    p, size, z = (np.asarray(v, dtype=np.float64) for v in (rate, n, critical))
    q = 1.0 - p
    root = z * np.sqrt(z * z + 4.0 * size * p * q)
    up, down = 2.0 * size * p + z * z + root, 2.0 * size * q + z * z + root
    low = 2.0 * size * p * p / up
    high = np.where(p < 0.5, up / (2.0 * (size + z * z)), 1.0 - 2.0 * size * q * q / down)
    return np.minimum(low, p), np.clip(high, p, 1.0)


def wilson(successes: float, n: float, *, level: float = 0.95) -> tuple[float, float]:
    """Which rates are compatible with `successes` of `n` independent trials?

    Examples
    --------
    >>> [round(end, 4) for end in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    open_unit("level", level)
    size = real("n", n, 0.0)
    if size == 0.0:
        raise InputError("n", "above 0", n, cure="A rate without trials has no interval.")
    hits = real("successes", successes, 0.0, size)
    z = -normal_quantile((1.0 - level) / 2.0)
    low, high = wilson_limits(hits / size, size, z)
    return float(low), float(high)


def wilson_clustered(
    totals: Totals,
    *,
    level: float = 0.95,
    icc: float | None = None,
    rates: ClusteredRates | None = None,
) -> Intervals:
    """Which rates are compatible with clustered trials scored from 0 to 1?

    Wilson's interval on the effective number of trials, with the t quantile for G - 1. The
    effective number is p(1-p) / se², with the larger of the clustered and the naive standard
    error, so for 0/1 scores it is at most n (chance agreement between clusters buys nothing).
    With one trial a cluster it is n, and the interval is Wilson's plain one with t for z.

    Where all clusters have the same rate (0/n and n/n above all) the data cannot tell how much
    clusters differ. Then the design effect is 1 + icc (Σm²/Σm - 1) with the `icc` given, else
    `ASSUMED_ICC`, and the notes say so. `icc` is used nowhere else. One cluster has no interval.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    level : float
        Confidence level.
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters show no spread.
    rates : ClusteredRates, optional
        What `clustered_rates(totals)` gave, if it is at hand.

    References
    ----------
    Korn and Graubard (1998), Survey Methodology 24, 193-201 (effective sample size with t);
    Dean and Pagano (2015), J. Survey Statistics and Methodology 3, 484-503 (Wilson's variant).

    Examples
    --------
    >>> found = wilson_clustered(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.low[0]), 4), round(float(found.high[0]), 4)
    (0.6243, 0.9799)
    """
    open_unit("level", level)
    if icc is not None:
        real("icc", icc, 0.0, 1.0)
    found = rates if rates is not None else clustered_rates(totals)
    n, p, groups = found.n, found.rate, found.clusters
    se = np.fmax(found.clustered_se, found.naive_se)
    spread = p * (1.0 - p)
    # n/(n-1) turns the naive variance of 0/1 scores, p(1-p)/(n-1), into n effective trials.
    unit = np.divide(n, n - 1.0, out=np.ones_like(n), where=n > 1)
    effective = np.divide(spread * unit, se * se, out=np.array(n), where=se > 0)
    inflation = design_effect_from_icc(ASSUMED_ICC if icc is None else icc, totals.denominator)
    effective = np.where(found.no_spread, n / inflation, effective)
    defined = groups > 1
    critical = np.array([t_critical(level, g - 1.0) if g > 1 else np.nan for g in groups.tolist()])
    low, high = wilson_limits(
        np.where(defined, p, 0.0), np.where(defined, effective, 1.0), np.where(defined, critical, 1)
    )
    return Intervals(
        np.where(defined, low, np.nan),
        np.where(defined, high, np.nan),
        level,
        "Wilson on the effective n, t(G-1)",
        np.where(defined, groups - 1.0, np.nan),
        np.where(defined, effective, np.nan),
        _notes(found, inflation, icc),
    )


def _notes(
    found: ClusteredRates, inflation: Floats, icc: float | None
) -> tuple[tuple[str, ...], ...]:
    notes: list[tuple[str, ...]] = []
    for k, groups in enumerate(found.clusters.tolist()):
        lines = list(found.notes[k])
        if groups == 1:
            lines.append("no interval: one cluster cannot say how much clusters differ")
        elif found.no_spread[k]:
            source = (
                f"assumed ICC {ASSUMED_ICC:g} (give icc= to change it)"
                if icc is None
                else f"given ICC {icc:g}"
            )
            lines.append(f"effective n from the {source}: design effect {inflation[k]:.3g}")
        elif found.design_effect[k] < 1.0:
            lines.append(
                "clusters differ less than chance would have it: the naive standard error is used"
            )
        notes.append(tuple(lines))
    return tuple(notes)
