"""What models are fitted to: sums by cluster and pattern, and a design of the patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Counts, Losses, Sums, Totals, natural_order, spread
from simtrack.errors import InputError
from simtrack.inference.models.design import aliased, design_matrix, terms_of

if TYPE_CHECKING:
    from simtrack.records import Records

__all__ = ["ModelTable", "model_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelTable:
    """How many trials of each pattern does each cluster have, and what do their scores add up to?

    Trials of one pattern share all their covariates, so no model needs more than these sums.

    Attributes
    ----------
    n, totals, squares : float64 arrays, shape (clusters, patterns)
        Number of trials, Σ score, Σ score² (for 0/1 outcomes the totals again).
    design : float64 array, shape (patterns, columns)
    names : tuple of str
        One for each column of the design.
    clusters : tuple of str
    patterns : tuple of tuples of str
        The labels of each pattern, one for every name in `by`.
    by : tuple of str
        The factors that tell patterns apart; they may be more than the design uses.
    losses : Losses
        The trials that are in no cell, with their reasons.

    Examples
    --------
    >>> table = ModelTable.from_arrays([[4, 4], [2, 3]], [[3, 1], [2, 1]], [[1, 0], [1, 1]])
    >>> table
    ModelTable(13 trials, 2 clusters, 2 patterns, 2 columns, binary)
    """

    n: Floats
    totals: Floats
    squares: Floats
    design: Floats
    names: tuple[str, ...]
    clusters: tuple[str, ...]
    patterns: tuple[tuple[str, ...], ...]
    by: tuple[str, ...] = ()
    losses: Losses = field(default_factory=Losses)

    def __post_init__(self) -> None:
        cells = (len(self.clusters), len(self.patterns))
        shapes = {"n": cells, "totals": cells, "squares": cells,
                  "design": (cells[1], len(self.names))}  # fmt: skip
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64, copy=True)
            if array.shape != shape:
                raise InputError(name, f"of shape {shape}", array.shape)
            if not np.isfinite(array).all():
                raise InputError(name, "finite", "NaN or infinity")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if (self.n < 0).any() or self.n.sum() == 0 or (self.totals[self.n == 0] != 0).any():
            raise InputError("n", "at least 0, and above it wherever totals are not 0")
        column = aliased(self.design, self.n.sum(axis=0))
        if column is not None:
            raise InputError(
                "design", "of columns that differ where there are trials",
                f"{self.names[column]}, which is a combination of the columns before it",
                cure="Leave a term out of the formula, or trials that only one pattern has.",
            )  # fmt: skip

    @classmethod
    def from_arrays(
        cls,
        n: ArrayLike,
        totals: ArrayLike,
        design: ArrayLike,
        *,
        squares: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        clusters: Sequence[str] | None = None,
        patterns: Sequence[tuple[str, ...]] | None = None,
        by: Sequence[str] = (),
    ) -> ModelTable:
        """Wrap plain arrays; without `squares` the scores are taken to be 0 or 1."""
        trials, sums, x = (np.asarray(a, dtype=np.float64) for a in (n, totals, design))
        if trials.ndim != 2 or x.ndim != 2:
            raise InputError("n and design", "arrays of two dimensions", (trials.ndim, x.ndim))
        if squares is None and ((sums < 0) | (sums > trials)).any():
            raise InputError("totals", "between 0 and n", cure="Pass squares= for scores.")
        rows, columns = trials.shape
        return cls(
            trials,
            sums,
            sums if squares is None else np.asarray(squares, dtype=np.float64),
            x,
            tuple(names) if names is not None else tuple(f"x{j}" for j in range(x.shape[1])),
            tuple(clusters) if clusters is not None else tuple(str(g) for g in range(rows)),
            tuple(patterns) if patterns is not None else tuple((str(k),) for k in range(columns)),
            tuple(by) if patterns is not None else ("pattern",),
        )

    @property
    def is_binary(self) -> bool:
        """Whether every score is 0 or 1, as far as the sums can say."""
        return bool((self.squares == self.totals).all() and (self.totals <= self.n).all())

    @property
    def size(self) -> float:
        """The number of trials."""
        return float(self.n.sum())

    def codes(self, factor: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Give the level of each pattern in one of the factors of `by`, and the levels."""
        if factor not in self.by:
            raise InputError("factor", "one of " + ", ".join(self.by), repr(factor))
        place = self.by.index(factor)
        labels = [pattern[place] for pattern in self.patterns]
        levels = natural_order(set(labels))
        return np.array([levels.index(label) for label in labels], dtype=np.int64), tuple(levels)

    def column(self, name: str) -> int:
        """Give the place of a column of the design, or refuse and print their names."""
        if name not in self.names:
            raise InputError("column", "one of " + ", ".join(self.names), repr(name))
        return self.names.index(name)

    def without(self, cluster: int) -> ModelTable:
        """Leave one cluster out (and the patterns that no other has)."""
        keep = np.arange(len(self.clusters)) != cluster
        used = self.n[keep].sum(axis=0) > 0
        part = np.ix_(keep, used)
        return ModelTable(
            self.n[part],
            self.totals[part],
            self.squares[part],
            self.design[used],
            self.names,
            tuple(c for c, kept in zip(self.clusters, keep, strict=True) if kept),
            tuple(p for p, kept in zip(self.patterns, used, strict=True) if kept),
            self.by,
            self.losses,
        )

    def __repr__(self) -> str:
        kind = "binary" if self.is_binary else "scores"
        return (
            f"ModelTable({self.size:.0f} trials, {len(self.clusters)} clusters, "
            f"{len(self.patterns)} patterns, {len(self.names)} columns, {kind})"
        )


