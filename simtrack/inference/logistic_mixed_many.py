"""Random-intercept logistic mixed models of many studies at once."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from simtrack.inference.model_algebra import gauss_hermite
from simtrack.inference.model_many import ManyFits, checked_studies
from simtrack.inference.separation import separated_studies
from simtrack.options import ModelStatus
from simtrack.validate import integer

__all__ = ["logistic_mixed_many"]


def logistic_mixed_many(
    n: ArrayLike, total: ArrayLike, design: ArrayLike, *, nodes: int = 7
) -> ManyFits:
    """What does the random-intercept logistic model say of each of many studies?

    Parameters
    ----------
    n : array_like of float, shape (clusters, patterns) or (studies, clusters, patterns)
    total : array_like of float, shape (studies, clusters, patterns)
        Successes.
    design : array_like of float, shape (patterns, columns)
    nodes : int
        Of adaptive Gauss-Hermite quadrature, 5 to 61.

    Returns
    -------
    ManyFits
        As `logistic_mixed` gives them one by one with as many nodes, estimates to about 1e-8 and
        standard errors to 1e-5 of their size. `spread` is σ; df is clusters - 1; the covariance is
        that of the coefficients.

    Notes
    -----
    Random intercept only: if effects within clusters differ from cluster to cluster, intervals for
    them cover too seldom. Seven nodes suit σ up to about 1.5; beyond it, with few trials a cluster,
    estimates move by percents with more nodes. Compiled when first called.

    References
    ----------
    Pinheiro and Bates (1995), J. Comp. Graph. Stat. 4, 12-35. Louis (1982), J. Roy. Stat. Soc. B
    44, 226-233, eq. 3.2 (the steps).

    Examples
    --------
    >>> fits = logistic_mixed_many(
    ...     [[10, 10]] * 4, [[[5, 7], [2, 4], [8, 9], [4, 8]]], [[1, 0], [1, 1]], nodes=15
    ... )
    >>> fits.estimate.round(4).tolist()
    [[-0.1146, 1.0823]]
    """
    from simtrack.kernels.logistic_mixed import fit_logistic_mixed

    used = integer("nodes", nodes, 5, 61)
    trials, sums, _, x = checked_studies(n, total, design)
    studies, columns = len(sums), x.shape[1]
    beta, cover = np.empty((studies, columns)), np.empty((studies, columns, columns))
    sd, likelihood = np.empty(studies), np.empty(studies)
    names = get_args(ModelStatus)
    size, inside = np.broadcast_to(trials.sum(axis=2), sums.shape[:2]), sums.sum(axis=2)
    codes, live = np.zeros(studies, np.int64), (size > 0).sum(axis=1)
    # The last that holds stands.
    codes[((inside == 0) | (inside == size)).all(axis=1)] = names.index("separated")
    codes[(size <= 1).all(axis=1)] = names.index("not-estimable")
    codes[separated_studies(trials, sums, x)] = names.index("separated")
    codes[live < 2] = names.index("not-estimable")
    fit_logistic_mixed(trials, sums, x, *gauss_hermite(used), beta, cover, sd, likelihood, codes)
    df = np.broadcast_to((live - 1.0)[:, None], (studies, columns)).copy()
    method = f"logistic mixed, {used} nodes"
    return ManyFits(beta, cover, df, sd, likelihood, codes, method, "quadrature")
