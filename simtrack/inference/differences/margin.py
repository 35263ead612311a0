"""Equivalence and non-inferiority: tests that two levels differ by less than a margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.errors import InputError
from simtrack.inference.contrasts import cluster_contrasts, paired_clusters
from simtrack.inference.differences.cluster_difference import cluster_difference
from simtrack.inference.differences.flips import shifted
from simtrack.inference.differences.newcombe import (
    newcombe_clustered,
    newcombe_pairs,
    newcombe_pooled,
)
from simtrack.inference.differences.paired import paired_difference
from simtrack.inference.differences.paired_rates import joint_counts, tango_score
from simtrack.inference.differences.score_interval import (
    difference_score,
    miettinen_nurminen_clustered,
)
from simtrack.inference.differences.two_rates import TwoRates, two_columns
from simtrack.inference.exact.cautions import refusal
from simtrack.inference.exact.signflip import sign_flip
from simtrack.inference.numerics.special import normal_cdf, t_cdf
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Alternative
from simtrack.validate import real

__all__ = ["MARGIN_METHODS", "Margin", "check_margin", "margin_answer"]

Floats = NDArray[np.float64]
#: On which side of the null the truth is claimed to lie.
Side = Literal["greater", "less"]
#: A p below this is given as this, where it comes from the levels of an interval.
_LEAST_P = 1e-10
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Margin:
    """Which differences, first minus second, are to be ruled out?

    Attributes
    ----------
    low, high : float
        Differences of `low` or less, and of `high` or more, are to be ruled out; infinite where
        one side does not matter.

    Examples
    --------
    >>> Margin.of(0.05, "two-sided").claim, Margin.of(0.05, "greater").claim
    ('equivalent', 'not inferior')
    >>> Margin.of((-0.05, 0.1), "two-sided").words
    'within -0.05 to 0.1'
    """

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def of(cls, margin: float | tuple[float, float], alternative: Alternative) -> Margin:
        """Read a margin with the side that is claimed.

        Parameters
        ----------
        margin : float above 0, or (below 0, above 0)
            The smallest difference that matters; two where they are not the same on both sides.
        alternative : str
            "two-sided": the levels are equivalent. "greater": the first is not inferior, lower by
            less than the margin. "less": it is not superior, higher by less than the margin.
        """
        if isinstance(margin, tuple):
            low, high = real("margin", margin[0]), real("margin", margin[1])
            if alternative != "two-sided":
                rule = f"one number with the alternative {alternative}"
                raise InputError("margin", rule, f"{low:g} and {high:g}")
            if not low < 0.0 < high:
                raise InputError("margin", "below 0 and above 0", f"{low:g} and {high:g}")
            return cls(low, high)
        size = real("margin", margin)
        if size <= 0.0:
            cure = "For non-inferiority give its size, and the alternative greater."
            raise InputError("margin", "above 0", f"{size:g}", cure=cure)
        return cls(
            -math.inf if alternative == "less" else -size,
            math.inf if alternative == "greater" else size,
        )

    @property
    def nulls(self) -> tuple[tuple[float, Side], ...]:
        """The differences that are tested, each with the side that is claimed."""
        both: tuple[tuple[float, Side], ...] = ((self.low, "greater"), (self.high, "less"))
        return tuple((null, side) for null, side in both if math.isfinite(null))

    @property
    def claim(self) -> str:
        """What is shown where all nulls are rejected."""
        if len(self.nulls) == 2:
            return "equivalent"
        return "not inferior" if self.nulls[0][1] == "greater" else "not superior"

    @property
    def words(self) -> str:
        """Where the difference is claimed to lie."""
        if len(self.nulls) == 2:
            return f"within {self.low:g} to {self.high:g}"
        return f"above {self.low:g}" if math.isfinite(self.low) else f"below {self.high:g}"

    def to_dict(self) -> dict[str, object]:
        """Give plain values; a side that does not matter is null."""
        low, high = (end if math.isfinite(end) else None for end in (self.low, self.high))
        return {"low": low, "high": high, "claim": self.claim}


@dataclass(frozen=True, slots=True)
class _Tail:
    """The p of a one-sided test; as a fraction, and the least possible, where it was counted."""

    pvalue: float
    exact: Fraction | None = None
    floor: Fraction | None = None


_Test = Callable[[float, Side], _Tail]


def margin_answer(method: Method, layout: Layout, ask: Ask, margin: Margin) -> Answer:
    """Do two levels differ by less than the margin, by this method?

    Every null of the margin is tested one-sided at alpha = 1 - level, and all have to be rejected:
    p is the largest of theirs (two one-sided tests). The interval is the method's own at
    1 - 2 alpha; it lies within the margin just where p ≤ alpha.

    Parameters
    ----------
    method : Method
        A key of `MARGIN_METHODS`.
    layout : Layout
    ask : Ask
        Its alternative is that of the margin, and not looked at.
    margin : Margin

    Returns
    -------
    Answer
        `extra` holds `margin` (as words), `claim`, `verdict` and the p of each null.

    Raises
    ------
    InputError
        A method that tests no other null than no difference; a level of 1/2 or less.

    References
    ----------
    Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657-680. Tango (1998), Statistics in
    Medicine 17, 891-908; Farrington and Manning (1990), Statistics in Medicine 9, 1447-1454.
    """
    check_margin(method, ask)
    for null, _ in margin.nulls:
        if layout.bounded and abs(null) >= 1.0:
            raise InputError("margin", "below 1 for scores in [0, 1]", f"{abs(null):g}")
    wide = replace(ask, level=round(1.0 - 2.0 * ask.alpha, 12), alternative="two-sided")
    shown = method.one(layout, wide)
    notes = tuple(n for n in shown.notes if n.code not in _OF_NO_DIFFERENCE)
    test = MARGIN_METHODS[method.name](layout)
    if method.name == "sign-flip" and (why := _refusal(layout, ask)):
        test = why
    refused = test if isinstance(test, str) else ""
    tails = [] if isinstance(test, str) else [test(*null) for null in margin.nulls]
    worst = max(tails, key=lambda tail: tail.pvalue, default=None)
    reached = worst is not None and worst.pvalue <= ask.alpha
    if method.name == "sign-flip":
        notes = (*notes, _SYMMETRY)
    floors = [tail.floor for tail in tails if tail.floor is not None]
    more: dict[str, object] = {
        "margin": margin.words,
        "claim": margin.claim,
        "verdict": "refused" if worst is None else margin.claim if reached else "not shown",
        "interval_level": wide.level,
        "pvalues": [tail.pvalue for tail in tails],
    }
    if "floor" in shown.extra:
        more["floor"] = max(floors, default=None)
    return replace(
        shown,
        pvalue=None if worst is None else worst.pvalue,
        exact=None if worst is None else worst.exact,
        refused=refused,
        notes=notes,
        extra={**shown.extra, **more},
    )


def check_margin(method: Method, ask: Ask) -> None:
    """Refuse a method that tests no other null than no difference, and a level of 1/2 or less."""
    if method.name not in MARGIN_METHODS:
        rule = f"one that tests a margin: {', '.join(MARGIN_METHODS)}"
        raise InputError("method", rule, method.name)
    if ask.alpha >= 0.5:
        raise InputError("level", "above 0.5 with a margin", ask.level)


def _refusal(layout: Layout, ask: Ask) -> str:
    """Say why the sign-flip test has no answer at the level that was asked for."""
    pairs = paired_clusters(layout.totals)
    uneven = pairs.imbalance if ask.factor else 0.0
    return refusal(int(pairs.both.sum()), uneven, ask.alpha, "greater")


#: Notes on the test of no difference, which is not the one that is asked.
_OF_NO_DIFFERENCE = frozenset({"few-differ"})
_SYMMETRY = Note(
    "symmetric-at-margin",
    "the sign-flip p at a margin is exact where cluster differences are symmetric about their mean;"
    " dealing out the levels at random makes them so at no difference only",
)


def _by_t(gap: float, se: float, df: float) -> _Test:
    def test(null: float, side: Side) -> _Tail:
        t = (gap - null) / se
        return _Tail(t_cdf(-t if side == "greater" else t, df))

    return test


def _paired_t(layout: Layout) -> _Test | str:
    found = paired_difference(layout.totals)
    if found.difference is None or not found.se:
        return "; ".join(found.notes) or "no standard error"
    return _by_t(found.difference, found.se, found.clusters - 1.0)


def _cluster_t(layout: Layout) -> _Test | str:
    found = cluster_difference(layout.totals)
    if found.estimate is None or not found.se or found.df is None:
        return "; ".join(found.notes) or "no standard error"
    return _by_t(found.estimate, found.se, found.df)


def _by_score(score: Callable[[float], float], df: float | None = None) -> _Test:
    def test(null: float, side: Side) -> _Tail:
        z = score(null) if side == "greater" else -score(null)
        return _Tail(normal_cdf(-z) if df is None else t_cdf(-z, df))

    return test


def _score_pooled(layout: Layout) -> _Test | str:
    two = two_columns(layout.totals, 0, 1)
    if not (two.n > 0.0).all():
        return "a condition without trials: nothing is defined"
    return _by_score(_difference_at(two.hits, two.n))


def _score_clustered(layout: Layout) -> _Test | str:
    found = miettinen_nurminen_clustered(layout.totals)
    p1, p2, df = found.rate_first, found.rate_second, found.df
    if found.low is None or p1 is None or p2 is None or df is None:
        return "; ".join(found.notes) or "not defined"
    n = np.array([found.n_first, found.n_second])
    return _by_score(_difference_at(np.array([p1, p2]) * n, n), df)


def _difference_at(hits: Floats, n: Floats) -> Callable[[float], float]:
    """Give the score of the difference at any null."""

    def score(null: float) -> float:
        at = difference_score(hits[:1], n[:1], hits[1:], n[1:], np.array([null]))
        return float(at[0])

    return score


def _tango(layout: Layout) -> _Test | str:
    _, cells, notes = joint_counts(layout.totals)
    b, c, n = (np.array([v]) for v in (cells[1], cells[2], sum(cells)))
    if sum(cells) == 0.0:
        return "; ".join(notes) or "no pair"
    return _by_score(lambda null: float(tango_score(b, c, n, np.array([null]))[0]))


def _by_interval(interval: Callable[..., TwoRates]) -> Callable[[Layout], _Test | str]:
    """Test by a method that has an interval alone: at which level does it reach the null?"""

    def make(layout: Layout) -> _Test | str:
        found = interval(layout.totals)
        if found.low is None or found.high is None:
            return "; ".join(found.notes) or "not defined"

        def excludes(alpha: float, null: float, side: Side) -> bool:
            ends = interval(layout.totals, level=1.0 - 2.0 * alpha)
            if ends.low is None or ends.high is None:
                return False
            return ends.low > null if side == "greater" else ends.high < null

        def test(null: float, side: Side) -> _Tail:
            gap = found.estimate or 0.0
            beyond = gap > null if side == "greater" else gap < null
            if not beyond:
                other: Side = "less" if side == "greater" else "greater"
                return _Tail(1.0 if gap == null else 1.0 - test(null, other).pvalue)
            low, high = math.log(_LEAST_P), math.log(0.5)
            if excludes(_LEAST_P, null, side):
                return _Tail(_LEAST_P)
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                if excludes(math.exp(middle), null, side):
                    high = middle
                else:
                    low = middle
            return _Tail(math.exp(high))

        return test

    return make


def _sign_flip(layout: Layout) -> _Test | str:
    values = cluster_contrasts(layout.totals).values

    def test(null: float, side: Side) -> _Tail:
        found = sign_flip(shifted(values, null), alternative=side)
        return _Tail(found.pvalue, found.exact, found.floor)

    return test


#: Methods that test another null than no difference, and how: each gives the one-sided test of any
#: null for one layout, or says why there is none.
MARGIN_METHODS: Mapping[str, Callable[[Layout], _Test | str]] = {
    "sign-flip": _sign_flip,
    "paired-cluster-t": _paired_t,
    "cluster-t-difference": _cluster_t,
    "newcombe-clustered": _by_interval(newcombe_clustered),
    "miettinen-nurminen-clustered": _score_clustered,
    "newcombe": _by_interval(newcombe_pooled),
    "miettinen-nurminen": _score_pooled,
    "newcombe-pairs": _by_interval(newcombe_pairs),
    "tango": _tango,
}
