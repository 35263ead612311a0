"""Mean differences that the sign-flip test does not reject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.exact.signflip import Reals, checked_differences
from simtrack.inference.exact.signflip_law import as_integers, tail_bounds
from simtrack.inference.numerics.special import normal_quantile
from simtrack.note import Note
from simtrack.options import Computation, Guarantee
from simtrack.validate import decimal_fraction, integer, open_unit

__all__ = [
    "InvertedInterval",
    "SignFlipInterval",
    "ends_of_draws",
    "nth_mean",
    "sign_flip_interval",
]


@dataclass(frozen=True, slots=True)
class InvertedInterval:
    """Which values would the test not reject?

    Attributes
    ----------
    low, high : float or None
        None where refused, with the reason in `notes`.
    level : float
        The level asked for.
    attained : Fraction
        The level that the interval has for continuous data, where its assumption holds.
    rank : int
        The ends are this many candidates from either end of their order; 0 where none are listed.
    clusters : int
    computation, guarantee, notes
    mcse : (float, float) or None
        Monte Carlo only, as are `n_resamples` and `seed`: standard error of either end.
    """

    low: float | None
    high: float | None
    level: float
    attained: Fraction
    rank: int
    clusters: int
    computation: Computation
    notes: tuple[str, ...] = ()
    guarantee: Guarantee = "finite-sample"
    mcse: tuple[float, float] | None = None
    n_resamples: int | None = None
    seed: int | None = None

    schema: ClassVar[str] = "simtrack.inverted-interval/1"

    def to_dict(self) -> dict[str, object]:
        """Give plain values."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own |= {"attained": float(self.attained), "notes": list(self.notes)}
        own["mcse"] = None if self.mcse is None else list(self.mcse)
        return {"schema": self.schema} | own

    def __repr__(self) -> str:
        name = type(self).__name__
        if self.low is None:
            return f"{name}(refused: {self.notes[-1]})"
        ends = f"{self.low:.6g} to {self.high:.6g}"
        return f"{name}({ends}, rank {self.rank})" if self.rank else f"{name}({ends})"

    def with_width(self) -> Self:
        """Give it as it is, or withheld with a note where both ends are one number."""
        if self.low is None or self.low != self.high:
            return self
        text = f"no interval: both of its ends are {self.low:g}, which is no sign of precision"
        return replace(self, low=None, high=None, notes=(*self.notes, Note("flat", text)))


def ends_of_draws(
    draws: NDArray[np.float64], rank: int
) -> tuple[float, float, tuple[float, float]]:
    """Give the draws at this rank from either end, and the standard error of each end.

    The rank of a quantile of m draws has standard deviation sqrt(rank (1 - rank / m)); half the
    distance between the draws that far to either side estimates what that does to the end.
    """
    ordered = np.sort(draws)
    spread = max(1, round(math.sqrt(rank * (1.0 - rank / ordered.size))))
    errors = []
    for centre in (rank - 1, ordered.size - rank):
        left, right = max(centre - spread, 0), min(centre + spread, ordered.size - 1)
        errors.append(float(ordered[right] - ordered[left]) / 2.0)
    low, high = float(ordered[rank - 1]), float(ordered[ordered.size - rank])
    return low, high, (errors[0], errors[1])


# The interval that inverts the exact sign-flip test.
#: 2^20 subset means take 20 ms and 24 MB.
_MOST_LISTED = 20
#: Up to here listing is quicker than the two-dimensional law.
_ALWAYS_LISTED = 14
#: Sizes times sums in the two-dimensional law; each costs about 0.3 µs, and all a second.
_MOST_CELLS, _MOST_WORK = 1 << 20, 1 << 34
#: Ends by bounds of p are moved outwards by up to this share of their distance from the mean.
_APART = 1e-3
#: After so many guesses the bracket is halved: p may be a staircase.
_GUESSES = 6


@dataclass(frozen=True, slots=True, repr=False)
class SignFlipInterval(InvertedInterval):
    """Which mean differences would the sign-flip test not reject?

    `attained` and `rank` count means of subsets of the clusters; else as `InvertedInterval`.
    """

    guarantee: Guarantee = "asymptotic"

    schema: ClassVar[str] = "simtrack.sign-flip-interval/1"


