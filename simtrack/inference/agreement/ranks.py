"""Kendall's tau between two rankings, with its p counted over all pairings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import ExactTest
from simtrack.inference.numerics.special import normal_cdf
from simtrack.options import Alternative, choice

__all__ = ["KendallTau", "ScoreLaw", "Variant", "kendall_tau", "score_law"]


#: τ-b divides by the pairs that are not tied, τ-a by all pairs.
Variant = Literal["b", "a"]
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KendallTau(ExactTest):
    """How strongly do two rankings go together, and could it be chance?

    `statistic` is τ; None where one ranking is constant. The p-value is the share of all pairings
    of the two rankings, ties kept, whose score S is at least as extreme.

    Attributes
    ----------
    variant : "b" or "a"
    n, score, concordant, discordant : int
        Items; S = concordant - discordant pairs.
    tied_first, tied_second : int
        Pairs tied in the one ranking and in the other (those tied in both are in both).
    """

    variant: Variant
    n: int
    score: int
    concordant: int
    discordant: int
    tied_first: int
    tied_second: int

    schema: ClassVar[str] = "simtrack.kendall-tau/1"

    def _sizes(self) -> str:
        return f"{self.n} ranked items"


def kendall_tau(
    first: ArrayLike,
    second: ArrayLike,
    *,
    variant: Variant = "b",
    alternative: Alternative = "two-sided",
) -> KendallTau:
    """How strongly do two rankings go together, and how unusual is it among all pairings?

    τ_b = S / sqrt((n_0 - n_1)(n_0 - n_2)) with n_0 = n(n - 1)/2 pairs of which n_1 and n_2 are
    tied; τ_a = S / n_0. The p-value is exact, ties included, as long as the law can be counted
    within about a second (100 items without ties; fewer where both rankings have many levels and
    ties); beyond, S over its standard deviation under ties is taken as normal.

    Two-sided means |S| at least as large, so p is 1 where S is 0. Items must be independent: for
    items in clusters the p-value is too small.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        Values to rank; none may be missing.
    variant : "b" or "a"
    alternative : "two-sided", "greater" (they rise together) or "less"

    References
    ----------
    Kendall (1970), Rank Correlation Methods, 4th ed., sections 3.4 (τ_b), 4.4 (variance, ties).

    Examples
    --------
    >>> found = kendall_tau([1, 2, 3, 4, 5], [3, 5, 1, 2, 4])
    >>> found.statistic, found.exact
    (0.0, Fraction(1, 1))
    >>> kendall_tau([1, 1, 2, 3], [1, 2, 3, 3]).exact
    Fraction(1, 4)
    """
    choice("variant", variant, Variant)
    choice("alternative", alternative, Alternative)
    x, y = ranked("first", first), ranked("second", second)
    if x.size != y.size:
        raise InputError("second", f"of {x.size} values, as the first", y.size)
    if x.size < 2:
        raise InputError("first", "of at least two items", x.size)
    plus, minus = _pairs(x, y)
    ties = [tuple(np.bincount(v).tolist()) for v in (x, y)]
    every = x.size * (x.size - 1) // 2
    tied = [sum(t * (t - 1) // 2 for t in group) for group in ties]
    apart = (every - tied[0]) * (every - tied[1])
    score = plus - minus
    counts = {
        "variant": variant,
        "alternative": alternative,
        "n": x.size,
        "score": score,
        "concordant": plus,
        "discordant": minus,
        "tied_first": tied[0],
        "tied_second": tied[1],
    }
    if apart == 0:
        return KendallTau(
            statistic=None,
            pvalue=1.0,
            exact=Fraction(1),
            floor=Fraction(1),
            computation="closed-form",
            notes=("one ranking is constant: τ is not defined and there is nothing to test",),
            **counts,
        )
    tau = score / (math.sqrt(apart) if variant == "b" else every)
    law = score_law(*ties)
    if law is None:
        z = score / math.sqrt(_variance(x.size, *ties))
        return KendallTau(
            statistic=tau,
            pvalue=_normal_tail(z, alternative),
            exact=None,
            floor=Fraction(0),
            computation="closed-form",
            guarantee="asymptotic",
            notes=("too many items and ties to count: normal approximation",),
            **counts,
        )
    exact, floor = tail_of(law, score, alternative)
    return KendallTau(
        statistic=tau,
        pvalue=float(exact),
        exact=exact,
        floor=floor,
        computation="convolution",
        **counts,
    )


def ranked(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Give the place of each value among the distinct ones, from 0."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any():
        raise InputError(name, "a plain list of numbers, none missing", cure="Leave them out.")
    _, place = np.unique(array, return_inverse=True)
    return place.astype(np.int64)


def tail_of(law: ScoreLaw, score: int, alternative: Alternative) -> tuple[Fraction, Fraction]:
    """Give the p-value of a score, and the smallest that the law can give."""
    low, high = law.extremes()
    if alternative == "two-sided":
        most = max(-low, high)
        return (
            Fraction(law.as_far_as(score), law.total),
            Fraction(law.as_far_as(most), law.total),
        )
    side, place, end = (
        (law, score, high) if alternative == "greater" else (law.reflected(), -score, -low)
    )
    return Fraction(side.at_least(place), law.total), Fraction(side.at_least(end), law.total)


def _pairs(x: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[int, int]:
    """Count concordant and discordant pairs, a block of rows at a time."""
    plus = minus = 0
    rows = max(1, _BLOCK // x.size)
    for start in range(0, x.size, rows):
        stop = start + rows
        signs = np.sign(x[start:stop, None] - x) * np.sign(y[start:stop, None] - y)
        plus += int(np.count_nonzero(signs > 0))
        minus += int(np.count_nonzero(signs < 0))
    return plus // 2, minus // 2


def _variance(n: int, first: Sequence[int], second: Sequence[int]) -> float:
    """Give the variance of S over all pairings under ties."""

    def cubic(ties: Sequence[int]) -> int:
        return sum(t * (t - 1) * (2 * t + 5) for t in ties)

    def falling(ties: Sequence[int], order: int) -> int:
        return sum(math.perm(t, order) for t in ties)

    spread = (n * (n - 1) * (2 * n + 5) - cubic(first) - cubic(second)) / 18.0
    spread += falling(first, 2) * falling(second, 2) / (2.0 * n * (n - 1))
    if n > 2:
        spread += falling(first, 3) * falling(second, 3) / (9.0 * n * (n - 1) * (n - 2))
    return spread


def _normal_tail(z: float, alternative: Alternative) -> float:
    if alternative == "two-sided":
        return 2.0 * normal_cdf(-abs(z))
    return normal_cdf(-z if alternative == "greater" else z)


# The exact law of Kendall's score S over all pairings of two rankings, with ties in either.
#: What a law may cost, each about a second: additions of integers, and bits shifted.
_MOST_STEPS = 3_000_000
_MOST_BITS = 10_000_000_000
#: States beyond which counting is not begun.
_MOST_STATES = 200_000
#: What one allocation costs besides the bits it shifts.
_OVERHEAD = 50_000


@dataclass(frozen=True, slots=True)
class ScoreLaw:
    """In how many pairings does S = concordant - discordant take each value?

    Attributes
    ----------
    ways : tuple of int
        Entry k is for the score k - `offset`; they add up to `total`.
    offset, total : int
    """

    ways: tuple[int, ...]
    offset: int
    total: int

    def at_least(self, score: int) -> int:
        """Count the pairings with S at or above `score`."""
        return sum(self.ways[max(score + self.offset, 0) :])

    def as_far_as(self, score: int) -> int:
        """Count the pairings with |S| at or above |score|."""
        size = abs(score)
        below = self.ways[max(self.offset - size + 1, 0) : max(self.offset + size, 0)]
        return self.total - sum(below)

    def reflected(self) -> ScoreLaw:
        """Give the law of -S."""
        return ScoreLaw(self.ways[::-1], len(self.ways) - 1 - self.offset, self.total)

    def extremes(self) -> tuple[int, int]:
        """Give the lowest and the highest score that can occur."""
        here = [k - self.offset for k, ways in enumerate(self.ways) if ways]
        return here[0], here[-1]


def score_law(first: Sequence[int], second: Sequence[int]) -> ScoreLaw | None:
    """In how many ways of pairing two rankings does S take each value?

    * Ties in one ranking at most: the number of discordant pairs has the generating function
      [n]! / (Π [t]!) in q-factorials.
    * Ties in both: groups of the first ranking are dealt out one after another over the levels of
      the second; the state is what is left of each level. A state's polynomial in the score is
      held as one integer, its value at 2^width (Kronecker), so a shift moves all of its scores.

    Parameters
    ----------
    first, second : sequence of int
        Numbers of equal values, from the lowest value to the highest: (1, 1, 1) has no ties.

    Returns
    -------
    ScoreLaw or None
        None where it would take more than about a second.

    References
    ----------
    Kendall (1970), Rank Correlation Methods, 4th ed., chapters 4 and 5; Stanley (2012),
    Enumerative Combinatorics 1, 2nd ed., prop. 1.7.1; Mehta and Patel (1983), JASA 78, 427-434
    (dealing out a margin).

    Examples
    --------
    >>> score_law((1, 1, 1), (1, 1, 1))
    ScoreLaw(ways=(1, 0, 2, 0, 2, 0, 1), offset=3, total=6)
    >>> score_law((2, 1), (1, 2)).ways
    (1, 0, 0, 2, 0)
    """
    if max(second, default=0) == 1:
        return _one_sided(first)
    if max(first, default=0) == 1:
        return _one_sided(second)
    if math.prod(t + 1 for t in first) < math.prod(t + 1 for t in second):
        first, second = second, first
    if math.prod(t + 1 for t in second) > _MOST_STATES:
        return None
    return _dealt_out(first, second)


def _one_sided(ties: Sequence[int]) -> ScoreLaw | None:
    n, pairs = sum(ties), _untied(ties)
    if pairs * n > _MOST_STEPS:
        return None
    discordant = [1] + [0] * pairs
    done = 0
    for size in ties:
        # Times (1 - q^(done + k)) over (1 - q^k) for k = 1 … size, as power series.
        for k in range(1, size + 1):
            for place in range(pairs, done + k - 1, -1):
                discordant[place] -= discordant[place - done - k]
            for place in range(k, pairs + 1):
                discordant[place] += discordant[place - k]
        done += size
    ways = [0] * (2 * pairs + 1)
    ways[::2] = discordant[::-1]
    return ScoreLaw(tuple(ways), pairs, sum(discordant))


def _dealt_out(groups: Sequence[int], levels: Sequence[int]) -> ScoreLaw | None:
    n, pairs = sum(groups), _untied(groups)
    total = math.factorial(n) // math.prod(math.factorial(t) for t in groups)
    width = _width(total)
    laws: dict[tuple[int, ...], int] = {tuple(levels): 1}
    cost = 0
    for size in groups:
        found: dict[tuple[int, ...], int] = {}
        for left, law in laws.items():
            for taken in _allocations(left, size):
                rest = tuple(r - a for r, a in zip(left, taken, strict=True))
                weight = math.prod(map(math.comb, left, taken))
                shift = (_gain(taken, rest) + size * sum(rest)) * width
                found[rest] = found.get(rest, 0) + ((weight * law) << shift)
                cost += law.bit_length() + shift + _OVERHEAD
                if cost > _MOST_BITS:
                    return None
        laws = found
    law = laws[(0,) * len(levels)]
    return ScoreLaw(tuple(_unpacked(law, width, 2 * pairs + 1)), pairs, total)


def _gain(taken: Sequence[int], rest: Sequence[int]) -> int:
    """Score the pairs of a group with all that comes after it."""
    above, below, gain = sum(rest), 0, 0
    for a, r in zip(taken, rest, strict=True):
        above -= r
        gain += a * (above - below)
        below += r
    return gain


def _allocations(left: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Give all ways to take `size` from what is left of each level."""
    if len(left) == 1:
        if size <= left[0]:
            yield (size,)
        return
    for a in range(max(0, size - sum(left[1:])), min(left[0], size) + 1):
        for more in _allocations(left[1:], size - a):
            yield (a, *more)


def _untied(ties: Sequence[int]) -> int:
    n = sum(ties)
    return (n * n - sum(t * t for t in ties)) // 2


def _width(total: int) -> int:
    return 8 * (total.bit_length() // 8 + 1)


def _unpacked(law: int, width: int, size: int) -> list[int]:
    step = width // 8
    raw = law.to_bytes(size * step, "little")
    return [int.from_bytes(raw[k : k + step], "little") for k in range(0, size * step, step)]