def model_table(
    source: Records | Counts | Sums | Totals,
    formula: str,
    *,
    cluster: str | None = None,
    success: Sequence[str] = ("PASS",),
    failure: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    numeric: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> ModelTable:
    """Which sums by cluster and pattern does a formula need?

    Parameters
    ----------
    source : Records, Counts, Sums or Totals
        `Totals` (an estimand at conditions) stand as they are. `Counts` are scored by outcome.
        `Records` are counted if they hold categories or 0/1 scores, else added up.
    formula : str
        "stage * arm": names of conditions joined by +, : and *; see `terms_of`.
    cluster : str
        Of `Records`: the column of the resampling units (`cluster`, else `unit`).
    success, failure : sequences of str
        Outcome codes that score 1 and 0; every other outcome where `failure` is None, so that
        the denominator of an estimand is better given by its `Totals`.
    reference : mapping of factor to level
        What the other levels are compared with; the first in natural order if not said.
    numeric : sequence of str
        Conditions whose labels are numbers and enter as one column.
    keep : sequence of str
        Conditions beside those of the formula that tell patterns apart: crossed random effects and
        two-way clusters need them.

    Raises
    ------
    InputError
        Unknown conditions or outcomes, or a design with columns that no trial tells apart.

    Examples
    --------
    >>> counts = Counts.from_cells(
    ...     [[3, 1], [2, 2], [4, 0], [1, 3]], outcomes=("PASS", "FAIL"),
    ...     cluster=["a", "a", "b", "b"], conditions={"arm": ["x", "y", "x", "y"]},
    ... )
    >>> table = model_table(counts, "arm")
    >>> table.names, table.totals.tolist()
    (('intercept', 'arm[y]'), [[3.0, 2.0], [4.0, 1.0]])
    """
    used = tuple(dict.fromkeys([n for term in terms_of(formula) for n in term] + [*keep]))
    totals = _totals(source, used, cluster, success, failure)
    filled = totals.denominator.sum(axis=1) > 0
    if not filled.any():
        raise InputError("source", "a table with a trial in it")
    labels = {n: [c[k] for c in totals.conditions] for k, n in enumerate(totals.by)}
    design, names = design_matrix(formula, labels, reference=reference, numeric=numeric)
    return ModelTable(
        totals.denominator[filled],
        totals.numerator[filled],
        totals.square[filled],
        np.broadcast_to(design, (len(totals.conditions), design.shape[1])),
        names,
        tuple(c for c, kept in zip(totals.clusters, filled, strict=True) if kept),
        totals.conditions,
        totals.by,
        totals.losses,
    )


def _totals(
    source: Records | Counts | Sums | Totals,
    used: tuple[str, ...],
    cluster: str | None,
    success: Sequence[str],
    failure: Sequence[str] | None,
) -> Totals:
    if isinstance(source, Totals):
        return source
    if isinstance(source, Sums):
        return source.totals(used)
    if isinstance(source, Counts):
        return _scored(source, used, success, failure)
    from simtrack.records import is_binary

    if is_binary(source):
        return _scored(source.counts(cluster=cluster, by=used), used, success, failure)
    return source.sums(cluster=cluster, by=used).totals(used)


def _scored(
    counts: Counts, used: tuple[str, ...], success: Sequence[str], failure: Sequence[str] | None
) -> Totals:
    for code in (*success, *(failure or ())):
        if code not in counts.outcomes:
            raise InputError("success", "one of " + ", ".join(counts.outcomes), repr(code))
    for name in used:
        if name not in counts.conditions:
            known = ", ".join(counts.conditions) or "none"
            raise InputError("formula", f"of conditions of the counts ({known})", repr(name))
    other = [name for name in counts.conditions if name not in used]
    pooled = counts.pool(*other) if other else counts
    up = pooled.cells[:, [o in success for o in pooled.outcomes]].sum(axis=1)
    down = [o not in success and (failure is None or o in failure) for o in pooled.outcomes]
    n = up + pooled.cells[:, down].sum(axis=1)
    columns = np.stack([up, n, up], axis=1).astype(np.float64)
    conditions = {name: pooled.conditions[name] for name in used}
    return spread(columns, pooled.cluster, conditions, "rate", pooled.losses)
