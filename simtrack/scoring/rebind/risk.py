"""Does the probe's signal foretell relapse? AUROC by depth, prevalence by stratum of risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Totals
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand, estimand
from simtrack.inference import Auroc, BootstrapInterval, auroc, bootstrap, bounded_mean
from simtrack.options import Computation, Guarantee, choice
from simtrack.plain import Plain
from simtrack.records import Records
from simtrack.scoring.columns import number_column
from simtrack.scoring.rebind.depth_contrasts import depths_of
from simtrack.validate import real

__all__ = ["DepthAuroc", "RiskStrata", "auroc_by_depth", "risk_strata"]

Floats = NDArray[np.float64]
#: When a slice counts as relapsed, over its episodes at one depth.
SliceLabel = Literal["any", "majority", "all"]
_LEAST: dict[SliceLabel, float] = {"any": 0.0, "majority": 0.5}
_UNDEFINED = ("TRANSPORT", "EMPTY", "UNPARSEABLE")

_DEPTH = "depth slices without_signal undefined auroc"


@dataclass(frozen=True, slots=True)
class DepthAuroc(Plain, schema="simtrack.depth-auroc/1", names=_DEPTH):
    """How well does the signal tell slices that relapse at one depth from the others?

    Attributes
    ----------
    depth : float
    auroc : Auroc
    slices : int
        Slices with a signal and a parseable episode.
    without_signal, undefined : int
        Slices left out: without a signal, or with no episode that parses.
    """

    depth: float
    auroc: Auroc
    slices: int
    without_signal: int
    undefined: int


_STRATA = (
    "names prevalence low high relapsed episodes without_signal level notes computation "
    "guarantee separation=separation_ends"
)


@dataclass(frozen=True, slots=True, eq=False)
class RiskStrata(Plain, schema="simtrack.risk-strata/1", names=_STRATA):
    """How prevalent is relapse in slices of low and of high risk, as the probe saw them?

    Attributes
    ----------
    names : tuple of str
        From the lowest signal to the highest.
    prevalence, low, high : tuples of float or None
        With the guarded Wilson interval; None without episodes.
    relapsed, episodes : tuples of int
    separation : BootstrapInterval or None
        Highest stratum minus lowest, by the percentile cluster bootstrap; None where one of the two
        has no episode.
    without_signal : int
        Episodes left out.
    notes : tuple of str
    """

    names: tuple[str, ...]
    prevalence: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    relapsed: tuple[int, ...]
    episodes: tuple[int, ...]
    separation: BootstrapInterval | None
    without_signal: int
    level: float
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    @property
    def separation_ends(self) -> tuple[float, float | None, float | None] | None:
        """The estimate of `separation` and its interval."""
        found = self.separation
        return None if found is None else (found.estimate, found.low, found.high)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}: {'-' if p is None else f'{p:.3f}'}"
            for name, p in zip(self.names, self.prevalence, strict=True)
        )
        return f"RiskStrata({parts})"


def auroc_by_depth(
    records: Records,
    *,
    signal: str = "signal",
    depth: str = "depth",
    on: str = "unit",
    label: SliceLabel = "any",
    cluster: str | None = None,
    level: float = 0.95,
) -> tuple[DepthAuroc, ...]:
    """How well does a signal from before predict relapse at each depth, slice by slice?

    A slice is relapsed at a depth if any (more than half, all) of its parseable episodes there are;
    the paper has one episode a slice and depth, where the three agree.

    Parameters
    ----------
    records : Records
        Episodes (`score_rebind`) of one arm and load.
    signal : str
        A numeric column, the same in all rows of a slice; NaN is no signal.
    on : str
        The column that names the slice.
    cluster : str, optional
        The resampling unit: `cluster`, else the slice.

    Source: ReBIND section 5.4, Figure F.1.

    Examples
    --------
    >>> rows = Records.from_columns({
    ...     "unit": list("abcd"), "depth": ["8"] * 4, "signal": [0.9, 0.4, 0.5, 0.1],
    ...     "outcome": ["TRUE_RELAPSE", "TRUE_RELAPSE", "NO_TRACE", "NO_TRACE"]})
    >>> auroc_by_depth(rows)[0].auroc.value
    0.75
    """
    choice("label", label, SliceLabel)
    values = number_column(records, signal, "signal")
    slices = records.factor(on)
    name = cluster or ("cluster" if "cluster" in records.factors else on)
    groups = records.factor(name)
    _refuse_two_signals(values, slices, on, signal)
    found = []
    for number, text in depths_of(records, depth):
        here = records.factors[depth].codes == records.factors[depth].levels.index(text)
        found.append(_one_depth(number, here, records, values, slices, groups, label, level))
    return tuple(found)


def risk_strata(
    records: Records,
    cuts: Sequence[float],
    *,
    signal: str = "signal",
    cluster: str | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> RiskStrata:
    """Does prevalence differ between strata of the probe's signal, cut where you say?

    A signal at a cut belongs to the stratum above it. The paper does not print its cuts, so there
    is no default.

    Parameters
    ----------
    records : Records
        Episodes (`score_rebind`) at one depth, of one arm and load, with a numeric signal.
    cuts : sequence of float
        Ascending, at least one.

    Source: ReBIND section 5.3.

    Examples
    --------
    >>> rows = Records.from_columns({
    ...     "unit": list("abcd"), "signal": [0.9, 0.5, 0.5, 0.1],
    ...     "outcome": ["TRUE_RELAPSE", "TRUE_RELAPSE", "NO_TRACE", "NO_TRACE"]})
    >>> risk_strata(rows, [0.5])
    RiskStrata(signal below 0.5: 0.000, signal from 0.5: 0.667)
    """
    points = [real("cuts", cut) for cut in cuts]
    if not points or sorted(set(points)) != points:
        raise InputError("cuts", "ascending numbers, at least one", list(cuts))
    values = number_column(records, signal, "signal")
    lost = np.isnan(values)
    names = _names(points)
    codes = np.where(lost, -1, np.searchsorted(points, values, side="right"))
    kept = records.with_factors(stratum=Factor(names, codes.astype(np.int32))).take(~lost)
    relapse = estimand("relapse")
    assert isinstance(relapse, Estimand)
    totals = relapse.totals(kept.counts(cluster=cluster, by=["stratum"]), "stratum")
    totals = _all_columns(totals, names)
    ends = bounded_mean(totals, level=level)
    told = [f"{n}: {line}" for n, lines in zip(names, ends.notes, strict=True) for line in lines]
    episodes = totals.denominator.sum(axis=0)
    pair = _columns(totals, (len(names) - 1, 0))
    separation = None
    if not (episodes[0] and episodes[-1]):
        told.append("no separation: the lowest or the highest stratum has no parseable episode")
    elif int((pair.denominator.sum(axis=1) > 0.0).sum()) < 2:
        told.append("no separation: one cluster cannot say how much clusters differ")
    else:
        separation = bootstrap(pair, level=level, n_resamples=n_resamples, seed=seed)
    return RiskStrata(
        names, _listed(totals.rates()), _listed(ends.low), _listed(ends.high),
        tuple(int(v) for v in totals.numerator.sum(axis=0)), tuple(int(v) for v in episodes),
        separation, int(lost.sum()), level, tuple(told),
    )  # fmt: skip


def _refuse_two_signals(values: Floats, slices: Factor, on: str, signal: str) -> None:
    known = ~np.isnan(values) & (slices.codes >= 0)
    codes, held = slices.codes[known], values[known]
    low, high = (np.full(len(slices.levels), fill) for fill in (np.inf, -np.inf))
    np.minimum.at(low, codes, held)
    np.maximum.at(high, codes, held)
    if (differs := low < high).any():
        name = slices.levels[int(np.flatnonzero(differs)[0])]
        raise DataError(f"{on} {name} has several values of {signal}. One slice has one signal.")


def _one_depth(
    depth: float,
    here: NDArray[np.bool_],
    records: Records,
    values: Floats,
    slices: Factor,
    groups: Factor,
    label: SliceLabel,
    level: float,
) -> DepthAuroc:
    outcome = records.factor("outcome")
    is_judged = np.array([*(o not in _UNDEFINED for o in outcome.levels), False])[outcome.codes]
    relapses = np.array([*(o == "TRUE_RELAPSE" for o in outcome.levels), False])[outcome.codes]
    size = len(slices.levels)
    here = here & (slices.codes >= 0)
    present = np.bincount(slices.codes[here], minlength=size) > 0
    judged = np.bincount(slices.codes[here & is_judged], minlength=size)
    hits = np.bincount(slices.codes[here & is_judged & relapses], minlength=size)
    first = np.full(size, -1, dtype=np.int64)
    rows = np.flatnonzero(here)[::-1]
    first[slices.codes[rows]] = rows
    signal = np.where(present, values[first], np.nan)
    kept = (judged > 0) & ~np.isnan(signal)
    share = hits[kept] / judged[kept]
    positive = share >= 1.0 if label == "all" else share > _LEAST[label]
    names = [groups.levels[c] if c >= 0 else f"(row {r + 1})"
             for c, r in zip(groups.codes[first[kept]], first[kept], strict=True)]  # fmt: skip
    area = auroc(signal[kept], positive, cluster=names, level=level)
    lost = present & np.isnan(signal)
    return DepthAuroc(
        depth, area, int(kept.sum()), int(lost.sum()), int((present & ~lost & ~kept).sum())
    )


def _names(cuts: list[float]) -> tuple[str, ...]:
    middle = [f"signal from {a:g} to below {b:g}" for a, b in pairwise(cuts)]
    return (f"signal below {cuts[0]:g}", *middle, f"signal from {cuts[-1]:g}")


def _all_columns(totals: Totals, names: tuple[str, ...]) -> Totals:
    """Give every stratum a column, also one that no episode is in."""
    held = {condition[0]: k for k, condition in enumerate(totals.conditions)}
    wide = np.zeros((3, len(totals.clusters), len(names)))
    for k, name in enumerate(names):
        if name in held:
            for layer, table in zip(wide, _tables(totals), strict=True):
                layer[:, k] = table[:, held[name]]
    return replace(totals, numerator=wide[0], denominator=wide[1], square=wide[2],
                   conditions=tuple((name,) for name in names))  # fmt: skip


def _columns(totals: Totals, order: tuple[int, ...]) -> Totals:
    picked = [table[:, list(order)] for table in _tables(totals)]
    conditions = tuple(totals.conditions[k] for k in order)
    return replace(totals, numerator=picked[0], denominator=picked[1], square=picked[2],
                   conditions=conditions)  # fmt: skip


def _tables(totals: Totals) -> tuple[Floats, Floats, Floats]:
    return totals.numerator, totals.denominator, totals.square


def _listed(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(v) else float(v) for v in values.tolist())
