"""Exact tests of two levels by name: signs, pairs in strata and dealt labels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.contrasts import cluster_contrasts, paired_clusters
from simtrack.inference.exact.answers import as_notes, interval_of, with_ends, with_p
from simtrack.inference.exact.many import (
    permutation_arms,
    sign_test_clusters,
)
from simtrack.inference.exact.mcnemar import mcnemar_stratified
from simtrack.inference.exact.permutation import permutation_totals
from simtrack.inference.exact.permutation_interval import (
    PermutationInterval,
    permutation_interval,
)
from simtrack.inference.exact.sign_test import MedianInterval, sign_test, sign_test_interval
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note

__all__ = ["METHODS"]

_MEDIAN, _SHIFT = "median, sign test", "permutation inverted"


def _sign_test(layout: Layout, ask: Ask) -> Answer:
    values = cluster_contrasts(layout.totals, layout.weights).values
    test = sign_test(values, alternative=ask.alternative)
    shown = Answer(float(np.median([float(v) for v in values])), notes=_left_out(layout))
    shown = with_p(shown, test, ask, live=test.positive + test.negative, of=len(values),
                   what="clusters")  # fmt: skip
    return with_ends(shown, _median_ends(layout, ask), _MEDIAN) if ask.interval else shown


def _median_ends(layout: Layout, ask: Ask) -> MedianInterval:
    values = cluster_contrasts(layout.totals, layout.weights).values
    return sign_test_interval(values, level=ask.level)


def _left_out(layout: Layout) -> tuple[Note, ...]:
    if layout.is_difference:
        return paired_clusters(layout.totals).notes
    return as_notes(cluster_contrasts(layout.totals, layout.weights).notes)


def _mcnemar_stratified(layout: Layout, ask: Ask) -> Answer:
    labels = np.array(layout.strata or ())
    names = list(dict.fromkeys(layout.strata or ()))
    top = layout.totals.numerator
    if not np.isin(top, (0.0, 1.0)).all():
        raise InputError("scores", "0 or 1 for pairs", cure="Use sign-flip-stratified.")
    gap = top[:, 0] - top[:, 1]
    b = [int((gap[labels == s] > 0).sum()) for s in names]
    c = [int((gap[labels == s] < 0).sum()) for s in names]
    n = [int((labels == s).sum()) for s in names]
    test = mcnemar_stratified(b, c, pairs=n, weights="equal", alternative=ask.alternative)
    share = sum((x - y) / m for x, y, m in zip(b, c, n, strict=True)) / len(names)
    sizes = ", ".join(f"{s}: {m}" for s, m in zip(names, n, strict=True))
    note = Note("strata", f"{len(names)} strata ({sizes} pairs), each counts alike", n=len(names))
    return with_p(Answer(share, notes=(note,)), test, ask, live=sum(b) + sum(c), of=sum(n),
                  what="pairs")  # fmt: skip


def _permutation(layout: Layout, ask: Ask) -> Answer:
    totals = layout.totals
    test = permutation_totals(totals, strata=layout.strata, alternative=ask.alternative)
    alike = test.first == test.second and layout.strata is None
    least = Fraction(ask.sides if alike else 1, test.assignments)
    refused = ""
    if least > ask.alpha:
        refused = test.refusal(ask.alpha) or ""
    few: tuple[str, ...] = ()
    if not refused and test.floor > ask.alpha:
        few = (f"equal scores leave no p below {float(test.floor):.3g}",)
    shown = Answer(
        test.statistic, pvalue=None if refused else test.pvalue,
        exact=None if refused else test.exact, refused=refused, computation=test.computation,
        guarantee=test.guarantee, notes=as_notes((*test.notes, *few)),
        extra={"floor": test.floor, "mcse": test.mcse},
    )  # fmt: skip
    if refused or not ask.interval or layout.strata is not None:
        return shown
    return with_ends(shown, _permutation_ends(layout, ask), _SHIFT)


def _permutation_ends(layout: Layout, ask: Ask) -> PermutationInterval:
    arms: list[Any] = [_rates(layout.totals.column(k)) for k in (0, 1)]
    return permutation_interval(*arms, level=ask.level)


def _rates(column: Totals) -> list[Any]:
    return [*cluster_contrasts(column, [1.0]).values]


METHODS = (
    Method(
        "sign-test", "test",
        "Directions of independent cluster differences of any law; it speaks of the median.",
        "Ties (dropped, and counted); it has less power than sign-flip where sizes matter.",
        "closed-form", "finite-sample", "Conover 1999, section 3.4",
        answer=_sign_test, many=sign_test_clusters, quantity="median", pairing="clusters", terms=0,
        has_pvalue=True,
        lattice="signs",
    ),
    Method(
        "sign-test-interval", "difference",
        "The median cluster difference, whatever its law; six clusters or more at .95.",
        "It says nothing about the mean.",
        "closed-form", "finite-sample", "Conover 1999, section 3.2",
        answer=interval_of(_sign_test, _median_ends, _MEDIAN), quantity="median",
        pairing="clusters", terms=0,
    ),
    Method(
        "permutation", "test",
        "Two arms that share no cluster, labels dealt at random (within strata, if given).",
        "Groups that may differ in spread under the null; too few clusters (refused).",
        "convolution", "finite-sample", "Pitman 1937; Pagano & Tritchler 1983",
        answer=_permutation, many=permutation_arms, strata="may", terms=2, has_pvalue=True,
    ),
    Method(
        "permutation-interval", "difference",
        "Two arms that share no cluster and differ by a shift: then its level is exact.",
        "0/1 scores and what else stretches or skews one arm: with few clusters it covers far too "
        "little. Groups in strata.",
        "enumeration", "asymptotic", "Tritchler 1984",
        answer=interval_of(_permutation, _permutation_ends, _SHIFT), terms=2,
    ),
    Method(
        "mcnemar-stratified", "test",
        "Discordant pairs of several strata; every pair, or every stratum, counts alike.",
        "Units in clusters; effects of opposite sign in different strata cancel.",
        "convolution", "finite-sample", "McNemar 1947 on signed discordant pairs",
        answer=_mcnemar_stratified, pairing="trials", strata="must", terms=2, has_pvalue=True,
    ),
)  # fmt: skip
