"""Score a trial table: an account of every planned trial, rates by group, and a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from simtrack.analysis.compare import Comparison, compare
from simtrack.analysis.estimate import Estimates, estimate
from simtrack.counts import NO_LABEL, Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand
from simtrack.options import MissingCluster, Status
from simtrack.records import Accounting, Records, account
from simtrack.validate import confidence_level

__all__ = ["ALIASES", "MetricScore", "Score", "find_factor", "score"]

#: Names that people use for columns of the trial table.
ALIASES = {"id": "unit", "sample": "unit", "item": "unit", "epoch": "repetition",
           "trial": "repetition", "file": "source", "log": "source"}  # fmt: skip
#: Grouped by, where a table has several levels and nothing was asked for.
_TELLING = ("task", "model", "arm", "source")
#: Where a level named for a comparison is looked for first.
#: The metric of rows that name none, in a table where others do.
UNNAMED = "(no metric)"
_COMPARED = ("model", "arm", "source", "task", "stage")


@dataclass(frozen=True, slots=True)
class MetricScore:
    """What does one metric say: where did each planned trial go, and what are the rates?

    `metric` is empty where the table has one reading of each trial. `comparison` is None unless
    two levels were named.
    """

    metric: str
    accounting: Accounting
    estimates: Estimates
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Score:
    """What do these logs say, metric by metric?

    Attributes
    ----------
    by : tuple of str
        The grouping columns.
    cluster : str
        The resampling unit.
    metrics : tuple of MetricScore
    losses : tuple of Loss
        Every kind of trial that is in no rate, with its reason.
    notes : tuple of str
        What the reader of the logs wants to be known, and what was chosen in the user's place.
    """

    by: tuple[str, ...]
    cluster: str
    metrics: tuple[MetricScore, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.score/1",
            "by": list(self.by),
            "cluster": self.cluster,
            "metrics": [
                {
                    "metric": m.metric,
                    "accounting": _account_rows(m.accounting),
                    "estimates": m.estimates.to_dict(),
                    "comparison": m.comparison.to_dict() if m.comparison else None,
                }
                for m in self.metrics
            ],
            "losses": [
                {"kind": x.kind, "n": x.n, "reason": x.reason, "where": dict(x.where),
                 "examples": list(x.examples)}
                for x in self.losses
            ],
            "notes": list(self.notes),
        }  # fmt: skip


def score(
    records: Records,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    estimand: Estimand | str | None = None,
    levels: tuple[str, str] | None = None,
    factor: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    icc: float | None = None,
    missing_cluster: MissingCluster = "refuse",
) -> Score:
    """What do these trials say, by group, and which of two levels does better?

    Each metric of the table is scored by itself, since metrics are readings of the same trials.

    Parameters
    ----------
    records : Records
    by : sequence of str
        Grouping columns; without any, those of task, model, arm and source that differ.
    cluster : str, optional
        The resampling unit: `cluster` if there is such a column, else `unit`.
    estimand : Estimand or its name, optional
        The plain rate, or mean score, if not given.
    levels : pair of str, optional
        Two levels to compare, first minus second.
    factor : str, optional
        The column they are levels of; found by the levels if not given.
    level, method, icc, missing_cluster
        As in `estimate`.

    Examples
    --------
    >>> records = Records.from_columns(
    ...     {"unit": ["a", "a", "b", "b", "c"], "value": [1, 1, 0, 1, None],
    ...      "status": ["scored"] * 4 + ["errored"]}
    ... )
    >>> found = score(records).metrics[0]
    >>> found.accounting.planned, found.estimates.rows[0].rate
    (5, 0.75)
    """
    confidence_level("level", level)
    records = _with_metrics(_with_scores(_with_rows(records, cluster)))
    unit = find_factor(records, cluster) if cluster else _default_cluster(records)
    asked = dict.fromkeys(find_factor(records, name) for name in by)
    names = tuple(asked) or _telling(records, unit)
    records, unit = _nested(records, unit, names)
    if unit in names:
        raise InputError("by", f"other than the cluster, {unit}")
    compared = None
    if levels is not None:
        if levels[0] == levels[1]:
            raise InputError("levels to compare", "two different ones", f"{levels[0]} twice")
        compared = find_factor(records, factor) if factor else _factor_of(records, levels)
    parts: list[MetricScore] = []
    for metric in records.factors["metric"].compact().levels if _has_metrics(records) else ("",):
        rows = records.select(metric=metric) if metric else records
        estimates = estimate(
            rows, estimand, by=names, cluster=unit, level=level, method=method,
            icc=icc, missing_cluster=missing_cluster,
        )  # fmt: skip
        pair = None
        if levels is not None and compared is not None:
            pair = compare(
                rows, *levels, factor=compared, estimand=estimand, cluster=unit, level=level,
                missing_cluster=missing_cluster,
            )  # fmt: skip
        parts.append(MetricScore(metric, _account(records, metric, names), estimates, pair))
    losses = dict.fromkeys(
        (*(x for part in parts for x in part.estimates.losses.entries), *_elsewhere(records, parts))
    )
    return Score(
        names, unit, tuple(parts), tuple(losses), (*records.notes, *_pooled(records, names, unit))
    )


def _elsewhere(records: Records, parts: Sequence[MetricScore]) -> list[Loss]:
    """Find the rowless losses of metrics that no row has, as of a log that failed at once."""
    known = {None, *(part.metric for part in parts)}
    if not _has_metrics(records):
        return []
    return [x for x in records.losses.entries if dict(x.where).get("metric") not in known]


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


def _pooled(records: Records, by: Sequence[str], unit: str) -> list[str]:
    """Say over which telling columns trials were added up."""
    pooled = [
        f"{name} ({len(records.factors[name].compact().levels)})"
        for name in _TELLING
        if name in records.factors
        and name not in (*by, unit, *unit.split("/"))
        and len(records.factors[name].compact().levels) > 1
        and not _nests(records, name, (*by, unit))
    ]
    return [f"pooled over {', '.join(pooled)}: group by them with --by"] if pooled else []


def _nests(records: Records, name: str, within: Sequence[str]) -> bool:
    """Whether each group of `within` has one level of `name` only, so that nothing is mixed."""
    groups = list(zip(*(records.factors[n].codes.tolist() for n in within), strict=True))
    pairs = set(zip(groups, records.factors[name].codes.tolist(), strict=True))
    return len(pairs) == len(set(groups))


def find_factor(records: Records, name: str) -> str:
    """Give the column that `name` means: itself, or what it is an alias of."""
    if name in records.factors:
        return name
    meant = ALIASES.get(name, name)
    records.factor(meant)
    return meant


def _with_scores(records: Records) -> Records:
    """Refuse a table without any score, saying what became of its trials."""
    status = records.factors.get("status")
    if status is not None and "scored" in status.take(status.codes >= 0).compact().levels:
        return records
    if status is None and len(records):
        return records
    table = account(records)
    parts = [f"{table.total(s)} {s}" for s in get_args(Status) if table.total(s)]
    reasons = records.factors["reason"].levels if "reason" in records.factors else ()
    why = f" ({'; '.join(reasons[:3])})" if reasons else ""
    sources = records.factors["source"].levels if "source" in records.factors else ()
    where = f"{', '.join(sources[:3])}: " if sources else ""
    raise DataError(
        f"{where}no trial has a score: {table.planned} planned, {', '.join(parts) or 'none found'}"
        f"{why}. Nothing can be estimated. " + " ".join(records.notes)
    )


def _has_metrics(records: Records) -> bool:
    return "metric" in records.factors and bool(records.factors["metric"].compact().levels)


def _telling(records: Records, cluster: str) -> tuple[str, ...]:
    """Columns that differ and are coarser than the clusters; the file only if nothing else does."""
    several = [
        name
        for name in _TELLING
        if name in records.factors
        and len(records.factors[name].compact().levels) > 1
        and not _same_partition(records.factors[name], records.factors[cluster])
    ]
    if "source" in several and len(several) > 1:
        several.remove("source")
    return tuple(several)


def _same_partition(first: Factor, second: Factor) -> bool:
    pairs = {*zip(first.codes.tolist(), second.codes.tolist(), strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def _nested(records: Records, unit: str, by: Sequence[str]) -> tuple[Records, str]:
    """Keep equal ids of different tasks apart: they are different clusters."""
    task = records.factors.get("task")
    if unit != "unit" or task is None or len(task.compact().levels) < 2 or "task" in by:
        return records, unit
    pairs = zip(task.values(), records.factors[unit].values(), strict=True)
    joined = [None if u is None else f"{t or ''}/{u}" for t, u in pairs]
    name = f"task/{unit}"
    return records.with_factors(**{name: Factor.from_values(joined)}), name


def _default_cluster(records: Records) -> str:
    for name in ("cluster", "unit"):
        if name in records.factors:
            return name
    known = ", ".join(sorted(records.factors))
    raise InputError("cluster", f"named, one of {known}", cure="Use --cluster.")


def _factor_of(records: Records, levels: tuple[str, str]) -> str:
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


def _account(records: Records, metric: str, names: tuple[str, ...]) -> Accounting:
    """Account for one metric: its rows, and the rowless losses that are its own."""
    if not metric:
        return account(records, names)
    rows = records.select(metric=metric)
    mine = tuple(x for x in records.losses.entries if dict(x.where).get("metric", metric) == metric)
    kept = Records(rows.factors, rows.numbers, type(records.losses)(mine), kind=records.kind)
    return account(kept, names)


def _account_rows(table: Accounting) -> list[dict[str, Any]]:
    statuses = get_args(Status)
    rows: list[dict[str, Any]] = [
        {
            "labels": dict(zip(table.by, row.labels, strict=True)),
            "planned": row.planned,
            **dict(zip(statuses, row.counts, strict=True)),
        }
        for row in table.rows
    ]
    return rows + [{"labels": None, "planned": x.n, x.kind: x.n} for x in table.unplaced]
