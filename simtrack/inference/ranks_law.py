"""The exact law of Kendall's score S over all pairings of two rankings, with ties in either."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["ScoreLaw", "score_law"]

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
