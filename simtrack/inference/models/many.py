"""One mixed or marginal model fitted to many studies at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.models.coefficients import ROUNDING
from simtrack.inference.models.degrees import DIGITS, between_within
from simtrack.inference.models.gee import ABSURD_ERROR, ABSURD_LOG_ODDS
from simtrack.inference.models.separation import separated_studies
from simtrack.inference.numerics.algebra import gauss_hermite
from simtrack.options import (
    Computation,
    Correlation,
    GeeCovariance,
    Guarantee,
    MixedCriterion,
    ModelStatus,
    choice,
)
from simtrack.validate import confidence_level, integer

__all__ = ["ManyFits", "checked_studies", "gee_many", "linear_mixed_many", "logistic_mixed_many"]


Floats = NDArray[np.float64]
#: Statuses after which there are numbers.
_ANSWERED = (0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class ManyFits:
    """What does each of many studies say of each coefficient?

    Attributes
    ----------
    estimate, df : float64 arrays, shape (studies, columns)
        NaN where `codes` says that there is no answer.
    covariance : float64 array, shape (studies, columns, columns)
    spread : float64 array, shape (studies,)
        Variance ratio θ (linear), σ (logistic mixed) or α (estimating equations).
    log_likelihood : float64 array, shape (studies,)
        NaN for estimating equations.
    codes : int64 array, shape (studies,)
        How each fit ended: a place in `ModelStatus`.
    method : str
    """

    estimate: Floats
    covariance: Floats
    df: Floats
    spread: Floats
    log_likelihood: Floats
    codes: NDArray[np.int64]
    method: str
    computation: Computation = "optimisation"
    guarantee: Guarantee = "asymptotic"

    def __len__(self) -> int:
        return int(self.codes.size)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which studies have estimates."""
        return np.isin(self.codes, _ANSWERED)

    def status(self, study: int) -> ModelStatus:
        """How did the fit of this study end?"""
        names: tuple[ModelStatus, ...] = get_args(ModelStatus)
        return names[int(self.codes[study])]

    def contrast(
        self, weights: ArrayLike, level: float = 0.95
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """What does a weighted sum of coefficients come to in each study?

        Returns
        -------
        five float64 arrays, shape (studies,)
            Estimate, standard error, low, high and two-sided p by Student's t with the least df of
            the coefficients used; NaN where there is no answer, or no spread but rounding.
        """
        from scipy.special import stdtr, stdtrit

        confidence_level("level", level)
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != self.estimate.shape[1:] or not (w != 0.0).any():
            raise InputError("weights", f"{self.estimate.shape[1]} numbers, not all 0", w.shape)
        value = np.einsum("rj,j->r", self.estimate, w)
        variance = np.einsum("rij,i,j->r", self.covariance, w, w)
        # As `Coefficients.standard_error`: what is so small is rounding, no precision.
        spread = np.sqrt(np.abs(np.einsum("rjj->rj", self.covariance)))
        least = (ROUNDING * (np.abs(self.estimate) + spread).max(axis=1)) ** 2
        least = np.maximum(least, ROUNDING * (spread * np.abs(w)).sum(axis=1) ** 2)
        error = np.sqrt(np.where(variance > least, variance, np.nan))
        df = self.df[:, w != 0.0].min(axis=1)
        half = stdtrit(df, 0.5 + 0.5 * level) * error
        pvalue = 2.0 * stdtr(df, -np.abs(value / error))
        return value, error, value - half, value + half, pvalue

    def __repr__(self) -> str:
        return f"ManyFits({self.method}, {len(self)} studies, {int(self.answered.sum())} answered)"


def checked_studies(
    n: ArrayLike, total: ArrayLike, design: ArrayLike, squares: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Give n, shape (1 or studies, clusters, patterns), totals, squares and design, checked once.

    `n` may be (clusters, patterns), the same in all studies.
    """
    sums = np.ascontiguousarray(total, dtype=np.float64)
    x = np.ascontiguousarray(design, dtype=np.float64)
    trials = np.asarray(n, dtype=np.float64)
    trials = np.ascontiguousarray(trials[None] if trials.ndim == 2 else trials)
    if sums.ndim != 3 or x.ndim != 2 or x.shape[0] != sums.shape[2]:
        raise InputError(
            "total", "of shape (studies, clusters, patterns of the design)", sums.shape
        )
    if trials.shape not in {sums.shape, (1, *sums.shape[1:])}:
        raise InputError("n", f"of shape {sums.shape[1:]} or {sums.shape}", trials.shape)
    second = sums if squares is None else np.ascontiguousarray(squares, dtype=np.float64)
    if second.shape != sums.shape:
        raise InputError("squares", f"of the shape of total, {sums.shape}", second.shape)
    if squares is None and ((sums < 0) | (sums > trials)).any():
        raise InputError("total", "between 0 and n", cure="Pass squares= for scores.")
    return trials, sums, second, x


# Random-intercept linear mixed models of many studies at once.
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
        trials, sums, second, x, centred, criterion == "REML", between_within(trials, x), beta,
        covariance, variance, likelihood, df, codes,
    )  # fmt: skip
    theta = variance[:, 0] / variance[:, 1]
    return ManyFits(beta, covariance, df, theta, likelihood, codes, f"linear mixed, {criterion}")


# Random-intercept logistic mixed models of many studies at once.
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
        standard errors to 1e-5 of their size. `spread` is σ; df is `between_within`; the covariance
        is that of the coefficients.

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
    df = np.broadcast_to(between_within(trials, x), (studies, columns)).copy()
    method = f"logistic mixed, {used} nodes"
    return ManyFits(beta, cover, df, sd, likelihood, codes, method, "quadrature")


# Logistic estimating equations of many studies at once.
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
        As `gee` gives them one by one, to about 1e-10; `spread` is α.

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
    df = np.empty((studies, columns))
    fit_gee(trials, sums, x, correlation == "exchangeable", kind, beta, cover, df, alpha, codes)
    error = np.sqrt(np.abs(np.einsum("rjj->rj", cover)))
    absurd = (np.abs(beta) > ABSURD_LOG_ODDS).any(axis=1) | (error > ABSURD_ERROR).any(axis=1)
    codes[absurd] = names.index("implausible")
    df = df.round(DIGITS)
    for array in (beta, cover, df, alpha):
        array[codes != 0] = np.nan
    none = np.full(studies, np.nan)
    return ManyFits(beta, cover, df, alpha, none, codes, f"GEE, {correlation}, {covariance}")
