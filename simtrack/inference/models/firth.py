"""Logistic regression with Firth's penalty: finite where patterns only succeed or only fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.models.coefficients import Coefficients, plain
from simtrack.inference.models.degrees import permutation_notes, sandwich_degrees
from simtrack.inference.models.search import root_between
from simtrack.inference.models.separation import binary_only, expit, separation
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, inverse, log_det, solve
from simtrack.inference.numerics.special import normal_quantile
from simtrack.note import Note
from simtrack.options import Computation, Guarantee, ModelStatus
from simtrack.validate import confidence_level

__all__ = ["Firth", "firth"]

Floats = NDArray[np.float64]
_MOST, _LONGEST, _WIDEST = 200, 3.0, 60.0
#: What a step may promise where rounding lets the likelihood rise no more.
_ROUNDING = 1e-11
INDEPENDENT = Note(
    "independent-trials",
    "penalised likelihood, profile intervals and p-values treat trials as independent; `clustered` "
    "has the sandwich covariance of cluster scores with Student's t",
)


@dataclass(frozen=True, slots=True, eq=False)
class Firth:
    """What do penalised logistic coefficients come to?

    Attributes
    ----------
    coefficients : Coefficients
        Log odds, with the inverse information as covariance and the normal law.
    clustered : Coefficients
        The same estimates with the sandwich of the clusters' penalised scores and Student's t; NaN
        with one cluster, and without errors where patterns are separated: scores of clusters that
        all succeed do not differ, which is no precision.
    profile_low, profile_high : float64 arrays, shape (columns,)
        Ends of the profile penalised likelihood intervals; infinite where the profile is flat.
    profile_pvalue : float64 array, shape (columns,)
        Penalised likelihood ratio test of each coefficient, chi-squared with one df.
    penalised_log_likelihood : float
        log L + ½ log |information|, of trials.
    """

    coefficients: Coefficients
    clustered: Coefficients
    profile_low: Floats
    profile_high: Floats
    profile_pvalue: Floats
    penalised_log_likelihood: float
    status: ModelStatus
    n: float
    clusters: int
    notes: tuple[Note, ...] = ()
    method: str = "Firth logistic regression"
    computation: Computation = "optimisation"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        rows = self.coefficients.rows()
        for j, row in enumerate(rows):
            for name in ("profile_low", "profile_high", "profile_pvalue"):
                row[name] = plain(getattr(self, name)[j])
        return {
            "schema": "simtrack.firth/1",
            "method": self.method,
            "status": self.status,
            "coefficients": rows,
            "clustered": self.clustered.rows(),
            "penalised_log_likelihood": plain(self.penalised_log_likelihood),
            "n": self.n,
            "clusters": self.clusters,
            "notes": list(self.notes),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        return f"Firth({self.status}, {self.coefficients!r})"


def firth(table: ModelTable, *, level: float = 0.95) -> Firth:
    """Which log odds ratios suit the data, if none may run off to infinity?

    Notes
    -----
    Maximises log L + ½ log |I(β)|, Jeffreys' prior as a penalty; it takes away the first-order bias
    and is finite under separation. Of a 2 × 2 table it adds ½ to each cell.

    References
    ----------
    Firth (1993), Biometrika 80, 27-38. Heinze and Schemper (2002), Statistics in Medicine 21,
    2409-2419 (profile intervals, tests).

    Examples
    --------
    >>> table = ModelTable.from_arrays([[10, 10]], [[0, 6]], [[1, 0], [1, 1]], names=["a", "b"])
    >>> round(float(firth(table).coefficients.estimate[1]), 6)
    3.412247
    """
    binary_only(table, "a logistic regression")
    confidence_level("level", level)
    pooled = _Pooled(table.n.sum(axis=0), table.totals.sum(axis=0), table.design)
    free = np.ones(len(table.names), dtype=bool)
    beta, value, done = pooled.fit(np.zeros(free.size), free)
    notes: tuple[Note, ...] = (INDEPENDENT,)
    if not done:
        told = "not converged: the penalised likelihood rose no further"
        notes = (Note("not-converged", told), *notes)
    covariance = inverse(cholesky(pooled.information(beta)))
    normal = np.full(free.size, math.inf)
    found = Coefficients(table.names, beta, covariance, normal, level)
    apart = separation(table)
    if apart.found:
        names = ", ".join(apart.infinite)
        told = f"separated ({names}): no clustered error, as clusters show no spread"
        notes = (*notes, Note("separated", told))
    ends = np.array([pooled.profile(j, beta, value, covariance, level) for j in range(free.size)])
    clustered = _clustered(table, pooled, found, apart.found)
    return Firth(
        found, clustered, ends[:, 0], ends[:, 1], ends[:, 2], value,
        "converged" if done else "not-converged", table.size, len(table.clusters),
        (*notes, *permutation_notes(table, clustered)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Pooled:
    n: Floats
    total: Floats
    design: Floats

    def value(self, beta: Floats) -> float:
        eta = np.einsum("kj,j->k", self.design, beta)
        soft = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
        half = 0.5 * float(log_det(cholesky(self.information(beta))))
        return float((self.total * eta - self.n * soft).sum()) + half

    def information(self, beta: Floats) -> Floats:
        mu = expit(np.einsum("kj,j->k", self.design, beta))
        weight = self.n * mu * (1.0 - mu)
        return np.asarray(np.einsum("k,ki,kj->ij", weight, self.design, self.design))

    def pulls(self, beta: Floats) -> tuple[Floats, Floats]:
        """Fitted shares, and what a trial of each pattern is pulled by the penalty."""
        mu = expit(np.einsum("kj,j->k", self.design, beta))
        spread = inverse(cholesky(self.information(beta)))
        leverage = mu * (1.0 - mu) * np.einsum("ki,ij,kj->k", self.design, spread, self.design)
        return mu, leverage * (0.5 - mu)

    def fit(
        self, start: Floats, free: NDArray[np.bool_], tolerance: float = 1e-20
    ) -> tuple[Floats, float, bool]:
        """Climb in the free coefficients, the others fixed; say where and whether at the top."""
        beta, value = start.copy(), self.value(start)
        if not free.any():
            return beta, value, True
        small = False
        for _ in range(_MOST):
            mu, pull = self.pulls(beta)
            score = np.einsum("k,kj->j", self.total - self.n * mu + self.n * pull, self.design)
            part = self.information(beta)[np.ix_(free, free)]
            step = np.zeros(beta.size)
            step[free] = solve(cholesky(part), score[free])
            promise = float((step * score).sum())
            if promise <= tolerance * (1.0 + abs(value)):
                return beta, value, True
            step *= min(1.0, _LONGEST / float(np.sqrt((step * step).sum())))
            if promise <= _ROUNDING * (1.0 + abs(value)):
                beta, small = beta + step, True  # too near the top for the value to tell
            else:
                moved, value = _uphill(self.value, beta, step, value)
                if (moved == beta).all():
                    break
                beta, small = moved, False
        return beta, value, small

    def profile(
        self, j: int, beta: Floats, value: float, covariance: Floats, level: float
    ) -> tuple[float, float, float]:
        """Ends of the profile interval of a coefficient, and the p-value of its being 0."""
        free = np.arange(beta.size) != j

        def lost(at: float) -> float:
            start = beta + covariance[:, j] / covariance[j, j] * (at - beta[j])
            start[j] = at
            return 2.0 * (value - self.fit(start, free, 1e-11)[1])

        cut = normal_quantile(0.5 + 0.5 * level) ** 2
        step = math.sqrt(covariance[j, j] * cut)
        ends = [_end(lambda x: lost(x) - cut, float(beta[j]), sign * step) for sign in (-1.0, 1.0)]
        pvalue = math.erfc(math.sqrt(max(lost(0.0), 0.0) / 2.0))
        return ends[0], ends[1], pvalue


def _uphill(
    function: Callable[[Floats], float], at: Floats, step: Floats, value: float
) -> tuple[Floats, float]:
    t = 1.0
    for _ in range(30):
        next_value = function(at + t * step)
        if next_value >= value - 1e-14 * (1.0 + abs(value)):
            return at + t * step, next_value
        t *= 0.5
    return at, value


def _end(function: Callable[[float], float], centre: float, step: float) -> float:
    """Where does the profile reach the cut on this side? Infinite if not within 60 steps."""
    reach = 1.0
    while function(centre + reach * step) < 0.0:
        reach *= 1.5
        if reach > _WIDEST:
            return math.copysign(math.inf, step)
    low, high = sorted((centre, centre + reach * step))
    return root_between(function, low, high, 1e-9)


def _clustered(
    table: ModelTable, pooled: _Pooled, found: Coefficients, apart: bool
) -> Coefficients:
    groups = len(table.clusters)
    if groups < 2:
        return Coefficients.missing(table.names, found.level)
    if apart:
        none = Coefficients.missing(table.names, found.level)
        return replace(none, estimate=found.estimate)
    mu, pull = pooled.pulls(found.estimate)
    score = np.einsum("gk,kj->gj", table.totals - table.n * (mu - pull), table.design)
    meat = np.einsum("gi,gj->ij", score, score) * groups / (groups - 1.0)
    covariance = np.einsum("ia,ab,bj->ij", found.covariance, meat, found.covariance)
    flat = np.einsum("gk,ki,kj->gij", table.n, table.design, table.design)
    df = sandwich_degrees(flat)
    return Coefficients(table.names, found.estimate, covariance, df, found.level)
