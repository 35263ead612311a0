"""Does relapse build up with depth? Its prevalence by depth, and where it reaches one half."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import DataError
from simtrack.estimands import Estimand, estimand
from simtrack.inference import bounded_mean
from simtrack.inference.resampling.draws import drawn_sums
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.records import Records
from simtrack.scoring.rebind.depth_contrasts import (
    Crossing,
    crossing_of,
    depths_of,
    first_crossings,
    pooled_over,
)
from simtrack.validate import confidence_level, integer, open_unit

__all__ = ["DepthCurve", "prevalence_by_depth"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DepthCurve(Plain, schema="simtrack.depth-curve/1"):
    """How often is a relapse present at each depth after revocation?

    Attributes
    ----------
    depths : tuple of float
        Ascending.
    prevalence, low, high : tuples of float or None
        Relapses over parseable episodes, with the guarded Wilson interval; None without episodes.
    relapsed, episodes : tuples of int
    clusters : int
    crossing : Crossing
    notes : tuple of str
    """

    depths: tuple[float, ...]
    prevalence: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    relapsed: tuple[int, ...]
    episodes: tuple[int, ...]
    clusters: int
    level: float
    crossing: Crossing
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        points = ", ".join(
            f"{d:g}: {'-' if p is None else f'{p:.3f}'}"
            for d, p in zip(self.depths, self.prevalence, strict=True)
        )
        return f"DepthCurve({points}; half at {self.crossing!r})"


def prevalence_by_depth(
    records: Records,
    *,
    depth: str = "depth",
    cluster: str | None = None,
    at: float = 0.5,
    anchor: bool = True,
    worst_case: bool = False,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    threads: int = 1,
) -> DepthCurve:
    """How does the prevalence of relapse change with depth, and where does it first reach one half?

    Current status: an episode that relapses at one depth may be clean at another, so the curve may
    fall, and no survival method is meant. The crossing is read off straight lines between
    neighbouring depths and never extrapolated. A resample of clusters in which a depth has no
    parseable episode skips that depth.

    Parameters
    ----------
    records : Records
        Episodes (`score_rebind`) of one arm and load, with a column of depths.
    depth : str
        A column whose labels are numbers (turns since the revocation).
    cluster : str, optional
        The resampling unit.
    at : float
        The level to cross.
    anchor : bool
        Whether the curve begins at depth 0 with prevalence 0, the paper's convention, where depth 0
        itself was not observed.
    worst_case : bool
        Count every artifact that is empty or does not parse as a relapse, as the paper does to see
        how far a point can move.
    level : float
        Confidence level of all intervals.

    Source: ReBIND section 5.3, Figure 1(b), appendix F.

    Examples
    --------
    >>> rows = Records.from_columns({
    ...     "unit": list("ababab"), "depth": list("001122"),
    ...     "outcome": ["NO_TRACE"] * 3 + ["TRUE_RELAPSE"] * 3})
    >>> curve = prevalence_by_depth(rows, n_resamples=200)
    >>> curve.prevalence, curve.crossing.depth
    ((0.0, 0.5, 1.0), 1.0)
    """
    confidence_level("level", level)
    open_unit("at", at)
    n = integer("n_resamples", n_resamples, 100)
    depths, totals = _by_depth(records, depth, cluster, worst_case)
    ends = bounded_mean(totals, level=level)
    columns = np.concatenate([totals.numerator, totals.denominator], axis=1)
    drawn = drawn_sums((columns,), n, seed, threads=threads).T
    half = len(depths)
    found = first_crossings(depths, _shares(drawn[:half], drawn[half:]), at=at, anchor=anchor)
    shares = totals.rates()
    seen = first_crossings(depths, shares[:, None], at=at, anchor=anchor)[0]
    crossing = crossing_of(float(seen), np.sort(found), float(depths[-1]), at, level, seed)
    if not anchor and shares[0] >= at:
        why = "the level is reached at the first depth: the crossing lies at or before it"
        crossing = replace(crossing, notes=(*crossing.notes, why))
    shown = ("worst case: what does not parse counts as relapse",) if worst_case else ()
    told = (*shown, *pooled_over(records, depth), *(line for lines in ends.notes for line in lines))
    return DepthCurve(
        tuple(depths.tolist()),
        _listed(shares),
        _listed(ends.low),
        _listed(ends.high),
        tuple(int(v) for v in totals.numerator.sum(axis=0)),
        tuple(int(v) for v in totals.denominator.sum(axis=0)),
        len(totals.clusters),
        level,
        crossing,
        tuple(dict.fromkeys(told)),
    )


def _by_depth(
    records: Records, depth: str, cluster: str | None, worst_case: bool
) -> tuple[Floats, Totals]:
    listed = depths_of(records, depth)
    relapse = estimand("worst_case_relapse" if worst_case else "relapse")
    assert isinstance(relapse, Estimand)
    totals = relapse.totals(records.counts(cluster=cluster, by=[depth]), depth)
    column = {label: k for k, (label,) in enumerate(totals.conditions)}
    kept = [(number, label) for number, label in listed if label in column]
    if not kept:
        raise DataError("no episode has an outcome.")
    order = [column[label] for _, label in kept]
    picked = Totals(
        totals.numerator[:, order], totals.denominator[:, order], totals.square[:, order],
        totals.clusters, tuple((label,) for _, label in kept), totals.by, totals.name,
        totals.losses,
    )  # fmt: skip
    return np.array([number for number, _ in kept]), picked


def _shares(top: Floats, bottom: Floats) -> Floats:
    shares: Floats = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=shares, where=bottom > 0.0)
    return shares


def _listed(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(v) else float(v) for v in values.tolist())
