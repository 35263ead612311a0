"""The logistic likelihood at its limits: starts, and columns that separate passes from failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import cholesky, solve
from simtrack.note import Note
from simtrack.options import Computation, Guarantee

__all__ = [
    "Separation",
    "binary_only",
    "expit",
    "log_choose",
    "logistic_start",
    "separated_studies",
    "separation",
]


Floats = NDArray[np.float64]
Kind = Literal["none", "quasi-complete", "complete"]
_ZERO = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Do the data tell failures from successes so well that a logistic fit has no end?

    Attributes
    ----------
    kind : "none", "quasi-complete" or "complete"
        Complete: a combination of the columns tells all trials apart; quasi-complete: some.
    direction : float64 array, shape (columns,)
        Along it the likelihood grows for ever; zeros where there is no separation.
    infinite : mapping of name to float
        The coefficients without a finite estimate, and the infinity that they run to.
    patterns : tuple of tuples of str
        The patterns that the direction tells apart.
    notes : tuple of str
        What to say of it, with a cure.
    """

    kind: Kind
    direction: Floats
    infinite: dict[str, float]
    patterns: tuple[tuple[str, ...], ...]
    notes: tuple[Note, ...] = ()
    computation: Computation = "enumeration"
    guarantee: Guarantee = "finite-sample"

    @property
    def found(self) -> bool:
        """Whether any coefficient is infinite."""
        return self.kind != "none"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON; infinities as text."""
        ends = {name: "+inf" if end > 0 else "-inf" for name, end in self.infinite.items()}
        return {
            "schema": "simtrack.separation/1",
            "kind": self.kind,
            "infinite": ends,
            "patterns": [list(p) for p in self.patterns],
            "notes": list(self.notes),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        return f"Separation({self.kind}: {', '.join(self.infinite) or 'every estimate is finite'})"


def separation(table: ModelTable) -> Separation:
    """Are all coefficients of a logistic regression on this table finite?

    Notes
    -----
    Patterns that only succeed give the row x, those that only fail the row -x; patterns with both
    bind a direction to x·d = 0. A direction with no negative and some positive product is one of
    separation (Albert and Anderson). The sum of all rows is projected on the cone of such
    directions, by non-negative least squares in at most as many dimensions as columns: the
    projection is 0 if and only if there are none, and else it is one. What it tells apart is left
    out and the rest projected again, until all that can be told apart is.

    Whether clusters share effects does not matter to it: a mixed model or estimating equations with
    these fixed effects diverge along the same direction.

    References
    ----------
    Albert and Anderson (1984), Biometrika 71, 1-10. Lawson and Hanson (1974), Solving Least Squares
    Problems, chapter 23. Correia, Guimarães and Zylkin (2019), arXiv:1903.01633 (certificates).

    Examples
    --------
    >>> table = ModelTable.from_arrays([[10, 10]], [[0, 6]], [[1, 0], [1, 1]], names=["a", "b"])
    >>> separation(table).infinite
    {'a': -inf, 'b': inf}
    """
    binary_only(table, "separation")
    n, total = table.n.sum(axis=0), table.totals.sum(axis=0)
    full, apart = _direction(n, total, table.design)
    if not apart.any():
        return Separation("none", np.zeros(len(table.names)), {}, ())
    scale = np.abs(table.design[n > 0]).max(axis=0)
    size = np.abs(full * scale).max()
    infinite = {
        name: math.copysign(math.inf, value)
        for name, value, s in zip(table.names, full.tolist(), scale.tolist(), strict=True)
        if abs(value * s) > _ZERO * size
    }
    kind: Kind = "complete" if apart.sum() == (n > 0).sum() else "quasi-complete"
    patterns = tuple(table.patterns[k] for k in np.flatnonzero(apart).tolist())
    return Separation(kind, full / size, infinite, patterns, _notes(kind, infinite))


def separated_studies(n: Floats, total: Floats, design: Floats) -> NDArray[np.bool_]:
    """Which of many studies have a separated table?

    Parameters
    ----------
    n : float64 array, shape (1 or studies, clusters, patterns)
    total : float64 array, shape (studies, clusters, patterns)
    design : float64 array, shape (patterns, columns)

    Notes
    -----
    Only which patterns never succeed, never fail or are never tried matters, so each such picture
    is looked at once.
    """
    trials, success = np.broadcast_to(n.sum(axis=1), total.sum(axis=1).shape), total.sum(axis=1)
    picture = np.where(success == 0.0, 1, 0) + np.where(success == trials, 2, 0)
    if not picture.any():
        return np.zeros(len(total), dtype=bool)
    seen, place = np.unique(picture, axis=0, return_inverse=True)
    count = np.array([1.0, 1.0, 2.0, 0.0]), np.array([0.5, 0.0, 2.0, 0.0])
    found = [
        bool((row > 0).any() and _direction(count[0][row], count[1][row], design)[1].any())
        for row in seen
    ]
    return np.array(found, dtype=bool)[place.reshape(-1)]


def _direction(n: Floats, total: Floats, design: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Give a direction of separation and the patterns that it tells apart; none of either."""
    used, p = n > 0, design.shape[1]
    nothing = np.zeros(len(n), dtype=bool)
    if not used.any():
        return np.zeros(p), nothing
    scale = np.abs(design[used]).max(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    x = design / scale
    basis = _free(x[used & (total > 0) & (total < n)])
    pure = used & ((total == 0) | (total == n))
    sign = np.where(total[pure] > 0, 1.0, -1.0)
    direction, apart = _cone(np.einsum("k,kj,ji->ki", sign, x[pure], basis))
    told = nothing.copy()
    told[np.flatnonzero(pure)[apart]] = True
    return np.asarray(np.einsum("ji,i->j", basis, direction) / scale), told


def _notes(kind: Kind, infinite: dict[str, float]) -> tuple[Note, ...]:
    shown = ", ".join(f"{name} = {'+' if end > 0 else '-'}∞" for name, end in infinite.items())
    told = (
        f"{kind} separation: no finite estimate of {shown}; some patterns only succeed or only "
        "fail. Use firth(), an exact test, or fewer terms"
    )
    return (Note("separated", told),)


def _free(bound: Floats) -> Floats:
    """Give an orthonormal basis, in columns, of what is at right angles to these rows."""
    p = bound.shape[1]
    taken: list[Floats] = []
    found: list[Floats] = []
    for vector, keep in [(row, False) for row in bound] + [(row, True) for row in np.eye(p)]:
        left = vector.astype(np.float64)
        size = math.sqrt(float((left * left).sum()))
        for _ in range(2):
            for other in taken:
                left = left - (left * other).sum() * other
        rest = math.sqrt(float((left * left).sum()))
        if rest > _ZERO * max(size, 1e-300):
            taken.append(left / rest)
            if keep:
                found.append(left / rest)
    return np.stack(found, axis=1) if found else np.zeros((p, 0))


def _cone(rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Give a direction that is negative on no row and positive on all rows that any can be."""
    direction = np.zeros(rows.shape[1])
    apart = np.zeros(len(rows), dtype=bool)
    size = np.sqrt((rows * rows).sum(axis=1))
    live = size > _ZERO
    unit = rows / np.where(live, size, 1.0)[:, None]
    while (live & ~apart).any():
        found = _project(unit[live & ~apart].sum(axis=0), unit[live])
        product = np.where(live, np.einsum("ki,i->k", unit, found), 0.0)
        new = (product > 1e-7 * math.sqrt(len(rows))) & ~apart
        if not new.any() or product.min() < -1e-7:
            break
        direction, apart = direction + found, apart | new
    return direction, apart


def _project(target: Floats, rows: Floats) -> Floats:
    """Project on {d : rows·d >= 0}: target + rowsᵀμ with the μ >= 0 that make it shortest."""
    weight = np.zeros(len(rows))
    passive = np.zeros(len(rows), dtype=bool)
    for _ in range(10 * len(rows) + 50):
        left = target + np.einsum("k,ki->i", weight, rows)
        short = np.where(passive, 0.0, -np.einsum("ki,i->k", rows, left))
        worst = int(short.argmax())
        if short[worst] <= 1e-11 * (1.0 + math.sqrt(float((target * target).sum()))):
            break
        passive[worst] = True
        if not _settle(target, rows, weight, passive):
            passive[worst] = False
            break
    return np.asarray(target + np.einsum("k,ki->i", weight, rows))


def _settle(target: Floats, rows: Floats, weight: Floats, passive: NDArray[np.bool_]) -> bool:
    """Make the passive weights the least squares ones, leaving out those that would be negative."""
    while passive.any():
        chosen = rows[passive]
        gram = np.einsum("ai,bi->ab", chosen, chosen)
        wanted = solve(cholesky(gram), -np.einsum("ai,i->a", chosen, target))
        if not np.isfinite(wanted).all():
            return False
        if (wanted > 0.0).all():
            weight[:] = 0.0
            weight[passive] = wanted
            return True
        now = weight[passive]
        bad = wanted <= 0.0
        t = float((now[bad] / np.maximum(now[bad] - wanted[bad], 1e-300)).min())
        weight[passive] = now + t * (wanted - now)
        drop = passive & (weight <= 1e-14)
        weight[drop] = 0.0
        passive &= ~drop
    return True


# Logistic regression of pooled patterns: the start of every logistic model here.
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
