"""Student's t on differences by name, and the effect sizes of two levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.contrasts import cluster_contrasts, paired_clusters
from simtrack.inference.differences.cluster_difference import cluster_difference
from simtrack.inference.differences.effect_size import (
    EffectSize,
    cohen_d,
    cohen_d_paired,
    cohen_h,
)
from simtrack.inference.differences.many import cluster_t_arms, paired_cluster_t
from simtrack.inference.differences.paired import paired_difference
from simtrack.inference.differences.two_rates import answer_of, one_sided, two_columns
from simtrack.inference.rates.clustered import effective_size
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note

__all__ = ["METHODS"]


def _paired_t(layout: Layout, ask: Ask) -> Answer:
    if not layout.is_difference:
        return _contrast_t(layout, ask)
    found = paired_difference(layout.totals, level=ask.level, bounded=layout.bounded)
    p = one_sided(found.t_pvalue, found.difference, ask.alternative)
    refused = "" if p is not None else "; ".join(found.notes) or "no standard error"
    return Answer(
        found.difference, found.low, found.high, p, refused=refused,
        computation=found.computation, guarantee=found.guarantee,
        notes=tuple(Note.of(line) for line in found.notes), extra={"interval": found.method},
    )  # fmt: skip


def _contrast_t(layout: Layout, ask: Ask) -> Answer:
    """As the quick form has it, for contrasts of any number of terms."""
    if not layout.bounded:
        raise InputError("scores", "between 0 and 1 in such a contrast", cure="Use contrast-t.")
    top, bottom = layout.totals.numerator[None], layout.totals.denominator[None]
    found = paired_cluster_t(top, bottom, np.array(layout.weights), ask)
    notes = cluster_contrasts(layout.totals, layout.weights).notes
    return replace(found.answer(0), notes=tuple(Note.of(line) for line in notes))


def _cohen_d(layout: Layout, ask: Ask) -> Answer:
    arms = [_rates(layout.totals.column(k)) for k in (0, 1)]
    return _effect(cohen_d(*arms, level=ask.level, **ask.options), layout)


def _cohen_d_paired(layout: Layout, ask: Ask) -> Answer:
    pairs = paired_clusters(layout.totals)
    rates = layout.totals.numerator[pairs.both] / layout.totals.denominator[pairs.both]
    found = cohen_d_paired(rates[:, 0], rates[:, 1], level=ask.level, **ask.options)
    return _effect(found, layout, pairs.notes)


def _cohen_h(layout: Layout, ask: Ask) -> Answer:
    """Of pooled rates, with the effective numbers of trials that clusters leave."""
    two = two_columns(layout.totals, 0, 1)
    size = effective_size(two.totals, rates=two.rates)
    n = [None if np.isnan(t) else float(t) for t in size.trials.tolist()]
    p, q = two.rates.rate.tolist()
    notes = tuple(Note.of(f"{name}: {line}") for name, lines in
                  zip(("first", "second"), size.notes, strict=True) for line in lines)  # fmt: skip
    found = cohen_h(p, q, n_first=n[0], n_second=n[1], level=ask.level)
    return _effect(found, layout, notes)


def _effect(found: EffectSize, layout: Layout, notes: tuple[Note, ...] = ()) -> Answer:
    return Answer(
        found.value, found.low, found.high, computation=found.computation,
        guarantee=found.guarantee, notes=(*notes, *(Note.of(line) for line in found.notes)),
        extra={
            "interval": "" if found.low is None else f"normal, {found.name}", "se": found.se,
            "difference": found.difference, "standardizer": found.standardizer,
        },
    )  # fmt: skip


def _rates(column: Totals) -> np.ndarray:
    rates: np.ndarray = column.numerator[:, 0] / column.denominator[:, 0]
    return rates


METHODS = (
    Method(
        "paired-cluster-t", "difference",
        "Two arms that share their clusters; effects that vary by cluster.",
        "Clusters that have one arm only (left out). Skewed differences: at 12 clusters it covers "
        ".86 for .98 against .90 with ICC .2, .66 where 5 % of clusters fail in one arm alone.",
        "closed-form", "asymptotic", "Student 1908 on cluster differences",
        answer=_paired_t, many=paired_cluster_t, pairing="clusters", terms=0, has_pvalue=True,
    ),
    Method(
        "cluster-t-difference", "difference",
        "Two arms whose clusters are shared, apart, or partly shared; rates away from 0 and 1.",
        "Rates of 0 or 1 (they add no variance), few clusters.",
        "closed-form", "asymptotic", "Cochran 1977, 6.11; Welch 1947 degrees of freedom",
        answer=answer_of(cluster_difference), many=cluster_t_arms, terms=2,
        options=("icc", "side"), has_pvalue=True,
    ),
    Method(
        "cohen-d", "rank",
        "Means of two independent samples, in standard deviations that are named.",
        "Scores in clusters (pass one mean a cluster); no spread.",
        "closed-form", "asymptotic", "Cohen 1988; Hedges & Olkin 1985",
        answer=_cohen_d, quantity="d", terms=2, options=("by", "unbiased"),
    ),
    Method(
        "cohen-d-paired", "rank",
        "Two scores of the same clusters, in standard deviations of the differences or of both.",
        "d of the differences cannot be compared with d of independent samples.",
        "closed-form", "asymptotic", "Cohen 1988, section 2.3.5; Lakens 2013",
        answer=_cohen_d_paired, quantity="d", pairing="clusters", terms=2, options=("by",),
    ),
    Method(
        "cohen-h", "rank",
        "Two rates on the arcsine scale, for planning and comparing across base rates.",
        "Rates at 0 or 1 with few trials; give effective numbers of trials under clustering.",
        "closed-form", "asymptotic", "Cohen 1988, section 6.2",
        answer=_cohen_h, quantity="h", terms=2,
    ),
)  # fmt: skip
