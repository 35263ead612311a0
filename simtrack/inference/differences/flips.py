"""The sign-flip test by name: its p, the interval that inverts it, and what the pairs are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from simtrack.answer import Answer
from simtrack.inference.contrasts import cluster_contrasts, paired_clusters
from simtrack.inference.differences.paired import PairedDifference, paired_difference
from simtrack.inference.exact.answers import as_notes, interval_of, with_ends, with_p
from simtrack.inference.exact.cautions import refusal, symmetry_cautions
from simtrack.inference.exact.contrast_tests import sign_flip_contrast, sign_flip_stratified
from simtrack.inference.exact.many import sign_flip_clusters
from simtrack.inference.exact.signflip import SignFlip, sign_flip
from simtrack.inference.exact.signflip_interval import SignFlipInterval, sign_flip_interval
from simtrack.method import Ask, Layout, Method
from simtrack.options import Guarantee
from simtrack.validate import decimal_fraction, real

__all__ = ["METHODS", "shifted"]

_INVERTED = "sign-flip inverted"


def _sign_flip(layout: Layout, ask: Ask) -> Answer:
    values = cluster_contrasts(layout.totals, layout.weights).values
    paired = _paired(layout, ask)
    test = None if paired is None else paired.test
    if test is None or ask.alternative != "two-sided":
        test = sign_flip(values, alternative=ask.alternative)
    if null := ask.options.get("null", 0.0):
        away = sign_flip(shifted(values, real("null", null)), alternative=ask.alternative)
        test = replace(away, statistic=test.statistic)
    shown = _of_flips(test, layout, ask, paired)
    if shown.refused or not ask.interval:
        return shown
    return with_ends(shown, sign_flip_interval(values, level=ask.level), _INVERTED)


def _flip_ends(layout: Layout, ask: Ask) -> SignFlipInterval:
    values = cluster_contrasts(layout.totals, layout.weights).values
    return sign_flip_interval(values, level=ask.level)


def shifted(
    values: Sequence[Fraction] | Sequence[float], null: float
) -> Sequence[Fraction] | Sequence[float]:
    """Give differences less a null, which is exact, as typed, where they are fractions."""
    typed = decimal_fraction("null", null)
    return [v - typed if isinstance(v, Fraction) else v - null for v in values]  # type: ignore[return-value]


def _sign_flip_stratified(layout: Layout, ask: Ask) -> Answer:
    found = cluster_contrasts(layout.totals, layout.weights)
    label = dict(zip(layout.totals.clusters, layout.strata or (), strict=True))
    strata = [label[c] for c in found.clusters]
    test = sign_flip_stratified(found.values, strata, alternative=ask.alternative)
    return _of_flips(test, layout, ask, _paired(layout, ask))


def _paired(layout: Layout, ask: Ask) -> PairedDifference | None:
    if not layout.is_difference:
        return None
    return paired_difference(layout.totals, level=ask.level, bounded=layout.bounded)


def _of_flips(test: SignFlip, layout: Layout, ask: Ask, paired: PairedDifference | None) -> Answer:
    imbalance, beside = 0.0, dict[str, object]()
    left_out = cluster_contrasts(layout.totals, layout.weights).notes
    if paired is not None:
        imbalance, beside = paired.imbalance, _beside(paired)
        left_out = paired_clusters(layout.totals).notes
    # a contrast of an estimand has the trials that it has; two levels could have had as many
    uneven = imbalance if ask.factor else 0.0
    refused = refusal(test.clusters, uneven, ask.alpha, ask.alternative)
    shown = with_p(
        Answer(test.statistic, notes=as_notes(left_out), extra=beside), test, ask,
        live=test.clusters - test.zeros, of=test.clusters, what="clusters", refused=refused,
    )  # fmt: skip
    cautions = () if refused else tuple(symmetry_cautions(imbalance, ask.factor))
    held: Guarantee = "asymptotic" if imbalance > 0.0 else test.guarantee
    return replace(shown, guarantee=held, notes=(*shown.notes, *cautions))


def _beside(paired: PairedDifference) -> dict[str, object]:
    """Give what is known of the pairs beside their mean difference."""
    p = paired
    return {
        "se": p.se, "t_low": p.low, "t_high": p.high, "pooled_difference": p.pooled_difference,
        "pooled_se": p.pooled_se, "unpaired_se": p.unpaired_se, "rate_a": p.rate_first,
        "rate_b": p.rate_second, "only_a": p.only_first, "only_b": p.only_second,
    }  # fmt: skip


def _sign_flip_contrast(layout: Layout, ask: Ask) -> Answer:
    """As sign-flip, with what a contrast assumes that nobody assigned at random."""
    test = sign_flip_contrast(layout.totals, layout.weights, alternative=ask.alternative,
                              **ask.options)  # fmt: skip
    return with_p(Answer(test.statistic), test, ask, live=test.clusters - test.zeros,
                  of=test.clusters, what="clusters")  # fmt: skip


METHODS = (
    Method(
        "sign-flip", "test",
        "Paired cluster differences that are symmetric about 0 under the null, as by randomising.",
        "Too few clusters to reach alpha (refused); contrasts nobody randomised (warned of).",
        "convolution", "finite-sample", "Fisher 1935, section 21; Pagano & Tritchler 1983",
        answer=_sign_flip, many=sign_flip_clusters, pairing="clusters", terms=0, has_pvalue=True,
        lattice="sign-flip", options=("null",),
    ),
    Method(
        "sign-flip-stratified", "test",
        "As sign-flip, where every stratum of clusters is to count alike.",
        "Strata of very unequal size: a single cluster can carry half of the statistic.",
        "convolution", "finite-sample", "Fisher 1935, section 21, with stratum weights",
        answer=_sign_flip_stratified, pairing="clusters", strata="must", terms=0, has_pvalue=True,
    ),
    Method(
        "sign-flip-contrast", "contrast",
        "Any weighted sum of ratios, cluster by cluster, that is symmetric about 0 under the null.",
        "Contrasts nobody randomised (warned of); clusters that lack a term (left out).",
        "convolution", "finite-sample", "Fisher 1935, section 21; Pagano & Tritchler 1983",
        answer=_sign_flip_contrast, pairing="clusters", terms=0, has_pvalue=True,
        options=("randomised", "n_resamples", "seed"),
    ),
    Method(
        "sign-flip-interval", "difference",
        "The mean of cluster differences that are symmetric about it: then its level is exact. Six "
        "clusters or more at .95.",
        "Skewed differences, such as those of 0/1 scores with unequal rates: with few clusters it "
        "covers far too little.",
        "enumeration", "asymptotic", "Hartigan 1969; Tritchler 1984",
        answer=interval_of(_sign_flip, _flip_ends, _INVERTED), pairing="clusters", terms=0,
    ),
)  # fmt: skip
