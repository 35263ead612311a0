"""Agreement and ranks by name: the two levels are raters, rankings, or positives and negatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.errors import InputError
from simtrack.inference.agreement.agreement import Agreement, percent_agreement
from simtrack.inference.agreement.kappa import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
)
from simtrack.inference.agreement.ranks import kendall_tau
from simtrack.inference.agreement.ratings import Ratings
from simtrack.inference.agreement.roc import auroc
from simtrack.inference.contrasts import paired_clusters
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note

__all__ = ["METHODS"]

Floats = NDArray[np.float64]


def _agreement_of(coefficient: Callable[..., Agreement]) -> Callable[[Layout, Ask], Answer]:
    """Give the answer of a coefficient: each row is what two raters, the levels, gave one unit."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        totals = layout.totals
        if (totals.denominator > 1).any():
            cure = "Name what is rated: --on COLUMN."
            raise InputError("ratings", "one of each level and unit", "several", cure=cure)
        given = np.where(totals.denominator > 0, totals.numerator, np.nan)
        ratings = Ratings.from_rows(given.tolist(), cluster=layout.groups)
        found = coefficient(ratings, level=ask.level, **ask.options)
        return Answer(
            found.value, found.low, found.high, refused=_undefined(found), n=found.units,
            clusters=found.clusters, computation=found.computation, guarantee=found.guarantee,
            notes=tuple(Note.of(line) for line in found.notes),
            extra={"interval": "" if found.low is None else found.method, "se": found.se,
                   "observed": found.observed, "expected": found.expected,
                   "weights": found.weights, "categories": list(found.categories)},
        )  # fmt: skip

    return answer


def _undefined(found: Agreement) -> str:
    if found.value is not None:
        return ""
    return next((n for n in found.notes if n.startswith("not defined")), "not defined")


def _kendall_tau(layout: Layout, ask: Ask) -> Answer:
    """Of the mean scores of the clusters that have both levels: each is one ranked item."""
    pairs = paired_clusters(layout.totals)
    rates = layout.totals.numerator[pairs.both] / layout.totals.denominator[pairs.both]
    test = kendall_tau(rates[:, 0], rates[:, 1], alternative=ask.alternative, **ask.options)
    refused = "" if test.statistic is not None else test.notes[0]
    refused = refused or test.refusal(ask.alpha) or ""
    return Answer(
        test.statistic, pvalue=None if refused else test.pvalue,
        exact=None if refused else test.exact, refused=refused, n=test.n, clusters=test.n,
        computation=test.computation, guarantee=test.guarantee,
        notes=(*pairs.notes, *(Note.of(line) for line in test.notes)),
        extra={"floor": test.floor, "mcse": test.mcse},
    )  # fmt: skip


def _auroc(layout: Layout, ask: Ask) -> Answer:
    """How often a cluster of the first level scores above one of the second, ties half."""
    totals = layout.totals
    here = totals.denominator > 0
    arms = [totals.numerator[here[:, k], k] / totals.denominator[here[:, k], k] for k in (0, 1)]
    labels = [str(c) for k in (0, 1) for c in np.array(totals.clusters, dtype=object)[here[:, k]]]
    signal = np.concatenate(arms)
    truth = np.concatenate([np.ones(arms[0].size, bool), np.zeros(arms[1].size, bool)])
    apart = not here.all(axis=1).any()
    found = auroc(signal, truth, cluster=None if apart else labels, level=ask.level, **ask.options)
    test = kendall_tau(signal, truth.astype(float), alternative=ask.alternative) if apart else None
    notes = tuple(Note.of(line) for line in found.notes)
    if test is None:
        return Answer(
            found.value, found.low, found.high, clusters=found.clusters,
            computation=found.computation, guarantee=found.guarantee, notes=notes,
            extra={"interval": "" if found.low is None else found.method, "se": found.se},
        )  # fmt: skip
    return Answer(
        found.value, found.low, found.high, test.pvalue, test.exact, clusters=found.clusters,
        computation=found.computation, guarantee=found.guarantee, notes=notes,
        extra={"interval": "" if found.low is None else found.method, "se": found.se,
               "floor": test.floor},
    )  # fmt: skip


METHODS = (
    Method(
        "percent-agreement", "agreement",
        "How often two raters of a unit give it one label, for any number of raters.",
        "One common label: agreement is high by chance alone.",
        "quadrature", "conjectured", "Bounded mean of clusters: Gaffke 2005",
        answer=_agreement_of(percent_agreement), quantity="agreement", pairing="trials", terms=2,
    ),
    Method(
        "cohen-kappa", "agreement",
        "Two raters who rated the same units; near misses count by linear or quadratic weights.",
        "One label only (not defined); one label far more common: near 0 at high agreement.",
        "closed-form", "asymptotic", "Cohen 1960, 1968; Fleiss, Cohen & Everitt 1969",
        answer=_agreement_of(cohen_kappa), quantity="kappa", pairing="trials", terms=2,
        options=("weights",),
    ),
    Method(
        "fleiss-kappa", "agreement",
        "Two raters or more, not the same for every unit; ratings may be missing.",
        "One label only (not defined); one label far more common: near 0 at high agreement.",
        "closed-form", "asymptotic", "Fleiss 1971; Gwet 2014",
        answer=_agreement_of(fleiss_kappa), quantity="kappa", pairing="trials", terms=2,
    ),
    Method(
        "gwet-ac", "agreement",
        "As Fleiss' kappa, where one label is far more common: AC1, or AC2 with weights.",
        "It depends on how many categories are declared.",
        "closed-form", "asymptotic", "Gwet 2008",
        answer=_agreement_of(gwet_ac), quantity="AC", pairing="trials", terms=2,
        options=("weights",),
    ),
    Method(
        "krippendorff-alpha", "agreement",
        "Any number of raters, missing ratings, nominal, ordinal or interval labels.",
        "One label only (not defined); few units: its interval is approximate.",
        "closed-form", "asymptotic", "Krippendorff 2011",
        answer=_agreement_of(krippendorff_alpha), quantity="alpha", pairing="trials", terms=2,
        options=("measurement",),
    ),
    Method(
        "kendall-tau", "rank",
        "Two rankings of independent items, ties in either; p counted over all pairings.",

        "Items in clusters; many levels with ties in both rankings: normal approximation.",
        "convolution", "finite-sample", "Kendall 1970; Mehta & Patel 1983",
        answer=_kendall_tau, quantity="tau", pairing="clusters", terms=2, options=("variant",),
        has_pvalue=True,
    ),
    Method(
        "auroc", "rank",
        "How well a signal ranks positives above negatives; ties count half; items in clusters.",
        "Perfect separation has no interval; few clusters with positives or with negatives.",
        "closed-form", "asymptotic", "DeLong et al. 1988; Obuchowski 1997",
        answer=_auroc, quantity="auroc", terms=2, options=("scale",), has_pvalue=True,
    ),
)  # fmt: skip
