"""Logistic regression of pooled patterns: the start of every logistic model here."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.model_algebra import cholesky, solve
from simtrack.inference.model_table import ModelTable

__all__ = ["binary_only", "expit", "log_choose", "logistic_start"]

Floats = NDArray[np.float64]
_LONGEST = 4.0


def binary_only(table: ModelTable, what: str) -> None:
    """Refuse scores that are not 0 or 1."""
    if not table.is_binary:
        raise InputError(
            "table", f"of 0/1 outcomes for {what}", "other scores",
            cure="Use linear_mixed for mean scores.",
        )  # fmt: skip


def expit(eta: Floats) -> Floats:
    """Give 1 / (1 + e^-η) without overflow.

    Examples
    --------
    >>> expit(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    small = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0.0, 1.0, small) / (1.0 + small))


def logistic_start(n: Floats, total: Floats, design: Floats, most: int = 25) -> Floats:
    """Fit a logistic regression to patterns by Fisher scoring; its steps are at most 4 long.

    Parameters
    ----------
    n, total : float64 arrays, shape (patterns,)
    design : float64 array, shape (patterns, columns)

    Notes
    -----
    No more than a start: under separation it ends wherever `most` steps lead.
    """
    beta = np.zeros(design.shape[1])
    for _ in range(most):
        mu = expit(np.einsum("kj,j->k", design, beta))
        score = np.einsum("k,kj->j", total - n * mu, design)
        information = np.einsum("k,ki,kj->ij", n * mu * (1.0 - mu), design, design)
        step = solve(cholesky(information), score)
        if not np.isfinite(step).all():
            break
        size = math.sqrt(float((step * step).sum()))
        beta = beta + step * min(1.0, _LONGEST / max(size, 1e-300))
        if size < 1e-10:
            break
    return beta


def log_choose(n: Floats, total: Floats) -> float:
    """Give Σ log (n choose total): what separates likelihoods of counts from those of trials."""
    pairs = zip(n.ravel().tolist(), total.ravel().tolist(), strict=True)
    return math.fsum(
        math.lgamma(m + 1.0) - math.lgamma(s + 1.0) - math.lgamma(m - s + 1.0) for m, s in pairs
    )
