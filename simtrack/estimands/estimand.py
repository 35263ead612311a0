"""An estimand as data: which cells of a table stand over which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import UNPOOLABLE, Counts, CountsBatch, Factor, Totals, spread
from simtrack.errors import InputError
from simtrack.taxonomy import PLAIN, Taxonomy

__all__ = ["Condition", "Contrast", "Estimand", "equal_weight", "factorial_effect", "where"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Which label combinations of some factors are meant?

    Parameters
    ----------
    factors : tuple of str
        One name, or several for a joint condition such as (reported, gold).
    levels : frozenset of tuples of str
        The combinations that count.
    negated : bool
        All other combinations count instead.
    """

    factors: tuple[str, ...]
    levels: frozenset[tuple[str, ...]]
    negated: bool = False

    def mask(self, counts: Counts, name: str) -> NDArray[np.bool_]:
        """Say for each row of `counts` whether it is meant."""
        columns = [self._column(counts, factor, name) for factor in self.factors]
        rows = zip(*(column.values() for column in columns), strict=True)
        meant = np.fromiter((row in self.levels for row in rows), bool, len(counts.cells))
        return ~meant if self.negated else meant

    @staticmethod
    def _column(counts: Counts, factor: str, name: str) -> Factor:
        if factor not in counts.conditions:
            raise InputError(
                "counts",
                f"grouped by {factor}, which {name} is defined on",
                cure=f"Count with by=[..., '{factor}'].",
            )
        return counts.conditions[factor]


def where(**conditions: str | Iterable[str]) -> tuple[Condition, ...]:
    """Write conditions as keywords: `where(duty="1", stage=("READY", "POST_OBS"))`."""
    return tuple(
        Condition((name,), frozenset((w,) for w in ([v] if isinstance(v, str) else v)))
        for name, v in sorted(conditions.items())
    )


@dataclass(frozen=True, slots=True)
class Estimand:
    """Which outcomes are counted, among which, and where?

    The ratio is  Σ cells of `numerator` where `where` and `among` hold
    over          Σ cells of all codes but `excluded` where `where` holds.

    Parameters
    ----------
    name : str
        The name used in code, tables and figures.
    numerator : frozenset of str
        The outcome codes that count; empty means every code of the denominator.
    excluded : frozenset of str
        The codes that are in no denominator.
    where, among : tuple of Condition
        What selects the rows of both parts, and what the numerator asks for besides.
    symbol, interpretation, source : str
        The paper's symbol, one sentence, and where it is defined.
    taxonomy : Taxonomy
        The scheme its codes belong to.

    Examples
    --------
    >>> from simtrack.estimands import RATE
    >>> table = Counts.from_cells([[1, 3], [2, 2]], outcomes=("FAIL", "PASS"), cluster=["a", "b"])
    >>> RATE.totals(table).numerator.tolist()
    [[3.0], [2.0]]
    """

    name: str
    numerator: frozenset[str]
    excluded: frozenset[str] = frozenset()
    where: tuple[Condition, ...] = ()
    among: tuple[Condition, ...] = ()
    symbol: str = ""
    interpretation: str = ""
    source: str = ""
    taxonomy: Taxonomy = PLAIN

    def __post_init__(self) -> None:
        self.taxonomy.check(sorted(self.numerator | self.excluded))
        both = self.numerator & self.excluded
        if both:
            raise InputError("numerator", "part of the denominator", ", ".join(sorted(both)))

    def at(self, **labels: str | Iterable[str]) -> Estimand:
        """Restrict numerator and denominator to some labels, and say so in the name."""
        shown = ", ".join(
            f"{k}={v if isinstance(v, str) else '|'.join(v)}" for k, v in labels.items()
        )
        return replace(self, name=f"{self.name}[{shown}]", where=self.where + where(**labels))

    def totals(self, counts: Counts, by: str | Sequence[str] = ()) -> Totals:
        """Give numerator and denominator by cluster, in each condition of `by`.

        Conditions that are neither selected nor in `by` are added up, except readings of the same
        trial (`UNPOOLABLE`), which must be selected.
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        self.taxonomy.check(counts.outcomes)
        rows = self._mask(counts, self.where)
        self._refuse_pooling(counts, rows, names)
        columns = {name: Condition._column(counts, name, self.name).take(rows) for name in names}
        below = [o not in self.excluded for o in counts.outcomes]
        above = [
            o in self.numerator if self.numerator else b
            for o, b in zip(counts.outcomes, below, strict=True)
        ]
        bottom = counts.cells[:, below].sum(axis=1)[rows]
        top = (counts.cells[:, above].sum(axis=1) * self._mask(counts, self.among))[rows]
        parts = np.stack([top, bottom, top], axis=1).astype(np.float64)
        conditions = {name: column.compact() for name, column in columns.items()}
        return spread(parts, counts.cluster.take(rows), conditions, self.name, counts.losses)

    def batch(self, batch: CountsBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give numerator and denominator by cluster for many simulated studies at once.

        Returns
        -------
        numerator, denominator : int64 arrays, shape (draws, clusters)
            The same numbers as `totals(batch.counts(draw))`, study by study.
        """
        template = batch.template()
        self.taxonomy.check(batch.outcomes)
        rows = self._mask(template, self.where)
        self._refuse_pooling(template, rows, ())
        below = np.array([o not in self.excluded for o in batch.outcomes])
        above = np.array([o in self.numerator for o in batch.outcomes]) if self.numerator else below
        bottom = batch.cells[:, :, rows][..., below].sum(axis=(2, 3))
        among = rows & self._mask(template, self.among)
        top = batch.cells[:, :, among][..., above].sum(axis=(2, 3))
        return top, bottom

    def _mask(self, counts: Counts, conditions: Iterable[Condition]) -> NDArray[np.bool_]:
        rows = np.ones(len(counts.cells), dtype=bool)
        for condition in conditions:
            rows &= condition.mask(counts, self.name)
        return rows

    def _refuse_pooling(
        self, counts: Counts, rows: NDArray[np.bool_], names: Sequence[str]
    ) -> None:
        for name in UNPOOLABLE:
            if name in counts.conditions and name not in names:
                levels = counts.conditions[name].take(rows).compact().levels
                if len(levels) > 1:
                    raise InputError(
                        name,
                        "selected, since its levels are readings of the same trials",
                        ", ".join(levels),
                        cure=f"Use counts.select({name}=...).",
                    )


