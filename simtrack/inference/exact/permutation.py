"""The permutation test of two groups of clusters, exact where the data allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import ExactTest, sides_of
from simtrack.inference.exact.permutation_law import (
    PermutationStatistic,
    Stratum,
    Value,
    as_floats,
    attainable_floor,
    coded_strata,
    extreme_by_convolution,
    extreme_by_lists,
    extreme_by_size,
    is_listable,
    is_splittable,
    observed_total,
    slack_of,
    split_by_stratum,
    stratum_weights,
    weighted_difference,
)
from simtrack.inference.exact.signflip import Reals, checked_differences
from simtrack.inference.exact.signflip_law import Route
from simtrack.options import Alternative, Computation, choice
from simtrack.validate import integer

__all__ = [
    "Permutation",
    "PermutationStatistic",
    "checked_group",
    "permutation_test",
    "permutation_totals",
]

Values = Sequence[Value] | Reals

_DEFAULT_RESAMPLES = 99_999
_BLOCK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Permutation(ExactTest):
    """How unusual is the difference of two groups, if labels had been dealt at random?

    Attributes
    ----------
    statistic : float
        First minus second: the mean difference, over strata weighted by their clusters, or with
        "sum" weighted by n1 n2 / (n1 + n2).
    first, second, strata : int
        Clusters in either group; strata.
    assignments : int
        Ways to deal the labels within strata.
    route : str
        "convolution", "enumeration", "meet-in-the-middle" or "monte-carlo".
    """

    first: int
    second: int
    strata: int
    assignments: int
    route: Route

    schema: ClassVar[str] = "simtrack.permutation/1"

    def _sizes(self) -> str:
        return f"{self.first} against {self.second} clusters"


def permutation_test(
    first: Values,
    second: Values,
    *,
    strata: tuple[Sequence[str], Sequence[str]] | None = None,
    statistic: PermutationStatistic = "mean-difference",
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> Permutation:
    """How unusual is the difference of these two groups, if labels had been dealt at random?

    The p-value is the share of all assignments, within strata, whose statistic is at least as
    extreme; two-sided: at least as far from its mean, |T - E T|. Whole numbers, Fractions and short
    decimals (as typed) are counted exactly by convolving the law of (size, sum); other reals by
    enumeration or, to 42 clusters, by meeting in the middle, totals within 1e-12 being ties.
    Beyond that, or where `n_resamples` is given, by Monte Carlo with (b + 1) / (m + 1).

    It assumes that labels were dealt at random within strata, or that the groups have the same law
    under the null: groups with equal means but unequal spread and size are rejected too often.

    Parameters
    ----------
    first, second : sequences of numbers
        One value a cluster.
    strata : (sequence of str, sequence of str), optional
        The stratum of each value of `first` and of `second`.
    statistic : str
        Differs with strata only: "mean-difference" weights a stratum's mean difference by its
        clusters; "sum" (the sum over the first group) by n1 n2 / (n1 + n2), as Mantel and
        Haenszel do.
    alternative : str
        "greater": the first group is higher.

    Raises
    ------
    InputError
        An empty group, a value that is not finite, strata of another length.

    References
    ----------
    Pitman (1937), JRSS Supplement 4, 119-130; Pagano and Tritchler (1983), JASA 78, 435-440.
    Monte Carlo: Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9, 39.

    Examples
    --------
    >>> first = [94, 108, 110, 90]
    >>> second = [80, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88]
    >>> permutation_test(first, second, alternative="greater").exact
    Fraction(11, 195)
    """
    choice("alternative", alternative, Alternative)
    choice("statistic", statistic, PermutationStatistic)
    one, two = checked_group("first", first), checked_group("second", second)
    groups, left_out = split_by_stratum(one, two, strata)
    sign = -1 if alternative == "less" else 1
    weights = stratum_weights(groups, statistic)
    layers = coded_strata(groups, weights, sign)
    about = _About(
        statistic=float(weighted_difference(groups, weights)),
        alternative=alternative,
        floor=attainable_floor(layers, sides_of(alternative)),
        first=sum(len(a) for a, _ in groups),
        second=sum(len(b) for _, b in groups),
        strata=len(groups),
        assignments=math.prod(s.assignments for s in layers),
        notes=left_out,
    )
    if n_resamples is None and (found := _count(layers, sides_of(alternative))):
        count, route = found
        exact = Fraction(count, about.assignments)
        how: Computation = "convolution" if route == "convolution" else "enumeration"
        return about.result(pvalue=float(exact), exact=exact, route=route, computation=how)
    return _by_monte_carlo(about, layers, n_resamples, seed)


def permutation_totals(
    totals: Totals,
    first: int = 0,
    second: int = 1,
    *,
    strata: Sequence[str] | None = None,
    statistic: PermutationStatistic = "mean-difference",
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> Permutation:
    """How unusual is the difference of the mean cluster rates of two arms that share no cluster?

    Every cluster counts alike, whatever its number of trials.

    Parameters
    ----------
    totals : Totals
        Clusters by conditions; a cluster has trials in one of the two.
    strata : sequence of str, shape (clusters of totals,), optional
    statistic, alternative, n_resamples, seed
        As for `permutation_test`.

    Raises
    ------
    InputError
        A cluster in both arms: such arms are compared cluster by cluster, with the sign-flip test.

    Examples
    --------
    >>> passed, tried = [[3, 0], [4, 0], [0, 1], [0, 2]], [[4, 0], [4, 0], [0, 4], [0, 4]]
    >>> arms = Totals.from_arrays(passed, tried)
    >>> permutation_totals(arms)
    Permutation(p=0.333333, 2 against 2 clusters)
    """
    bottom = totals.denominator[:, [first, second]]
    shared = int((bottom > 0).all(axis=1).sum())
    if shared:
        raise InputError(
            "totals", "of arms that share no cluster", f"{shared} shared", cure="Use sign-flip."
        )
    if strata is not None and len(strata) != len(totals.clusters):
        raise InputError("strata", f"a label for {len(totals.clusters)} clusters", len(strata))
    one, two = _cluster_rates(totals.column(first)), _cluster_rates(totals.column(second))
    labels = None
    if strata is not None:
        in_first, in_second = (np.flatnonzero(bottom[:, side] > 0).tolist() for side in (0, 1))
        labels = [strata[g] for g in in_first], [strata[g] for g in in_second]
    return permutation_test(
        one, two, strata=labels, statistic=statistic,
        alternative=alternative, n_resamples=n_resamples, seed=seed,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _About:
    statistic: float
    alternative: Alternative
    floor: Fraction
    first: int
    second: int
    strata: int
    assignments: int
    notes: tuple[str, ...]

    def result(self, **more: Any) -> Permutation:
        own = {name: getattr(self, name) for name in self.__slots__}
        return Permutation(**(own | more))


def checked_group(name: str, values: Values) -> list[Value]:
    """Give the values of a group as plain numbers, or refuse under its own name."""
    try:
        return checked_differences(values)
    except InputError as error:
        raise InputError(name, str(error).partition(" must be ")[2].rstrip(".")) from None


def _count(layers: list[Stratum[Any]], sides: int) -> tuple[int, Route] | None:
    """Count the assignments at least as extreme, by the first exact route that is affordable."""
    observed = observed_total(layers)
    if isinstance(layers[0].scale, int):
        found = extreme_by_convolution(layers, observed, sides)
        if found is not None:
            return found, "convolution"
        layers = as_floats(layers)
        observed = observed_total(layers)
    if is_listable(layers):
        return extreme_by_lists(layers, observed, sides), "enumeration"
    if is_splittable(layers):
        return extreme_by_size(layers, observed, sides), "meet-in-the-middle"
    return None


def _by_monte_carlo(
    about: _About,
    layers: list[Stratum[Any]],
    n_resamples: int | None,
    seed: int,
) -> Permutation:
    draws = integer("n_resamples", _DEFAULT_RESAMPLES if n_resamples is None else n_resamples, 1)
    layers = as_floats(layers)
    bound, hits = observed_total(layers), 0
    two_sided = about.alternative == "two-sided"
    bound = (abs(bound) if two_sided else bound) - slack_of(layers)
    for start in range(0, draws, _BLOCK):
        totals = _drawn_totals(layers, range(start, min(start + _BLOCK, draws)), seed)
        totals = np.abs(totals) if two_sided else totals
        hits += int(np.count_nonzero(totals >= bound))
    p = (hits + 1) / (draws + 1)
    why = "" if n_resamples is not None else "too many assignments to count exactly: "
    return about.result(
        pvalue=p,
        exact=None,
        route="monte-carlo",
        computation="monte-carlo",
        notes=(*about.notes, f"{why}{draws} random assignments, (b + 1) / (m + 1)"),
        mcse=math.sqrt(p * (1.0 - p) / draws),
        n_resamples=draws,
        seed=seed,
    )


def _drawn_totals(layers: list[Stratum[Any]], replicates: range, seed: int) -> NDArray[np.float64]:
    """Deal the labels by the order of uniform numbers: those with the smallest are chosen."""
    from simtrack.rng import Stream

    totals = np.zeros(len(replicates))
    for place, s in enumerate(layers):
        values = np.array(s.values)
        parts = s.scale * values.size * (values - math.fsum(s.values) / values.size)
        keys = Stream(seed, "permutation", stratum=place).uniform(
            replicates=replicates, clusters=values.size
        )[:, :, 0]
        chosen = np.argsort(keys, axis=1, kind="stable")[:, : s.chosen]
        totals += parts[chosen].sum(axis=1)
    return totals


def _cluster_rates(column: Totals) -> list[Value]:
    """Give each cluster's rate, exact where numerator and denominator are whole numbers."""
    top, bottom = column.numerator[:, 0], column.denominator[:, 0]
    if (top == np.rint(top)).all() and (bottom == np.rint(bottom)).all():
        return [
            Fraction(int(a), int(n)) for a, n in zip(top.tolist(), bottom.tolist(), strict=True)
        ]
    return [float(rate) for rate in top / bottom]
