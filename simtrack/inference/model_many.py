"""Fits of one model to many studies, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.model_coefficients import ROUNDING
from simtrack.options import Computation, Guarantee, ModelStatus
from simtrack.validate import confidence_level

__all__ = ["ManyFits", "checked_studies"]

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
