"""Reduce the trial table to counts or sums, accounting for every row that stays behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import UNPOOLABLE, Counts, Factor, Loss, Losses, Sums, group_rows
from simtrack.errors import DataError, InputError
from simtrack.options import MissingCluster, Status, choice
from simtrack.records.table import TrialTable

__all__ = ["BINARY", "is_binary", "scored_rows", "to_counts", "to_sums"]

#: The outcome codes of a 0/1 score.
BINARY = ("FAIL", "PASS")
_CLUSTER_CURE = (
    "Label them, drop them, or pass missing_cluster='own' to make each a cluster of its own."
)


def to_counts(
    records: TrialTable,
    *,
    cluster: str | None = None,
    by: Sequence[str] = (),
    pair: str | None = None,
    on: Sequence[str] = (),
    missing_cluster: MissingCluster = "refuse",
) -> Counts:
    """Count outcomes by cluster and the conditions `by`.

    The outcome is the `outcome` column, or FAIL/PASS where every score is 0 or 1. With `pair`, a
    column of two levels, trials of the two levels that agree in `on` (default `unit` and
    `repetition`) become one trial with a joint code such as "PASS|FAIL"; trials without a partner
    go to the losses as "unpaired". Rows are joined by their labels, never by their position.
    A row without a label in `by` counts under the level "(none)": no report is a finding too.

    Raises
    ------
    InputError, DataError
        Scores that are neither categories nor 0/1; readings of one trial that would be added up
        (see `UNPOOLABLE`); rows without a cluster label (unless `missing_cluster="own"`).
    """
    rows, losses, cluster_name = _prepare(records, cluster, by, pair, missing_cluster)
    outcome = _outcome(rows)
    grouped = {"cluster": rows.factors["cluster"], **{n: rows.factors[n] for n in by}}
    if pair is not None:
        keys = tuple(on) or tuple(n for n in ("unit", "repetition") if n in rows.factors)
        outcome, grouped, unpaired = _join(rows, outcome, grouped, pair, keys)
        losses = losses + unpaired
    grouping = group_rows(grouped, len(outcome))
    cells = grouping.count(outcome.codes, len(outcome.levels))
    factors = dict(grouping.factors)
    return Counts(
        cells,
        outcome.levels,
        factors.pop("cluster"),
        factors,
        cluster_name,
        records.parents,
        losses,
    )


def to_sums(
    records: TrialTable,
    *,
    cluster: str | None = None,
    by: Sequence[str] = (),
    value: str = "value",
    missing_cluster: MissingCluster = "refuse",
) -> Sums:
    """Add up a numeric score and its square by cluster and the conditions `by`."""
    rows, losses, cluster_name = _prepare(records, cluster, by, None, missing_cluster, value)
    conditions = {n: rows.factors[n] for n in by}
    return Sums.from_rows(
        rows.numbers[value], rows.factors["cluster"], conditions, cluster_name, losses
    )


def is_binary(records: TrialTable) -> bool:
    """Say whether the scored rows hold categories or nothing but 0 and 1."""
    if "outcome" in records.factors:
        return True
    values = records.numbers.get("value")
    return values is not None and bool(np.isin(values[scored_rows(records)], (0.0, 1.0)).all())


def _prepare(
    records: TrialTable,
    cluster: str | None,
    by: Sequence[str],
    pair: str | None,
    missing_cluster: MissingCluster,
    value: str = "value",
) -> tuple[TrialTable, Losses, str]:
    choice("missing_cluster", missing_cluster, MissingCluster)
    name = cluster or ("cluster" if "cluster" in records.factors else "unit")
    if name in by:
        raise InputError("by", f"other than the cluster, {name}")
    grouped = (*by, pair) if pair else tuple(by)
    _refuse_pooling(records, grouped)
    for column in (name, *grouped):
        records.factor(column)
    keep = scored_rows(records, value)
    losses = records.losses + _lost_rows(records, ~keep, by)
    records = records.with_factors(**{n: records.factors[n].with_missing_named() for n in by})
    labelled = keep.copy()
    if pair is not None:
        labelled &= records.factors[pair].codes >= 0
        losses += _unlabelled(keep & ~labelled, pair)
    rows = records.with_factors(cluster=_cluster_labels(records, name, labelled, missing_cluster))
    return rows.take(labelled), losses, name


def scored_rows(records: TrialTable, value: str = "value") -> NDArray[np.bool_]:
    """Say for each row whether it has a score: status scored, and an outcome or a number."""
    keep = np.ones(len(records), dtype=bool)
    if "status" in records.factors:
        status = records.factors["status"]
        codes = [c for c, level in enumerate(status.levels) if level == "scored"]
        keep = np.isin(status.codes, codes)
    if "outcome" in records.factors and value == "value":
        return keep & (records.factors["outcome"].codes >= 0)
    if value not in records.numbers:
        raise DataError(f"the table has no score: neither an outcome column nor {value!r}.")
    return keep & ~np.isnan(records.numbers[value])


def _lost_rows(records: TrialTable, lost: NDArray[np.bool_], by: Sequence[str]) -> Losses:
    """Count the rows without a score by status, reason and group."""
    index = np.flatnonzero(lost)
    if index.size == 0:
        return Losses()
    status = records.factors.get("status") or Factor.constant("unscored", len(records))
    kinds = [s if s in get_args(Status) and s != "scored" else "unscored" for s in status.levels]
    reasons = records.factors.get("reason")
    units = records.factors.get("unit")
    found: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
    for row in index.tolist():
        where = tuple(
            (n, records.factors[n].levels[records.factors[n].codes[row]])
            for n in by
            if records.factors[n].codes[row] >= 0
        )
        code = status.codes[row]
        kind = kinds[code] if code >= 0 else "unscored"
        why = _label(reasons, row) or f"no score ({kind})"
        found.setdefault((kind, why, where), []).append(_label(units, row) or f"row {row + 1}")
    return Losses.of(
        Loss(kind, len(ids), why, where, tuple(ids)) for (kind, why, where), ids in found.items()
    )


def _unlabelled(lost: NDArray[np.bool_], pair: str) -> Losses:
    rows = np.flatnonzero(lost)
    reason = f"no label in {pair}"
    examples = tuple(f"row {row + 1}" for row in rows[:5].tolist())
    return Losses.of([Loss("unlabelled", rows.size, reason, (), examples)])


def _cluster_labels(
    records: TrialTable, name: str, keep: NDArray[np.bool_], missing: MissingCluster
) -> Factor:
    factor = records.factors[name]
    without = np.flatnonzero(keep & (factor.codes < 0))
    if without.size == 0:
        return factor
    if missing == "refuse":
        raise DataError(
            f"{without.size} scored rows have no {name} label (first: row {without[0] + 1}), so "
            f"their standard error is not defined. {_CLUSTER_CURE}"
        )
    codes = factor.codes.copy()
    codes[without] = len(factor.levels) + np.arange(without.size, dtype=np.int32)
    own = tuple(f"(row {row + 1})" for row in without.tolist())
    if not set(own).isdisjoint(factor.levels):
        own = tuple(map(factor.fresh, own))
    return Factor(factor.levels + own, codes)


def _outcome(rows: TrialTable) -> Factor:
    if "outcome" in rows.factors:
        return rows.factors["outcome"]
    values = rows.numbers["value"]
    odd = values[~np.isin(values, (0.0, 1.0))]
    if odd.size:
        raise DataError(
            f"{odd.size} scores are neither 0 nor 1 (first: {odd[0]:g}), so they cannot be "
            "counted. Use sums() for a mean score, or map the values to 0 and 1."
        )
    return Factor(BINARY, values.astype(np.int32))


def _refuse_pooling(records: TrialTable, grouped: Sequence[str]) -> None:
    for name in UNPOOLABLE:
        if name in records.factors and name not in grouped:
            levels = records.factors[name].compact().levels
            if len(levels) > 1:
                raise InputError(
                    name,
                    "selected, since its levels are readings of the same trials",
                    ", ".join(levels),
                    cure=f"Group by it (--by {name}), or in Python keep one: select({name}=...).",
                )


def _join(
    rows: TrialTable, outcome: Factor, grouped: Mapping[str, Factor], pair: str, on: Sequence[str]
) -> tuple[Factor, dict[str, Factor], Losses]:
    side = rows.factors[pair].compact()
    if len(side.levels) != 2:
        raise InputError("pair", f"a column of two levels, as {pair} is not", len(side.levels))
    if not on:
        raise InputError("on", "the columns that name a trial", cure="Pass on=('unit', ...).")
    keys = {**{f"on:{name}": rows.factor(name) for name in on}, **grouped}
    without = np.zeros(len(rows), dtype=bool)
    for factor in keys.values():
        without |= factor.codes < 0
    labelled = np.flatnonzero(~without)
    found = group_rows({n: f.take(labelled) for n, f in keys.items()}, labelled.size)
    slots = np.full((found.size, 2), -1, dtype=np.int64)
    for column in (0, 1):
        mine = labelled[side.codes[labelled] == column]
        group = found.index[side.codes[labelled] == column]
        _refuse_repeats(group, found.factors, side.levels[column], on)
        slots[group, column] = mine
    whole = (slots >= 0).all(axis=1)
    first, second = outcome.codes[slots[whole, 0]], outcome.codes[slots[whole, 1]]
    levels = tuple(f"{a}|{b}" for a in outcome.levels for b in outcome.levels)
    joint = Factor(levels, first * np.int32(len(outcome.levels)) + second)
    lone = slots[~whole].max(axis=1) if (~whole).any() else np.empty(0, dtype=np.int64)
    unpaired = np.concatenate([lone, np.flatnonzero(without)])
    examples = tuple(_name_row(rows, on, int(row)) for row in unpaired[:5])
    reason = f"no partner in {pair} with the same {', '.join(on)}"
    losses = Losses.of([Loss("unpaired", unpaired.size, reason, (), examples)])
    kept = {name: found.factors[name].take(np.flatnonzero(whole)) for name in grouped}
    return joint, kept, losses


def _refuse_repeats(
    group: NDArray[np.int64], labels: Mapping[str, Factor], side: str, on: Sequence[str]
) -> None:
    seen, times = np.unique(group, return_counts=True)
    if (times > 1).any():
        row = int(seen[times > 1][0])
        shown = ", ".join(f"{n}={_label(labels[f'on:{n}'], row)}" for n in on)
        raise DataError(
            f"{int(times.max())} trials of {side} share {shown}, so they cannot be paired. "
            "Name the columns that tell them apart (on=...)."
        )


def _name_row(rows: TrialTable, on: Sequence[str], row: int) -> str:
    return " ".join(_label(rows.factors[n], row) or f"row {row + 1}" for n in on)


def _label(factor: Factor | None, row: int) -> str | None:
    if factor is None or factor.codes[row] < 0:
        return None
    return factor.levels[int(factor.codes[row])]
