"""The law of a difference or ratio of two arms that were resampled independently.

Each arm has a law of its own, of some ten thousand values; all pairs of them would be too many to
list. Quantiles are found by counting instead: P(X + Y ≤ t) = Σ_y P(Y = y) P(X ≤ t - y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.resampling.law import QUANTILE_TOLERANCE, BootstrapLaw, Shares
from simtrack.inference.resampling.sample import Pool, Sample, evaluate

__all__ = ["ArmsLaw", "cut_in_arms", "law_of_arms"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

#: As many pairs are listed and sorted: within a tenth of a second.
_LISTED = 1 << 20
_MOST_STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class ArmsLaw:
    """Which law has the sum, or the ratio, of two independent statistics?

    Parameters
    ----------
    x, y : float64 arrays
        Distinct values, ascending; for a ratio x / y those of y are above 0.
    x_reached : float64 array, shape (x.size + 1,)
        P(X ≤ value), with 0 before the first.
    y_shares : float64 array
        P(Y = value).
    ratio : bool
        x / y instead of x + y.
    undefined, tie : float
        As in `BootstrapLaw`.
    """

    x: Floats
    x_reached: Floats
    y: Floats
    y_shares: Floats
    ratio: bool
    undefined: float
    tie: float

    def table(self) -> tuple[Floats, Floats]:
        """Give the distinct values and their probabilities, if they are few enough to list."""
        if self.x.size * self.y.size > _LISTED:
            pairs = f"{self.x.size:,} × {self.y.size:,}"
            cure = "Ask for quantile(), cdf() or moments()."
            raise InputError("law", "one of few values to be listed", pairs, cure=cure)
        masses = np.diff(self.x_reached)[:, None] * self.y_shares
        return BootstrapLaw(self._values(), masses.ravel(), 0.0, self.tie).table()

    @property
    def values(self) -> Floats:
        """The distinct values, ascending."""
        return self.table()[0]

    @property
    def probabilities(self) -> Floats:
        """The mass of each of `values`."""
        return self.table()[1]

    @property
    def mean(self) -> float:
        """The mean over resamples."""
        return self.moments()[0]

    @property
    def standard_deviation(self) -> float:
        """The standard deviation over resamples."""
        return self.moments()[1]

    @property
    def is_one_value(self) -> bool:
        """Whether every resample gives the same value."""
        return self.x.size == self.y.size == 1

    def moments(self) -> tuple[float, float]:
        """Give the mean and the standard deviation: those of independent sums and products."""
        masses = np.diff(self.x_reached)
        other = 1.0 / self.y if self.ratio else self.y
        a, b = float((masses * self.x).sum()), float((self.y_shares * other).sum())
        var_a = float((masses * (self.x - a) ** 2).sum())
        var_b = float((self.y_shares * (other - b) ** 2).sum())
        if self.ratio:
            return a * b, (var_a * var_b + var_a * b * b + var_b * a * a) ** 0.5
        return a + b, (var_a + var_b) ** 0.5

    def shares(self, value: float) -> Shares:
        """Give P(T < value) and P(T = value)."""
        below = self._share(self._places(value - self.tie, "left"))
        return Shares(below, self._share(self._places(value + self.tie, "right")) - below)

    def cdf(self, value: float) -> float:
        """Give P(T ≤ value)."""
        return sum(self.shares(value))

    def quantile(self, probability: float) -> float:
        """Give inf{t : P(T ≤ t) ≥ probability}."""
        return float(self.quantiles([probability])[0])

    def quantiles(self, probabilities: ArrayLike) -> Floats:
        """Give inf{t : P(T ≤ t) ≥ p} for each p, within `QUANTILE_TOLERANCE` of p."""
        wanted = np.asarray(probabilities, dtype=np.float64)
        if not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise InputError("probability", "from 0 to 1", probabilities)
        return np.array([self._quantile(p - QUANTILE_TOLERANCE) for p in wanted.tolist()])

    def _quantile(self, target: float) -> float:
        """Halve a range of values until few pairs lie in it, then sort those."""
        ends = self._ends()
        low, high = ends[0] - 1.0 - abs(ends[0]), ends[1] + 1.0 + abs(ends[1])
        start = np.zeros(self.y.size, dtype=np.int64)
        stop = np.full(self.y.size, self.x.size, dtype=np.int64)
        for _ in range(_MOST_STEPS):
            if int((stop - start).sum()) <= _LISTED:
                break
            middle = 0.5 * (low + high)
            places = self._places(middle, "right")
            if self._share(places) >= target:
                high, stop = middle, places
            else:
                low, start = middle, places
        values, masses = self._between(start, stop)
        order = np.argsort(values, kind="stable")
        reached = self._share(start) + np.cumsum(masses[order])
        first = min(int(np.searchsorted(reached, target)), order.size - 1)
        return float(values[order[first]])

    def _between(self, start: Ints, stop: Ints) -> tuple[Floats, Floats]:
        """List the pairs whose x stands from `start` to `stop`, for each y."""
        counts = stop - start
        j = np.repeat(np.arange(self.y.size), counts)
        i = np.arange(j.size) - np.repeat(np.cumsum(counts) - counts, counts) + start[j]
        values = self.x[i] / self.y[j] if self.ratio else self.x[i] + self.y[j]
        return values, np.diff(self.x_reached)[i] * self.y_shares[j]

    def _places(self, value: float, side: str) -> Ints:
        """Give for each y how many x make T at most (or less than) the value."""
        bounds = value * self.y if self.ratio else value - self.y
        return np.searchsorted(self.x, bounds, side=side)  # type: ignore[call-overload,no-any-return]

    def _share(self, places: Ints) -> float:
        return float((self.y_shares * self.x_reached[places]).sum())

    def _values(self) -> Floats:
        return (self.x[:, None] / self.y if self.ratio else self.x[:, None] + self.y).ravel()

    def _ends(self) -> tuple[float, float]:
        corners = [x / y if self.ratio else x + y for x in self.x[[0, -1]] for y in self.y[[0, -1]]]
        return float(min(corners)), float(max(corners))


def cut_in_arms(sample: Sample) -> tuple[Sample, Sample] | None:
    """Cut a statistic of two pools that share no column in two, or give None.

    A contrast is the sum of its parts; a ratio is that of its upper and its lower part, if each
    stands in one pool and the lower one cannot be below 0.
    """
    if len(sample.pools) != 2:
        return None
    own = [np.asarray(pool.bottom.any(axis=0)) for pool in sample.pools]
    if (own[0] & own[1]).any():
        return None
    upper = np.array([w > 0 for w in sample.weights])
    is_ratio = sample.statistic == "ratio"
    if is_ratio and bool(own[1][upper].any()):
        own.reverse()
    if is_ratio and not ((own[0] == upper).all() and sample.bounds[0] == 0.0):
        return None
    signs = (1, -1) if is_ratio else (1, 1)
    first, second = (_part(sample, columns, sign) for columns, sign in zip(own, signs, strict=True))
    return first, second


def _part(sample: Sample, columns: NDArray[np.bool_], sign: int) -> Sample:
    pool = next(p for p in sample.pools if (p.bottom.any(axis=0) == columns).all())
    top, bottom = pool.top[:, columns], pool.bottom[:, columns]
    weights = tuple(sign * w for w, own in zip(sample.weights, columns, strict=True) if own)
    sums = top.sum(axis=0), bottom.sum(axis=0)
    numbers = [float(w) for w in weights]
    estimate = float(evaluate(sums[0][:, None], sums[1][:, None], numbers, "contrast")[0])
    pools = (Pool(pool.label, top, bottom),)
    return Sample(pools, weights, "contrast", *sums, estimate, (-np.inf, np.inf), sample.tie)


def law_of_arms(first: BootstrapLaw, second: BootstrapLaw, ratio: bool, tie: float) -> ArmsLaw:
    """Which law has first + second, or first / second, of two independent statistics?

    Examples
    --------
    >>> coin = BootstrapLaw(np.array([0.0, 1.0]), np.ones(2))
    >>> [a.tolist() for a in law_of_arms(coin, coin, False, 0.0).table()]
    [[0.0, 1.0, 2.0], [0.25, 0.5, 0.25]]
    """
    x, x_shares = first.table()
    y, y_shares = second.table()
    defined = (1.0 - first.undefined) * (1.0 - second.undefined)
    if ratio:
        above = y > 0.0
        defined *= float(y_shares[above].sum())
        y, y_shares = y[above], y_shares[above] / y_shares[above].sum()
    reached = np.concatenate([[0.0], np.cumsum(x_shares)])
    return ArmsLaw(x, reached, y, y_shares, ratio, max(0.0, 1.0 - defined), tie)
