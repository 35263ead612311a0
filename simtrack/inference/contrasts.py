"""Weighted sums of ratios, cluster by cluster, and their t interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.numerics.special import t_critical
from simtrack.inference.numerics.ties import TIE_TOLERANCE, typical_scores, whole_sums
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Computation, Guarantee
from simtrack.validate import confidence_level

__all__ = [
    "METHODS",
    "ClusterContrasts",
    "ContrastT",
    "PairedClusters",
    "cluster_contrasts",
    "contrast_t",
    "contrast_table",
    "paired_clusters",
    "weighted_ratios",
]


#: Weights such as 1/3 come as floats; they are read as the simple fractions that they were.
_MOST_DENOMINATOR = 10_000


@dataclass(frozen=True, slots=True)
class ClusterContrasts:
    """What is the contrast within each cluster that has all of its terms?

    Attributes
    ----------
    values : tuple of Fraction, or of float where scores are no decimals
        Σ weight · numerator / denominator over the terms, one a cluster; 0 where only rounding
        would make it differ from 0.
    clusters : tuple of str
        The clusters of `values`.
    left_out : int
        Clusters that have some of the terms and lack others.
    skewness : float or None
        Of `values`: how lopsided they are; None below three clusters or without spread.
    notes : tuple of str
    """

    values: tuple[Fraction, ...] | tuple[float, ...]
    clusters: tuple[str, ...]
    left_out: int
    skewness: float | None
    notes: tuple[str, ...] = ()

    def symmetry_note(self) -> str:
        """Say what a sign-flip test assumes of a contrast that nobody assigned at random."""
        shown = "" if self.skewness is None else f" (the skewness of these is {self.skewness:+.2f})"
        return (
            "the sign-flip p assumes cluster contrasts symmetric about 0 under the null, and this "
            f"one was not assigned at random{shown}"
        )


def cluster_contrasts(totals: Totals, weights: ArrayLike | None = None) -> ClusterContrasts:
    """What is the contrast within each cluster that has all of its terms?

    The mean of these gives every cluster the same weight; the contrast of pooled ratios gives
    them the weight of their trials. Where cluster sizes differ these are two quantities.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, terms); a term of weight 0 is not looked at.
    weights : array_like, shape (terms,), optional
        As `Contrast.stacked` gives them; by default first minus second, for two terms.

    Raises
    ------
    InputError
        No cluster has all terms; weights of another length.

    Examples
    --------
    >>> both = Totals.from_arrays([[3, 1], [2, 2], [1, 0]], [[4, 2], [4, 4], [1, 0]])
    >>> found = cluster_contrasts(both)
    >>> found.values, found.left_out
    ((Fraction(1, 4), Fraction(0, 1)), 1)
    """
    wanted = _weights(weights, len(totals.conditions))
    used = [c for c, w in enumerate(wanted) if w != 0]
    bottom = totals.denominator[:, used]
    here = (bottom > 0).all(axis=1)
    left_out = int(((bottom > 0).any(axis=1) & ~here).sum())
    if not here.any():
        raise InputError("totals", "of at least one cluster that has all terms", "none")
    top, square = totals.numerator[here][:, used], totals.square[here][:, used]
    values = weighted_ratios(top, bottom[here], square, [wanted[c] for c in used])
    labels = tuple(totals.clusters[g] for g in np.flatnonzero(here))
    notes = (f"clusters left out, which lack a term: {left_out}",) if left_out else ()
    return ClusterContrasts(values, labels, left_out, _skewness(values), notes)


@dataclass(frozen=True, slots=True, eq=False)
class PairedClusters:
    """Which clusters have trials in both of two conditions, and how alike in number?

    Attributes
    ----------
    both : bool array, shape (clusters,)
    only_first, only_second : int
        Clusters with trials in one condition alone; they are left out.
    imbalance : float
        Σ|m - n| / Σ(m + n) over the trials m and n of the paired clusters: 0 where equal.
    notes : tuple of Note
    """

    both: NDArray[np.bool_]
    only_first: int
    only_second: int
    imbalance: float
    notes: tuple[Note, ...]


def paired_clusters(totals: Totals, first: int = 0, second: int = 1) -> PairedClusters:
    """Which clusters have trials in both of two conditions, and how alike in number?

    Examples
    --------
    >>> paired_clusters(Totals.from_arrays([[3, 1], [2, 0]], [[4, 2], [4, 0]])).imbalance
    0.3333333333333333
    """
    here, there = totals.denominator[:, first] > 0, totals.denominator[:, second] > 0
    both = here & there
    one, two = int((here & ~there).sum()), int((there & ~here).sum())
    bottom = totals.denominator[both][:, [first, second]]
    uneven = 0.0
    if both.any():
        uneven = float(np.abs(bottom[:, 0] - bottom[:, 1]).sum() / bottom.sum())
    notes: tuple[Note, ...] = ()
    if one + two:
        names = ["/".join(totals.conditions[k]) for k in (first, second)]
        text = (f"unpaired clusters left out: {one + two} ({one} only in {names[0]}, {two} only "
                f"in {names[1]})")  # fmt: skip
        notes = (Note("unpaired", text, n=one + two),)
    return PairedClusters(both, one, two, uneven, notes)


def contrast_table(totals: Totals, weights: ArrayLike) -> NDArray[np.float64]:
    """What is each of several contrasts within each cluster: the table that `max_t` takes?

    Parameters
    ----------
    totals : Totals
        Shape (clusters, terms).
    weights : array_like, shape (contrasts, terms)

    Returns
    -------
    float64, shape (clusters, contrasts)
        NaN where a cluster lacks a term that the contrast needs.

    Examples
    --------
    >>> totals = Totals.from_arrays([[3, 1, 2], [2, 2, 0]], [[4, 4, 4], [4, 4, 0]])
    >>> contrast_table(totals, [[1, -1, 0], [1, 0, -1]]).tolist()
    [[0.5, 0.25], [0.0, nan]]
    """
    rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    table = np.full((len(totals.clusters), len(rows)), np.nan)
    place = {label: g for g, label in enumerate(totals.clusters)}
    for column, row in enumerate(rows):
        found = cluster_contrasts(totals, row)
        table[[place[c] for c in found.clusters], column] = [float(v) for v in found.values]
    return table


def _weights(weights: ArrayLike | None, terms: int) -> list[Fraction | float]:
    if weights is None:
        if terms != 2:
            raise InputError("weights", f"given for {terms} terms; they are optional for two")
        return [Fraction(1), Fraction(-1)]
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (terms,) or not np.isfinite(found).all() or not found.any():
        raise InputError("weights", f"{terms} finite numbers, not all 0", found.tolist())
    simple = [Fraction(w).limit_denominator(_MOST_DENOMINATOR) for w in found.tolist()]
    return [s if float(s) == w else w for s, w in zip(simple, found.tolist(), strict=True)]


def weighted_ratios(
    top: NDArray[np.float64],
    bottom: NDArray[np.float64],
    square: NDArray[np.float64],
    weights: Sequence[Fraction | float],
) -> tuple[Fraction, ...] | tuple[float, ...]:
    """Give Σ weight · top / bottom of each row, so that what is equal is equal.

    Sums of decimals are read as such, and give fractions. Of other scores a row within 1e-12 of
    Σ |weight| · typical score is 0: a share of the scores, as the difference may be all rounding.

    Parameters
    ----------
    top, bottom, square : float64 arrays, shape (rows, terms)
        Σ score, trials (above 0) and Σ score².

    Examples
    --------
    >>> tenths = np.array([[0.1 + 0.2, 0.3]]), np.array([[2.0, 2.0]]), np.array([[0.05, 0.045]])
    >>> weighted_ratios(*tenths, [1, -1])
    (Fraction(0, 1),)
    """
    found = None if (bottom != np.rint(bottom)).any() else whole_sums(top, bottom, square)
    if found is None or any(isinstance(w, float) for w in weights):
        sizes = np.abs([float(w) for w in weights]) * typical_scores(bottom, square)
        terms = np.array([float(w) for w in weights]) * (top / bottom)
        sums = [math.fsum(row) for row in terms.tolist()]
        slack = (TIE_TOLERANCE * sizes.sum(axis=1)).tolist()
        return tuple(0.0 if abs(v) <= s else v for v, s in zip(sums, slack, strict=True))
    whole, scale = found
    shares = [Fraction(w) / scale for w in weights]
    return tuple(
        sum((w * Fraction(a, int(n)) for w, a, n in zip(shares, x, m, strict=True)), Fraction())
        for x, m in zip(whole.tolist(), bottom.tolist(), strict=True)
    )


def _skewness(values: Sequence[float | Fraction]) -> float | None:
    if len(values) < 3:
        return None
    found = np.array([float(v) for v in values])
    centred = found - found.mean()
    variance = float((centred**2).mean())
    if variance <= 1e-24 * max(float((found**2).max()), 1e-300):
        return None
    return float((centred**3).mean() / variance**1.5)


# How large is a contrast of pooled ratios, with an interval that respects clusters?
#: A standard error below this is rounding, not spread.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, repr=False)
class ContrastT:
    """What is Σ weight · (Σ numerator / Σ denominator), and how far may it be off?

    Attributes
    ----------
    estimate : float or None
        None where a term has no trial.
    se, low, high : float or None
        Linearised cluster standard error, and the interval with t(K-1), where K is how many
        clusters the term with the fewest has; None where K is 1, or without spread.
    clusters : int
        Clusters with a trial in any term of weight.
    notes : tuple of str
    """

    estimate: float | None
    se: float | None
    low: float | None
    high: float | None
    clusters: int
    level: float
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        if self.estimate is None:
            return "ContrastT(not defined)"
        ends = "no interval" if self.low is None else f"{self.low:+.4f} to {self.high:+.4f}"
        return f"ContrastT({self.estimate:+.4f}, {ends}, {self.clusters} clusters)"


def contrast_t(totals: Totals, weights: ArrayLike, *, level: float = 0.95) -> ContrastT:
    """How large is a contrast of pooled ratios whose terms share their clusters?

    The influence of a cluster is Σ_c w_c (x_gc - p_c m_gc) / M_c; the variance is
    G/(G-1) Σ_g influence², so that terms which go together within clusters are paired. Degrees of
    freedom are the clusters of the term that has fewest, less one: G-1 where all have all terms.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, terms).
    weights : array_like, shape (terms,)
        As `Contrast.stacked` gives them.
    level : float

    References
    ----------
    Liang and Zeger (1986), Biometrika 73, 13-22; Woodruff (1971), JASA 66, 411-414.

    Examples
    --------
    >>> passed = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]
    >>> contrast_t(Totals.from_arrays(passed, [[4, 4]] * 7), [1, -1])
    ContrastT(+0.6071, +0.3129 to +0.9013, 7 clusters)
    """
    level = confidence_level("level", level)
    w = np.asarray(weights, dtype=np.float64)
    top, bottom = totals.numerator, totals.denominator
    if w.shape != (bottom.shape[1],) or not np.isfinite(w).all():
        raise InputError("weights", f"{bottom.shape[1]} finite numbers", w.tolist())
    sizes = bottom.sum(axis=0)
    here = (bottom[:, w != 0] > 0).any(axis=1)
    clusters = int(here.sum())
    if (sizes[w != 0] <= 0).any():
        empty = [str(totals.conditions[c][0]) for c in np.flatnonzero((sizes <= 0) & (w != 0))]
        note = f"not defined: no trial in {', '.join(empty)}"
        return ContrastT(None, None, None, None, clusters, level, (note,))
    used = w != 0
    rates = top[:, used].sum(axis=0) / sizes[used]
    estimate = math.fsum((w[used] * rates).tolist())
    if clusters < 2:
        note = "no standard error: one cluster"
        return ContrastT(estimate, None, None, None, clusters, level, (note,))
    fewest = int((bottom[:, used] > 0).sum(axis=0).min())
    if fewest < 2:
        note = "no standard error: a term has trials in one cluster only"
        return ContrastT(estimate, None, None, None, clusters, level, (note,))
    lacking: tuple[str, ...] = ()
    if fewest < clusters:
        lacking = (f"a term has trials in {fewest} of {clusters} clusters: t({fewest - 1})",)
    shares = w[used] * (top[:, used] - rates * bottom[:, used]) / sizes[used]
    influence = shares.sum(axis=1)[here]
    variance = clusters / (clusters - 1.0) * math.fsum((influence**2).tolist())
    se = math.sqrt(variance)
    if se <= _ROUNDING * max(1.0, abs(estimate)):
        note = "no interval: clusters show no spread, so their standard error says nothing"
        return ContrastT(estimate, 0.0, None, None, clusters, level, (note, *lacking))
    half = t_critical(level, fewest - 1.0) * se
    return ContrastT(estimate, se, estimate - half, estimate + half, clusters, level, lacking)


def _contrast_t(layout: Layout, ask: Ask) -> Answer:
    found = contrast_t(layout.totals, layout.weights, level=ask.level)
    return Answer(
        found.estimate, found.low, found.high, clusters=found.clusters,
        computation=found.computation, guarantee=found.guarantee,
        notes=tuple(Note.of(line) for line in found.notes),
        extra={"interval": "" if found.low is None else "cluster t, linearised", "se": found.se},
    )  # fmt: skip


METHODS = (
    Method(
        "contrast-t", "contrast",
        "A weighted sum of pooled ratios over the same clusters: stage gaps, factor effects.",
        "Few clusters with rates near 0 or 1; clusters without spread (refused).",
        "closed-form", "asymptotic", "Liang & Zeger 1986; Woodruff 1971",
        answer=_contrast_t, terms=0,
    ),
)  # fmt: skip
