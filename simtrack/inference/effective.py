"""How many independent trials clustered ones are worth: what four intervals for a rate stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.clustered import ClusteredRates, clustered_rates, design_effect_from_icc
from simtrack.validate import real

__all__ = ["ASSUMED_ICC", "EffectiveSize", "effective_size"]

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

Floats = NDArray[np.float64]


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
    notes : tuple of tuples of str
        For each condition, what was assumed, and why something is missing.
    """

    rates: ClusteredRates
    trials: Floats
    df: Floats
    notes: tuple[tuple[str, ...], ...]


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
        _notes(found, inflation, icc, floored, share if guard else np.zeros_like(n)),
    )


def _rarer_clusters(totals: Totals) -> NDArray[np.int64]:
    """In how many clusters does the rarer of passing and failing occur at all?"""
    passing = (totals.numerator > 0).sum(axis=0)
    failing = (totals.numerator < totals.denominator).sum(axis=0)
    rarer: NDArray[np.int64] = np.minimum(passing, failing)
    return rarer


def _notes(
    found: ClusteredRates,
    inflation: Floats,
    icc: float | None,
    floored: NDArray[np.bool_],
    share: Floats,
) -> tuple[tuple[str, ...], ...]:
    notes: list[tuple[str, ...]] = []
    for k, groups in enumerate(found.clusters.tolist()):
        lines = list(found.notes[k])
        if groups == 1:
            lines.append("no interval: one cluster cannot say how much clusters differ")
        elif floored[k] and inflation[k] > 1.0 + 1e-9:
            source = (
                f"assumed ICC {ASSUMED_ICC:g} (--icc changes it)"
                if icc is None
                else f"given ICC {icc:g}"
            )
            least = "" if found.no_spread[k] else "at least "
            lines.append(
                f"effective n from the {source}: design effect {least}{inflation[k]:.3g}, since "
                "too few clusters show the rarer outcome to tell how much they differ"
            )
        elif found.design_effect[k] < 1.0 - 1e-9 and groups < found.n[k]:
            lines.append(
                "clusters differ less than chance would have it: the naive standard error is used"
            )
        if groups > 1 and share[k] > LARGE_SHARE and share[k] * groups > 1.5:
            lines.append(
                f"one cluster holds {share[k]:.0%} of the trials: the interval is wide because it "
                "is little more than one cluster"
            )
        notes.append(tuple(lines))
    return tuple(notes)