def sign_flip_interval(
    differences: Sequence[int | float | Fraction] | Reals,
    *,
    level: float = 0.95,
    n_resamples: int | None = None,
    seed: int = 0,
) -> SignFlipInterval:
    """Which mean differences are compatible with these, if they are symmetric about their mean?

    The level is exact for such differences alone: then moving them by their mean leaves them
    symmetric about 0. Differences of 0/1 scores with unequal rates are not, whatever the null: with
    12 clusters of which 1 in 10 differs, always to one side, 95 % intervals cover .72
    (`studies/inverted_intervals`). So the guarantee is asymptotic, though that of p stays what it
    is; and an interval without width is withheld.

    A shift θ is rejected at the lower side exactly when fewer than r = ⌊(1 - level)/2 · 2^G⌋ of
    the 2^G - 1 means of non-empty subsets are at most θ; so the ends are the r-th smallest and
    the r-th largest subset mean (G = 12: the 102nd). Subsets are listed up to 20 clusters; whole
    numbers and short decimals go further by the joint law of subset size and sum. Beyond, the ends
    are where the certain upper bound of p crosses (1 - level)/2, or up to a thousandth further out:
    a second or two for 14,042 differences. Where `n_resamples` is given the subsets are drawn, and
    the ends are those that the Monte Carlo test with these very draws leaves unrejected.

    References
    ----------
    Hartigan (1969), JASA 64, 1303-1317 (typical values). Tritchler (1984), JASA 79, 200-207.

    Examples
    --------
    >>> sign_flip_interval([-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5])
    SignFlipInterval(-6.14286 to -1.33333, rank 102)
    """
    open_unit("level", level)
    values = checked_differences(differences)
    g = len(values)
    tail = (1 - decimal_fraction("level", level)) / 2
    if n_resamples is not None:
        return _by_draws(values, tail, level, n_resamples, seed)
    rank = math.floor(tail * 2**g)
    attained = 1 - Fraction(2 * rank, 2**g)
    if rank == 0:
        note = f"{g} differences have no interval at {level:g}: the widest has {1 - 2 / 2**g:g}"
        return SignFlipInterval(None, None, level, attained, 0, g, "enumeration", (note,))
    whole = as_integers(values) if g > _ALWAYS_LISTED else None
    cells = 0 if whole is None else (sum(map(abs, whole)) + 1) * (g + 1)
    if whole is not None and cells <= _MOST_CELLS and cells * g * g <= _MOST_WORK:
        low, high = _ends_by_law(whole, rank)
        scale = _scale(values, whole)
        ends = float(low * scale), float(high * scale)
        found = SignFlipInterval(*ends, level, attained, rank, g, "convolution")
    elif g <= _MOST_LISTED:
        ends = _ends_by_listing([float(v) for v in values], rank)
        found = SignFlipInterval(*ends, level, attained, rank, g, "enumeration")
    else:
        ends = _ends_by_bounds([float(v) for v in values], float(tail))
        found = SignFlipInterval(*ends, level, 1 - 2 * tail, 0, g, "quadrature")
    return found.with_width()


def _ends_by_bounds(values: Sequence[float], tail: float) -> tuple[float, float]:
    """Find, on either side, a shift that the test rejects for certain, hardly beyond the last.

    In standard errors k the normal score of p is all but k itself, so each guess is scaled by what
    the last one gave; guesses fall outside and inside in turn.
    """
    shown = np.array(values)
    mean = math.fsum(values) / shown.size
    error = math.sqrt(math.fsum(((shown - mean) ** 2).tolist())) / shown.size
    if error == 0.0:
        return mean, mean
    wanted, ends = -normal_quantile(tail), []
    for side in (1.0, -1.0):
        inside, outside, k, tries = 0.0, math.inf, wanted, 0
        while outside == math.inf or outside - inside > _APART * outside:
            moved = side * (shown - (mean - side * k * error))
            p = tail_bounds(np.abs(moved).tolist(), math.fsum(moved.tolist()))[1]
            score = -normal_quantile(p)
            inside, outside = (inside, k) if p <= tail else (k, outside)
            step = 1.0 + 0.4 * _APART if outside == math.inf or p > tail else 1.0 - 0.4 * _APART
            k = k * wanted / score * step if score > 0.5 * wanted else 2.0 * k
            tries += 1
            if tries > _GUESSES or not inside < k < outside:
                k = 0.5 * (inside + outside) if outside < math.inf else 2.0 * inside
        ends.append(mean - side * outside * error)
    return ends[0], ends[1]


