"""How ready is a slice to relapse: a Beta law over slices, with a part that its task shares."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import beta_parameters

__all__ = ["SLICES", "cell_weights", "latent_cells", "latent_thresholds", "propensities"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: A Beta law is cut into this many equally likely parts, each at its own mean: the mean of the law
#: is kept exactly; its variance falls by some 1e-5 of itself, and by 2e-3 at a rate of 0.01.
SLICES = 1024


@lru_cache(maxsize=256)
def propensities(rate: float, icc: float) -> Floats:
    """Give the propensities of `SLICES` equally likely kinds of slices, rising.

    Parameters
    ----------
    rate : float
        Their mean, from 0 to 1.
    icc : float
        Var / (rate (1 - rate)), from 0 to below 1; 0 gives the rate to every slice.

    Returns
    -------
    float64 array, shape (SLICES,)
        Rounded to multiples of 2^-40, so that libraries differ in no draw to speak of.

    Examples
    --------
    >>> kinds = propensities(0.25, 0.2)  # Beta(1, 3)
    >>> round(float(kinds.mean()), 9), round(float(kinds.var()) / (0.25 * 0.75), 4)
    (0.25, 0.2)
    """
    if icc == 0.0 or rate in (0.0, 1.0):
        return _frozen(np.full(SLICES, rate))
    from scipy.special import betainc, betaincinv

    a, b = beta_parameters(rate, icc)
    share = np.arange(SLICES + 1) / SLICES
    ends = betaincinv(a, b, share)
    # the mean of a part of Beta(a, b) is a difference of Beta(a + 1, b) probabilities
    means = np.clip(rate * SLICES * np.diff(betainc(a + 1.0, b, ends)), ends[:-1], ends[1:])
    return _frozen(np.round(means * 2.0**40) / 2.0**40)


@lru_cache(maxsize=1)
def latent_thresholds() -> Floats:
    """Give the normal deviates between which the kinds of slices lie: (SLICES - 1,), rising."""
    from scipy.special import ndtri

    return _frozen(np.round(ndtri(np.arange(1, SLICES) / SLICES) * 2.0**40) / 2.0**40)


def latent_cells(task: Floats, own: Floats, task_share: float) -> Ints:
    """Give the kind of each slice from its task's deviate and its own.

    `task_share` is the correlation of the latent deviates of two slices of one task.
    """
    z = math.sqrt(task_share) * task + math.sqrt(1.0 - task_share) * own
    return np.searchsorted(latent_thresholds(), z, side="right").astype(np.int64)


def cell_weights(task: Floats, task_share: float) -> Floats:
    """Give P(kind | task's deviate): shape (deviates, SLICES)."""
    from scipy.special import ndtr

    if task_share >= 1.0:
        weights = np.zeros((task.size, SLICES))
        weights[np.arange(task.size), latent_cells(task, task, 1.0)] = 1.0
        return weights
    centre = math.sqrt(task_share) * task[:, None]
    reached = ndtr((latent_thresholds() - centre) / math.sqrt(1.0 - task_share))
    ends = np.concatenate([np.zeros((task.size, 1)), reached, np.ones((task.size, 1))], axis=1)
    return np.diff(ends, axis=1)


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values
