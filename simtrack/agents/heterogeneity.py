"""How much do clusters differ: as an SD, an intracluster correlation or a design effect?

One notion of intracluster correlation (ICC) throughout: Var(p) / (π (1 - π)), where p is the
success probability of a cluster and π its mean. It is the correlation of two trials of one cluster
on the 0/1 scale, whatever the law of p.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.validate import open_unit, real

__all__ = [
    "beta_parameters",
    "design_effect",
    "logit_mean",
    "logit_normal_mean",
    "logit_normal_moments",
    "logit_normal_parameters",
]

#: Trapezium nodes on the normal deviate: with step 1/32 out to ±12 the error is below 1e-13 for
#: SDs up to 20, since the integrand is analytic in a strip of half-width π / SD.
_STEP: Final = 1 / 32
_REACH: Final = 12.0
_LARGEST_SD: Final = 20.0
_NEWTON_STEPS: Final = 100
_HALF_DIGIT: Final = 2.0**-52
#: Logits are kept to this step, so that a last bit of the quadrature that differs from one machine
#: to the next does not show in a draw; the rate moves by less than 2e-12.
_LOGIT_STEP: Final = 2.0**-37


def beta_parameters(rate: float, icc: float) -> tuple[float, float]:
    """Which Beta law of cluster probabilities has this mean and ICC?

    Parameters
    ----------
    rate, icc : float
        Both strictly between 0 and 1. ICC 0 is no Beta law: draw binomials.

    Examples
    --------
    >>> beta_parameters(0.5, 0.1)
    (4.5, 4.5)
    """
    size = 1.0 / open_unit("icc", icc) - 1.0
    return open_unit("rate", rate) * size, (1.0 - rate) * size


def design_effect(icc: float, cluster_size: float) -> float:
    """By how much does clustering inflate the variance of a rate, for clusters of one size?

    Examples
    --------
    >>> round(design_effect(0.1, 20), 12)
    2.9
    """
    return 1.0 + (real("cluster_size", cluster_size, 1.0) - 1.0) * real("icc", icc, 0.0, 1.0)


def logit_normal_moments(mean: float, sd: float) -> tuple[float, float]:
    """What are the rate and the ICC if the logit of a cluster's probability is Normal(mean, sd²)?

    Parameters
    ----------
    mean : float
        On the logit scale.
    sd : float
        On the logit scale, from 0 to 20.

    Returns
    -------
    rate, icc : float
        E[p], and Var(p) / (E[p] (1 - E[p])); to about 1e-13.

    Examples
    --------
    >>> rate, icc = logit_normal_moments(1.0, 1.0)
    >>> round(rate, 10), round(icc, 10)
    (0.6967346701, 0.1578457383)
    """
    real("mean", mean, -700.0, 700.0)
    real("sd", sd, 0.0, _LARGEST_SD)
    z, weight = _nodes()
    logit = mean + sd * z
    # both tails are summed as they are, so that rates near 0 and 1 keep their digits
    high, low = 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(logit))
    rate, rest = float((weight * high).sum()), float((weight * low).sum())
    within = float((weight * high * low).sum())
    return rate, max(0.0, 1.0 - within / (rate * rest))


@lru_cache(maxsize=1024)
def logit_normal_parameters(rate: float, icc: float) -> tuple[float, float]:
    """Which mean and SD on the logit scale give this rate and this ICC?

    Parameters
    ----------
    rate : float
        Strictly between 0 and 1.
    icc : float
        From 0 up to what an SD of 20 gives.

    Raises
    ------
    InputError
        No SD up to 20 gives this ICC.

    Examples
    --------
    >>> mean, sd = logit_normal_parameters(0.5, 0.1735161434)
    >>> abs(round(mean, 8)), round(sd, 8)
    (0.0, 1.0)
    """
    open_unit("rate", rate)
    if real("icc", icc, 0.0, 1.0) == 0.0:
        return math.log(rate / (1.0 - rate)), 0.0
    low, high = 0.0, _LARGEST_SD
    if logit_normal_moments(logit_normal_mean(rate, high), high)[1] < icc:
        raise InputError("icc", f"one that a logit SD of at most {high:g} gives", icc)
    for _ in range(_NEWTON_STEPS):
        sd = 0.5 * (low + high)
        if logit_normal_moments(logit_normal_mean(rate, sd), sd)[1] < icc:
            low = sd
        else:
            high = sd
        if high - low <= 1e-14 * high:
            break
    sd = 0.5 * (low + high)
    return logit_normal_mean(rate, sd), sd


def logit_normal_mean(rate: float, sd: float) -> float:
    """Which mean on the logit scale gives this rate at this SD? By Newton's steps in a bracket.

    Examples
    --------
    >>> abs(round(logit_normal_mean(0.5, 2.0), 12))
    0.0
    """
    if rate > 0.5:  # the smaller of rate and 1 - rate keeps its digits
        return -logit_normal_mean(1.0 - rate, sd)
    centre = math.log(rate / (1.0 - rate))
    reach = 1.0 + sd * 6.0 + abs(centre) * sd
    low, high, mean = centre - reach, centre + reach, centre
    for _ in range(_NEWTON_STEPS):
        found, slope = _rate_and_slope(mean, sd)
        if abs(found - rate) <= _HALF_DIGIT * rate:
            return mean
        if found < rate:
            low = mean
        else:
            high = mean
        new = mean - (found - rate) / slope if slope > 0.0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - mean) <= 1e-15 * max(1.0, abs(mean)):
            return new
        mean = new
    return mean


def _rate_and_slope(mean: float, sd: float) -> tuple[float, float]:
    """The rate, and how fast it rises with the mean: E[p (1 - p)]."""
    z, weight = _nodes()
    logit = mean + sd * z
    high, low = 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(logit))
    return float((weight * high).sum()), float((weight * high * low).sum())


@lru_cache(maxsize=1)
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    count = round(_REACH / _STEP)
    z = np.arange(-count, count + 1, dtype=np.float64) * _STEP
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    return z, weight


@lru_cache(maxsize=4096)
def logit_mean(rate: float, sd: float) -> float:
    """Which mean on the logit scale gives this rate, for this SD over clusters?

    Parameters
    ----------
    rate : float
        Strictly between 0 and 1.
    sd : float
        From 0.

    Returns
    -------
    float
        A multiple of 2^-37.

    Examples
    --------
    >>> round(logit_mean(0.6967346701, 1.0), 6)
    1.0
    """
    return round(logit_normal_mean(rate, sd) / _LOGIT_STEP) * _LOGIT_STEP
