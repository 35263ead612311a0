"""Boundaries for planned looks: how extreme must a statistic be at each of K looks?

A z statistic at information fractions t_k has the covariances sqrt(t_j / t_k). The chance to cross
is found by integrating from look to look (Armitage, McPherson and Rowe) with Gauss-Legendre nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.numerics.special import normal_cdf, normal_quantile
from simtrack.options import BoundaryKind, Computation, Guarantee, choice
from simtrack.validate import integer, open_unit, real

__all__ = ["GroupSequential", "group_sequential"]

Floats = NDArray[np.float64]
#: Nodes stand closer than the step between two looks is wide; looks closer than this are refused.
_NODES, _MOST_NODES, _PER_STEP = 96, 1536, 2.0
_CLOSEST = 1e-3
#: Below this a one-sided statistic is treated as lost: its chance to come back is under 1e-15.
_LOWEST = -9.0
_WIDEST = 9.0
_STEPS = 70


@dataclass(frozen=True, slots=True)
class GroupSequential:
    """When may a study stop for success, at each of its planned looks?

    Attributes
    ----------
    kind : str
    alpha : float
        The chance that a study without an effect ever crosses.
    sides : int
        2: |z| is held against the bound; 1: z is.
    fractions : tuple of float
        The share of the planned information at each look.
    bounds : tuple of float
        Critical z at each look; infinite where no alpha is spent.
    nominal : tuple of float
        The p-value that a look's own test must reach.
    spent : tuple of float
        Alpha spent up to each look.
    """

    kind: BoundaryKind
    alpha: float
    sides: int
    fractions: tuple[float, ...]
    bounds: tuple[float, ...]
    nominal: tuple[float, ...]
    spent: tuple[float, ...]
    computation: Computation = "quadrature"
    guarantee: Guarantee = "asymptotic"

    def rejects(self, look: int, pvalue: float) -> bool:
        """Say whether the p-value of this look's own test crosses: 1 is the first look.

        With few clusters take an exact sign-flip p or one from t(G-1) rather than a z.

        Examples
        --------
        >>> plan = group_sequential(3, kind="obrien-fleming")
        >>> plan.rejects(1, 0.01), plan.rejects(3, 0.04)
        (False, True)
        """
        at = integer("look", look, 1, len(self.bounds))
        return real("pvalue", pvalue, 0.0, 1.0) <= self.nominal[at - 1]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id; a look that spends nothing has no bound."""
        return {
            "schema": "simtrack.group-sequential/1",
            "kind": self.kind,
            "alpha": self.alpha,
            "sides": self.sides,
            "fractions": list(self.fractions),
            "bounds": [b if math.isfinite(b) else None for b in self.bounds],
            "nominal": list(self.nominal),
            "spent": list(self.spent),
            "computation": self.computation,
            "guarantee": self.guarantee,
        }

    def __repr__(self) -> str:
        shown = ", ".join(f"{b:.4f}" for b in self.bounds)
        return f"GroupSequential({self.kind}, alpha {self.alpha:g}: {shown})"


def group_sequential(
    looks: int | Sequence[float],
    *,
    alpha: float = 0.05,
    kind: BoundaryKind = "obrien-fleming",
    sides: int = 2,
    rho: float = 2.0,
) -> GroupSequential:
    """How extreme must the statistic be at each planned look?

    Parameters
    ----------
    looks : int or sequence of float
        How many, equally spaced; or the share of the planned information (clusters, for cluster
        statistics) at each, ascending, the last one 1.
    alpha : float
    kind : str
        "pocock": one bound at all looks; "obrien-fleming": c / sqrt(t); or alpha spent by a law
        of t: "spending-pocock", alpha ln(1 + (e-1) t); "spending-obrien-fleming" (Lan, DeMets);
        "spending-power", alpha t^rho.
    sides : {1, 2}
    rho : float
        Of "spending-power".

    Notes
    -----
    The law is that of a normal statistic with known variance: on few clusters use the nominal p
    with an exact test or t(G-1), and say that the overall error is then approximate.

    References
    ----------
    Pocock (1977), Biometrika 64, 191-199; O'Brien and Fleming (1979), Biometrics 35, 549-556; Lan
    and DeMets (1983), Biometrika 70, 659-663; Jennison and Turnbull (2000), chapters 2, 7, 19.

    Examples
    --------
    >>> group_sequential(5, kind="pocock")
    GroupSequential(pocock, alpha 0.05: 2.4132, 2.4132, 2.4132, 2.4132, 2.4132)
    >>> group_sequential(5)
    GroupSequential(obrien-fleming, alpha 0.05: 4.5617, 3.2256, 2.6337, 2.2809, 2.0401)
    """
    alpha = open_unit("alpha", alpha)
    choice("kind", kind, BoundaryKind)
    integer("sides", sides, 1, 2)
    times = _times(looks)
    if kind in ("pocock", "obrien-fleming"):
        bounds = _by_shape(times, alpha, kind, sides)
        spent = np.cumsum(_crossings(times, bounds, sides)).tolist()
    else:
        spent = [_spending(t, alpha, kind, sides, real("rho", rho, 0.01, 100.0)) for t in times]
        bounds = _by_spending(times, spent, sides)
    nominal = [sides * normal_cdf(-b) for b in bounds]
    return GroupSequential(
        kind, alpha, sides, tuple(times), tuple(bounds), tuple(nominal), tuple(spent)
    )


