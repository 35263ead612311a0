"""What repeated trials of one cluster are worth: standard error, design effect, effective n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.options import Computation, Guarantee
from simtrack.validate import real

__all__ = [
    "ASSUMED_ICC",
    "ClusteredRates",
    "EffectiveSize",
    "clustered_rates",
    "design_effect_from_icc",
    "effective_size",
    "large_cluster_note",
]


#: A sum of residuals below this share of what it is made of is rounding, not spread.
_ROUNDING = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredRates:
    """How precise is each rate, with and without its clusters?

    All arrays have shape (conditions,). NaN means not defined; `notes` say why.

    Attributes
    ----------
    clusters : int64 array
        Clusters with at least one trial.
    n, rate : float64 arrays
        Trials; Σ numerator / Σ denominator.
    naive_se : float64 array
        sd(ddof=1) / sqrt(n) over trials: what an evaluation log prints. Needs two trials.
    clustered_se : float64 array
        Linearised standard error of the ratio, with the factor G/(G-1). Needs two clusters.
    design_effect : float64 array
        (clustered_se / naive_se)².
    effective_n : float64 array
        n / max(design_effect, 1): the number of independent trials that would be as precise,
        never more than n.
    icc : float64 array
        Intracluster correlation by analysis of variance; may be negative.
    no_spread : bool array
        Every cluster has the same rate, so the data cannot say how much clusters differ.
    notes : tuple of tuples of Note
        For each condition, why a value is missing or how to take it.
    """

    clusters: NDArray[np.int64]
    n: Floats
    rate: Floats
    naive_se: Floats
    clustered_se: Floats
    design_effect: Floats
    effective_n: Floats
    icc: Floats
    no_spread: NDArray[np.bool_]
    notes: tuple[tuple[Note, ...], ...]
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        return f"ClusteredRates({self.rate.size} conditions)"


def clustered_rates(totals: Totals) -> ClusteredRates:
    """How precise is the pooled rate of each condition, given that trials come in clusters?

    Parameters
    ----------
    totals : Totals
        Numerator, denominator and sum of squares by cluster, shape (clusters, conditions).

    Notes
    -----
    With x_g over m_g in cluster g, M = Σ m_g and p = Σ x_g / M, the clustered variance is
    G/(G-1) · Σ (x_g - p m_g)² / M². With equal clusters it is the variance of the cluster means
    over G; with one trial a cluster it equals the naive one.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., eq. 9.27 (ratio to size). Kish (1965), Survey
    Sampling, 8.2 (design effect). Donner and Koval (1980), Biometrics 36, 19-25 (ICC by ANOVA).

    Examples
    --------
    >>> found = clustered_rates(Totals.from_arrays([4, 0, 2, 2], [4, 4, 4, 4]))
    >>> float(found.rate[0]), round(float(found.clustered_se[0]), 6)
    (0.5, 0.204124)
    """
    top, bottom, square = totals.numerator, totals.denominator, totals.square
    groups = (bottom > 0).sum(axis=0)
    n = bottom.sum(axis=0)
    rate = _ratio(top.sum(axis=0), n)
    residual = np.where(bottom > 0, top - np.where(n > 0, rate, 0.0) * bottom, 0.0)
    scale = np.abs(top) + np.abs(np.where(n > 0, rate, 0.0)) * bottom
    residual = np.where(np.abs(residual) <= _ROUNDING * scale, 0.0, residual)
    between = (residual * residual).sum(axis=0)
    clustered = np.sqrt(_ratio(groups * between, (groups - 1.0) * n * n, groups > 1))
    naive = _naive(top.sum(axis=0), n, square.sum(axis=0))
    effect = _ratio(clustered**2, naive**2, naive > 0)
    no_spread = (groups > 1) & (between == 0.0)
    effective = _ratio(n, np.maximum(effect, 1.0), ~np.isnan(effect) & ~no_spread)
    icc = _icc(top, bottom, square, groups)
    notes = _notes(groups, n, naive, no_spread, icc)
    return ClusteredRates(
        groups, n, rate, naive, clustered, effect, effective, icc, no_spread, notes
    )


def design_effect_from_icc(icc: float, denominator: Floats) -> Floats:
    """How much does an intracluster correlation inflate the variance, with unequal clusters?

    Gives 1 + icc · (Σ m² / Σ m - 1) over the clusters (axis 0) of `denominator`.

    References
    ----------
    Kish (1987), Statistical Design for Research; Eldridge, Ashby and Kerry (2006),
    Int. J. Epidemiology 35, 1292-1300.

    Examples
    --------
    >>> float(design_effect_from_icc(0.2, np.array([2.0, 4.0, 12.0])).round(7))
    2.6222222
    """
    total = denominator.sum(axis=0)
    mean_size = _ratio((denominator**2).sum(axis=0), total)
    return np.asarray(1.0 + icc * (mean_size - 1.0))


def _ratio(top: ArrayLike, bottom: ArrayLike, defined: NDArray[np.bool_] | None = None) -> Floats:
    where = np.asarray(bottom) > 0
    where = where if defined is None else where & defined
    out = np.full(np.shape(bottom), np.nan)
    np.divide(top, bottom, out=out, where=where)
    return out


def _naive(total: Floats, n: Floats, square: Floats) -> Floats:
    mean = _ratio(total, n)
    centred = square - np.where(n > 0, mean, 0.0) * total
    centred = np.where(centred <= _ROUNDING * square, 0.0, centred)
    return np.asarray(np.sqrt(_ratio(centred, (n - 1.0) * n, n > 1)))


def _icc(top: Floats, bottom: Floats, square: Floats, groups: NDArray[np.int64]) -> Floats:
    n = bottom.sum(axis=0)
    inside = np.divide(top * top, bottom, out=np.zeros_like(top), where=bottom > 0).sum(axis=0)
    overall = _ratio(top.sum(axis=0) ** 2, n)
    within = _ratio(square.sum(axis=0) - inside, n - groups)
    between = _ratio(inside - overall, groups - 1.0)
    size = _ratio(n - _ratio((bottom**2).sum(axis=0), n), groups - 1.0)
    spread = between + (size - 1.0) * within
    real = spread > _ROUNDING * _ratio(square.sum(axis=0), n)
    return _ratio(between - within, np.where(real, spread, 0.0))


def _notes(
    groups: NDArray[np.int64],
    n: Floats,
    naive: Floats,
    no_spread: NDArray[np.bool_],
    icc: Floats,
) -> tuple[tuple[Note, ...], ...]:
    found: list[tuple[Note, ...]] = []
    for g, trials, se, flat, rho in zip(groups, n, naive, no_spread, icc, strict=True):
        lines = []
        if g == 0:
            lines.append(Note("no-trial", "no trial: nothing is defined"))
        elif trials < 2:
            lines.append(Note("one-trial", "one trial: no standard error is defined"))
        elif g == 1:
            told = "one cluster: no clustered standard error is defined"
            lines.append(Note("one-cluster", told))
        if flat:
            what = "all scores are equal" if se == 0 else "all clusters have the same rate"
            told = f"{what}: the clustered standard error of 0 is no sign of precision"
            lines.append(Note("flat", told))
        if g > 1 and np.isnan(rho) and trials != g:
            told = "the intracluster correlation is not defined (no spread in the scores)"
            lines.append(Note("icc-undefined", told))
        found.append(tuple(lines))
    return tuple(found)


# How many independent trials clustered ones are worth: what four intervals for a rate stand on.
#: What is assumed where clusters cannot show how much they differ and nobody gave an ICC. Under a
#: true ICC up to 0.6 (evaluation logs show 0.4 to 0.67 for repetitions of a task) the one-sided
#: miss of 0/n and n/n then stays below 0.034 for 5 to 67 clusters of 2 to 20 trials; 0.1 would let
#: it reach 0.19.
ASSUMED_ICC = 0.3
#: With the rarer outcome in fewer clusters than this, spread between clusters is not yet seen.
SPARSE_CLUSTERS = 5
#: From this share of all trials on, one cluster is told of.
LARGE_SHARE = 0.3
#: Fewer degrees of freedom say no more: the interval is all of [0, 1] before.
LEAST_DF = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class EffectiveSize:
    """How many independent trials would be as precise, in each condition?

    Attributes
    ----------
    rates : ClusteredRates
        What it was computed from.
    trials : float64 array, shape (conditions,)
        p(1-p) / se² with the larger of the clustered and the naive standard error, so at most n
        for 0/1 scores; where clusters cannot show their spread, at most n over the design effect of
        an assumed ICC. NaN with fewer than two clusters.
    df : float64 array, shape (conditions,)
        G - 1, with the guard (Σm)²/Σm² - 1, which is G - 1 for clusters of one size; NaN with fewer
        than two clusters.
    notes : tuple of tuples of Note
        For each condition, what was assumed, and why something is missing.
    """

    rates: ClusteredRates
    trials: Floats
    df: Floats
    notes: tuple[tuple[Note, ...], ...]


def effective_size(
    totals: Totals,
    *,
    icc: float | None = None,
    rates: ClusteredRates | None = None,
    guard: bool = False,
) -> EffectiveSize:
    """How many independent trials are these clustered ones worth?

    Where all clusters have the same rate (0/n and n/n above all) the data cannot tell how much
    clusters differ. Then the design effect is 1 + icc (Σm²/Σm - 1) with the `icc` given, else
    `ASSUMED_ICC`, and the notes say so.

    With `guard` two more traps are closed, which textbook definitions leave open. Where the rarer
    outcome occurs in fewer than `SPARSE_CLUSTERS` clusters, that design effect is the least that is
    used: a single failure says nothing of the next cluster. And degrees of freedom count clusters
    by their weight, (Σm)²/Σm² - 1: one large cluster among small ones is little more than one.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions); scores within [0, 1].
    icc : float in [0, 1], optional
        The intracluster correlation to assume where clusters cannot show their spread.
    rates : ClusteredRates, optional
        What `clustered_rates(totals)` gave, if it is at hand.
    guard : bool
        Guard against sparse outcomes and unequal clusters, beyond the textbook.

    Raises
    ------
    InputError
        Scores that cannot lie in [0, 1], or an `icc` outside it.

    Examples
    --------
    >>> found = effective_size(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    >>> round(float(found.trials[0]), 2), float(found.df[0])
    (31.25, 3.0)

    References
    ----------
    Kish (1965), Survey Sampling, 11.7 (effective number of unequal weights).
    """
    if icc is not None:
        real("icc", icc, 0.0, 1.0)
    if ((totals.numerator < 0.0) | (totals.numerator > totals.denominator)).any():
        raise InputError("scores", "between 0 and 1", cure="Use cluster-t for other scores.")
    found = rates if rates is not None else clustered_rates(totals)
    n, p, groups = found.n, found.rate, found.clusters
    se = np.fmax(found.clustered_se, found.naive_se)
    # n/(n-1) turns the naive variance of 0/1 scores, p(1-p)/(n-1), into n effective trials.
    unit = np.divide(n, n - 1.0, out=np.ones_like(n), where=n > 1)
    trials = np.divide(p * (1.0 - p) * unit, se * se, out=np.array(n), where=se > 0)
    inflation = design_effect_from_icc(ASSUMED_ICC if icc is None else icc, totals.denominator)
    floored = found.no_spread
    if guard:
        floored = floored | (_rarer_clusters(totals) < SPARSE_CLUSTERS)
    trials = np.where(found.no_spread, n / inflation, trials)
    trials = np.where(floored, np.minimum(trials, n / inflation), trials)
    defined = groups > 1
    squares = (totals.denominator**2).sum(axis=0)
    weight = np.divide(n * n, squares, out=np.ones_like(n), where=squares > 0)
    largest = totals.denominator.max(axis=0, initial=0.0)
    share = np.divide(largest, n, out=np.zeros_like(n), where=n > 0)
    return EffectiveSize(
        found,
        np.where(defined, trials, np.nan),
        np.where(defined, np.maximum(weight - 1.0, LEAST_DF) if guard else groups - 1.0, np.nan),
        _notes_of_effective(found, inflation, icc, floored, share if guard else np.zeros_like(n)),
    )


def _rarer_clusters(totals: Totals) -> NDArray[np.int64]:
    """In how many clusters does the rarer of passing and failing occur at all?"""
    passing = (totals.numerator > 0).sum(axis=0)
    failing = (totals.numerator < totals.denominator).sum(axis=0)
    rarer: NDArray[np.int64] = np.minimum(passing, failing)
    return rarer


def _notes_of_effective(
    found: ClusteredRates,
    inflation: Floats,
    icc: float | None,
    floored: NDArray[np.bool_],
    share: Floats,
) -> tuple[tuple[Note, ...], ...]:
    notes: list[tuple[Note, ...]] = []
    for k, groups in enumerate(found.clusters.tolist()):
        lines = list(found.notes[k])
        if groups == 1:
            told = "no interval: one cluster cannot say how much clusters differ"
            lines.append(Note("one-cluster", told))
        elif floored[k] and inflation[k] > 1.0 + 1e-9:
            source = (
                f"assumed ICC {ASSUMED_ICC:g} (--icc changes it)"
                if icc is None
                else f"given ICC {icc:g}"
            )
            least = "" if found.no_spread[k] else "at least "
            told = (
                f"effective n from the {source}: design effect {least}{inflation[k]:.3g}, since "
                "too few clusters show the rarer outcome to tell how much they differ"
            )
            lines.append(Note("assumed-icc" if icc is None else "given-icc", told))
        elif found.design_effect[k] < 1.0 - 1e-9 and groups < found.n[k]:
            told = (
                "clusters differ less than chance would have it: the naive standard error is used"
            )
            lines.append(Note("less-than-chance", told))
        notes.append((*lines, *large_cluster_note(groups, float(share[k]), 1.0)))
    return tuple(notes)


def large_cluster_note(groups: int, largest: float, n: float) -> tuple[Note, ...]:
    """Say so where one of several clusters holds far more trials than its share."""
    share = largest / n if n > 0 else 0.0
    if groups < 2 or share <= LARGE_SHARE or share * groups <= 1.5:
        return ()
    text = (
        f"one cluster holds {share:.0%} of the trials: the interval is wide because it is little "
        "more than one cluster"
    )
    return (Note("large-cluster", text),)
