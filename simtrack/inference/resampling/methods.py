"""The cluster bootstrap by name: of one rate, of a difference, of any contrast."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.inference.rates.answers import answer_of
from simtrack.inference.resampling.bootstrap import (
    basic_rates,
    bca_rates,
    bootstrap,
    percentile_rates,
    studentized_rates,
)
from simtrack.inference.resampling.intervals import BootstrapInterval
from simtrack.inference.studies import whole_values
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.results import Results

__all__ = ["METHODS"]

Floats = NDArray[np.float64]
#: Sums of resampled clusters up to here are convolved in the kernel.
_MOST_SUM = 1 << 14
_BOOTSTRAP = ("kind", "method", "statistic", "n_resamples", "seed")


def _percentile(layout: Layout, ask: Ask) -> Answer:
    if len(layout.weights) == 1:
        return answer_of(percentile_rates)(layout, ask)
    return _contrast(layout, ask)


def _difference(layout: Layout, ask: Ask) -> Answer:
    """Clusters that both levels have are drawn together; levels that share none, apart."""
    totals, groups = layout.totals, None
    both = np.asarray((totals.denominator > 0).all(axis=1))
    notes: tuple[Note, ...] = ()
    if not both.any():
        groups = ("first", "second")
    elif not both.all():
        lone = int((~both).sum())
        names = tuple(str(c) for c in np.array(totals.clusters, dtype=object)[both])
        totals = Totals(totals.numerator[both], totals.denominator[both], totals.square[both],
                        names, totals.conditions, totals.by, totals.name)  # fmt: skip
        notes = (Note("unpaired", f"unpaired clusters left out: {lone}", n=lone),)
    return _told(bootstrap(totals, level=ask.level, groups=groups, **ask.options), notes)


def _contrast(layout: Layout, ask: Ask) -> Answer:
    weights = np.array(layout.weights)
    return _told(bootstrap(layout.totals, weights, level=ask.level, **ask.options))


def _told(found: BootstrapInterval, notes: tuple[Note, ...] = ()) -> Answer:
    return Answer(
        found.estimate, found.low, found.high, clusters=found.clusters,
        computation=found.computation, guarantee=found.guarantee,
        notes=(*notes, *(Note.of(line) for line in found.notes)),
        extra={"interval": f"bootstrap ({found.kind}, {found.route})",
               "se": found.standard_error},
    )  # fmt: skip


def _percentile_many(numerator: Any, denominator: Any, weights: Floats, ask: Ask) -> Results | None:
    """Percentile cluster bootstrap, law computed exactly; an interval and no p-value.

    With balanced trials the law of every study is convolved in a kernel; None without, or with
    options of draws.
    """
    whole = whole_values(numerator, denominator, weights)
    if whole is None or _largest(whole[0]) > _MOST_SUM or ask.options:
        return None
    from simtrack.kernels.bootstrap_whole import percentile_whole

    values, scale = whole
    low, high = np.empty(len(values)), np.empty(len(values))
    percentile_whole(np.ascontiguousarray(values), 0.5 * (1.0 - ask.level), low, high)
    clusters = values.shape[1]
    factor = 1.0 / (scale * clusters)
    flat = (values == values[:, :1]).all(axis=1)
    refused = {
        "fewer than two clusters": np.full(len(values), clusters < 2),
        "no spread between clusters": flat,
    }
    return Results.of(
        values.sum(axis=1) * factor, low=low * factor, high=high * factor, refused=refused
    )


def _largest(values: NDArray[np.int64]) -> int:
    if values.size == 0:
        return 0
    shared = gcd(*np.unique(values - values.min()).tolist()) or 1
    widest = int((values.max(axis=1) - values.min(axis=1)).max())
    return widest * int(values.shape[1]) // shared


METHODS = (
    Method(
        "bootstrap-percentile", "rate",
        "Twenty clusters or more, rates away from 0 and 1; the law itself is exact.",
        "Few clusters or rates near 0 or 1 (it covers too little); all clusters alike (refused).",
        "convolution", "asymptotic", "Efron & Tibshirani 1993, section 13.3",
        answer=_percentile, many=_percentile_many, terms=0, options=("n_resamples", "seed"),
    ),
    Method(
        "bootstrap-basic", "rate",
        "As bootstrap-percentile, where the estimate's error has the same law at every rate.",
        "Rates near 0 or 1: skewness is mirrored to the wrong side; all clusters alike (refused).",
        "convolution", "asymptotic", "Davison & Hinkley 1997, eq. 5.6",
        answer=answer_of(basic_rates), options=("n_resamples", "seed"),
    ),
    Method(
        "bootstrap-bca", "rate",
        "As bootstrap-percentile, with skewed clusters: second-order correct.",
        "Few clusters: acceleration is ill known; all clusters alike (refused).",
        "convolution", "asymptotic", "Efron 1987, JASA 82, 171-185",
        answer=answer_of(bca_rates), options=("n_resamples", "seed"),
    ),
    Method(
        "bootstrap-studentized", "rate",
        "As bootstrap-percentile, for scores whose spread differs from resample to resample.",
        "Resamples without spread (infinite t); more than 12 unlike clusters are drawn at random.",
        "enumeration", "asymptotic", "Davison & Hinkley 1997, eq. 2.43",
        answer=answer_of(studentized_rates), options=("n_resamples", "seed"),
    ),
    Method(
        "bootstrap-difference", "difference",
        "Differences or ratios of two arms, paired within clusters or (groups=) independent.",
        "Few clusters (it covers too little); clusters crossed with another sample (refused).",
        "enumeration", "asymptotic", "Efron & Tibshirani 1993, chapters 8 and 13",
        answer=_difference, terms=2, options=_BOOTSTRAP,
    ),
    Method(
        "bootstrap-contrast", "contrast",
        "Equal-weight means over models, factorial effects, any weighted sum of ratios.",
        "More than 12 clusters with unequal denominators are drawn at random (errors stated).",
        "convolution", "asymptotic", "Efron & Tibshirani 1993, chapter 13",
        answer=_contrast, terms=0, options=_BOOTSTRAP,
    ),
)  # fmt: skip