def _ends_by_listing(values: Sequence[float], rank: int) -> tuple[float, float]:
    sums, sizes = np.zeros(1 << len(values)), np.zeros(1 << len(values))
    for place, value in enumerate(values):
        half = 1 << place
        np.add(sums[:half], value, out=sums[half : 2 * half])
        np.add(sizes[:half], 1.0, out=sizes[half : 2 * half])
    means = sums[1:] / sizes[1:]
    ordered = np.partition(means, [rank - 1, means.size - rank])
    return float(ordered[rank - 1]), float(ordered[means.size - rank])


def _by_draws(
    values: Sequence[int | float | Fraction], tail: Fraction, level: float, draws: int, seed: int
) -> SignFlipInterval:
    """Take order statistics of the means of random subsets (Hartigan 1969, section 3)."""
    from simtrack.rng import Stream

    m, g = integer("n_resamples", draws, 1), len(values)
    real = np.array([float(v) for v in values])
    chosen = Stream(seed, "sign-flip interval").bernoulli(0.5, g, replicates=m, clusters=1)[:, 0, :]
    sizes = chosen.sum(axis=1)
    means = np.einsum("rg,g->r", chosen.astype(np.float64), real)[sizes > 0] / sizes[sizes > 0]
    wanted = math.floor(tail * (m + 1))
    rank = wanted - int((sizes == 0).sum())  # the empty subset lies beyond either end
    attained = 1 - Fraction(2 * wanted, m + 1)
    if rank < 1:
        note = f"{m} draws over {g} differences have no interval at {level:g}: draw more"
        return SignFlipInterval(None, None, level, attained, 0, g, "monte-carlo", (note,))
    low, high, mcse = ends_of_draws(means, rank)
    return SignFlipInterval(
        low, high, level, attained, rank, g, "monte-carlo",
        (f"{m} random subsets",), mcse=mcse, n_resamples=m, seed=seed,
    ).with_width()  # fmt: skip


def _ends_by_law(values: Sequence[int], rank: int) -> tuple[Fraction, Fraction]:
    """Count subsets by size and sum in one packed integer, then walk the means in order.

    A value in the subset multiplies by y x^value, one outside it by 1; negative values are moved
    up by x^|value| on both sides, so exponents stay at least 0. y is x^(Σ|value| + 1).
    """
    g, total = len(values), sum(map(abs, values))
    moved = sum(-v for v in values if v < 0)
    byte_width = g // 8 + 1
    width, row = 8 * byte_width, total + 1
    packed = 1
    for value in values:
        outside, inside = (0, value) if value >= 0 else (-value, 0)
        packed = (packed << (width * outside)) + (packed << (width * (inside + row)))
    cells = packed.to_bytes((g + 1) * row * byte_width, "little")
    found = []
    for size in range(1, g + 1):
        start = size * row
        for place in range(row):
            at = (start + place) * byte_width
            ways = int.from_bytes(cells[at : at + byte_width], "little")
            if ways:
                found.append(((place - moved) / size, place - moved, size, ways))
    found.sort()
    return nth_mean(found, rank), nth_mean(found[::-1], rank)


def nth_mean(ordered: Sequence[tuple[float, int, int, int]], rank: int) -> Fraction:
    """Give the mean at a rank from a list of (mean, sum, size, how often)."""
    passed = 0
    for _, total, size, ways in ordered:
        passed += ways
        if passed >= rank:
            return Fraction(total, size)
    raise AssertionError("the counts add up to 2^G - 1, and the rank is below that")


def _scale(values: Sequence[int | float | Fraction], whole: Sequence[int]) -> Fraction:
    """Give what turns the whole numbers back into the differences."""
    for value, number in zip(values, whole, strict=True):
        if number:
            typed = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
            return typed / number
    return Fraction(0)
