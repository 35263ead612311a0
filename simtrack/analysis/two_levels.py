"""Two levels of a factor in one group of trials, laid out as a method wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simtrack.analysis.scope import REPETITION, Scope
from simtrack.analysis.source import Table, read_totals
from simtrack.counts import Counts, Factor, Loss, Losses, Totals, group_rows
from simtrack.errors import DataError, InputError
from simtrack.estimands import RATE, Estimand
from simtrack.estimands import estimand as look_up
from simtrack.method import Layout, Pairing
from simtrack.options import MissingCluster
from simtrack.records import Records, is_binary, scored_rows

__all__ = ["by_levels"]

_FIRST_MINUS_SECOND = (1.0, -1.0)


def by_levels(
    table: Scope | Table,
    a: str,
    b: str,
    *,
    factor: str,
    pairing: Pairing,
    estimand: Estimand | str | None = None,
    cluster: str | None = None,
    missing_cluster: MissingCluster = "refuse",
    on: Sequence[str] = (),
    strata: str | None = None,
) -> Layout:
    """What do levels `a` and `b` have in each cluster, or in each pair of trials?

    Raises
    ------
    DataError
        A level without a scored trial; nothing to pair.
    """
    if isinstance(table, Scope) and pairing == "trials":
        return _pairs(table, a, b, estimand, missing_cluster, on, strata)
    if on:
        raise InputError("on", "left out for methods that do not pair single trials", ", ".join(on))
    if isinstance(table, Scope):
        cluster = table.cluster
        table = _in_both(table, a, b) if pairing == "clusters" else table.records
    source = read_totals(table, estimand, (factor,), cluster, missing_cluster)
    known = [labels[0] for labels in source.totals.conditions]
    for level in (a, b):
        if level not in known:
            raise DataError(f"no scored trial of {level}; there are some of {', '.join(known)}")
    columns = [source.totals.column(known.index(level)) for level in (a, b)]
    totals = Totals.stack(columns, (a, b), source.totals.name)
    here = totals.denominator > 0
    both = here.all(axis=1)
    if pairing != "none" and not both.any():
        raise DataError(
            f"no {source.cluster_name} has both {a} and {b}, so there is no pair to compare. "
            "Name a cluster that they share (--cluster)."
        )
    kept = both if pairing != "none" else here.any(axis=1)
    lone = int(totals.denominator[here.any(axis=1) & ~kept].sum())
    lost = totals.losses.total("unpaired")
    labels = None if strata is None else _stratum_of(table, source.cluster_name, strata, totals)
    trials = totals.denominator[kept].sum(axis=0)
    return Layout(
        totals,
        _FIRST_MINUS_SECOND,
        pairing,
        int(kept.sum()),
        (round(float(trials[0])), round(float(trials[1]))),
        lone + lost,
        source.bounded,
        labels,
    )


def _pairs(
    scope: Scope,
    a: str,
    b: str,
    estimand: Estimand | str | None,
    missing_cluster: MissingCluster,
    on: Sequence[str],
    strata: str | None,
) -> Layout:
    """Join trials by their labels, never by row, and give each pair a row of its own."""
    meant = look_up(estimand) if isinstance(estimand, str) else (estimand or RATE)
    if not isinstance(meant, Estimand) or meant.where or meant.among or meant.excluded:
        raise InputError("estimand", "a plain rate where single trials are paired", estimand)
    records, factor, cluster = scope.records, scope.factor or "", scope.cluster
    side = records.factor(factor)
    two = records.take(np.isin(side.codes, [side.code_of(level, factor) for level in (a, b)]))
    graded = not is_binary(two)
    if graded:
        two = two.with_factors(outcome=_as_labels(two))
    order = two.factors[factor].compact().levels
    told_apart = (scope.unit, *REPETITION, *scope.conditions)
    names = tuple(on) or tuple(
        n for n in told_apart if n is not None and n in two.factors and n not in {cluster, factor}
    )
    counts = two.counts(
        cluster=cluster, by=() if strata is None else (strata,), pair=factor, on=names,
        missing_cluster=missing_cluster,
    )  # fmt: skip
    if counts.n == 0 or len(order) < 2:
        raise DataError(f"no trial of {a} has a partner in {b} with the same {', '.join(names)}")
    rows = np.repeat(np.arange(counts.cells.size), counts.cells.ravel())
    cell, code = np.divmod(rows, len(counts.outcomes))
    each = np.array([[float(part) if graded else float(part in meant.numerator)
                      for part in joint.split("|")] for joint in counts.outcomes])  # fmt: skip
    scores = each[code][:, [order.index(a), order.index(b)]]
    totals = Totals(scores, np.ones_like(scores), scores**2, tuple(map(str, range(len(scores)))),
                    ((a,), (b,)), (factor,), meant.name, counts.losses)  # fmt: skip
    labels = None if strata is None else _labels(counts, strata, cell.tolist())
    groups = tuple(str(label) for label in counts.cluster.values())
    return Layout(
        totals,
        _FIRST_MINUS_SECOND,
        "trials",
        int(np.unique(counts.cluster.codes[cell]).size),
        (len(scores), len(scores)),
        counts.losses.total("unpaired"),
        bool(((scores >= 0.0) & (scores <= 1.0)).all()),
        labels,
        tuple(groups[k] for k in cell.tolist()),
    )


def _as_labels(records: Records) -> Factor:
    """Give graded scores as labels, so that trials are joined as those of 0 and 1 are."""
    values = records.numbers["value"].tolist()
    return Factor.from_values([None if np.isnan(v) else repr(v) for v in values])


def _labels(counts: Counts, strata: str, cells: Sequence[int]) -> tuple[str, ...]:
    column = [str(label) for label in counts.conditions[strata].values()]
    return tuple(column[cell] for cell in cells)


def _stratum_of(table: Table, cluster: str, strata: str, totals: Totals) -> tuple[str, ...]:
    if not isinstance(table, Records):
        raise InputError("strata", "a column of a trial table", strata)
    found: dict[str | None, str | None] = {}
    pairs = zip(table.factor(cluster).values(), table.factor(strata).values(), strict=True)
    for unit, label in pairs:
        if found.setdefault(unit, label) != label:
            raise InputError(
                "strata", f"the same throughout each {cluster}",
                f"{found[unit]} and {label}", where=f"{cluster} {unit}",
            )  # fmt: skip
    return tuple(_present(found, unit, strata) for unit in totals.clusters)


def _present(found: Mapping[str | None, str | None], unit: str, strata: str) -> str:
    label = found.get(unit)
    if label is None:
        raise DataError(f"{unit} has no label in {strata}.")
    return label


def _in_both(scope: Scope, a: str, b: str) -> Records:
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
