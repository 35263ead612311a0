"""The law of a statistic over all resamples, as values and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError

__all__ = [
    "MOST_MULTISETS",
    "QUANTILE_TOLERANCE",
    "BootstrapLaw",
    "Shares",
    "count_multisets",
    "law_of_cells",
    "multiset_law",
]


#: A distribution function this little below a probability has reached it: sums of masses carry
#: rounding of about 1e-16 a term.
QUANTILE_TOLERANCE = 1e-12
#: Up to here a law is sorted to find a quantile; beyond, cut into bins first.
_SORTED = 4096
_BINS = 8192

Floats = NDArray[np.float64]


class Shares(NamedTuple):
    """How much of a law lies below a value, and at it?"""

    below: float
    at: float


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapLaw:
    """Which values does a statistic take over all resamples of the clusters, and how often?

    Parameters
    ----------
    cells : float64 array, shape (cells,)
        Values, in any order; a value may stand more than once.
    weights : float64 array, shape (cells,)
        Mass of each cell, up to a common factor. Where all resamples are counted these are whole
        numbers, exact in a float.
    undefined : float
        The share of resamples in which the statistic is not defined (a denominator is 0). The law
        is that of the others.
    tie : float
        Values no further apart than this are the same value, computed in another order.
    ascending : bool
        The cells are sorted already.

    Examples
    --------
    >>> law = BootstrapLaw(np.array([1.0, 0.0, 0.5]), np.array([1.0, 1.0, 2.0]))
    >>> law.values.tolist(), law.probabilities.tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25])
    >>> law.quantile(0.25), law.quantile(0.2500001), round(law.standard_deviation**2, 15)
    (0.0, 0.5, 0.125)
    """

    cells: Floats
    weights: Floats
    undefined: float = 0.0
    tie: float = 0.0
    ascending: bool = False

    @property
    def values(self) -> Floats:
        """The distinct values, ascending, shape (values,); sorted anew at each call."""
        return self.table()[0]

    @property
    def probabilities(self) -> Floats:
        """The mass of each of `values`; they sum to 1 (given that the statistic is defined)."""
        return self.table()[1]

    def table(self) -> tuple[Floats, Floats]:
        """Give the distinct values, ascending, and the probability of each."""
        values, weights = self._ordered()
        with np.errstate(invalid="ignore"):  # inf - inf, of a law with mass at infinity
            new = np.diff(values) > self.tie
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        return values[starts], np.add.reduceat(weights, starts) / weights.sum()

    @property
    def mean(self) -> float:
        """The mean over resamples."""
        return float((self.weights * self.cells).sum() / self.weights.sum())

    @property
    def standard_deviation(self) -> float:
        """The standard deviation over resamples: the bootstrap standard error, divisor as is."""
        return self.moments()[1]

    def moments(self) -> tuple[float, float]:
        """Give the mean and the standard deviation."""
        total = self.weights.sum()
        mean = (self.weights * self.cells).sum() / total
        centred = self.cells - mean
        return float(mean), float(((self.weights * centred * centred).sum() / total) ** 0.5)

    @property
    def is_one_value(self) -> bool:
        """Whether every resample gives the same value."""
        if self.ascending:
            return float(self.cells[-1] - self.cells[0]) <= self.tie
        return float(self.cells.max() - self.cells.min()) <= self.tie

    def shares(self, value: float) -> Shares:
        """Give P(X < value) and P(X = value)."""
        total = self.weights.sum()
        below = self.weights[self.cells < value - self.tie].sum() / total
        upto = self.weights[self.cells <= value + self.tie].sum() / total
        return Shares(float(below), float(upto - below))

    def cdf(self, value: float) -> float:
        """Give P(X ≤ value)."""
        return sum(self.shares(value))

    def quantile(self, probability: float) -> float:
        """Give inf{x : P(X ≤ x) ≥ probability}: always a value that the statistic takes."""
        return float(self.quantiles([probability])[0])

    def quantiles(self, probabilities: ArrayLike) -> Floats:
        """Give inf{x : P(X ≤ x) ≥ p} for each p, within `QUANTILE_TOLERANCE` of p."""
        wanted = np.asarray(probabilities, dtype=np.float64)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise InputError("probability", "from 0 to 1", probabilities)
        if not self.ascending and self.cells.size > _SORTED and np.isfinite(self.cells).all():
            return self._from_bins(wanted)
        values, weights = self._ordered()
        return values[_reached(np.cumsum(weights), wanted - QUANTILE_TOLERANCE)]

    def _ordered(self) -> tuple[Floats, Floats]:
        if self.ascending:
            return self.cells, self.weights
        order = np.argsort(self.cells, kind="stable")
        return self.cells[order], self.weights[order]

    def _from_bins(self, wanted: Floats) -> Floats:
        """Find the bin of each quantile, then sort that bin alone: a tenth of a full sort."""
        low = self.cells.min()
        scale = (_BINS - 1) / max(self.cells.max() - low, np.finfo(float).tiny)
        place = ((self.cells - low) * scale).astype(np.int64)  # monotone in the value
        reached: Floats = np.cumsum(np.bincount(place, self.weights, _BINS)).astype(np.float64)
        bins = _reached(reached, wanted - QUANTILE_TOLERANCE)
        found = np.empty(wanted.shape)
        for k, (b, p) in enumerate(zip(bins.tolist(), wanted.tolist(), strict=True)):
            inside = np.flatnonzero(place == b)
            inside = inside[np.argsort(self.cells[inside], kind="stable")]
            before = reached[b - 1] if b else 0.0
            upto = before + np.cumsum(self.weights[inside])
            target = (p - QUANTILE_TOLERANCE) * reached[-1]
            first = min(int(np.searchsorted(upto, target)), inside.size - 1)
            found[k] = self.cells[inside[first]]
        return found


def law_of_cells(cells: Floats, weights: Floats, tie: float) -> BootstrapLaw:
    """Make a law of values some of which may be NaN, the mark of an undefined statistic.

    Examples
    --------
    >>> law_of_cells(np.array([0.5, np.nan]), np.array([3.0, 1.0]), 0.0).undefined
    0.25
    """
    missing = np.isnan(cells)
    if not missing.any():
        return BootstrapLaw(cells, weights, 0.0, tie)
    undefined = float(weights[missing].sum() / weights.sum())
    return BootstrapLaw(cells[~missing], weights[~missing], undefined, tie)


def _reached(cumulated: Floats, probabilities: Floats) -> NDArray[np.int64]:
    """Give the first place where the cumulated mass is at least each share of it."""
    places = np.searchsorted(cumulated, probabilities * cumulated[-1], side="left")
    return np.asarray(np.minimum(places, cumulated.size - 1))


# The bootstrap law of any statistic by listing the multisets of clusters.

#: As many as 12 clusters have that are all different.
MOST_MULTISETS = math.comb(23, 12)
#: Pairs that are added at once: some hundred kB a column, so that they stay in the cache.
_PAIRS = 1 << 15
_EXACT = 2**53
#: Multinomial coefficients of so many draws are finite floats.
_MOST_DRAWS = 1000
_TOO_MANY = 10**15


class _Listed(NamedTuple):
    """Sums of some multisets, shape (columns, n), and their weights, shape (n,)."""

    sums: Floats
    weights: Floats


class _Types(NamedTuple):
    """Distinct clusters of a pool: rows (types, columns), and how many there are of each."""

    rows: Floats
    counts: NDArray[np.int64]


def count_multisets(pools: tuple[Floats, ...]) -> int:
    """Count the multisets that differ: pools of rows, shape (clusters, columns).

    A pool of more than 1,000 clusters counts as one that has too many: 10^15.

    Examples
    --------
    >>> count_multisets((np.arange(24.0).reshape(12, 2),)), count_multisets((np.ones((40, 2)),))
    (1352078, 1)
    """
    total = 1
    for rows in pools:
        size = len(rows)
        if size > _MOST_DRAWS:
            return _TOO_MANY
        kinds = len({row.tobytes() for row in np.ascontiguousarray(rows)})
        total *= math.comb(size + kinds - 1, size)
    return total


def multiset_law(
    pools: tuple[Floats, ...],
    evaluate: Callable[[Floats], tuple[Floats, ...]],
    ties: Sequence[float],
) -> tuple[BootstrapLaw, ...]:
    """Which laws have some statistics of the column sums over all resamples of each pool?

    Parameters
    ----------
    pools : tuple of float64 arrays, shape (clusters, columns)
        Pools are resampled independently; their sums are added.
    evaluate : callable
        From sums of shape (columns, n) to the n values of each statistic, NaN where undefined.
    ties : sequence of float
        As in `BootstrapLaw`, for each statistic.
    """
    types = tuple(_Types(*np.unique(rows, axis=0, return_counts=True)) for rows in pools)
    resamples = math.prod(len(rows) ** len(rows) for rows in pools)
    whole = resamples <= _EXACT
    pairs = list(_pairs(types, whole))
    n = sum(left.weights.size * right.weights.size for left, right in pairs)
    masses, cells, end = np.empty(n), np.empty((len(ties), n)), 0
    for left, right in pairs:
        here = slice(end, end + left.weights.size * right.weights.size)
        for row, values in zip(cells, evaluate(_added(left.sums, right.sums)), strict=True):
            row[here] = values
        shape = left.weights.size, right.weights.size
        np.multiply(left.weights[:, None], right.weights, out=masses[here].reshape(shape))
        end = here.stop
    return tuple(law_of_cells(row, masses, tie) for row, tie in zip(cells, ties, strict=True))


def _pairs(types: tuple[_Types, ...], whole: bool) -> Iterator[tuple[_Listed, _Listed]]:
    """Give pairs of lists whose sums, added in all ways, are all multisets."""
    if len(types) == 1:
        rows, counts = types[0]
        size, middle = int(counts.sum()), len(counts) // 2
        left = _by_size(rows[:middle], counts[:middle], size, size, whole)
        right = _by_size(rows[middle:], counts[middle:], size, size, whole)
        for k in range(size + 1):
            few = left[k]
            yield from _cut(few._replace(weights=few.weights * math.comb(size, k)), right[size - k])
        return
    listed = [
        _by_size(t.rows, t.counts, int(t.counts.sum()), int(t.counts.sum()), whole)[-1]
        for t in types
    ]
    first = listed[0]
    for other in listed[1:-1]:
        first = _Listed(
            _added(first.sums, other.sums), (first.weights[:, None] * other.weights).ravel()
        )
    yield from _cut(first, listed[-1])


def _cut(left: _Listed, right: _Listed) -> Iterator[tuple[_Listed, _Listed]]:
    step = max(1, _PAIRS // max(1, right.weights.size))
    for start in range(0, left.weights.size, step):
        part = slice(start, start + step)
        yield _Listed(left.sums[:, part], left.weights[part]), right


def _added(left: Floats, right: Floats) -> Floats:
    return np.asarray(left[:, :, None] + right[:, None, :]).reshape(len(left), -1)


def _by_size(
    rows: Floats, counts: NDArray[np.int64], size: int, out_of: int, whole: bool
) -> list[_Listed]:
    """List the multisets of 0, 1, ... `size` draws; weights are resamples (or their share).

    The weight of n_1, n_2, ... is (Σn)! / Π n! · Π c^n, with c the number of such clusters, or
    their share of `out_of` where numbers of resamples would not be exact in a float.
    """
    columns = rows.shape[1]
    nothing = _Listed(np.empty((columns, 0)), np.empty(0))
    found = [_Listed(np.zeros((columns, 1)), np.ones(1)), *[nothing] * size]
    for row, count in zip(rows, counts.tolist(), strict=True):
        share = count if whole else count / out_of
        found = [_joined(found, row, share, k) for k in range(size + 1)]
    return found


def _joined(before: list[_Listed], row: Floats, share: float, k: int) -> _Listed:
    """List the multisets of k draws with any number j of one more kind of cluster."""
    parts = [(j, before[k - j]) for j in range(k + 1) if before[k - j].weights.size]
    if not parts:
        return before[k]
    return _Listed(
        np.concatenate([b.sums + j * row[:, None] for j, b in parts], axis=1),
        np.concatenate([b.weights * (math.comb(k, j) * share**j) for j, b in parts]),
    )
