"""The sign test on cluster differences, and the interval for the median that inverts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from simtrack.inference.exact.exact_test import MOST_COINS, ExactTest, fair_coin_tail, sides_of
from simtrack.inference.exact.signflip import Reals, checked_differences
from simtrack.inference.exact.signflip_interval import InvertedInterval
from simtrack.inference.exact.signflip_law import is_typed
from simtrack.inference.numerics.ties import TIE_TOLERANCE
from simtrack.options import Alternative, choice
from simtrack.validate import decimal_fraction, integer, open_unit

__all__ = ["MedianInterval", "SignTest", "sign_test", "sign_test_counts", "sign_test_interval"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SignTest(ExactTest):
    """Do more clusters go up than down than a fair coin would send?

    Attributes
    ----------
    statistic : float or None
        The share of positive ones among those not tied; None if all are tied.
    positive, negative, ties : int
        Clusters with a difference above, below and at 0. Ties are left out, and `notes` say so.
    """

    positive: int
    negative: int
    ties: int

    schema: ClassVar[str] = "simtrack.sign-test/1"

    def _sizes(self) -> str:
        return f"{self.positive} up and {self.negative} down"


@dataclass(frozen=True, slots=True, repr=False)
class MedianInterval(InvertedInterval):
    """Which median differences would the sign test not reject?

    `attained` and `rank` count the ordered differences; else as `InvertedInterval`.
    """

    schema: ClassVar[str] = "simtrack.median-interval/1"


def sign_test(
    differences: Sequence[int | float | Fraction] | Reals, *, alternative: Alternative = "two-sided"
) -> SignTest:
    """Do more of these differences lie above 0 than a fair coin would put there?

    It looks at directions alone, so it asks for no symmetry; it speaks of the median, not of the
    mean. Whole numbers, Fractions and short decimals are compared exactly; a real within 1e-12 of
    the largest one is a tie. What rounding left of equal scores is known where the scores are
    (`cluster_contrasts`), not here.

    Raises
    ------
    InputError
        No difference at all, or one that is not finite.

    References
    ----------
    Conover (1999), Practical Nonparametric Statistics, 3rd ed., section 3.4.

    Examples
    --------
    >>> sign_test([0.3, 0.1, 0.4, 0.2, 0.0, -0.1])
    SignTest(p=0.375, 4 up and 1 down)
    """
    values = checked_differences(differences)
    slack = 0.0
    if any(isinstance(v, float) and not is_typed(v) for v in values):
        slack = TIE_TOLERANCE * max(abs(float(v)) for v in values)
    up = sum(1 for v in values if v > slack)
    down = sum(1 for v in values if v < -slack)
    return sign_test_counts(up, down, len(values) - up - down, alternative=alternative)


def sign_test_counts(
    positive: int, negative: int, ties: int = 0, *, alternative: Alternative = "two-sided"
) -> SignTest:
    """Do more clusters go up than down than a fair coin would send, given their numbers?

    Strata change nothing: within every stratum the coin is fair, so the numbers add up.

    Examples
    --------
    >>> sign_test_counts(45, 1).exact  # 47 / 2^45
    Fraction(47, 35184372088832)
    """
    choice("alternative", alternative, Alternative)
    up, down = integer("positive", positive, 0), integer("negative", negative, 0)
    tied, live = integer("ties", ties, 0), up + down
    sides = sides_of(alternative)
    least = {"two-sided": min(up, down), "greater": down, "less": up}[alternative]
    tail, number = fair_coin_tail(least, live)
    notes = (f"{tied} tied clusters left out: a sign test drops ties",) if tied else ()
    if live == 0:
        notes = (*notes, "every difference is 0: there is nothing to test")
    return SignTest(
        statistic=up / live if live else None,
        alternative=alternative,
        pvalue=min(1.0, sides * number),
        exact=None if tail is None else min(Fraction(1), sides * tail),
        floor=min(Fraction(1), Fraction(sides, 1 << live)),
        computation="closed-form",
        notes=notes,
        positive=up,
        negative=down,
        ties=tied,
    )


def sign_test_interval(
    differences: Sequence[int | float | Fraction] | Reals, *, level: float = 0.95
) -> MedianInterval:
    """Which median differences are compatible with these, whatever their law?

    The ends are the r-th smallest and r-th largest difference, r the largest number with
    2 P(Binomial(G, 1/2) < r) at most 1 - level.

    References
    ----------
    Conover (1999), section 3.2.

    Examples
    --------
    >>> found = sign_test_interval([7, 1, 3, 9, 4, 2, 8])
    >>> found.low, found.high, str(found.attained)
    (1.0, 9.0, '63/64')
    """
    open_unit("level", level)
    values = sorted(checked_differences(differences))
    g, tail = len(values), (1 - decimal_fraction("level", level)) / 2
    rank, below = _rank(tail, g)
    attained = 1 - 2 * below
    if rank == 0:
        widest = float(1 - 2 * Fraction(1, 1 << g))
        note = f"{g} differences have no interval at {level:g}: the widest has {widest:g}"
        return MedianInterval(None, None, level, attained, 0, g, "closed-form", (note,))
    low, high = float(values[rank - 1]), float(values[g - rank])
    notes: tuple[str, ...] = ()
    if low == high:
        same = sum(1 for v in values if v == values[rank - 1])
        notes = (
            f"{same} of {g} differences are {low:g}: the interval of their median is one point",
        )
    return MedianInterval(low, high, level, attained, rank, g, "closed-form", notes)


def _rank(tail: Fraction, g: int) -> tuple[int, Fraction]:
    """Give the largest r with P(Binomial(g, 1/2) < r) at most `tail`, and that probability."""
    if g <= MOST_COINS:
        rank, ways, term = 0, 0, 1
        while (ways + term) * tail.denominator <= tail.numerator << g:
            ways += term
            term = term * (g - rank) // (rank + 1)
            rank += 1
        return rank, Fraction(ways, 1 << g)
    low, high = 0, g // 2  # P(< low) <= tail < P(< high + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if fair_coin_tail(middle - 1, g)[1] <= tail:
            low = middle
        else:
            high = middle - 1
    return low, Fraction(fair_coin_tail(low - 1, g)[1])