def _times(looks: int | Sequence[float]) -> list[float]:
    if isinstance(looks, int):
        count = integer("looks", looks, 1, 100)
        return [(k + 1) / count for k in range(count)]
    times = [real("looks", t, 0.0, 1.0) for t in looks]
    steps = [b - a for a, b in pairwise(times)]
    if steps and 0.0 < min(steps) < _CLOSEST * (1.0 - 1e-9):
        rule = f"at least {_CLOSEST:g} of the information apart"
        raise InputError("looks", rule, list(looks), cure="Make one look of two so close.")
    ascending = all(a < b for a, b in zip([0.0, *times], times, strict=False))
    if not times or not ascending or times[-1] != 1.0 or len(times) > 100:
        rule = "ascending shares of the information, the last one 1"
        raise InputError("looks", rule, list(looks))
    return times


def _by_shape(times: list[float], alpha: float, kind: BoundaryKind, sides: int) -> list[float]:
    """Find the constant of a boundary of known shape."""
    shape = [1.0] * len(times) if kind == "pocock" else [t**-0.5 for t in times]

    def too_much(c: float) -> bool:
        bounds = [c * s for s in shape]
        return sum(_crossings(times, bounds, sides)) > alpha

    c = _halved(too_much, 0.0, 10.0)
    return [c * s for s in shape]


def _by_spending(times: list[float], spent: list[float], sides: int) -> list[float]:
    """Find one bound after the other, each spending what the function allows up to its look."""
    bounds: list[float] = []
    for k in range(len(times)):
        if spent[k] - (spent[k - 1] if k else 0.0) <= 1e-14:
            bounds.append(math.inf)
            continue

        def too_much(c: float, k: int = k) -> bool:
            return sum(_crossings(times[: k + 1], [*bounds, c], sides)) > spent[k]

        bounds.append(_halved(too_much, 0.0, _WIDEST))
    return bounds


def _spending(t: float, alpha: float, kind: BoundaryKind, sides: int, rho: float) -> float:
    if t >= 1.0:
        return alpha
    if kind == "spending-pocock":
        return alpha * math.log1p((math.e - 1.0) * t)
    if kind == "spending-power":
        return float(alpha * t**rho)
    critical = -normal_quantile(alpha / (2.0 * sides))
    return 2.0 * sides * normal_cdf(-critical / math.sqrt(t))


def _crossings(times: Sequence[float], bounds: Sequence[float], sides: int) -> list[float]:
    """Give the chance to cross for the first time at each look, without an effect."""
    nodes, weights = _legendre(_fine_enough(times, bounds, sides))
    chances: list[float] = []
    place = density = np.empty(0)
    for k, (t, bound) in enumerate(zip(times, bounds, strict=True)):
        top = min(bound, _WIDEST) * math.sqrt(t)
        floor = -top if sides == 2 else _LOWEST * math.sqrt(t)
        if k == 0:
            chances.append(sides * normal_cdf(-bound))
            here = _spread(nodes, floor, top)
            reach = _normal(here / math.sqrt(t)) / math.sqrt(t)
        else:
            sd = math.sqrt(t - times[k - 1])
            over = _upper((bound * math.sqrt(t) - place) / sd)
            if sides == 2:
                over = over + _upper((bound * math.sqrt(t) + place) / sd)
            chances.append(float((density * over).sum()))
            here = _spread(nodes, floor, top)
            steps = _normal((here[:, None] - place[None, :]) / sd) / sd
            reach = (steps * density[None, :]).sum(axis=1)
        place, density = here, reach * weights * 0.5 * (top - floor)
    return chances


def _fine_enough(times: Sequence[float], bounds: Sequence[float], sides: int) -> int:
    """Give a number of nodes whose gaps are less than the step from any look to the next."""
    wanted = float(_NODES)
    for t, later, bound in zip(times, times[1:], bounds, strict=False):
        width = (min(bound, _WIDEST) - (-bound if sides == 2 else _LOWEST)) * math.sqrt(t)
        wanted = max(wanted, _PER_STEP * min(width, 2.0 * _WIDEST) / math.sqrt(later - t))
    count = _NODES
    while count < min(wanted, _MOST_NODES):
        count *= 2
    return count


@lru_cache(maxsize=8)
def _legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def _spread(nodes: Floats, low: float, high: float) -> Floats:
    return low + 0.5 * (high - low) * (nodes + 1.0)


def _normal(z: Floats) -> Floats:
    found: Floats = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return found


def _upper(z: Floats) -> Floats:
    return np.array([0.5 * math.erfc(v / math.sqrt(2.0)) for v in z.tolist()])


def _halved(too_much: Callable[[float], bool], low: float, high: float) -> float:
    """Find the smallest bound that does not spend too much."""
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if too_much(middle) else (low, middle)
    return high
