"""Planned trials without a score, by group and cluster, and totals in which they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from simtrack.analysis.source import Source, Table, read_totals
from simtrack.counts import Loss, Totals, natural_order
from simtrack.errors import InputError
from simtrack.estimands import Estimand
from simtrack.estimands import estimand as look_up
from simtrack.options import MissingCluster, MissingPolicy, Status, choice
from simtrack.records import Records
from simtrack.validate import real

__all__ = [
    "BY_DESIGN",
    "IMPUTED",
    "NO_ROW",
    "Lost",
    "level_order",
    "lost_trials",
    "score_ends",
    "totals_under_policy",
    "with_lost",
]

#: Missing by design: stated, and never counted as failure or success.
BY_DESIGN: tuple[Status, ...] = ("early-stopped", "invalidated")
#: What is counted as failure or success unless the caller says otherwise.
IMPUTED: tuple[Status, ...] = ("unscored", "errored", "limited", "infrastructure", "missing")
#: The cluster of lost trials of which nobody knows the cluster.
NO_ROW = "(no row)"
_TAG = "(cluster)"

Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Which planned trials have no score, where, and why?

    Attributes
    ----------
    cells : Counter of (group, cluster)
        Trials to be imputed.
    by_status : dict of group to Counter of status
        The same by what became of them.
    by_design : dict of group to Counter of status
        Trials without a score that are not imputed.
    unplaced : tuple of Loss
        Losses of which the group is not known.
    """

    cells: Counter[tuple[Group, str]] = field(default_factory=Counter)
    by_status: dict[Group, Counter[str]] = field(default_factory=dict)
    by_design: dict[Group, Counter[str]] = field(default_factory=dict)
    unplaced: tuple[Loss, ...] = ()


def totals_under_policy(
    table: Table,
    policy: MissingPolicy,
    estimand: Estimand | str | None = None,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    imputed: Sequence[Status] = IMPUTED,
    worst: float | None = None,
    best: float | None = None,
    missing_cluster: MissingCluster = "refuse",
) -> Totals:
    """What does each cluster contribute if its unscored trials are dropped, failed or passed?

    The totals go into any verb or method: `estimate(totals_under_policy(records, "as-failure"))`.
    Parameters as in `sensitivity`, which shows all policies; "bounds" are two tables, not one.

    Examples
    --------
    >>> records = Records.from_columns({"unit": ["a", "b", "c"], "value": [1, 0, None]})
    >>> totals_under_policy(records, "as-failure").rates().round(4).tolist()
    [0.3333]
    """
    choice("policy", policy, MissingPolicy)
    if policy == "bounds":
        cure = "Use sensitivity() for both bounds."
        raise InputError("policy", "drop, as-failure or as-success here", policy, cure=cure)
    source = read_totals(table, estimand, tuple(by), cluster, missing_cluster)
    low, high = score_ends(source.bounded, worst, best)
    lost = Lost()
    if policy != "drop":
        lost = lost_trials(
            table, source, estimand, imputed=imputed, missing_cluster=missing_cluster
        )
    score = high if policy == "as-success" else low
    return with_lost(source.totals, lost, score, level_order(table, source.totals.by))


def score_ends(bounded: bool, worst: float | None, best: float | None) -> tuple[float, float]:
    """Give the scores of a failure and a success, which must be named outside [0, 1]."""
    if not bounded and (worst is None or best is None):
        raise InputError("worst and best", "given, since scores lie outside [0, 1]")
    low = real("worst", 0.0 if worst is None else worst)
    return low, real("best", 1.0 if best is None else best, low)


