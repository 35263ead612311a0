"""Two-way clustered standard errors for crossed designs, such as scenarios run by every model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.models.coefficients import Coefficients
from simtrack.inference.models.degrees import sandwich_degrees
from simtrack.inference.models.gee_equations import solve_equations
from simtrack.inference.models.separation import binary_only, expit, separation
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, inverse, solve, symmetric_eigen
from simtrack.note import Note
from simtrack.options import Computation, Guarantee, ModelStatus, choice
from simtrack.validate import confidence_level

__all__ = ["TwoWay", "two_way"]

Floats = NDArray[np.float64]
Family = Literal["linear", "logistic"]
_FEW = 6


@dataclass(frozen=True, slots=True, eq=False)
class TwoWay:
    """How precise are coefficients when trials share clusters of two kinds?

    Attributes
    ----------
    coefficients : Coefficients
        With the two-way covariance and Student's t of the fewer degrees of freedom that either
        kind of cluster gives (`sandwich_degrees`).
    by_cluster, by_second : Coefficients
        The same estimates with either kind of cluster alone: what ignoring the other would say.
    second : str
        The crossed factor.
    groups : tuple of int
        How many clusters, levels of the second factor, and filled cells of both.
    """

    coefficients: Coefficients
    by_cluster: Coefficients
    by_second: Coefficients
    second: str
    family: Family
    groups: tuple[int, int, int]
    status: ModelStatus
    n: float
    notes: tuple[Note, ...] = ()
    method: str = "two-way clustered"
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        return {
            "schema": "simtrack.two-way/1",
            "method": self.method,
            "family": self.family,
            "second": self.second,
            "status": self.status,
            "coefficients": self.coefficients.rows(),
            "by_cluster": self.by_cluster.rows(),
            "by_second": self.by_second.rows(),
            "groups": list(self.groups),
            "n": self.n,
            "notes": list(self.notes),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        return f"TwoWay({self.family}, {self.status}, {self.coefficients!r})"


def two_way(
    table: ModelTable, second: str, *, family: Family = "logistic", level: float = 0.95
) -> TwoWay:
    """How precise are coefficients, if trials of a cluster and trials of a model go together?

    Parameters
    ----------
    table : ModelTable
    second : str
        A factor that tells patterns apart (`keep` of `model_table`): "model". It may also be in the
        design; with few levels fixed effects suit it better.
    family : "logistic" or "linear"
        Log odds of 0/1 outcomes, or differences of mean scores; trials weigh alike in both.
    level : float

    Notes
    -----
    The covariance is that by clusters plus that by the second factor less that by the cells of
    both, each with G/(G - 1), and (N - 1)/(N - p) for the linear family. A difference of matrices
    may have negative variances; then nothing is taken off, so that errors are too large rather than
    too small, and it is said.

    References
    ----------
    Cameron, Gelbach and Miller (2011), J. Business & Economic Statistics 29, 238-249, eq. 2.11.
    MacKinnon, Nielsen and Webb (2021), J. Business & Economic Statistics 39, 505-519 (two terms).

    Examples
    --------
    >>> table = ModelTable.from_arrays(
    ...     [[9, 9, 9]] * 4, [[5, 7, 1], [2, 4, 3], [8, 9, 7], [4, 8, 6]], [[1]] * 3,
    ...     patterns=[("a",), ("b",), ("c",)], by=["model"],
    ... )
    >>> fit = two_way(table, "model")
    >>> fit.groups, fit.coefficients.df.tolist()
    ((4, 3, 12), [2.0])
    """
    choice("family", family, Family)
    confidence_level("level", level)
    codes, levels = table.codes(second)
    if family == "logistic":
        binary_only(table, "a logistic model")
    count = (len(table.clusters), len(levels), int((_by(table.n, codes) > 0).sum()))
    if min(count) < 2:
        raise InputError("second", "a factor of two levels or more, over two clusters", count[:2])
    beta, score, bread, problem = _fit(table, family)
    if problem is not None:
        none = Coefficients.missing(table.names, level, _scale(family))
        return TwoWay(none, none, none, second, family, count, problem[0], table.size,
                      (Note.of(problem[1], problem[0]),))  # fmt: skip
    return _cover(table, second, codes, count, beta, score, bread, family, level)


def _fit(
    table: ModelTable, family: Family
) -> tuple[Floats, Floats, Floats, tuple[ModelStatus, str] | None]:
    """Coefficients, scores by cell (cluster, pattern, column), inverse information, a problem."""
    x = table.design
    if table.size <= x.shape[1]:
        return x, x, x, ("not-estimable", "no more trials than coefficients")
    if family == "linear":
        n = table.n.sum(axis=0)
        lower = cholesky(np.einsum("k,ki,kj->ij", n, x, x))
        beta = solve(lower, np.einsum("gk,kj->j", table.totals, x))
        fitted = np.einsum("kj,j->k", x, beta)
    else:
        apart = separation(table)
        if apart.found:
            return x, x, x, ("separated", apart.notes[0])
        solved = solve_equations(table, "independence")
        if solved.problem:
            return x, x, x, ("not-converged", f"not converged: {solved.problem}")
        beta, lower = solved.beta, cholesky(solved.information.sum(axis=0))
        fitted = expit(np.einsum("kj,j->k", x, beta))
    left = table.totals - table.n * fitted
    return beta, left[:, :, None] * x, inverse(lower), None


def _cover(
    table: ModelTable, second: str, codes: NDArray[np.int64], count: tuple[int, int, int],
    beta: Floats, score: Floats, bread: Floats, family: Family, level: float,
) -> TwoWay:  # fmt: skip
    cells = _by(np.moveaxis(score, 1, -1), codes)
    sums = (score.sum(axis=1), cells.sum(axis=0).T, np.moveaxis(cells, -1, 1))
    grown = (table.size - 1.0) / (table.size - len(table.names)) if family == "linear" else 1.0
    parts = []
    for scores, groups in zip(sums, count, strict=True):
        turned = np.einsum("ij,gj->gi", bread, scores.reshape(-1, len(table.names)))
        factor = groups / (groups - 1.0) * grown
        parts.append(factor * np.einsum("gi,gj->ij", turned, turned))
    both, notes = _positive(parts[0] + parts[1], parts[2])
    if min(count) < _FEW:
        told = f"{min(count)} groups of one kind: two-way clustered errors are too small then"
        notes += (Note("few-clusters", told, n=min(count)),)

    square = np.einsum("ki,kj->kij", table.design, table.design)
    level_of = (codes == np.arange(count[1])[:, None]) * table.n.sum(axis=0)
    degrees = [sandwich_degrees(np.einsum("gk,kij->gij", n, square)) for n in (table.n, level_of)]

    def found(covariance: Floats, df: Floats) -> Coefficients:
        return Coefficients(table.names, beta, covariance, df, level, _scale(family))

    none = np.isnan(found(both, degrees[0]).standard_error)
    if none.any():
        shown = ", ".join(name for name, no in zip(table.names, none, strict=True) if no)
        told = f"no error of {shown}: one cluster alone, or clusters that do not differ"
        notes += (Note("no-spread", told),)
    return TwoWay(
        found(both, np.minimum(*degrees)), found(parts[0], degrees[0]),
        found(parts[1], degrees[1]),
        second, family, count, "converged", table.size, notes,
    )  # fmt: skip


def _positive(two: Floats, cells: Floats) -> tuple[Floats, tuple[Note, ...]]:
    if symmetric_eigen(two - cells)[0].min() >= 0.0:
        return two - cells, ()
    told = (
        "the two-way covariance had a negative eigenvalue: that by the cells of both is not taken "
        "off, so that errors are too large rather than too small"
    )
    return two, (Note("negative-variance", told),)


def _by(values: Floats, codes: NDArray[np.int64]) -> Floats:
    """Sum the last axis, over patterns, by level of the second factor."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))


def _scale(family: Family) -> str:
    return "log odds" if family == "logistic" else "difference"
