"""Paired 0/1 outcomes: their joint table and the score interval of Tango."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.two_rates import Two, TwoRates, answer_of, compared, two_columns
from simtrack.inference.exact.answers import as_notes, with_p
from simtrack.inference.exact.many import mcnemar_pairs
from simtrack.inference.exact.mcnemar import mcnemar_totals
from simtrack.inference.intervals import normal_critical, open_ended
from simtrack.inference.numerics.roots import turning_point
from simtrack.inference.rates.binomial import checked_counts
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Side

__all__ = ["METHODS", "joint_counts", "tango", "tango_pairs", "tango_score"]


def joint_counts(
    totals: Totals, first: int = 0, second: int = 1
) -> tuple[Two, tuple[float, float, float, float], tuple[str, ...]]:
    """How many pairs succeeded in both conditions, in the first or second only, in neither?

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions), with at most one 0/1 trial a cluster and condition. Clusters
        that lack one of the two are left out, and a note counts them.
    first, second : int
        Columns of `totals`.

    Returns
    -------
    two : Two
        The two columns over the pairs alone.
    cells : tuple of float
        Pairs with success in both, first only, second only, neither.
    notes : tuple of str

    Raises
    ------
    InputError
        More than one trial in a cluster and condition, or a score other than 0 and 1.

    Examples
    --------
    >>> joint_counts(Totals.from_arrays([[1, 0], [1, 1], [0, 0]], [[1, 1], [1, 1], [1, 0]]))[1:]
    ((1.0, 1.0, 0.0, 0.0), ('unpaired clusters left out: 1',))
    """
    two = two_columns(totals, first, second)
    top, bottom = two.totals.numerator, two.totals.denominator
    if (bottom > 1.0).any():
        cure = "Use newcombe-clustered or paired-cluster-t."
        raise InputError(
            "trials", "at most one a cluster and condition", int(bottom.max()), cure=cure
        )
    if ((top != 0.0) & (top != 1.0)).any():
        raise InputError("scores", "0 or 1 for pairs", cure="Use paired-cluster-t.")
    both = (bottom[:, 0] > 0.0) & (bottom[:, 1] > 0.0)
    kept = Totals.from_arrays(
        top[both],
        bottom[both],
        clusters=[label for label, here in zip(totals.clusters, both, strict=True) if here],
        conditions=two.totals.conditions,
        by=two.totals.by,
        name=totals.name,
    )
    a, b = top[both].T
    cells = (
        float((a * b).sum()),
        float((a * (1.0 - b)).sum()),
        float(((1.0 - a) * b).sum()),
        float(((1.0 - a) * (1.0 - b)).sum()),
    )
    dropped = int((np.any(bottom > 0.0, axis=1) & ~both).sum())
    told = Note("unpaired", f"unpaired clusters left out: {dropped}", n=dropped)
    notes = (told,) if dropped else ()
    return two_columns(kept, 0, 1), cells, notes


# Tango's score interval for the difference of two rates from pairs.
Floats = NDArray[np.float64]


def tango(
    first_only: ArrayLike,
    second_only: ArrayLike,
    pairs: ArrayLike,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> tuple[Floats, Floats]:
    """Which differences of two rates does the score test on pairs not reject?

    Only the discordant pairs and the number of pairs matter. At 0 it is McNemar's test.

    Parameters
    ----------
    first_only, second_only : arrays that broadcast
        Pairs that succeeded in one condition only.
    pairs : array
        All pairs, above 0 and at least the discordant ones.
    level : float
        Confidence level.
    side : "two-sided", "lower" or "upper"
        A one-sided bound spends all of 1 - level on its one end; the other end is 1 or -1.

    Returns
    -------
    low, high : float64 arrays
        Of first minus second, within [-1, 1].

    References
    ----------
    Tango (1998), Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> low, high = tango(6, 16, 161)
    >>> round(float(low), 4), round(float(high), 4)
    (-0.124, -0.0054)
    """
    b, c, n = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (first_only, second_only, pairs))
    )
    checked_counts(b, n)
    checked_counts(c, n)
    checked_counts(b + c, n)
    z = normal_critical(level, side)
    seen = np.asarray((b - c) / n)
    low = turning_point(lambda d: tango_score(b, c, n, d) > z, np.full_like(seen, -1.0), seen)
    high = turning_point(lambda d: tango_score(b, c, n, d) >= -z, seen, np.full_like(seen, 1.0))
    return open_ended(np.minimum(low, seen), np.maximum(high, seen), side, (-1.0, 1.0))


def tango_score(b: Floats, c: Floats, n: Floats, delta: Floats) -> Floats:
    """By how many standard errors is first minus second above `delta`, if that is the truth?

    Parameters
    ----------
    b, c, n, delta : float64 arrays that broadcast
        Pairs that succeeded in the first only, in the second only, all pairs; a difference.

    References
    ----------
    Tango (1998), Statistics in Medicine 17, 891-908, eq. 5.
    """
    variance = n * (2.0 * _fitted_second_only(b, c, n, delta) + delta * (1.0 - delta))
    gap = b - c - n * delta
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0.0, 0.0, gap / np.sqrt(np.maximum(variance, 0.0)))


def tango_pairs(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    level: float = 0.95,
    side: Side = "two-sided",
) -> TwoRates:
    """How much higher is the first rate than the second, if each cluster was tried once in both?

    `tango` on the joint counts (`joint_counts`), which refuses more than one trial a cluster and
    condition.

    Examples
    --------
    >>> tango_pairs(Totals.from_arrays([[1, 0], [1, 1], [0, 0], [1, 0]], [[1, 1]] * 4))
    TwoRates(difference 0.5000, 95%: -0.2348 to 0.8500)
    """
    two, (both, first_only, second_only, neither), notes = joint_counts(totals, first, second)
    pairs = both + first_only + second_only + neither
    low = high = np.array(np.nan)
    if pairs > 0.0:
        low, high = tango(first_only, second_only, pairs, level=level, side=side)
    method = "Tango paired score"
    ends = float(low), float(high)
    return compared(
        two, "difference", *ends, level, side, method, notes, computation="optimisation"
    )


def _fitted_second_only(b: Floats, c: Floats, n: Floats, delta: Floats) -> Floats:
    """Give P(second only) at the maximum of the likelihood with the difference held at delta."""
    half = (2.0 * n - b + c) * delta - b - c
    product = c * delta * (1.0 - delta)
    root = np.sqrt(np.maximum(half * half + 8.0 * n * product, 0.0))
    # The larger root of 2n q² + half q - product, in the form that does not cancel.
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(half + root > 0.0, 2.0 * product / (half + root), 0.0)
    return np.asarray(np.where(half > 0.0, up, (root - half) / (4.0 * n)))


def _mcnemar(is_midp: bool) -> Callable[[Layout, Ask], Answer]:
    """Give the answer of McNemar's test, with the interval of Tango that agrees with it."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        totals = layout.totals
        test = mcnemar_totals(totals, alternative=ask.alternative, is_midp=is_midp)
        ends = tango_pairs(totals, level=ask.level)
        line = f"{test.only_first} pairs passed in the first only, {test.only_second} in the second"
        shown = Answer(ends.estimate, ends.low, ends.high, notes=as_notes((line,)),
                       extra={"interval": ends.method})  # fmt: skip
        live = test.only_first + test.only_second
        return with_p(shown, test, ask, live=live, of=layout.trials[0], what="pairs")

    return answer


METHODS = (
    Method(
        "tango", "difference",
        "Pairs of 0/1 trials: each cluster tried once in both arms; agrees with McNemar.",
        "More than one trial a cluster and arm (refused).",
        "optimisation", "asymptotic", "Tango 1998, Stat. Med. 17, 891-908",
        answer=answer_of(tango_pairs), terms=2, options=("side",), pairing="trials",
    ),
    Method(
        "mcnemar", "test",
        "Paired binary outcomes, one trial a unit and arm, units independent.",
        "Units in clusters (use sign-flip on clusters); conservative with few discordant pairs.",
        "closed-form", "finite-sample", "McNemar 1947, exact conditional form",
        answer=_mcnemar(False), many=mcnemar_pairs, pairing="trials", terms=2, has_pvalue=True,
        lattice="signs",
    ),
    Method(
        "mcnemar-midp", "test",
        "As mcnemar, with a size near the level instead of below it.",
        "Where the level must be held for certain; units in clusters.",
        "closed-form", "asymptotic", "Lancaster 1961; Fagerland, Lydersen & Laake 2013",
        answer=_mcnemar(True), pairing="trials", terms=2, has_pvalue=True,
    ),
)  # fmt: skip
