"""Who gave which unit which label: the one form in which agreement is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Factor, group_rows
from simtrack.errors import DataError, InputError

__all__ = ["Ratings"]

Label = str | int | float | None


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """How many raters put each unit into each category, and who?

    Parameters
    ----------
    counts : int64 array, shape (units, categories)
        Ratings of each unit in each category; a missing rating is in none.
    categories : tuple of str
        In their order, which weights and distances use.
    codes : int32 array, shape (units, raters), optional
        The category that each rater chose, -1 where there is no rating. Needed by Cohen's κ only.
    cluster : Factor, optional
        What the units belong to (scenario, task); each unit is its own cluster without it.

    Examples
    --------
    >>> ratings = Ratings.from_rows([["yes", "yes"], ["no", "yes"], ["no", None]])
    >>> ratings.categories, ratings.counts.tolist()
    (('no', 'yes'), [[0, 2], [1, 1], [1, 0]])
    """

    counts: NDArray[np.int64]
    categories: tuple[str, ...]
    codes: NDArray[np.int32] | None = None
    cluster: Factor | None = None

    def __post_init__(self) -> None:
        units, _ = self.counts.shape
        if self.cluster is not None:
            if len(self.cluster) != units:
                raise InputError("cluster", f"a label for each of {units} units", len(self.cluster))
            if (self.cluster.codes < 0).any():
                raise InputError("cluster", "labelled for every unit", cure="Drop those units.")

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Sequence[Label]],
        *,
        categories: Sequence[Label] | None = None,
        cluster: Sequence[str] | None = None,
    ) -> Ratings:
        """Read one row a unit and one column a rater; None (or NaN) is a missing rating.

        `categories` declares the labels that could have been given, in their order; without it
        they are the labels that occur, in natural order.
        """
        widths = {len(row) for row in rows}
        if len(widths) != 1:
            raise InputError("rows", "one for each unit, all of one length", sorted(widths))
        flat = [_text(label) for row in rows for label in row]
        declared = None if categories is None else [str(_text(c)) for c in categories]
        factor = Factor.from_values(flat, declared)
        codes = factor.codes.reshape(len(rows), -1)
        return cls(_tally(codes, len(factor.levels)), factor.levels, codes, _factor(cluster))

    @classmethod
    def from_columns(
        cls,
        unit: Sequence[str],
        rater: Sequence[str],
        label: Sequence[Label],
        *,
        categories: Sequence[Label] | None = None,
        cluster: Sequence[str] | None = None,
    ) -> Ratings:
        """Read one row a rating, joined by the unit's id and never by position.

        Raises
        ------
        DataError
            A rater rated a unit twice, or a unit lies in two clusters.
        """
        if not len(unit) == len(rater) == len(label):
            raise InputError("columns", "of one length", (len(unit), len(rater), len(label)))
        units, raters = Factor.from_values(unit), Factor.from_values(rater)
        _refuse_repeats(units, raters)
        table: list[list[Label]] = [[None] * len(raters.levels) for _ in units.levels]
        for u, r, value in zip(units.codes.tolist(), raters.codes.tolist(), label, strict=True):
            table[u][r] = value
        groups = None if cluster is None else _cluster_of(units, cluster)
        return cls.from_rows(table, categories=categories, cluster=groups)

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        *,
        categories: Sequence[str] | None = None,
        cluster: Sequence[str] | None = None,
        unequal: bool = False,
    ) -> Ratings:
        """Read a table of units by categories that holds how many raters chose each.

        Rows must add up to one number of raters, since a table of labels given here by mistake
        looks plausible; `unequal=True` allows units with fewer ratings.

        Examples
        --------
        >>> Ratings.from_counts([[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]])
        Traceback (most recent call last):
        simtrack.errors.InputError: counts must be a table whose rows add up to one number of \
raters, got sums of 0 to 6. For labels use Ratings.from_rows; for missing ratings unequal=True.
        """
        table = np.asarray(counts)
        if table.ndim != 2 or table.dtype.kind not in "iu" or (table.size and table.min() < 0):
            raise InputError(
                "counts", "whole numbers of at least 0, units by categories", table.dtype
            )
        sums = table.sum(axis=1)
        if not unequal and sums.size and sums.min() != sums.max():
            raise InputError(
                "counts",
                "a table whose rows add up to one number of raters",
                f"sums of {sums.min()} to {sums.max()}",
                cure="For labels use Ratings.from_rows; for missing ratings unequal=True.",
            )
        names = tuple(categories or (str(k) for k in range(table.shape[1])))
        if len(names) != table.shape[1]:
            raise InputError("categories", f"a name for each of {table.shape[1]} columns", names)
        return cls(table.astype(np.int64), names, None, _factor(cluster))

    @property
    def groups(self) -> Factor:
        """The cluster of each unit: its own where no clusters were given."""
        if self.cluster is not None:
            return self.cluster.compact()
        units = len(self.counts)
        return Factor(tuple(map(str, range(units))), np.arange(units, dtype=np.int32))

    def by_cluster(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up values of units, shape (units, …), by cluster: shape (clusters, …)."""
        groups = self.groups
        out = np.zeros((len(groups.levels), *values.shape[1:]))
        np.add.at(out, groups.codes, values)
        return out

    def __repr__(self) -> str:
        units, categories = self.counts.shape
        return f"Ratings({units} units, {categories} categories, {int(self.counts.sum())} ratings)"


def _text(label: Label) -> str | None:
    """Write a label as text, whole numbers without a point; None and NaN are missing."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return None
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _tally(codes: NDArray[np.int32], categories: int) -> NDArray[np.int64]:
    steps = np.arange(categories, dtype=np.int32)
    return np.asarray((codes[:, :, None] == steps).sum(axis=1), dtype=np.int64)


def _factor(cluster: Sequence[str] | None) -> Factor | None:
    return None if cluster is None else Factor.from_values([str(c) for c in cluster])


def _refuse_repeats(units: Factor, raters: Factor) -> None:
    grouping = group_rows({"unit": units, "rater": raters}, len(units))
    times = np.bincount(grouping.index, minlength=1)
    if len(units) and times.max() > 1:
        row = int(np.argmax(times[grouping.index] > 1))
        raise DataError(
            f"rater {raters.levels[raters.codes[row]]} rated unit "
            f"{units.levels[units.codes[row]]} more than once. Keep one rating of each."
        )


def _cluster_of(units: Factor, cluster: Sequence[str]) -> list[str]:
    found: dict[int, str] = {}
    for u, label in zip(units.codes.tolist(), cluster, strict=True):
        if found.setdefault(u, str(label)) != str(label):
            raise DataError(
                f"unit {units.levels[u]} lies in clusters {found[u]} and {label}. Name one."
            )
    return [found[u] for u in range(len(units.levels))]