@dataclass(frozen=True, slots=True)
class Contrast:
    """Which weighted sum of ratios is meant: a stage gap, a factor's effect, a mean over models?

    Parameters
    ----------
    name : str
        The name used in code, tables and figures.
    terms : tuple of (Fraction, Estimand)
        Exact weights.
    symbol, interpretation, source : str
        As in `Estimand`.
    """

    name: str
    terms: tuple[tuple[Fraction, Estimand], ...]
    symbol: str = ""
    interpretation: str = ""
    source: str = ""

    def totals(self, counts: Counts, by: str | Sequence[str] = ()) -> tuple[Totals, ...]:
        """Give the totals of every term, all over the same clusters in the same order."""
        return tuple(estimand.totals(counts, by) for _, estimand in self.terms)

    def stacked(self, counts: Counts) -> tuple[Totals, NDArray[np.float64]]:
        """Give the totals of all terms as columns, and the weight of each column.

        The contrast is Σ weight · (Σ numerator / Σ denominator) over the columns: the form in
        which inference takes every linear combination of ratios.
        """
        names = [f"{float(w):+g} {e.name}" for w, e in self.terms]
        unique = [f"{name} #{k}" if names.count(name) > 1 else name for k, name in enumerate(names)]
        weights = np.array([float(w) for w, _ in self.terms])
        return Totals.stack(self.totals(counts), unique, self.name), weights

    def batch(
        self, batch: CountsBatch
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Give all terms of many simulated studies: (draws, clusters, terms) twice, and weights."""
        parts = [estimand.batch(batch) for _, estimand in self.terms]
        top = np.stack([p[0] for p in parts], axis=2)
        bottom = np.stack([p[1] for p in parts], axis=2)
        return top, bottom, np.array([float(w) for w, _ in self.terms])

    def value(self, counts: Counts) -> float:
        """Give the point estimate; NaN where a term has an empty denominator."""
        parts = [float(t.rates()[0]) for t in self.totals(counts)]
        return sum(float(w) * p for (w, _), p in zip(self.terms, parts, strict=True))

    @classmethod
    def difference(cls, name: str, first: Estimand, second: Estimand, **about: str) -> Contrast:
        """Make first minus second."""
        return cls(name, ((Fraction(1), first), (Fraction(-1), second)), **about)


def equal_weight(estimand: Estimand, factor: str, levels: Sequence[str]) -> Contrast:
    """Average an estimand over levels with equal weights: a mean of ratios, not a pooled ratio."""
    share = Fraction(1, len(levels))
    terms = tuple((share, estimand.at(**{factor: level})) for level in levels)
    return Contrast(f"mean {estimand.name} over {factor}", terms)


def factorial_effect(
    estimand: Estimand, factors: Mapping[str, tuple[str, str]], of: str
) -> Contrast:
    """Contrast the two levels of one factor, averaged over the others with equal weight per cell.

    Parameters
    ----------
    factors : mapping of name to (low, high)
        All two-level factors of the design.
    of : str
        The one whose effect (high minus low) is meant.
    """
    others = [name for name in factors if name != of]
    cells: list[dict[str, str]] = [{}]
    for name in others:
        cells = [cell | {name: level} for cell in cells for level in factors[name]]
    share = Fraction(1, len(cells))
    low, high = factors[of]
    terms = [
        (sign * share, estimand.at(**cell, **{of: level}))
        for cell in cells
        for sign, level in ((1, high), (-1, low))
    ]
    return Contrast(f"effect of {of} on {estimand.name}", tuple(terms))
