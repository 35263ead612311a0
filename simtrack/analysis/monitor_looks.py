"""Tests at planned looks: one method for each kind of step, named, and none that reverses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.group_sequential import GroupSequential, group_sequential
from simtrack.inference.signflip import sign_flip
from simtrack.inference.signflip_law import is_typed
from simtrack.inference.special import beta_cdf
from simtrack.options import BoundaryKind, choice
from simtrack.validate import integer

__all__ = [
    "Look",
    "LookMethod",
    "about_looks",
    "as_typed",
    "binomial_p",
    "bounded_mean_p",
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
    above = beta_cdf(null, passes, trials - passes + 1.0) if passes else 1.0
    below = 1.0 - beta_cdf(null, passes + 1.0, trials - passes) if passes < trials else 1.0
    return min(1.0, 2.0 * min(above, below))


def bounded_mean_p(scores: Sequence[float] | NDArray[np.float64], null: float) -> float:
    """How unusual is this mean of independent scores in [0, 1], if their common mean were `null`?

    Twice the smaller of P(Σ w_i x_i <= null) with a 0 put beside the scores, and the same of
    1 - x against 1 - null; the n + 1 weights are flat Dirichlet. A greater score never makes the
    upper tail greater, so evidence does not reverse. Of zeros and ones both tails are binomial.

    Notes
    -----
    Neither symmetry nor a shape is assumed. That each tail is valid for every law on [0, 1] is
    proved for 0/1 scores and has been conjectured since 2005 for others, without a counterexample:
    of 6000 random laws on two to four values, two to nine clusters, all outcomes enumerated, none
    erred above .047 at .05 (tests list some). Sign flips about a null far from .5 are no choice, as
    cluster means are skewed there: of eight clusters about .9 they can err above .2. Student's t
    is none either, as its p grows when a lone cluster that failed joins the others. The price is
    caution near a null of .5 with even scores.

    References
    ----------
    Gaffke (2005), Mathematical Methods of Statistics 14, 451-467; Learned-Miller and Thomas
    (2019), arXiv 1905.06208.

    Examples
    --------
    >>> bounded_mean_p([1, 1, 1, 1, 1], 0.5), round(bounded_mean_p([1, 1, 1, 1, 2 / 3], 0.5), 12)
    (0.0625, 0.09375)
    """
    x = np.asarray(scores, dtype=np.float64)
    return min(1.0, 2.0 * min(_tail(x, null), _tail(1.0 - x, 1.0 - null)))


def _tail(x: NDArray[np.float64], null: float) -> float:
    """Give P(Σ w_i x_i <= null) by the recurrence of de Boor: convex steps, so nothing cancels."""
    n = x.size
    if null >= x.max():
        return 1.0
    inner = np.sort(np.append(x, 0.0))
    knots = np.concatenate([np.full(n, inner[0]), inner, np.full(n, inner[-1])])
    place = int(np.searchsorted(inner, null, side="right")) - 1 + n
    law = (np.arange(place - n, place + 1) >= n).astype(np.float64)
    for degree in range(1, n + 1):
        at = np.arange(degree, n + 1)
        low, high = knots[at + place - n], knots[at + 1 + place - degree]
        share = (null - low) / (high - low)
        law = (1.0 - share) * law[:-1] + share * law[1:]
    return min(1.0, float(law[0]))


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
