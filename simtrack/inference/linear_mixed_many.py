"""Random-intercept linear mixed models of many studies at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simtrack.inference.model_many import ManyFits, checked_studies
from simtrack.options import MixedCriterion, choice

__all__ = ["linear_mixed_many"]


def linear_mixed_many(
    n: ArrayLike,
    total: ArrayLike,
    design: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    criterion: MixedCriterion = "REML",
) -> ManyFits:
    """What does the random-intercept linear model say of each of many studies?

    Parameters
    ----------
    n : array_like of float, shape (clusters, patterns) or (studies, clusters, patterns)
    total, squares : array_like of float, shape (studies, clusters, patterns)
        Σ score and Σ score²; without `squares` the scores are 0 or 1.
    design : array_like of float, shape (patterns, columns)
    criterion : "REML" or "ML"

    Returns
    -------
    ManyFits
        As `linear_mixed` gives them one by one, to about 1e-10; `spread` is the variance ratio.

    Notes
    -----
    Random intercept only: if effects within clusters differ from cluster to cluster, intervals for
    them are too short; `linear_mixed` says by how much. Compiled when first called.

    Examples
    --------
    >>> fits = linear_mixed_many(
    ...     [[10, 10]] * 4, [[[5, 7], [2, 4], [8, 9], [4, 8]]], [[1, 0], [1, 1]]
    ... )
    >>> fits.estimate.round(4).tolist()
    [[0.475, 0.225]]
    """
    from simtrack.kernels.linear_mixed import fit_linear_mixed

    choice("criterion", criterion, MixedCriterion)
    trials, sums, second, x = checked_studies(n, total, design, squares)
    studies, columns = len(sums), x.shape[1]
    beta, df = np.empty((studies, columns)), np.empty((studies, columns))
    covariance, variance = np.empty((studies, columns, columns)), np.empty((studies, 2))
    likelihood, codes = np.empty(studies), np.empty(studies, np.int64)
    centred = bool((x[:, 0] == 1.0).all())
    fit_linear_mixed(
        trials, sums, second, x, centred, criterion == "REML", beta, covariance, variance,
        likelihood, df, codes,
    )  # fmt: skip
    theta = variance[:, 0] / variance[:, 1]
    return ManyFits(beta, covariance, df, theta, likelihood, codes, f"linear mixed, {criterion}")
