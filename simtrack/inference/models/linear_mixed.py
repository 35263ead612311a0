"""Linear mixed models by restricted or full maximum likelihood, from cluster sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.models.coefficients import Coefficients, plain
from simtrack.inference.models.degrees import between_within, permutation_notes
from simtrack.inference.models.linear_mixed_fits import (
    MixedSums,
    fit_ratio,
    fit_slope,
    mixed_sums,
    profile,
    satterthwaite_intercept,
    satterthwaite_slope,
)
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import inverse
from simtrack.note import Note
from simtrack.options import Computation, Guarantee, MixedCriterion, ModelStatus, choice
from simtrack.validate import confidence_level

__all__ = ["INTERCEPT_ONLY", "LinearMixed", "linear_mixed", "slope_column"]

Floats = NDArray[np.float64]
DegreesOfFreedom = Literal["satterthwaite", "clusters"]

INTERCEPT_ONLY = Note(
    "intercept-only",
    "random intercept only: if effects within clusters differ from cluster to cluster, intervals "
    "for them are too short, the more so the more effects differ and the larger clusters are; use "
    "a random slope for the contrast",
)
_NO_SPREAD = 1e-13
#: With fewer degrees of freedom an interval says next to nothing, and why is said.
_FEW_DF = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class LinearMixed:
    """What do fixed effects and variances of a linear mixed model come to?

    Attributes
    ----------
    coefficients : Coefficients
        On the scale of the scores: differences of means (of rates for 0/1 outcomes).
    residual_variance : float
        σ², between trials of a cluster and pattern.
    random_covariance : float64 array, shape (q, q)
        Covariance of the cluster effects; q = 1 (intercept) or 2 (intercept, slope).
    variance_ratio : float or None
        θ = τ²/σ² of a random intercept.
    icc : float or None
        τ² / (τ² + σ²), of a random intercept.
    log_likelihood : float
        At its maximum; restricted where `criterion` is "REML", not comparable across designs then.
    score : float
        The derivative by log θ that was left (slope: the largest by the factor): how tight.
    df_method : str
        Where `coefficients.df` come from.
    status : ModelStatus
        "converged", "singular" (a variance is 0 or a correlation ±1) or "not-estimable".
    """

    coefficients: Coefficients
    residual_variance: float
    random_covariance: Floats
    variance_ratio: float | None
    icc: float | None
    log_likelihood: float
    criterion: MixedCriterion
    score: float
    df_method: str
    status: ModelStatus
    n: float
    clusters: int
    notes: tuple[Note, ...] = ()
    evaluations: int = 0
    method: str = "linear mixed model"
    computation: Computation = "optimisation"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON; None where a number is missing, with a note."""
        return {
            "schema": "simtrack.linear-mixed/1",
            "method": self.method,
            "criterion": self.criterion,
            "status": self.status,
            "coefficients": self.coefficients.rows(),
            "residual_variance": plain(self.residual_variance),
            "random_covariance": [[plain(v) for v in row] for row in self.random_covariance],
            "icc": self.icc,
            "log_likelihood": plain(self.log_likelihood),
            "df_method": self.df_method,
            "n": self.n,
            "clusters": self.clusters,
            "notes": list(self.notes),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        return f"LinearMixed({self.criterion}, {self.status}, {self.coefficients!r})"


def linear_mixed(
    table: ModelTable,
    *,
    slope: str | ArrayLike | None = None,
    criterion: MixedCriterion = "REML",
    df: DegreesOfFreedom = "satterthwaite",
    level: float = 0.95,
) -> LinearMixed:
    """How do mean scores depend on the design, if clusters differ at random?

    Parameters
    ----------
    table : ModelTable
    slope : str or array_like of shape (patterns,), optional
        A column of the design, or any contrast of the patterns, whose effect differs by cluster
        too; its covariance with the intercept is free.
    criterion : "REML" or "ML"
    df : "satterthwaite" or "clusters"
        Satterthwaite's approximation suits each effect (between clusters about G - 2, within them
        many more); "clusters" (`between_within`) is safe for effects within clusters too when their
        variation is in doubt. It is taken where a variance is estimated as 0, at which
        Satterthwaite's is not defined.
    level : float

    Notes
    -----
    Measured for intercepts only, 12 clusters of 20 trials an arm, .95 meant: an interval for a
    difference of rates within clusters covers .95 if it is the same in all, .90, .77 and .63 if it
    has a standard deviation of .1, .2 and .3 between them.

    Intercept only: the variance ratio is the root of the exact profile score, sought over all of
    [0, ∞); the boundary is compared. At the boundary the estimates are those of least squares.

    References
    ----------
    Laird and Ware (1982), Biometrics 38, 963-974; Bates et al. (2015), J. Stat. Software 67(1).

    Examples
    --------
    >>> table = ModelTable.from_arrays(
    ...     [[10, 10]] * 4, [[5, 7], [2, 4], [8, 9], [4, 8]], [[1, 0], [1, 1]], names=["a", "b"]
    ... )
    >>> fit = linear_mixed(table)
    >>> fit.status, fit.coefficients.estimate.round(4).tolist()
    ('converged', [0.475, 0.225])
    """
    choice("criterion", criterion, MixedCriterion)
    choice("df", df, DegreesOfFreedom)
    confidence_level("level", level)
    effects = np.ones((len(table.patterns), 1))
    if slope is not None:
        effects = np.stack([effects[:, 0], slope_column(table, slope)], axis=1)
    sums = mixed_sums(table, effects)
    notes = [] if slope is not None else [INTERCEPT_ONLY]
    groups, p = len(table.clusters), len(table.names)
    fit = _Fit(table, sums, criterion, df, level, notes)
    why = ""
    if groups < 2:
        why = "one cluster cannot say how much clusters differ"
    elif sums.trials <= p:
        why = f"{sums.trials:.0f} trials cannot estimate {p} columns and a variance"
    elif sums.rr <= _NO_SPREAD * max(sums.spread, float(table.squares.sum()) * 1e-3):
        why = "the design fits every trial exactly: no spread is left"
    if why:
        return fit.refused(why)
    ratio = fit_ratio(_intercept(sums), criterion == "REML")
    if ratio.problem:
        return fit.refused(ratio.problem)
    if slope is None:
        factor = np.array([[math.sqrt(ratio.theta)]])
        return fit.done(factor, ratio.score, ratio.evaluations, ratio.theta == 0.0)
    found = fit_slope(sums, ratio.theta, criterion == "REML")
    if found.problem:
        return fit.refused(found.problem)
    return fit.done(found.factor, found.score, found.evaluations, found.singular)


def slope_column(table: ModelTable, slope: str | ArrayLike) -> Floats:
    """Give the column of a random slope, or refuse one that is constant."""
    if isinstance(slope, str):
        column = table.design[:, table.column(slope)]
    else:
        column = np.asarray(slope, dtype=np.float64)
    used = table.n.sum(axis=0) > 0
    if column.shape != (len(table.patterns),) or not np.isfinite(column).all():
        raise InputError("slope", f"a column or {len(table.patterns)} numbers", column.shape)
    if np.ptp(column[used]) == 0.0:
        raise InputError("slope", "a contrast that differs between patterns", "a constant")
    return column


def _intercept(sums: MixedSums) -> MixedSums:
    return MixedSums(
        sums.zz[:, :1, :1], sums.zx[:, :1], sums.zr[:, :1], sums.xx, sums.xr, sums.rr,
        sums.start, sums.trials, sums.spread,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    table: ModelTable
    sums: MixedSums
    criterion: MixedCriterion
    df: DegreesOfFreedom
    level: float
    notes: list[Note]

    def refused(self, why: str) -> LinearMixed:
        q = self.sums.zz.shape[1]
        none = Coefficients.missing(self.table.names, self.level, "difference")
        nan = math.nan
        return LinearMixed(
            none, nan, np.full((q, q), nan), None, None, nan, self.criterion, nan, "none",
            "not-estimable", self.table.size, len(self.table.clusters),
            (Note("not-estimable", f"not estimable: {why}"), *self.notes),
        )  # fmt: skip

    def done(self, factor: Floats, score: float, evaluations: int, singular: bool) -> LinearMixed:
        reml, sums = self.criterion == "REML", self.sums
        at = profile(sums, factor[None], reml)
        free = sums.trials - (len(self.table.names) if reml else 0)
        sigma2 = float(at.rss[0]) / free
        covariance = sigma2 * inverse(at.lower[0])
        df, df_method = self._degrees(factor, sigma2, singular)
        random = sigma2 * np.einsum("ac,bc->ab", factor, factor)
        theta = float(factor[0, 0] ** 2) if factor.size == 1 else None
        estimate = sums.start + at.shift[0]
        found = Coefficients(self.table.names, estimate, covariance, df, self.level, "difference")
        return LinearMixed(
            found, sigma2, random, theta, None if theta is None else theta / (1.0 + theta),
            -0.5 * float(at.deviance[0]), self.criterion, score, df_method,
            "singular" if singular else "converged", self.table.size, len(self.table.clusters),
            (*((_SINGULAR[factor.shape[0]],) if singular else ()), *self.notes,
             *permutation_notes(self.table, found)), evaluations,
        )  # fmt: skip

    def _degrees(self, factor: Floats, sigma2: float, singular: bool) -> tuple[Floats, str]:
        clusters = between_within(self.table.n, self.table.design)
        if self.df == "clusters":
            return clusters, "between-within"
        if singular:
            return clusters, "between-within (Satterthwaite's is not defined at a variance of 0)"
        reml = self.criterion == "REML"
        if factor.size == 1:
            df = satterthwaite_intercept(self.sums, float(factor[0, 0] ** 2), reml)
        else:
            df = satterthwaite_slope(self.sums, factor, sigma2, reml)
        if not np.isfinite(df).all():
            return clusters, "between-within (Satterthwaite's came to nothing)"
        if float(df.min()) < _FEW_DF:
            told = (
                f"Satterthwaite's degrees of freedom come to {df.min():.1f}: how precise an effect "
                "is, is hardly known; df = clusters counts clusters instead"
            )
            self.notes.append(Note("few-degrees", told))
        return df, "Satterthwaite"


_SINGULAR = {
    1: Note("singular", "singular fit: the variance between clusters is estimated as 0, the "
            "estimates are those of least squares, and the standard errors take trials as "
            "independent"),
    2: Note("singular", "singular fit: a variance of the cluster effects is estimated as 0 or "
            "their correlation as ±1; few clusters cannot tell them apart"),
}  # fmt: skip
