"""Logistic estimating equations of many studies at once."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from simtrack.inference.gee import ABSURD_ERROR, ABSURD_LOG_ODDS
from simtrack.inference.model_many import ManyFits, checked_studies
from simtrack.inference.separation import separated_studies
from simtrack.options import Correlation, GeeCovariance, ModelStatus, choice

__all__ = ["gee_many"]


def gee_many(
    n: ArrayLike,
    total: ArrayLike,
    design: ArrayLike,
    *,
    correlation: Correlation = "exchangeable",
    covariance: GeeCovariance = "kauermann-carroll",
) -> ManyFits:
    """What do logistic estimating equations say of each of many studies?

    Parameters
    ----------
    n : array_like of float, shape (clusters, patterns) or (studies, clusters, patterns)
    total : array_like of float, shape (studies, clusters, patterns)
        Successes.
    design : array_like of float, shape (patterns, columns)
    correlation, covariance
        As in `gee`.

    Returns
    -------
    ManyFits
        As `gee` gives them one by one, to about 1e-10; `spread` is α, df is clusters - 1.

    Examples
    --------
    >>> fits = gee_many([[10, 10]] * 4, [[[5, 7], [2, 4], [8, 9], [4, 8]]], [[1, 0], [1, 1]])
    >>> fits.estimate.round(4).tolist()
    [[-0.1001, 0.9474]]
    """
    from simtrack.kernels.gee import fit_gee

    choice("correlation", correlation, Correlation)
    choice("covariance", covariance, GeeCovariance)
    trials, sums, _, x = checked_studies(n, total, design)
    studies, columns = len(sums), x.shape[1]
    beta, cover = np.empty((studies, columns)), np.empty((studies, columns, columns))
    alpha = np.empty(studies)
    names = get_args(ModelStatus)
    codes = np.where(separated_studies(trials, sums, x), names.index("separated"), 0)
    live = np.broadcast_to((trials.sum(axis=2) > 0).sum(axis=1), studies)
    size = np.broadcast_to(trials.sum(axis=(1, 2)), studies)
    codes[(live < 2) | (size <= columns)] = names.index("not-estimable")
    kind = get_args(GeeCovariance).index(covariance)
    fit_gee(trials, sums, x, correlation == "exchangeable", kind, beta, cover, alpha, codes)
    error = np.sqrt(np.abs(np.einsum("rjj->rj", cover)))
    absurd = (np.abs(beta) > ABSURD_LOG_ODDS).any(axis=1) | (error > ABSURD_ERROR).any(axis=1)
    codes[absurd] = names.index("implausible")
    for array in (beta, cover, alpha):
        array[codes != 0] = np.nan
    df = np.broadcast_to((live - 1.0)[:, None], (studies, columns)).copy()
    none = np.full(studies, np.nan)
    return ManyFits(beta, cover, df, alpha, none, codes, f"GEE, {correlation}, {covariance}")
