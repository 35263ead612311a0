"""Standard errors of a ratio whose trials come in clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.options import Computation, Guarantee

__all__ = ["ClusteredRates", "clustered_rates", "design_effect_from_icc"]

#: A sum of residuals below this share of what it is made of is rounding, not spread.
_ROUNDING = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredRates:
    """How precise is each rate, with and without its clusters?

    All arrays have shape (conditions,). NaN means not defined; `notes` say why.

    Attributes
    ----------
    clusters : int64 array
        Clusters with at least one trial.
    n, rate : float64 arrays
        Trials; Σ numerator / Σ denominator.
    naive_se : float64 array
        sd(ddof=1) / sqrt(n) over trials: what an evaluation log prints. Needs two trials.
    clustered_se : float64 array
        Linearised standard error of the ratio, with the factor G/(G-1). Needs two clusters.
    design_effect : float64 array
        (clustered_se / naive_se)².
    effective_n : float64 array
        n / max(design_effect, 1): the number of independent trials that would be as precise,
        never more than n.
    icc : float64 array
        Intracluster correlation by analysis of variance; may be negative.
    no_spread : bool array
        Every cluster has the same rate, so the data cannot say how much clusters differ.
    notes : tuple of tuples of str
        For each condition, why a value is missing or how to take it.
    """

    clusters: NDArray[np.int64]
    n: Floats
    rate: Floats
    naive_se: Floats
    clustered_se: Floats
    design_effect: Floats
    effective_n: Floats
    icc: Floats
    no_spread: NDArray[np.bool_]
    notes: tuple[tuple[str, ...], ...]
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        return f"ClusteredRates({self.rate.size} conditions)"


def clustered_rates(totals: Totals) -> ClusteredRates:
    """How precise is the pooled rate of each condition, given that trials come in clusters?

    Parameters
    ----------
    totals : Totals
        Numerator, denominator and sum of squares by cluster, shape (clusters, conditions).

    Notes
    -----
    With x_g over m_g in cluster g, M = Σ m_g and p = Σ x_g / M, the clustered variance is
    G/(G-1) · Σ (x_g - p m_g)² / M². With equal clusters it is the variance of the cluster means
    over G; with one trial a cluster it equals the naive one.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., eq. 9.27 (ratio to size). Kish (1965), Survey
    Sampling, 8.2 (design effect). Donner and Koval (1980), Biometrics 36, 19-25 (ICC by ANOVA).

    Examples
    --------
    >>> found = clustered_rates(Totals.from_arrays([4, 0, 2, 2], [4, 4, 4, 4]))
    >>> float(found.rate[0]), round(float(found.clustered_se[0]), 6)
    (0.5, 0.204124)
    """
    top, bottom, square = totals.numerator, totals.denominator, totals.square
    groups = (bottom > 0).sum(axis=0)
    n = bottom.sum(axis=0)
    rate = _ratio(top.sum(axis=0), n)
    residual = np.where(bottom > 0, top - np.where(n > 0, rate, 0.0) * bottom, 0.0)
    scale = np.abs(top) + np.abs(np.where(n > 0, rate, 0.0)) * bottom
    residual = np.where(np.abs(residual) <= _ROUNDING * scale, 0.0, residual)
    between = (residual * residual).sum(axis=0)
    clustered = np.sqrt(_ratio(groups * between, (groups - 1.0) * n * n, groups > 1))
    naive = _naive(top.sum(axis=0), n, square.sum(axis=0))
    effect = _ratio(clustered**2, naive**2, naive > 0)
    no_spread = (groups > 1) & (between == 0.0)
    effective = _ratio(n, np.maximum(effect, 1.0), ~np.isnan(effect) & ~no_spread)
    icc = _icc(top, bottom, square, groups)
    notes = _notes(groups, n, naive, no_spread, icc)
    return ClusteredRates(
        groups, n, rate, naive, clustered, effect, effective, icc, no_spread, notes
    )


def design_effect_from_icc(icc: float, denominator: Floats) -> Floats:
    """How much does an intracluster correlation inflate the variance, with unequal clusters?

    Gives 1 + icc · (Σ m² / Σ m - 1) over the clusters (axis 0) of `denominator`.

    References
    ----------
    Kish (1987), Statistical Design for Research; Eldridge, Ashby and Kerry (2006),
    Int. J. Epidemiology 35, 1292-1300.

    Examples
    --------
    >>> float(design_effect_from_icc(0.2, np.array([2.0, 4.0, 12.0])).round(7))
    2.6222222
    """
    total = denominator.sum(axis=0)
    mean_size = _ratio((denominator**2).sum(axis=0), total)
    return np.asarray(1.0 + icc * (mean_size - 1.0))


def _ratio(top: ArrayLike, bottom: ArrayLike, defined: NDArray[np.bool_] | None = None) -> Floats:
    where = np.asarray(bottom) > 0
    where = where if defined is None else where & defined
    out = np.full(np.shape(bottom), np.nan)
    np.divide(top, bottom, out=out, where=where)
    return out


def _naive(total: Floats, n: Floats, square: Floats) -> Floats:
    mean = _ratio(total, n)
    centred = square - np.where(n > 0, mean, 0.0) * total
    centred = np.where(centred <= _ROUNDING * square, 0.0, centred)
    return np.asarray(np.sqrt(_ratio(centred, (n - 1.0) * n, n > 1)))


def _icc(top: Floats, bottom: Floats, square: Floats, groups: NDArray[np.int64]) -> Floats:
    n = bottom.sum(axis=0)
    inside = np.divide(top * top, bottom, out=np.zeros_like(top), where=bottom > 0).sum(axis=0)
    overall = _ratio(top.sum(axis=0) ** 2, n)
    within = _ratio(square.sum(axis=0) - inside, n - groups)
    between = _ratio(inside - overall, groups - 1.0)
    size = _ratio(n - _ratio((bottom**2).sum(axis=0), n), groups - 1.0)
    spread = between + (size - 1.0) * within
    real = spread > _ROUNDING * _ratio(square.sum(axis=0), n)
    return _ratio(between - within, np.where(real, spread, 0.0))


def _notes(
    groups: NDArray[np.int64],
    n: Floats,
    naive: Floats,
    no_spread: NDArray[np.bool_],
    icc: Floats,
) -> tuple[tuple[str, ...], ...]:
    found: list[tuple[str, ...]] = []
    for g, trials, se, flat, rho in zip(groups, n, naive, no_spread, icc, strict=True):
        lines = []
        if g == 0:
            lines.append("no trial: nothing is defined")
        elif trials < 2:
            lines.append("one trial: no standard error is defined")
        elif g == 1:
            lines.append("one cluster: no clustered standard error is defined")
        if flat:
            what = "all scores are equal" if se == 0 else "all clusters have the same rate"
            lines.append(f"{what}: the clustered standard error of 0 is no sign of precision")
        if g > 1 and np.isnan(rho):
            why = "one trial a cluster" if trials == g else "no spread in the scores"
            lines.append(f"the intracluster correlation is not defined ({why})")
        found.append(tuple(lines))
    return tuple(found)
