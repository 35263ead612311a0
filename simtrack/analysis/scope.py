"""The trial table as the verbs read it: names people use, clusters, metrics, levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import NO_LABEL, Factor, Losses
from simtrack.errors import DataError, InputError
from simtrack.options import Status
from simtrack.records import Records, account

__all__ = ["ALIASES", "TELLING", "UNITS", "UNNAMED", "default_cluster", "factor_of", "find_factor",
           "has_metrics", "holds_several", "nested", "one_each", "prepared", "telling"]  # fmt: skip

#: Names that people use for columns of the trial table.
ALIASES = {"id": "unit", "sample": "unit", "item": "unit", "epoch": "repetition",
           "trial": "repetition", "file": "source", "log": "source"}  # fmt: skip
#: The metric of rows that name none, in a table where others do.
UNNAMED = "(no metric)"
#: Grouped by, where a table has several levels and nothing was asked for.
TELLING = ("task", "model", "arm", "source")
#: How a note begins that says that clusters are units for want of a named column.
UNITS = "clusters are units"
#: Columns whose levels hold several related units, where a log has them.
_COARSER = ("scenario", "episode", "session", "conversation", "dialogue", "problem", "passage",
            "document", "template", "repo", "repository", "group")  # fmt: skip
#: Columns that say what became of a trial, or how it was read: nothing that can be sampled.
_OF_READINGS = ("metric", "outcome", "reason", "status")
#: Where a level named for a comparison is looked for first.
_COMPARED = ("model", "arm", "source", "task", "stage")


def prepared(
    records: Records, cluster: str | None, used: Sequence[str] = ()
) -> tuple[Records, str]:
    """Give the table with a label for every metric, and the column that clusters are in.

    Where units are taken as clusters, a note names a coarser column that is not `used` otherwise.

    Raises
    ------
    DataError, InputError
        A table without any score, or without a column to take as cluster.
    """
    records = _with_metrics(_with_scores(_with_rows(records, cluster)))
    if cluster is None:
        unit = default_cluster(records)
        others = [n for n in _COARSER if n not in used] if unit == "unit" else []
        coarser = [n for n in others if holds_several(records, n, unit)]
        if coarser:
            note = f"{UNITS}; --cluster {coarser[0]} takes units of one together"
            records = replace(records, notes=(*records.notes, note))
        return records, unit
    unit = find_factor(records, cluster)
    if unit in _OF_READINGS:
        raise InputError("cluster", "a column that names what was sampled", cluster)
    return records, unit


def has_metrics(records: Records) -> bool:
    """Say whether the rows are readings of trials by several named metrics, or by one."""
    return "metric" in records.factors and bool(records.factors["metric"].compact().levels)


def find_factor(records: Records, name: str) -> str:
    """Give the column that `name` means: itself, or what it is an alias of."""
    if name in records.factors:
        return name
    meant = ALIASES.get(name, name)
    records.factor(meant if meant in records.factors else name)
    return meant


def factor_of(records: Records, levels: tuple[str, str]) -> str:
    """Give the column that both levels belong to."""
    holding = [n for n, f in records.factors.items() if set(levels) <= set(f.levels)]
    for name in (*_COMPARED, *holding):
        if name in holding:
            return name
    parts = [
        f"{n} ({', '.join(records.factors[n].levels[:6])})"
        for n in _COMPARED
        if n in records.factors and records.factors[n].levels
    ]
    raise InputError(
        "levels to compare", "two levels of one column", " and ".join(levels),
        cure=f"There are: {'; '.join(parts)}.",
    )  # fmt: skip


def nested(records: Records, unit: str, by: Sequence[str]) -> tuple[Records, str]:
    """Keep equal ids of different tasks apart: they are different clusters."""
    task = records.factors.get("task")
    if unit != "unit" or task is None or len(task.compact().levels) < 2 or "task" in by:
        return records, unit
    pairs = zip(task.values(), records.factors[unit].values(), strict=True)
    joined = [None if u is None else f"{t or ''}/{u}" for t, u in pairs]
    name = f"task/{unit}"
    return records.with_factors(**{name: Factor.from_values(joined)}), name


def telling(records: Records, cluster: str) -> tuple[str, ...]:
    """Columns that differ and are coarser than the clusters; the file only if nothing else does."""
    several = [
        name
        for name in TELLING
        if name in records.factors
        and len(records.factors[name].compact().levels) > 1
        and not _same_partition(records.factors[name], records.factors[cluster])
    ]
    if "source" in several and len(several) > 1:
        several.remove("source")
    return tuple(several)


def _with_rows(records: Records, cluster: str | None) -> Records:
    """Offer every row as a cluster of its own, for tables without ids."""
    if cluster != "row" or "row" in records.factors:
        return records
    return records.with_factors(row=Factor.from_values([str(k + 1) for k in range(len(records))]))


def _with_metrics(records: Records) -> Records:
    """Give rows without a metric one of their own, where other rows have metrics."""
    metric = records.factors.get("metric")
    if metric is None or not metric.compact().levels or (metric.codes >= 0).all():
        return records
    labels = [label if label is not None else UNNAMED for label in metric.values()]
    named = records.with_factors(metric=Factor.from_values(labels))
    # A log without a scorer calls the metric of its rowless losses NO_LABEL.
    losses = tuple(
        replace(x, where=tuple((k, UNNAMED if (k, v) == ("metric", NO_LABEL) else v)
                               for k, v in x.where))
        for x in records.losses.entries
    )  # fmt: skip
    return replace(named, losses=Losses(losses))


def _with_scores(records: Records) -> Records:
    """Refuse a table without any score, saying what became of its trials."""
    status = records.factors.get("status")
    if status is not None and "scored" in status.take(status.codes >= 0).compact().levels:
        return records
    if status is None and len(records):
        return records
    table = account(records)
    if not len(records) and not table.planned:
        told = " ".join(records.notes)
        raise DataError(f"no trial has a score: the table has no rows. {told}".rstrip())
    parts = [f"{table.total(s)} {s}" for s in get_args(Status) if table.total(s)]
    reasons = records.factors["reason"].levels if "reason" in records.factors else ()
    why = f" ({'; '.join(reasons[:3])})" if reasons else ""
    sources = records.factors["source"].levels if "source" in records.factors else ()
    where = f"{', '.join(sources[:3])}: " if sources else ""
    raise DataError(
        f"{where}no trial has a score: {table.planned} planned, {', '.join(parts) or 'none found'}"
        f"{why}. Nothing can be estimated. " + " ".join(records.notes)
    )


def default_cluster(records: Records, names: Sequence[str] = ("cluster", "unit")) -> str:
    """Give the first of these columns that has labels, or refuse and print what there is."""
    for name in names:
        if name in records.factors and len(records.factors[name].levels):
            return name
    known = [n for n in sorted(records.factors) if n not in (*_OF_READINGS, "source")]
    shown = "task" if "task" in known else (known or [""])[-1]
    cure = f"Say what was sampled, such as --cluster {shown}." if known else ""
    raise InputError("cluster", f"named, one of {', '.join(known)}", cure=cure)


def holds_several(records: Records, name: str, unit: str) -> bool:
    """Say whether every unit lies in one of several levels of a column, and some hold several."""
    if name not in records.factors:
        return False
    coarse, fine = records.factors[name].compact(), records.factors[unit].compact()
    return 1 < len(coarse.levels) < len(fine.levels) and one_each(fine.codes, coarse)


def one_each(groups: NDArray[np.integer], factor: Factor) -> bool:
    """Say whether every row has a level, and rows of one group the same."""
    pairs = {*zip(groups.tolist(), factor.codes.tolist(), strict=True)}
    return bool((factor.codes >= 0).all()) and len(pairs) == len({group for group, _ in pairs})


def _same_partition(first: Factor, second: Factor) -> bool:
    pairs = {*zip(first.codes.tolist(), second.codes.tolist(), strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
