"""Sign-flip test, its interval and the sign test of a contrast, from totals by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import ArrayLike

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.contrasts import cluster_contrasts
from simtrack.inference.exact.sign_test import SignTest, sign_test
from simtrack.inference.exact.signflip import Reals, SignFlip, checked_differences, sign_flip
from simtrack.inference.exact.signflip_interval import SignFlipInterval, sign_flip_interval
from simtrack.inference.exact.signflip_law import is_typed
from simtrack.options import Alternative, choice

__all__ = [
    "sign_flip_contrast",
    "sign_flip_contrast_interval",
    "sign_flip_stratified",
    "sign_test_contrast",
]

StratumWeights = Literal["clusters", "equal"]


def sign_flip_contrast(
    totals: Totals,
    weights: ArrayLike | None = None,
    *,
    randomised: bool = False,
    strata: Sequence[str] | None = None,
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> SignFlip:
    """How unusual is the mean cluster contrast if every cluster's sign were a fair coin's?

    Parameters
    ----------
    totals, weights
        As for `cluster_contrasts`: clusters by terms, and the weight of each term.
    randomised : bool
        Whether chance assigned the terms within clusters (arms, say). Stages, turns and depths
        never are; then a note says what the p-value assumes.
    strata : sequence of str, shape (clusters of totals,), optional
        Every stratum counts alike, whatever its number of clusters.
    alternative, n_resamples, seed
        As for `sign_flip`.

    Examples
    --------
    >>> passed = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]
    >>> test = sign_flip_contrast(Totals.from_arrays(passed, [[4, 4]] * 7))
    >>> test.pvalue, test.notes[-1][:40]
    (0.03125, 'the sign-flip p assumes cluster contrast')
    """
    found = cluster_contrasts(totals, weights)
    how: Any = {"alternative": alternative, "n_resamples": n_resamples, "seed": seed}
    if strata is None:
        test = sign_flip(found.values, **how)
    else:
        if len(strata) != len(totals.clusters):
            raise InputError("strata", f"a label for {len(totals.clusters)} clusters", len(strata))
        label = dict(zip(totals.clusters, strata, strict=True))
        test = sign_flip_stratified(found.values, [label[c] for c in found.clusters], **how)
    warning = () if randomised else (found.symmetry_note(),)
    return replace(test, notes=(*found.notes, *test.notes, *warning))


def sign_flip_contrast_interval(
    totals: Totals,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int | None = None,
    seed: int = 0,
) -> SignFlipInterval:
    """Which mean cluster contrasts would the sign-flip test not reject?

    Parameters as for `sign_flip_contrast` and `sign_flip_interval`.

    Examples
    --------
    >>> passed = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]
    >>> sign_flip_contrast_interval(Totals.from_arrays(passed, [[4, 4]] * 7))
    SignFlipInterval(0.25 to 0.875, rank 3)
    """
    found = cluster_contrasts(totals, weights)
    ends = sign_flip_interval(found.values, level=level, n_resamples=n_resamples, seed=seed)
    return replace(ends, notes=(*found.notes, *ends.notes))


def sign_test_contrast(
    totals: Totals, weights: ArrayLike | None = None, *, alternative: Alternative = "two-sided"
) -> SignTest:
    """Does the contrast go up in more clusters than it goes down, beyond what fair coins do?

    Parameters as for `cluster_contrasts` and `sign_test`.

    Examples
    --------
    >>> passed = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]
    >>> sign_test_contrast(Totals.from_arrays(passed, [[4, 4]] * 7))
    SignTest(p=0.03125, 6 up and 0 down)
    """
    found = cluster_contrasts(totals, weights)
    test = sign_test(found.values, alternative=alternative)
    return replace(test, notes=(*found.notes, *test.notes))


def sign_flip_stratified(
    differences: Sequence[int | float | Fraction] | Reals,
    strata: Sequence[str],
    *,
    weights: StratumWeights = "equal",
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> SignFlip:
    """How unusual is the mean over strata of their mean differences, if signs were fair coins?

    Flips are independent within and between strata, so strata change the statistic alone. With
    weights "equal" every stratum counts alike: a difference counts G / (strata · clusters of its
    stratum) times. With "clusters" every cluster does, and this is `sign_flip`.

    Parameters
    ----------
    differences : sequence of numbers
    strata : sequence of str, one a difference

    Examples
    --------
    >>> sign_flip_stratified([1, 2, 3, 8], ["a", "a", "a", "b"]).statistic
    5.0
    """
    choice("weights", weights, StratumWeights)
    values = checked_differences(differences)
    if isinstance(strata, str) or len(strata) != len(values):
        raise InputError("strata", f"a label for each of {len(values)} differences", len(strata))
    sizes = {label: list(strata).count(label) for label in strata}
    scaled = values
    if weights == "equal":
        exact = [Fraction(repr(v)) if is_typed(v) else v for v in values]
        factor = {s: Fraction(len(values), len(sizes) * n) for s, n in sizes.items()}
        scaled = [
            float(v) * float(factor[s]) if isinstance(v, float) else v * factor[s]
            for v, s in zip(exact, strata, strict=True)
        ]
    test = sign_flip(scaled, alternative=alternative, n_resamples=n_resamples, seed=seed)
    shown = ", ".join(f"{s}: {n}" for s, n in sizes.items())
    who = "stratum" if weights == "equal" else "cluster"
    note = f"{len(sizes)} strata ({shown} clusters), each {who} counts alike"
    return replace(test, notes=(*test.notes, note))