def lost_trials(
    table: Table,
    source: Source,
    estimand: Estimand | str | None,
    *,
    imputed: Sequence[Status] = IMPUTED,
    missing_cluster: MissingCluster = "refuse",
) -> Lost:
    """Where are the planned trials that have no score, by group and cluster?

    Rows of Records know their cluster. Losses that left no row have the cluster they name, or
    else share one, `NO_ROW`, as if one event had taken them all. A loss that an estimand's own
    selection rules out is no opportunity of it.
    """
    unknown = [s for s in imputed if s not in get_args(Status) or s == "scored"]
    if unknown:
        raise InputError("imputed", "statuses other than scored", ", ".join(unknown))
    meant = look_up(estimand) if isinstance(estimand, str) else estimand
    conditions = meant.where if isinstance(meant, Estimand) else ()
    by, cluster_name = source.totals.by, source.cluster_name
    found, unplaced = Lost(), []
    for loss in _entries(table, source, conditions, missing_cluster):
        if loss.kind not in get_args(Status):
            continue
        where = dict(loss.where)
        held = [_holds(c.factors, c.levels, where) for c in conditions]
        if False in held:
            continue
        if None in held or any(name not in where for name in by):
            unplaced.append(loss)
            continue
        group = tuple(where[name] for name in by)
        if loss.kind not in imputed:
            found.by_design.setdefault(group, Counter())[loss.kind] += loss.n
            continue
        cluster = where.get(_TAG) or where.get(cluster_name) or NO_ROW
        found.cells[group, cluster] += loss.n
        found.by_status.setdefault(group, Counter())[loss.kind] += loss.n
    return Lost(found.cells, found.by_status, found.by_design, tuple(unplaced))


def with_lost(
    totals: Totals, lost: Lost, score: float, order: Mapping[str, Sequence[str]]
) -> Totals:
    """Give totals in which every imputed trial counts with `score`; lost groups get a column.

    Parameters
    ----------
    order : mapping of name to sequence of str
        The levels of each condition in their order.

    Examples
    --------
    >>> totals = Totals.from_arrays([1, 1], [1, 2], clusters=["T1", "T2"])
    >>> lost = Lost(Counter({((), "T1"): 1, ((), "T3"): 2}))
    >>> found = with_lost(totals, lost, 0.0, {})
    >>> found.clusters, found.denominator[:, 0].tolist()
    (('T1', 'T2', 'T3'), [2.0, 2.0, 2.0])
    """
    groups = _in_order({*totals.conditions, *(group for group, _ in lost.cells)}, totals.by, order)
    labels = natural_order({*totals.clusters, *(cluster for _, cluster in lost.cells)})
    row = {label: k for k, label in enumerate(labels)}
    column = {group: k for k, group in enumerate(groups)}
    table = np.zeros((3, len(labels), len(groups)))
    rows = [row[label] for label in totals.clusters]
    for k, group in enumerate(totals.conditions):
        for layer, values in enumerate((totals.numerator, totals.denominator, totals.square)):
            table[layer, rows, column[group]] = values[:, k]
    for (group, cluster), n in lost.cells.items():
        table[:, row[cluster], column[group]] += np.array([score * n, n, score * score * n])
    top, bottom, square = table
    return Totals(top, bottom, square, tuple(labels), groups, totals.by, totals.name, totals.losses)


def level_order(table: Table, by: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Give the levels of each grouping factor in the order of the table."""
    if isinstance(table, Records):
        return {name: table.factors[name].levels for name in by}
    if isinstance(table, Totals):
        return {}
    return {name: table.conditions[name].levels for name in by}


def _entries(
    table: Table,
    source: Source,
    conditions: Sequence[object],
    missing_cluster: MissingCluster,
) -> Iterable[Loss]:
    if not isinstance(table, Records):
        return table.losses.entries
    # Counting once more with the cluster as a condition makes the losses name their cluster.
    name = source.cluster_name
    tagged = table.with_factors(**{_TAG: table.factor(name)})
    needed = [f for c in conditions for f in getattr(c, "factors", ())]
    by = list(dict.fromkeys((*source.totals.by, *needed, _TAG)))
    numeric = "outcome" not in table.factors
    reduce = tagged.sums if numeric else tagged.counts
    return reduce(cluster=name, by=by, missing_cluster=missing_cluster).losses.entries


def _holds(
    factors: Sequence[str], levels: frozenset[tuple[str, ...]], where: Mapping[str, str]
) -> bool | None:
    if any(name not in where for name in factors):
        return None
    return tuple(where[name] for name in factors) in levels


def _in_order(
    groups: set[Group], by: Sequence[str], order: Mapping[str, Sequence[str]]
) -> tuple[Group, ...]:
    places = []
    for k, name in enumerate(by):
        known = list(order.get(name, ()))
        rest = natural_order({group[k] for group in groups} - set(known))
        places.append({level: place for place, level in enumerate([*known, *rest])})
    return tuple(
        sorted(groups, key=lambda g: [p[level] for p, level in zip(places, g, strict=True)])
    )
