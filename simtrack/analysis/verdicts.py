"""What one method of the catalogue says of two levels: difference, interval and p-value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from simtrack.analysis.method import Method as Entry
from simtrack.analysis.methods import METHODS
from simtrack.analysis.pairing import (
    PATIENT_LAW,
    few_differ,
    flip_interval,
    refusal,
    symmetry_cautions,
)
from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import (
    PairedDifference,
    SignFlip,
    TwoRates,
    bootstrap,
    cluster_contrasts,
    mcnemar_stratified,
    mcnemar_totals,
    paired_difference,
    permutation_interval,
    permutation_totals,
    sign_flip,
    sign_flip_interval,
    sign_flip_stratified,
    sign_test,
    sign_test_interval,
    tango_pairs,
)
from simtrack.inference.exact.signflip_interval import InvertedInterval
from simtrack.method import Ask, Layout, Method, Pairing
from simtrack.note import Note
from simtrack.options import Alternative, Guarantee

__all__ = ["STRATIFIED", "method_of_levels", "offered"]

#: Methods for which every stratum counts alike, or labels are dealt within strata.
STRATIFIED = ("sign-flip-stratified", "mcnemar-stratified", "permutation")
_PAIRS = ("mcnemar", "mcnemar-midp", "mcnemar-stratified", "tango", "newcombe-pairs")
_CLUSTERS = ("sign-flip", "sign-flip-stratified", "sign-test", "paired-cluster-t",
             "sign-flip-interval", "sign-test-interval")  # fmt: skip
#: Of the methods that are asymptotic in the number of clusters; below it exact ones are named.
_FEW_CLUSTERS = 12
_DRAWS, _MOST_DRAWN = 9_999, 1 << 24


def offered() -> tuple[str, ...]:
    """Name the methods for two levels: tests, differences and ratios."""
    return tuple(m.name for t in ("test", "difference") for m in METHODS.values() if m.topic == t)


def method_of_levels(name: str) -> Method:
    """Give a method for two levels: what it needs, and how it is run."""
    entry = METHODS[name]
    pairing: Pairing = "trials" if name in _PAIRS else "clusters" if name in _CLUSTERS else "none"
    strata: Any = "no" if name not in STRATIFIED else "may" if name == "permutation" else "must"

    def one(layout: Layout, ask: Ask) -> Answer:
        if strata == "must" and layout.strata is None:
            raise InputError("strata", f"named for {name}", cure="Use --strata COLUMN.")
        runner = _RUNNERS.get(name)
        found = _two_rates(entry, layout, ask) if runner is None else runner(layout, ask)
        notes = (*found.notes, *_design_notes(entry, layout, found))
        return replace(found, method=name, notes=_as_notes(notes))

    return Method(
        name, entry.topic, entry.holds, entry.fails, entry.computation, entry.guarantee,
        entry.source, one, pairing=pairing, strata=strata, terms=2,
    )  # fmt: skip


def _sign_flip(levels: Layout, asked: Ask) -> Answer:
    paired = _paired(levels, asked)
    values = cluster_contrasts(levels.totals).values
    test = paired.test  # two-sided; Monte Carlo on many reals takes seconds, so not twice
    if test is None or asked.alternative != "two-sided":
        test = sign_flip(values, alternative=asked.alternative)
    ends = _flip_ends(test, values, asked.level)
    return _of_flips(test, paired, ends, levels, asked)


def _sign_flip_stratified(levels: Layout, asked: Ask) -> Answer:
    paired = _paired(levels, asked)
    found = cluster_contrasts(levels.totals)
    label = dict(zip(levels.totals.clusters, levels.strata or (), strict=True))
    strata = [label[c] for c in found.clusters]
    test = sign_flip_stratified(found.values, strata, alternative=asked.alternative)
    return _of_flips(test, paired, None, levels, asked)


def _of_flips(
    test: SignFlip,
    paired: PairedDifference,
    ends: InvertedInterval | None,
    levels: Layout,
    asked: Ask,
) -> Answer:
    refused = refusal(paired, asked.alpha, asked.alternative)
    notes = (*_left_out(paired), *test.notes)
    if not refused:
        live = test.clusters - test.zeros
        notes += few_differ(live, test.clusters, "clusters", asked.sides, asked.alpha)
        notes += tuple(symmetry_cautions(paired.imbalance, asked.factor))
    held: Guarantee = "asymptotic" if paired.imbalance > 0.0 else test.guarantee
    shown = Answer(
        test.statistic, refused=refused, computation=test.computation, guarantee=held,
        notes=_as_notes(notes),
        extra={"floor": test.floor, "mcse": test.mcse, **_beside(paired)},
    )  # fmt: skip
    if not refused:
        shown = replace(shown, pvalue=test.pvalue, exact=test.exact)
        if ends is not None:
            shown = _with_ends(shown, ends, "sign-flip inverted")
    return shown


def _beside(paired: PairedDifference) -> dict[str, object]:
    """Give what is known of the pairs beside their mean difference."""
    p = paired
    return {
        "se": p.se, "t_low": p.low, "t_high": p.high, "pooled_difference": p.pooled_difference,
        "pooled_se": p.pooled_se, "unpaired_se": p.unpaired_se, "rate_a": p.rate_first,
        "rate_b": p.rate_second, "only_a": p.only_first, "only_b": p.only_second,
    }  # fmt: skip


def _flip_ends(test: SignFlip, values: Any, level: float) -> InvertedInterval:
    found = flip_interval(test, values, level, PATIENT_LAW)
    if found is not None:
        return found
    draws = min(_DRAWS, _MOST_DRAWN // len(values))
    return sign_flip_interval(values, level=level, n_resamples=max(draws, 199))


def _sign_test(levels: Layout, asked: Ask) -> Answer:
    paired = _paired(levels, asked)
    values = cluster_contrasts(levels.totals).values
    test = sign_test(values, alternative=asked.alternative)
    live = test.positive + test.negative
    shown = Answer(float(np.median([float(v) for v in values])), notes=_as_notes(_left_out(paired)))
    shown = _tested(shown, test, live, len(values), "clusters", asked)
    return _with_ends(shown, sign_test_interval(values, level=asked.level), "median, sign test")


def _mcnemar(is_midp: bool) -> Callable[[Layout, Ask], Answer]:
    def run(levels: Layout, asked: Ask) -> Answer:
        test = mcnemar_totals(levels.totals, alternative=asked.alternative, is_midp=is_midp)
        live = test.only_first + test.only_second
        counts = (
            f"{test.only_first} pairs passed in the first only, {test.only_second} in the second"
        )
        shown = _tested(_pair_interval(levels, asked), test, live, levels.trials[0], "pairs", asked)
        return replace(shown, notes=_as_notes((counts, *shown.notes)))

    return run


def _mcnemar_stratified(levels: Layout, asked: Ask) -> Answer:
    labels = np.array(levels.strata or ())
    names = list(dict.fromkeys(levels.strata or ()))
    top = levels.totals.numerator
    gap = top[:, 0] - top[:, 1]
    b = [int((gap[labels == s] > 0).sum()) for s in names]
    c = [int((gap[labels == s] < 0).sum()) for s in names]
    n = [int((labels == s).sum()) for s in names]
    test = mcnemar_stratified(b, c, pairs=n, weights="equal", alternative=asked.alternative)
    share = sum((x - y) / m for x, y, m in zip(b, c, n, strict=True)) / len(names)
    shown = _tested(Answer(share), test, sum(b) + sum(c), sum(n), "pairs", asked)
    sizes = ", ".join(f"{s}: {m}" for s, m in zip(names, n, strict=True))
    return replace(
        shown,
        notes=_as_notes((f"{len(names)} strata ({sizes} pairs), each counts alike", *shown.notes)),
    )


def _pair_interval(levels: Layout, asked: Ask) -> Answer:
    found = tango_pairs(levels.totals, level=asked.level)
    return Answer(found.estimate, found.low, found.high, extra={"interval": found.method})


def _permutation(levels: Layout, asked: Ask) -> Answer:
    totals = levels.totals
    test = permutation_totals(totals, strata=levels.strata, alternative=asked.alternative)
    shown = Answer(test.statistic, notes=_as_notes(test.notes), computation=test.computation,
                   guarantee=test.guarantee,
                   extra={"floor": test.floor, "mcse": test.mcse})  # fmt: skip
    refused = test.refusal(asked.alpha)
    if refused:
        return replace(shown, refused=refused)
    shown = replace(shown, pvalue=test.pvalue, exact=test.exact)
    if levels.strata is None:
        arms = [_rates(totals.column(k)) for k in (0, 1)]
        ends = permutation_interval(*arms, level=asked.level)
        shown = _with_ends(shown, ends, "permutation inverted")
    return shown


def _rates(column: Totals) -> list[Fraction] | list[float]:
    found: list[Any] = [*cluster_contrasts(column, [1.0]).values]
    return found


def _paired_t(levels: Layout, asked: Ask) -> Answer:
    found = _paired(levels, asked)
    p = _one_sided(found.t_pvalue, found.difference, asked.alternative)
    refused = "" if p is not None else "; ".join(found.notes) or "no standard error"
    return Answer(
        found.difference, found.low, found.high, p, refused=refused,
        computation=found.computation, guarantee=found.guarantee,
        notes=_as_notes(found.notes), extra={"interval": found.method},
    )  # fmt: skip


def _bootstrap(levels: Layout, asked: Ask) -> Answer:
    _no_test("bootstrap-difference", asked)
    both = np.asarray((levels.totals.denominator > 0).all(axis=1))
    totals, groups = levels.totals, None
    notes: tuple[str, ...] = ()
    if not both.any():
        groups = ("first", "second")
    elif not both.all():
        names = tuple(str(c) for c in np.array(totals.clusters, dtype=object)[both])
        totals = Totals(totals.numerator[both], totals.denominator[both], totals.square[both],
                        names, totals.conditions, totals.by, totals.name)  # fmt: skip
        notes = (f"unpaired clusters left out: {int((~both).sum())}",)
    found = bootstrap(totals, level=asked.level, groups=groups)
    return Answer(
        found.estimate, found.low, found.high, computation=found.computation,
        guarantee=found.guarantee, notes=_as_notes((*notes, *found.notes)),
        extra={"interval": f"bootstrap ({found.kind}, {found.route})"},
    )  # fmt: skip


def _interval_only(name: str) -> Callable[[Layout, Ask], Answer]:
    """Give the interval of a test, without its p-value."""

    def run(levels: Layout, asked: Ask) -> Answer:
        _no_test(name, asked)
        found = _RUNNERS[name.removesuffix("-interval")](levels, _two_sided(asked))
        return replace(
            found,
            pvalue=None,
            exact=None,
            refused="",
            extra={"interval": found.extra.get("interval", "")},
        )

    return run


def _two_sided(asked: Ask) -> Ask:
    """Ask for both sides, as intervals do."""
    return replace(asked, alternative="two-sided")


def _two_rates(method: Entry, levels: Layout, asked: Ask) -> Answer:
    found: TwoRates = method.load()(levels.totals, 0, 1, level=asked.level)
    if found.pvalue is None:
        _no_test(method.name, asked)
    p = _one_sided(found.pvalue, found.estimate, asked.alternative)
    if found.measure == "ratio" and p is not None and found.estimate:
        p = _one_sided(found.pvalue, math.log(found.estimate), asked.alternative)
    return Answer(
        found.estimate, found.low, found.high, p, computation=found.computation,
        guarantee=found.guarantee, notes=_as_notes(found.notes), extra={"interval": found.method},
    )  # fmt: skip


def _no_test(name: str, asked: Ask) -> None:
    if asked.alternative != "two-sided":
        raise InputError("alternative", f"two-sided for {name}, which has no p-value",
                         asked.alternative)  # fmt: skip


def _one_sided(p: float | None, difference: float | None, side: Alternative) -> float | None:
    """Turn the two-sided p of a symmetric statistic into the one asked for."""
    if p is None or difference is None or side == "two-sided":
        return p
    agrees = difference > 0 if side == "greater" else difference < 0
    return p / 2.0 if agrees or difference == 0 else 1.0 - p / 2.0


def _tested(shown: Answer, test: Any, live: int, of: int, what: str, asked: Ask) -> Answer:
    """Put a test's p beside the interval; refused where its design leaves no way to reject."""
    least = asked.sides / 2.0**of
    refused = ""
    if least > asked.alpha:
        refused = f"{of} {what} can give no p below {least:.3g}, above {asked.alpha:g}"
    notes = (*shown.notes, *test.notes)
    if not refused:
        notes += few_differ(live, of, what, asked.sides, asked.alpha)
    return replace(
        shown,
        pvalue=None if refused else test.pvalue,
        exact=None if refused else test.exact,
        refused=refused,
        computation=test.computation,
        guarantee=test.guarantee,
        notes=_as_notes(notes),
        extra={**shown.extra, "floor": test.floor, "mcse": test.mcse},
    )


