"""The linearised standard error of a statistic in every resample, from sums of products."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.bootstrap_sample import Pool, Sample

__all__ = ["standard_errors", "studentized", "with_products"]

Floats: TypeAlias = NDArray[np.float64]

#: A sum of squares below this share of its terms is rounding.
_ROUNDING = 1e-12


def with_products(pool: Pool) -> Floats:
    """Give numerators, denominators and the products of all pairs of them, times G/(G-1).

    Shape (clusters, 2C + C(2C+1)). Sums of these columns over a resample give the standard error
    of any contrast of the ratios in it.
    """
    parts = np.concatenate([pool.top, pool.bottom], axis=1)
    upper = np.triu_indices(parts.shape[1])
    factor = pool.size / (pool.size - 1.0)
    return np.concatenate([parts, factor * parts[:, upper[0]] * parts[:, upper[1]]], axis=1)


def standard_errors(sample: Sample, sums: Floats) -> Floats:
    """Give the linearised standard error for column sums of shape (2C + C(2C+1), n).

    The influence of a cluster is u = Σ_c a_c (x_c - r_c m_c) / M_c with a_c the derivative of the
    statistic by the ratio r_c; the variance is G/(G-1) Σ u², written out as a quadratic form.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., section 6.13.
    """
    columns = len(sample.weights)
    top, bottom = sums[:columns], sums[columns : 2 * columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = top / bottom
        slopes = _slopes(sample, rates) / bottom
        beta = np.concatenate([slopes, -slopes * rates])
        total, size = np.zeros(sums.shape[1]), np.zeros(sums.shape[1])
        first, second = np.triu_indices(2 * columns)
        for k, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            term = (1.0 if i == j else 2.0) * beta[i] * beta[j] * sums[2 * columns + k]
            total += term
            size += np.abs(term)
        return np.sqrt(np.where(total > _ROUNDING * size, total, np.where(size >= 0, 0.0, np.nan)))


def studentized(sample: Sample, sums: Floats) -> tuple[Floats, Floats]:
    """Give the statistic and its t value around the estimate, for each column of sums.

    Without spread in a resample t is infinite, or NaN where the statistic is the estimate.
    """
    columns = len(sample.weights)
    values = sample.evaluate(sums[:columns], sums[columns : 2 * columns])
    errors = standard_errors(sample, sums)
    gap = values - sample.estimate
    gap = np.where(np.abs(gap) <= sample.tie, 0.0, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return values, gap / errors


def _slopes(sample: Sample, rates: Floats) -> Floats:
    weights = np.array([float(w) for w in sample.weights])[:, None]
    if sample.statistic == "contrast":
        return np.asarray(np.broadcast_to(weights, rates.shape))
    above = (np.maximum(weights, 0.0) * rates).sum(axis=0)
    below = (np.maximum(-weights, 0.0) * rates).sum(axis=0)
    # d(A/B) = dA/B - (A/B) dB/B, and the weights of B are below 0
    return np.asarray(np.where(weights > 0, weights / below, weights * above / below**2))
