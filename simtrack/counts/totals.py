"""Numerator and denominator by cluster: all that inference ever takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts.factor import natural_order
from simtrack.counts.losses import Losses
from simtrack.errors import InputError

__all__ = ["Totals"]


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What does each cluster contribute to a ratio, in each condition?

    Parameters
    ----------
    numerator, denominator : float64 arrays, shape (clusters, conditions)
        Sums over the trials of a cluster in a condition; both 0 where a cluster has none there.
        For a rate: successes and trials. For a mean score: Σ score and trials.
    square : float64 array, shape (clusters, conditions)
        Σ score² over the same trials (for 0/1 outcomes it equals the numerator); the naive
        standard error needs it.
    clusters : tuple of str
        A label for each row.
    conditions : tuple of tuples of str
        The labels of each column, one for every name in `by`; a single `()` without grouping.
    by : tuple of str
        The names of the condition factors.
    name : str
        The estimand.
    losses : Losses
        What was left out on the way here.

    Examples
    --------
    >>> t = Totals.from_arrays([3, 1, 2], [4, 4, 4])
    >>> t.shape, t.rates().tolist()
    ((3, 1), [0.5])
    """

    numerator: NDArray[np.float64]
    denominator: NDArray[np.float64]
    square: NDArray[np.float64]
    clusters: tuple[str, ...]
    conditions: tuple[tuple[str, ...], ...] = ((),)
    by: tuple[str, ...] = ()
    name: str = "rate"
    losses: Losses = field(default_factory=Losses)

    def __post_init__(self) -> None:
        shape = (len(self.clusters), len(self.conditions))
        for name in ("numerator", "denominator", "square"):
            array = np.array(getattr(self, name), dtype=np.float64, copy=True)
            if array.shape != shape:
                raise InputError(name, f"of shape {shape}", array.shape)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def from_arrays(
        cls,
        numerator: ArrayLike,
        denominator: ArrayLike,
        *,
        square: ArrayLike | None = None,
        clusters: Sequence[str] | None = None,
        conditions: Sequence[tuple[str, ...]] | None = None,
        by: Sequence[str] = (),
        name: str = "rate",
    ) -> Totals:
        """Wrap plain arrays of shape (clusters,) or (clusters, conditions), checking them.

        Without `square` the scores are taken to be 0 or 1. Denominators must be at least 0, and
        a numerator must be 0 where its denominator is 0.
        """
        num, den = _columns("numerator", numerator), _columns("denominator", denominator)
        if num.shape != den.shape:
            raise InputError("denominator", f"of the numerator's shape {num.shape}", den.shape)
        if square is None and ((num < 0) | (num > den)).any():
            raise InputError(
                "numerator", "between 0 and its denominator", cure="Pass square= for scores."
            )
        if (den < 0).any() or (num[den == 0] != 0).any():
            raise InputError("denominator", "at least 0, and above 0 where the numerator is not 0")
        rows, columns = num.shape
        return cls(
            num,
            den,
            num if square is None else _columns("square", square),
            tuple(clusters) if clusters is not None else tuple(str(g) for g in range(rows)),
            tuple(conditions) if conditions is not None else _default_conditions(columns),
            tuple(by) if conditions is not None or columns == 1 else ("condition",),
            name,
        )

    @classmethod
    def stack(cls, parts: Sequence[Totals], names: Sequence[str], name: str) -> Totals:
        """Put single-condition totals side by side, matched by cluster label, as named columns.

        A cluster that a part lacks has nothing (0 over 0) in its column. The result is what every
        linear combination of ratios is computed from.

        Examples
        --------
        >>> a = Totals.from_arrays([1, 2], [2, 2], clusters=["x", "y"])
        >>> b = Totals.from_arrays([1], [4], clusters=["y"])
        >>> Totals.stack([a, b], ["a", "b"], "both").denominator.tolist()
        [[2.0, 0.0], [2.0, 4.0]]
        """
        for part in parts:
            if len(part.conditions) != 1:
                raise InputError("parts", "of one condition each", len(part.conditions))
        labels = natural_order({label for part in parts for label in part.clusters})
        row = {label: k for k, label in enumerate(labels)}
        table = np.zeros((3, len(labels), len(parts)))
        for column, part in enumerate(parts):
            rows = [row[label] for label in part.clusters]
            for layer, values in enumerate((part.numerator, part.denominator, part.square)):
                table[layer, rows, column] = values[:, 0]
        losses = parts[0].losses if parts else Losses()
        columns = tuple((n,) for n in names)
        top, bottom, square = table
        return cls(top, bottom, square, tuple(labels), columns, ("term",), name, losses)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of clusters and of conditions."""
        return len(self.clusters), len(self.conditions)

    def column(self, index: int) -> Totals:
        """Give one condition alone, without the clusters that have no trial in it."""
        here = self.denominator[:, index] > 0
        return Totals(
            self.numerator[here, index : index + 1],
            self.denominator[here, index : index + 1],
            self.square[here, index : index + 1],
            tuple(label for label, kept in zip(self.clusters, here, strict=True) if kept),
            (self.conditions[index],),
            self.by,
            self.name,
            self.losses,
        )

    def rates(self) -> NDArray[np.float64]:
        """Give the pooled ratio of each condition, shape (conditions,); NaN without trials."""
        top, bottom = self.numerator.sum(axis=0), self.denominator.sum(axis=0)
        rates: NDArray[np.float64] = np.full(bottom.shape, np.nan)
        np.divide(top, bottom, out=rates, where=bottom > 0)
        return rates

    def labels(self, index: int) -> dict[str, str]:
        """Give the labels of one condition by factor name."""
        return dict(zip(self.by, self.conditions[index], strict=True))


def _columns(name: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(name, "an array over clusters, or clusters by conditions", array.shape)
    if not np.isfinite(array).all():
        raise InputError(name, "finite", "NaN or infinity", cure="Leave unscored trials out.")
    return array


def _default_conditions(columns: int) -> tuple[tuple[str, ...], ...]:
    return ((),) if columns == 1 else tuple((str(c),) for c in range(columns))
