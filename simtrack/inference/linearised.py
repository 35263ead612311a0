"""Variances of two ratios whose clusters are shared wholly, partly or not at all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.effective import effective_size
from simtrack.inference.two_rates import Two

__all__ = ["ROUNDING", "assumed_variances", "correlation", "covariance", "satterthwaite"]

#: A variance below this share of what it is the difference of is rounding, not spread.
ROUNDING = 1e-12

Floats = NDArray[np.float64]


def assumed_variances(two: Two, icc: float | None) -> tuple[Floats, tuple[str, ...]]:
    """How far may each pooled rate be off, as a variance; and what had to be assumed?

    The linearised clustered variance; where clusters show no spread, p(1-p) over the effective
    number of trials (`effective_size`), which is 0 at a rate of 0 or 1. NaN with fewer than two
    clusters. The notes name the condition.
    """
    size = effective_size(two.totals, icc=icc, rates=two.rates)
    p, flat = two.rates.rate, two.rates.no_spread
    variances = np.where(flat, p * (1.0 - p) / size.trials, two.rates.clustered_se**2)
    notes: list[str] = []
    for name, lines, same, rate in zip(("first", "second"), size.notes, flat, p, strict=True):
        skipped = "clusters differ less than chance"
        notes.extend(f"{name}: {line}" for line in lines if not line.startswith(skipped))
        if same and rate in {0.0, 1.0}:
            notes.append(
                f"{name}: a rate of {rate:g} adds no variance, so the interval is too narrow"
            )
    return variances, tuple(notes)


def covariance(two: Two) -> float:
    """How do the two pooled rates vary together, over the clusters that have both?

    Σ_g e_g1 e_g2 √(G1/(G1-1) · G2/(G2-1)) with the linearised contributions
    e_gc = (x_gc - p_c m_gc) / M_c. It is 0 without shared clusters; with all of them shared,
    var(1) + var(2) - 2 cov is the linearised variance of the difference.
    """
    g1, g2 = two.clusters
    if two.shared == 0 or min(g1, g2) < 2:
        return 0.0
    top, bottom = two.totals.numerator, two.totals.denominator
    influence = (top - two.rates.rate * bottom) / two.n
    factor = math.sqrt(g1 / (g1 - 1.0) * g2 / (g2 - 1.0))
    return float((influence[:, 0] * influence[:, 1]).sum()) * factor


def correlation(two: Two) -> float:
    """How strongly are the two pooled rates correlated over shared clusters, from -1 to 1?

    Held against the larger of the clustered and the naive standard errors; 0 where one of the
    conditions shows no spread between clusters.
    """
    se = np.fmax(two.rates.clustered_se, two.rates.naive_se)
    if two.rates.no_spread.any() or not (se > 0.0).all():
        return 0.0
    return float(np.clip(covariance(two) / (se[0] * se[1]), -1.0, 1.0))


def satterthwaite(variances: Floats, two: Two) -> float:
    """How many degrees of freedom has the standard error of the comparison?

    Welch and Satterthwaite's for clusters of which none is shared; G - 1 where all are; one less
    than the smaller number of clusters where some are, or where a condition adds no variance:
    the safe side.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2, 110-114; Welch (1947), Biometrika 34, 28-35.
    """
    smaller = min(two.clusters) - 1.0
    if two.shared > 0 or not (variances > 0.0).all():
        return smaller
    parts = variances**2 / (np.array(two.clusters) - 1.0)
    return max(float(variances.sum() ** 2 / parts.sum()), smaller)
