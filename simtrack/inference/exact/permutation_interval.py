"""The interval that inverts the permutation test: which shift between two groups is compatible?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.exact.permutation import checked_group
from simtrack.inference.exact.permutation_law import Value, subset_law, subset_sums
from simtrack.inference.exact.signflip import Reals
from simtrack.inference.exact.signflip_interval import InvertedInterval, ends_of_draws, nth_mean
from simtrack.inference.exact.signflip_law import as_integers
from simtrack.options import Guarantee
from simtrack.validate import decimal_fraction, integer, open_unit

__all__ = ["PermutationInterval", "permutation_interval"]

#: 2^20 exchanges take 50 ms and 16 MB.
_MOST_LISTED = 1 << 20
#: Clusters of a group whose subsets are listed.
_MOST_CLUSTERS = 20
#: Sums in the laws of all sizes; each pair that meets costs about 0.3 µs.
_MOST_PAIRS = 1 << 21
_DEFAULT_RESAMPLES = 99_999


@dataclass(frozen=True, slots=True, repr=False)
class PermutationInterval(InvertedInterval):
    """Which shifts between the groups would the permutation test not reject?

    `attained` and `rank` count differences between exchanged subsets; else as `InvertedInterval`.
    """

    guarantee: Guarantee = "asymptotic"

    schema: ClassVar[str] = "simtrack.permutation-interval/1"


def permutation_interval(
    first: Sequence[Value] | Reals,
    second: Sequence[Value] | Reals,
    *,
    level: float = 0.95,
    n_resamples: int | None = None,
    seed: int = 0,
) -> PermutationInterval:
    """Which shifts of the first group against the second are compatible with the data?

    With the first group moved down by θ, exchanging k of its values for k of the second's raises
    the sum exactly if the mean of the k first ones minus that of the k second ones is below θ. So
    θ is rejected at the lower side when fewer than r = ⌊(1 - level)/2 · assignments⌋ of these
    differences are at most θ, and the ends are the r-th smallest and the r-th largest. It inverts
    both one-sided tests at half the level each.

    Its level is exact only if the groups differ by a shift, which 0/1 scores with unequal rates
    never do: so the guarantee is asymptotic. An interval without width is withheld.

    Up to 2^20 exchanges are listed; whole numbers and short decimals go further by the laws of
    subset size and sum; else, or where `n_resamples` is given, assignments are drawn and the ends
    are those that the Monte Carlo test with these very draws leaves unrejected.

    References
    ----------
    Tritchler (1984), JASA 79, 200-207; Hartigan (1969), JASA 64, 1303-1317.

    Examples
    --------
    >>> permutation_interval([12, 15, 11, 19, 16], [8, 11, 9, 7, 10])
    PermutationInterval(2 to 9.5, rank 6)
    """
    open_unit("level", level)
    a, b = checked_group("first", first), checked_group("second", second)
    tail = (1 - decimal_fraction("level", level)) / 2
    g = len(a) + len(b)
    ways = math.comb(g, len(a))
    rank = math.floor(tail * ways)
    attained = 1 - Fraction(2 * rank, ways)
    if rank == 0:
        note = f"{ways} assignments have no interval at {level:g}: the widest has {1 - 2 / ways:g}"
        return PermutationInterval(None, None, level, attained, 0, g, "enumeration", (note,))
    if n_resamples is None:
        if ways <= _MOST_LISTED and max(len(a), len(b)) <= _MOST_CLUSTERS:
            low, high = _by_listing(a, b, rank)
            return PermutationInterval(
                low, high, level, attained, rank, g, "enumeration"
            ).with_width()
        if found := _by_law(a, b, rank):
            low, high = found
            return PermutationInterval(
                low, high, level, attained, rank, g, "convolution"
            ).with_width()
    draws = integer("n_resamples", _DEFAULT_RESAMPLES if n_resamples is None else n_resamples, 1)
    return _by_draws(a, b, tail, level, draws, seed)


def _by_listing(a: list[Value], b: list[Value], rank: int) -> tuple[float, float]:
    """List the differences of means over all pairs of subsets of equal size."""
    ours = subset_sums(np.array([float(v) for v in a]))
    theirs = subset_sums(np.array([float(v) for v in b]))
    sizes = range(1, min(len(a), len(b)) + 1)
    gaps = np.concatenate([((ours[k][:, None] - theirs[k][None, :]) / k).ravel() for k in sizes])
    ordered = np.partition(gaps, [rank - 1, gaps.size - rank])
    return float(ordered[rank - 1]), float(ordered[gaps.size - rank])


def _by_law(a: list[Value], b: list[Value], rank: int) -> tuple[float, float] | None:
    """Convolve the laws of the sums of k of ours and k of theirs, for every size k."""
    whole = as_integers(a + b)
    if whole is None:
        return None
    ours, theirs = whole[: len(a)], whole[len(a) :]
    found, cost = [], 0
    for k in range(1, min(len(a), len(b)) + 1):
        first, second = subset_law(ours, k), subset_law(theirs, k)
        if first is None or second is None:
            return None
        cost += len(first[2]) * len(second[2])
        if cost > _MOST_PAIRS:
            return None
        for gap, ways in _differences(first, second).items():
            found.append((gap / k, gap, k, ways))
    found.sort()
    scale = next((Fraction(repr(v) if isinstance(v, float) else v) / w
                  for v, w in zip(a + b, whole, strict=True) if w), Fraction(0))  # fmt: skip
    return float(nth_mean(found, rank) * scale), float(nth_mean(found[::-1], rank) * scale)


def _differences(
    first: tuple[int, int, list[int]], second: tuple[int, int, list[int]]
) -> dict[int, int]:
    law: dict[int, int] = {}
    for i, count in enumerate(first[2]):
        base = first[0] + i * first[1] - second[0]
        for j, other in enumerate(second[2]):
            if count and other:
                gap = base - j * second[1]
                law[gap] = law.get(gap, 0) + count * other
    return law


def _by_draws(
    a: list[Value], b: list[Value], tail: Fraction, level: float, draws: int, seed: int
) -> PermutationInterval:
    n, pooled = len(a), np.array([float(v) for v in a + b])
    g, wanted = pooled.size, math.floor(tail * (draws + 1))
    attained = 1 - Fraction(2 * wanted, draws + 1)
    gaps = _drawn_gaps(pooled, n, draws, seed)
    rank = wanted - (draws - gaps.size)  # the data's own assignment lies beyond either end
    if rank < 1:
        note = f"{draws} draws have no interval at {level:g}: draw more"
        return PermutationInterval(None, None, level, attained, 0, g, "monte-carlo", (note,))
    low, high, mcse = ends_of_draws(gaps, rank)
    return PermutationInterval(
        low, high, level, attained, rank, g, "monte-carlo",
        (f"{draws} random assignments",), mcse=mcse, n_resamples=draws, seed=seed,
    ).with_width()  # fmt: skip


def _drawn_gaps(pooled: NDArray[np.float64], n: int, draws: int, seed: int) -> NDArray[np.float64]:
    """Give (mean leaving - mean coming) of every drawn assignment that exchanges anything."""
    from simtrack.rng import Stream

    keys = Stream(seed, "permutation interval").uniform(replicates=draws, clusters=pooled.size)
    order = np.argsort(keys[:, :, 0], axis=1, kind="stable")
    is_first = np.zeros((draws, pooled.size), bool)
    np.put_along_axis(is_first, order[:, :n], True, axis=1)
    leaving, coming = ~is_first[:, :n], is_first[:, n:]
    k = leaving.sum(axis=1)
    sums = np.where(leaving, pooled[:n], 0.0).sum(axis=1)
    sums -= np.where(coming, pooled[n:], 0.0).sum(axis=1)
    return np.asarray(sums[k > 0] / k[k > 0])
