"""Which way to the bootstrap law: exact where that is affordable, else random resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.resampling.arms import ArmsLaw, cut_in_arms, law_of_arms
from simtrack.inference.resampling.convolution import law_of_line, law_of_plane
from simtrack.inference.resampling.draws import drawn_laws
from simtrack.inference.resampling.lattice import Line, Plane, as_line, as_plane
from simtrack.inference.resampling.law import (
    MOST_MULTISETS,
    BootstrapLaw,
    count_multisets,
    multiset_law,
)
from simtrack.inference.resampling.sample import Sample, studentized, with_products
from simtrack.options import Computation

__all__ = ["COMPUTED_BY", "BootstrapMethod", "BootstrapRoute", "Draws", "Laws", "find_laws"]

BootstrapRoute = Literal[
    "multisets", "convolution-1d", "convolution-2d", "independent-arms", "monte-carlo"
]
BootstrapMethod = Literal["auto", "multisets", "convolution-1d", "convolution-2d", "monte-carlo"]
COMPUTED_BY: dict[BootstrapRoute, Computation] = {
    "multisets": "enumeration",
    "convolution-1d": "convolution",
    "convolution-2d": "convolution",
    "independent-arms": "convolution",
    "monte-carlo": "monte-carlo",
}
Floats: TypeAlias = NDArray[np.float64]

#: A transform of two million cells takes some 0.2 s and 50 MB.
MOST_CELLS = 1 << 21
#: A cell of a convolution costs as much as this many multisets, roughly.
_CELL_COST = 3
#: Up to here two arms are listed together sooner than each by itself.
_FEW_MULTISETS = 100_000
#: t values are quotients of differences: rounding is larger than in the statistic.
_T_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Draws:
    """How many random resamples, from which seed, in how many threads?"""

    n_resamples: int
    seed: int
    threads: int


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """The law of the statistic, that of its t value where asked for, and how they were had."""

    statistic: BootstrapLaw | ArmsLaw
    t_value: BootstrapLaw | None
    route: BootstrapRoute
    why: str


def find_laws(sample: Sample, studentize: bool, method: BootstrapMethod, draws: Draws) -> Laws:
    """Find the law by the route asked for, or by the cheapest exact one that is affordable."""
    found = _of_two_arms(sample, draws) if method == "auto" and not studentize else None
    return found or _of_all_pools(sample, studentize, method, draws)


def _of_two_arms(sample: Sample, draws: Draws) -> Laws | None:
    """Find the law of each arm by itself, where both are exact and the arms are no lattice."""
    if len(sample.pools) != 2 or as_line(sample) is not None:
        return None
    parts = cut_in_arms(sample)
    if parts is None or count_multisets(tuple(_rows(sample))) <= _FEW_MULTISETS:
        return None
    laws = [_exact_or_none(part, draws) for part in parts]
    first, second = laws
    if first is None or second is None:
        return None
    law = law_of_arms(first.law, second.law, sample.statistic == "ratio", sample.tie)
    why = f"independent arms, each with its exact law ({first.route}, {second.route})"
    return Laws(law, None, "independent-arms", why)


class _Exact(NamedTuple):
    law: BootstrapLaw
    route: BootstrapRoute


def _exact_or_none(sample: Sample, draws: Draws) -> _Exact | None:
    plan = _plan(sample, False, "auto")
    if plan.route == "monte-carlo":
        return None
    law = _laws(sample, False, plan, draws)[0]
    return _Exact(law, plan.route)


def _of_all_pools(sample: Sample, studentize: bool, method: BootstrapMethod, draws: Draws) -> Laws:
    plan = _plan(sample, studentize, method)
    laws = _laws(sample, studentize, plan, draws)
    return Laws(laws[0], laws[1] if studentize else None, plan.route, plan.why)


class _Plan(NamedTuple):
    route: BootstrapRoute
    why: str
    line: Line | None = None
    plane: Plane | None = None


def _plan(sample: Sample, studentize: bool, method: BootstrapMethod) -> _Plan:
    line = None if studentize or method not in {"auto", "convolution-1d"} else as_line(sample)
    if line is not None and line.size <= MOST_CELLS:
        why = f"constant denominators: a sum of whole numbers with {line.size} places"
        return _Plan("convolution-1d", why, line=line)
    wants_plane = not studentize and method in {"auto", "convolution-2d"}
    plane = as_plane(sample) if wants_plane else None
    listed = count_multisets(tuple(_rows(sample))) if method in {"auto", "multisets"} else 0
    route, why = _choose(sample, studentize, method, line, plane, listed)
    return _Plan(route, why, plane=plane)


def _laws(sample: Sample, studentize: bool, plan: _Plan, draws: Draws) -> tuple[BootstrapLaw, ...]:
    """Compute the law of the statistic, and for a studentized interval that of its t value."""
    if plan.route == "convolution-1d" and plan.line is not None:
        return (law_of_line(plan.line, sample.tie),)
    if plan.route == "convolution-2d" and plan.plane is not None:
        return (law_of_plane(plan.plane, sample.tie),)
    pools = tuple(with_products(p) for p in sample.pools) if studentize else tuple(_rows(sample))
    evaluate = _both if studentize else _plain
    ties = (sample.tie, _T_TIE) if studentize else (sample.tie,)
    if plan.route == "multisets":
        return multiset_law(pools, lambda sums: evaluate(sample, sums), ties)
    how = (draws.n_resamples, draws.seed, draws.threads)
    return drawn_laws(pools, lambda sums: evaluate(sample, sums), ties, *how)


def _choose(
    sample: Sample,
    studentize: bool,
    method: BootstrapMethod,
    line: Line | None,
    plane: Plane | None,
    listed: int,
) -> tuple[BootstrapRoute, str]:
    cells = plane.shape[0] * plane.shape[1] if plane is not None else 0
    in_plane = 0 < cells <= MOST_CELLS
    shown = f"one sum over another, on {cells:,} places"
    if method == "auto":
        if in_plane and (cells * _CELL_COST < listed or listed > MOST_MULTISETS):
            return "convolution-2d", shown
        if listed <= MOST_MULTISETS:
            return "multisets", f"{sample.clusters} clusters have {listed:,} multisets"
        return "monte-carlo", _no_exact_route(studentize, line, cells, listed)
    if method == "monte-carlo":
        return method, "asked for"
    if method == "multisets":
        if listed > MOST_MULTISETS:
            rule = f"one that lists at most {MOST_MULTISETS:,} multisets"
            raise InputError("method", rule, f"{listed:,}", cure="Use method='auto'.")
        return method, f"{sample.clusters} clusters have {listed:,} multisets"
    if method == "convolution-2d" and in_plane:
        return method, shown
    raise InputError("method", _RULES[method], f"'{method}'", cure="Use method='auto'.")


_RULES: dict[str, str] = {
    "convolution-1d": "one that fits: 1-D takes whole scores over denominators that are the same "
    f"in all clusters, on at most {MOST_CELLS:,} places, and no studentized interval",
    "convolution-2d": "one that fits: 2-D takes one ratio of sums of whole numbers, on at most "
    f"{MOST_CELLS:,} places, and no studentized interval",
}


def _no_exact_route(studentize: bool, line: Line | None, cells: int, listed: int) -> str:
    many = f"{listed:,} multisets are too many to list" if listed < 10**15 else "too many multisets"
    if studentize:
        return f"{many}, and a t value is no ratio of two sums"
    size = line.size if line is not None else cells
    if size:
        return f"{many}, and {size:,} places too many for a convolution"
    return f"{many}, and the statistic is no ratio of two sums of whole numbers"


def _rows(sample: Sample) -> list[Floats]:
    return [np.concatenate([pool.top, pool.bottom], axis=1) for pool in sample.pools]


def _plain(sample: Sample, sums: Floats) -> tuple[Floats, ...]:
    columns = len(sample.weights)
    return (sample.evaluate(sums[:columns], sums[columns:]),)


def _both(sample: Sample, sums: Floats) -> tuple[Floats, ...]:
    return studentized(sample, sums)