def _with_ends(shown: Answer, ends: InvertedInterval, name: str) -> Answer:
    return replace(
        shown,
        low=ends.low,
        high=ends.high,
        notes=_as_notes((*shown.notes, *ends.notes)),
        extra={**shown.extra, "interval": "" if ends.low is None else name},
    )


def _as_notes(notes: Iterable[str]) -> tuple[Note, ...]:
    return tuple(map(Note.of, notes))


def _left_out(paired: PairedDifference) -> tuple[str, ...]:
    return tuple(n for n in paired.notes if Note.of(n).code == "unpaired")


def _paired(levels: Layout, asked: Ask) -> PairedDifference:
    return paired_difference(levels.totals, level=asked.level, bounded=levels.bounded)


def _design_notes(method: Entry, levels: Layout, found: Answer) -> tuple[str, ...]:
    """Say what the design does to the method: pairs in clusters, few clusters."""
    if levels.pairing == "trials":
        pairs = levels.trials[0]
        if pairs > levels.clusters:
            return (
                f"{pairs} pairs of {levels.clusters} clusters are taken as independent: "
                "sign-flip keeps those of a cluster together",
            )
        return ()
    if (
        found.guarantee == "asymptotic"
        and levels.clusters < _FEW_CLUSTERS
        and method.topic != "test"
    ):
        return (f"{levels.clusters} clusters are few for this method: sign-flip is exact",)
    return ()


_RUNNERS: dict[str, Callable[[Layout, Ask], Answer]] = {
    "sign-flip": _sign_flip,
    "sign-flip-stratified": _sign_flip_stratified,
    "sign-test": _sign_test,
    "mcnemar": _mcnemar(False),
    "mcnemar-midp": _mcnemar(True),
    "mcnemar-stratified": _mcnemar_stratified,
    "permutation": _permutation,
    "paired-cluster-t": _paired_t,
    "bootstrap-difference": _bootstrap,
    "sign-flip-interval": _interval_only("sign-flip-interval"),
    "sign-test-interval": _interval_only("sign-test-interval"),
    "permutation-interval": _interval_only("permutation-interval"),
}
