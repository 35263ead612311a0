"""Tests at planned looks: one method for each kind of step, named, and none that reverses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from simtrack.errors import InputError
from simtrack.inference.exact.signflip import sign_flip
from simtrack.inference.exact.signflip_law import is_typed
from simtrack.inference.rates.binomial import binomial_tails
from simtrack.inference.rates.bounded_mean import bounded_mean_p
from simtrack.inference.sequential.group_sequential import GroupSequential, group_sequential
from simtrack.options import BoundaryKind, choice
from simtrack.validate import integer

__all__ = [
    "Look",
    "LookMethod",
    "about_looks",
    "as_typed",
    "binomial_p",
    "planned_looks",
]

#: What p is at planned looks. The kind of step decides, never the scores seen so far.
LookMethod = Literal["binomial", "bounded-mean", "sign-flip"]

_NAMED: dict[str, str] = {
    "binomial": "twice the smaller exact binomial tail",
    "bounded-mean": "twice the smaller tail of Gaffke's test of a mean of scores in [0, 1]",
    "sign-flip": "sign flips of the differences, exact if they are symmetric about 0 without an "
                 "effect",
}  # fmt: skip
_RESTS: dict[str, str] = {
    "binomial": "trials are independent with one rate under the null",
    "bounded-mean": "steps are independent with one law under the null, symmetric or not; of steps "
                    "that are all 0 or 1 it is the exact binomial test, of others no small-sample "
                    "proof is known",
    "sign-flip": "the two levels are exchangeable within a cluster without an effect",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """A planned look: how many clusters, the p-value then, and what it must reach.

    `pvalue` is None where the look has not been reached.
    """

    clusters: int
    pvalue: float | None
    nominal: float
    crossed: bool


def planned_looks(
    steps: Sequence[Fraction | float],
    null: float | None,
    method: LookMethod,
    planned: int,
    looks: int,
    boundary: BoundaryKind,
    alpha: float,
) -> tuple[GroupSequential, tuple[Look, ...]]:
    """Hold the p-value at each planned look that has been reached against the boundary."""
    total = integer("planned", planned, 2)
    integer("looks", looks, 1, min(20, total))
    choice("method", method, LookMethod)
    at = sorted({max(round(total * (k + 1) / looks), 1) for k in range(looks)})
    plan = group_sequential([n / total for n in at], alpha=alpha, kind=boundary)
    found = []
    for number, n in enumerate(at, 1):
        pvalue = _test(steps[:n], null, method) if n <= len(steps) else None
        crossed = pvalue is not None and plan.rejects(number, pvalue)
        found.append(Look(n, pvalue, plan.nominal[number - 1], crossed))
    return plan, tuple(found)


def about_looks(method: LookMethod, alpha: float, seen: int, planned: int) -> list[str]:
    """Say what p is at planned looks, what it rests on, and what the boundary promises."""
    said = [
        f"p at planned looks is {_NAMED[method]}; it holds if {_RESTS[method]}",
        f"the boundary is two-sided and makes all planned looks err with about {alpha:g} together, "
        "beside the interval: it is that of a normal statistic, so approximate on few steps. Say "
        "in advance which of both stops the study",
    ]
    if seen > planned:
        said.append(f"{seen} steps have come, but planned looks judge the first {planned} alone")
    return said


def binomial_p(passes: int, trials: int, null: float) -> float:
    """Give twice the smaller binomial tail.

    Examples
    --------
    >>> round(binomial_p(5, 5, 0.5), 12)
    0.0625
    """
    return min(1.0, 2.0 * float(min(binomial_tails(passes, trials, null))))


def _test(steps: Sequence[Fraction | float], null: float | None, method: LookMethod) -> float:
    if method == "sign-flip":
        return float(sign_flip(list(steps)).pvalue)
    if null is None:
        raise InputError("null", "given, to test a mean against", null)
    if method == "binomial":
        return binomial_p(round(float(sum(steps))), len(steps), null)
    return bounded_mean_p([float(step) for step in steps], null)


def as_typed(value: float) -> Fraction | float:
    """Read a score through its shortest decimal where it was typed, so that sums are exact."""
    return Fraction(repr(value)) if is_typed(value) else value
