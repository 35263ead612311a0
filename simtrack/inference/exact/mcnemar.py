"""McNemar's test of paired binary outcomes: exact, mid-p, and over strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import ExactTest, fair_coin_tail, sides_of
from simtrack.inference.exact.signflip import SignFlip, sign_flip
from simtrack.inference.numerics.ties import as_pvalue
from simtrack.note import Note
from simtrack.options import Alternative, choice
from simtrack.validate import integer

__all__ = ["McNemar", "mcnemar", "mcnemar_midp", "mcnemar_stratified", "mcnemar_totals"]

Counts1D = Sequence[int] | NDArray[np.int64]
StratumWeights = Literal["pairs", "equal"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McNemar(ExactTest):
    """Do the pairs that disagree favour one side?

    Attributes
    ----------
    statistic : float or None
        The share of disagreeing pairs in which the first one alone passed; None without any.
    only_first, only_second : int
        Pairs in which one side alone passed (b and c).
    is_midp : bool
        The mid-p holds its level on average only: no finite-sample guarantee.
    """

    only_first: int
    only_second: int
    is_midp: bool = False

    schema: ClassVar[str] = "simtrack.mcnemar/1"

    def _sizes(self) -> str:
        return f"{self.only_first} against {self.only_second} discordant pairs"


def mcnemar(
    only_first: int, only_second: int, *, alternative: Alternative = "two-sided"
) -> McNemar:
    """Do the discordant pairs favour one side more than fair coins would?

    Pairs must be independent of one another: for pairs that come in clusters take the sign-flip
    test on cluster differences. The two-sided p is twice the smaller tail, never above 1.

    Parameters
    ----------
    only_first, only_second : int
        Pairs in which the first (the second) alone passed.
    alternative : str
        "greater": the first passes more often.

    References
    ----------
    McNemar (1947), Psychometrika 12, 153-157; exact: Fagerland, Lydersen and Laake (2013),
    BMC Medical Research Methodology 13, 91, section "exact conditional test".

    Examples
    --------
    >>> mcnemar(2, 16)
    McNemar(p=0.00131226, 2 against 16 discordant pairs)
    >>> mcnemar(6, 6).exact
    Fraction(1, 1)
    """
    return _of_counts(only_first, only_second, alternative, False)


def mcnemar_midp(
    only_first: int, only_second: int, *, alternative: Alternative = "two-sided"
) -> McNemar:
    """As `mcnemar`, but outcomes exactly as extreme as the one seen count half.

    Less conservative: over repetitions its size is near the level asked for and only now and then
    a little above it.

    References
    ----------
    Lancaster (1961), JASA 56, 223-234; Fagerland, Lydersen and Laake (2013), mid-p.

    Examples
    --------
    >>> mcnemar_midp(1, 4).exact
    Fraction(7, 32)
    """
    return _of_counts(only_first, only_second, alternative, True)


def mcnemar_totals(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    alternative: Alternative = "two-sided",
    is_midp: bool = False,
) -> McNemar:
    """Does one condition pass more of the units that both have tried once?

    Every row of `totals` is a pair: one trial, 0 or 1, in either condition. Rows that lack one of
    the two are left out and counted.

    Raises
    ------
    InputError
        A row with several trials: which belongs to which cannot be told from sums.
    """
    bottom = totals.denominator[:, [first, second]]
    both = (bottom > 0).all(axis=1)
    top, bottom = totals.numerator[both][:, [first, second]], bottom[both]
    graded = (top != 0) & (top != 1) & (bottom == 1)
    if graded.any():
        raise InputError("scores", "0 or 1 for pairs", float(top[graded][0]), cure="Use sign-flip.")
    if not (bottom == 1).all() or not ((top == 0) | (top == 1)).all():
        raise InputError(
            "totals",
            "one trial of 0 or 1 a cluster and condition",
            cure="Count by the unit that pairs the trials, or use the sign-flip test.",
        )
    b = int(((top[:, 0] == 1) & (top[:, 1] == 0)).sum())
    c = int(((top[:, 0] == 0) & (top[:, 1] == 1)).sum())
    left_out = int(((totals.denominator[:, [first, second]] > 0).sum(axis=1) == 1).sum())
    told = Note("unpaired", f"unpaired units left out: {left_out}", n=left_out)
    notes = (told,) if left_out else ()
    return _of_counts(b, c, alternative, is_midp, notes)


def mcnemar_stratified(
    only_first: Counts1D,
    only_second: Counts1D,
    *,
    pairs: Counts1D | None = None,
    weights: StratumWeights = "pairs",
    alternative: Alternative = "two-sided",
) -> McNemar | SignFlip:
    """Do the discordant pairs of several strata favour one side?

    Within every stratum the coins are fair, so with weights "pairs" (every pair counts alike) the
    counts add up and the test is McNemar's on the sums. With weights "equal" every stratum counts
    alike: the statistic is the mean over strata of (b - c) / pairs, and its law is that of the
    signed discordant pairs, each of size 1 / pairs, counted exactly.

    Parameters
    ----------
    only_first, only_second : ints, shape (strata,)
    pairs : ints, shape (strata,)
        All pairs of a stratum, concordant ones too; needed for equal weights.

    Returns
    -------
    McNemar or SignFlip
        With equal weights the `statistic` is the mean over strata, and `clusters` are pairs.

    Examples
    --------
    >>> mcnemar_stratified([1, 1], [6, 10]).exact == mcnemar(2, 16).exact
    True
    >>> mcnemar_stratified([3, 0], [0, 1], pairs=[6, 4], weights="equal").pvalue
    0.625
    """
    choice("weights", weights, StratumWeights)
    b = [integer("only_first", x, 0) for x in only_first]
    c = [integer("only_second", x, 0) for x in only_second]
    if len(b) != len(c) or not b:
        raise InputError("only_second", f"as many strata as only_first ({len(b)})", len(c))
    if weights == "pairs":
        notes = (f"{len(b)} strata, each pair counts alike: discordant pairs are added up",)
        return _of_counts(sum(b), sum(c), alternative, False, notes)
    return _equal_strata(b, c, pairs, alternative)


def _equal_strata(
    b: list[int], c: list[int], pairs: Counts1D | None, alternative: Alternative
) -> SignFlip:
    if pairs is None or len(pairs) != len(b):
        raise InputError("pairs", "the number of pairs in every stratum", pairs)
    n = [integer("pairs", size, max(1, x + y)) for size, x, y in zip(pairs, b, c, strict=True)]
    live = sum(b) + sum(c)
    if live == 0:
        return sign_flip([0] * len(b), alternative=alternative)
    # The mean over all live pairs of these sizes is the mean over strata of (b - c) / pairs.
    sizes: list[int | float | Fraction] = []
    for up, down, size in zip(b, c, n, strict=True):
        one = Fraction(live, size * len(b))
        sizes += [one] * up + [-one] * down
    return sign_flip(sizes, alternative=alternative)


def _of_counts(
    only_first: int,
    only_second: int,
    alternative: Alternative,
    is_midp: bool,
    notes: tuple[str, ...] = (),
) -> McNemar:
    choice("alternative", alternative, Alternative)
    b, c = integer("only_first", only_first, 0), integer("only_second", only_second, 0)
    n, sides = b + c, sides_of(alternative)
    least = {"two-sided": min(b, c), "greater": c, "less": b}[alternative]
    (tail, number), (below, less) = fair_coin_tail(least, n), fair_coin_tail(least - 1, n)
    exact = None if tail is None else min(Fraction(1), sides * tail)
    pvalue = min(1.0, sides * number)
    floor = min(Fraction(1), Fraction(sides, 1 << n))
    if is_midp and n:
        # Half of what is exactly as extreme: both ends of a two-sided test, one if they are one.
        ends = 1 if sides == 1 or b == c else 2
        pvalue -= 0.5 * ends * (number - less)
        if exact is not None and tail is not None and below is not None:
            exact -= Fraction(ends, 2) * (tail - below)
            pvalue = float(exact)
        pvalue, floor = as_pvalue(pvalue), floor / 2
    if n == 0:
        notes = (*notes, "no discordant pair: there is nothing to test")
    return McNemar(
        statistic=b / n if n else None,
        alternative=alternative,
        pvalue=pvalue,
        exact=exact,
        floor=floor,
        computation="closed-form",
        guarantee="asymptotic" if is_midp else "finite-sample",
        notes=notes,
        only_first=b,
        only_second=c,
        is_midp=is_midp,
    )
