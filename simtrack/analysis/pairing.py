"""What may be compared with what: units that both arms have; when a p-value is to be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from simtrack.analysis.scope import Scope
from simtrack.counts import Loss, Losses, group_rows
from simtrack.inference import PairedDifference, SignFlip, SignFlipInterval, sign_flip_interval
from simtrack.inference.exact.signflip_law import as_integers
from simtrack.options import Alternative
from simtrack.records import Records, scored_rows

__all__ = ["cautions", "few_differ", "flip_interval", "in_both", "refusal", "symmetry_cautions"]

#: Factors that nobody can assign at random: a later stage always follows an earlier one.
_NOT_RANDOMISED = frozenset({"stage", "turn", "depth", "position", "repetition"})
#: Fewer clusters than this that differ at all leave the t interval without its footing.
_FEW_LIVE = 6
#: Most of Σ|m - n| / Σ(m + n) over the trials of the arms within clusters: 1/3 is two to one.
_MOST_IMBALANCE = 1.0 / 3.0
#: Subsets of this many real differences are listed at no cost worth a word (5 ms).
_QUICKLY_LISTED = 16
#: Sums times sizes times squared clusters of the law of subset means: 16 ms, and a second.
QUICK_LAW, PATIENT_LAW = 1 << 27, 1 << 34


def in_both(scope: Scope, a: str, b: str) -> Records:
    """Keep the scored trials of units that both levels have; the rest become losses "unpaired".

    Where clusters hold several units, a level that lost its hard ones would look better than it is.
    Without ids, or where units are the clusters, there is nothing to match below them; nor where no
    unit has both levels, as when every stage of a scenario is a unit.
    """
    records, name, factor = scope.records, scope.cluster, scope.factor
    if factor is None or scope.unit in (None, name) or name not in records.factors:
        return records
    side, unit = records.factor(factor), records.factors[scope.unit]
    codes = (side.code_of(a, factor), side.code_of(b, factor))
    scored = scored_rows(records) & np.isin(side.codes, codes)
    places = {"cluster": records.factors[name], "unit": unit}
    keys = {n: f.with_missing_named() for n, f in places.items()}
    groups = group_rows(keys, len(records))
    both = np.ones(groups.size, dtype=bool)
    for code in codes:
        both &= np.bincount(groups.index[scored & (side.codes == code)], minlength=groups.size) > 0
    lone = scored & ~both[groups.index]
    if not lone.any() or not both.any():  # stages of a scenario are units of their own
        return records
    lost = []
    for code, label, other in ((codes[0], a, b), (codes[1], b, a)):
        units = unit.take(lone & (side.codes == code)).values()
        why = f"its unit has no scored trial in {other}"
        examples = tuple(dict.fromkeys(u for u in units if u is not None))
        lost.append(Loss("unpaired", len(units), why, ((factor, label),), examples))
    kept = records.take(~lone)
    losses = kept.losses + Losses.of(lost)
    return Records(kept.factors, kept.numbers, losses, kept.parents, kept.kind, kept.notes)


def refusal(paired: PairedDifference, alpha: float, alternative: Alternative = "two-sided") -> str:
    """Say why the sign-flip test gives no verdict, or nothing: too few clusters, unequal arms."""
    if paired.test is None:
        return ""
    floor = (2.0 if alternative == "two-sided" else 1.0) / 2.0**paired.clusters
    if floor > alpha:
        return f"{paired.clusters} clusters can give no p below {floor:.3g}, above {alpha:g}"
    if paired.imbalance > _MOST_IMBALANCE:
        return (
            "the arms have very different numbers of trials within clusters, so differences are "
            "skewed under the null; compare equal numbers of trials"
        )
    return ""


def cautions(paired: PairedDifference, factor: str, level: float) -> Iterator[str]:
    """Say what the reader of the p-value and the t interval should know."""
    test = paired.test
    if test is None:
        return
    yield from test.notes
    live = test.clusters - test.zeros
    if live < _FEW_LIVE:
        yield (
            f"{live} of {test.clusters} clusters differ at all: trust the p-value, not the t "
            "interval"
        )
    low, high = paired.low, paired.high
    outside = low is not None and high is not None and not low <= 0.0 <= high
    if outside and test.pvalue > 1.0 - level:
        yield "the interval excludes 0 and the exact p-value does not reject: trust the p-value"
    yield from symmetry_cautions(paired.imbalance, factor)


def symmetry_cautions(imbalance: float, factor: str) -> Iterator[str]:
    """Say where flipping the signs of cluster differences is not quite fair."""
    if imbalance > 0.0:
        yield (
            "the arms have different numbers of trials in some clusters: the sign-flip p is "
            "approximate, since differences are not quite symmetric"
        )
    if factor in _NOT_RANDOMISED:
        yield (
            f"the sign-flip p assumes differences symmetric about 0 under the null, and {factor} "
            "is not assigned at random"
        )


def few_differ(live: int, of: int, what: str, sides: int, alpha: float) -> tuple[str, ...]:
    """Say that what was seen left the test no way to reject, though the design had one."""
    floor = min(1.0, sides / 2.0**live)
    if live == 0 or floor <= alpha:
        return ()
    return (f"{live} of {of} {what} differ at all: no p below {floor:.3g} was possible",)


def flip_interval(
    test: SignFlip, differences: Sequence[Fraction] | Sequence[float], level: float, most: int
) -> SignFlipInterval | None:
    """Give the interval that inverts the sign-flip test, or nothing where it takes too long.

    `most` bounds the work on the law of subset means: `QUICK_LAW` or `PATIENT_LAW`.
    """
    if len(differences) <= _QUICKLY_LISTED:
        return sign_flip_interval(differences, level=level)
    whole = as_integers(differences)
    if whole is None or test.route == "monte-carlo":
        return None
    g = len(whole)
    if (sum(map(abs, whole)) + 1) * (g + 1) * g * g > most:
        return None
    return sign_flip_interval(differences, level=level)
