"""Score a trial table: an account of every planned trial, rates by group, and a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from simtrack.analysis.cautions import cautions_of_arms, cautions_of_table
from simtrack.analysis.estimate import Estimates, estimate
from simtrack.analysis.families import TestFamily
from simtrack.analysis.missing import totals_under_policy
from simtrack.analysis.pass_rates import PassRates, pass_rates
from simtrack.analysis.rows import has_metrics
from simtrack.analysis.scope import Scope
from simtrack.analysis.sensitivity import Sensitivity
from simtrack.analysis.sensitivity import sensitivity as under_all_policies
from simtrack.analysis.source import Table
from simtrack.analysis.testing import compare
from simtrack.counts import Loss
from simtrack.errors import InputError
from simtrack.estimands import Estimand
from simtrack.note import plain_notes
from simtrack.options import MissingCluster, MissingPolicy, Status, choice
from simtrack.records import Accounting, Records, account
from simtrack.validate import confidence_level

__all__ = ["MetricScore", "Score", "account_rows", "score"]


@dataclass(frozen=True, slots=True)
class MetricScore:
    """What does one metric say: where did each planned trial go, and what are the rates?

    `metric` is empty where the table has one reading of each trial. `comparison` is None unless
    two levels were named. `sensitivity` has every policy for missing scores side by side, where it
    was asked for or where the policy is "bounds"; then `estimates` are those of the scored trials.
    `pass_k` has pass@k and pass^k, if asked for.
    """

    metric: str
    accounting: Accounting
    estimates: Estimates
    comparison: TestFamily | None
    sensitivity: Sensitivity | None = None
    pass_k: tuple[PassRates, ...] = ()


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
    missing : str
        What a planned trial without a score counts as.
    """

    by: tuple[str, ...]
    cluster: str
    metrics: tuple[MetricScore, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]
    missing: MissingPolicy = "drop"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.score/2",
            "by": list(self.by),
            "cluster": self.cluster,
            "missing": self.missing,
            "metrics": [
                {
                    "metric": m.metric,
                    "accounting": account_rows(m.accounting),
                    "estimates": m.estimates.to_dict(),
                    "comparison": m.comparison.to_dict() if m.comparison else None,
                    "sensitivity": m.sensitivity.to_dict() if m.sensitivity else None,
                    "pass_k": [row.to_dict(self.by) for row in m.pass_k],
                }
                for m in self.metrics
            ],
            "losses": [
                {"kind": x.kind, "n": x.n, "reason": x.reason, "where": dict(x.where),
                 "examples": list(x.examples)}
                for x in self.losses
            ],
            "notes": plain_notes(self.notes),
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
    options: Mapping[str, Any] | None = None,
    icc: float | None = None,
    missing_cluster: MissingCluster = "refuse",
    missing: MissingPolicy = "drop",
    sensitivity: bool = False,
    pass_k: Sequence[int] = (),
) -> Score:
    """What do these trials say, by group, and which of two levels does better?

    Each metric of the table is scored by itself, since metrics are readings of the same trials.

    Parameters
    ----------
    records : Records
    by : sequence of str
        Grouping columns; without any, those of task, model, arm and source that differ. An empty
        name keeps all trials together.
    cluster : str, optional
        The resampling unit: `cluster` if there is such a column, else `unit`.
    estimand : Estimand or its name, optional
        The plain rate, or mean score, if not given.
    levels : pair of str, optional
        Two levels to compare, first minus second.
    factor : str, optional
        The column they are levels of; found by the levels if not given.
    level, method, options, icc, missing_cluster
        As in `estimate`.
    missing : str
        What a planned trial without a score counts as: "drop" (left out), "as-failure",
        "as-success", or "bounds" (both, which hold whatever became of it).
    sensitivity : bool
        Give the rates under every one of these policies, side by side.
    pass_k : sequence of int
        Give pass@k and pass^k of the scored trials for these k.

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
    choice("missing", missing, MissingPolicy)
    if missing == "bounds" and levels is not None:
        cure = "Compare under as-failure and as-success."
        raise InputError("missing", "drop, as-failure or as-success in a comparison", missing,
                         cure=cure)  # fmt: skip
    scope = Scope.of(records, by=by, cluster=cluster, apart=True)
    paired = None
    if levels is not None:
        paired = Scope.of(records, cluster=cluster, levels=levels, factor=factor)
    if pass_k:
        scope.refuse_conditions("pass@k")
    read: dict[str, Any] = {"cluster": scope.cluster, "missing_cluster": missing_cluster}
    how: dict[str, Any] = read | {"level": level, "method": method, "icc": icc,
                                 "options": options}  # fmt: skip
    names = scope.by
    parts: list[MetricScore] = []
    for metric in scope.metrics:
        part = scope.of_metric(metric)
        table = _counting(part.records, missing, estimand, names, read)
        plain = estimand if table is part.records else None
        estimates = estimate(table, plain, by=names, **how)
        pair = None
        if paired is not None and levels is not None and paired.factor is not None:
            each = read | {"cluster": paired.cluster}
            rows = paired.of_metric(metric).records
            sides = _counting(rows, missing, estimand, (paired.factor,), each)
            pair = compare(
                sides, *levels, factor=paired.factor, estimand=plain, level=level, **each
            )
        every = None
        if sensitivity or missing == "bounds":
            every = under_all_policies(part.records, estimand, by=names, **how)
        passing = pass_rates(part, pass_k, level=level, missing_cluster=missing_cluster)
        account_of = _account(scope.records, metric, names)
        parts.append(MetricScore(metric, account_of, estimates, pair, every, passing))
    losses = dict.fromkeys((
        *(x for part in parts for x in part.estimates.losses.entries),
        *_elsewhere(scope.records, parts),
    ))  # fmt: skip
    notes = [*scope.notes, *scope.pooled_note(), *_policy_note(missing)]
    first = scope.metrics[0]
    told = {}
    if paired is not None and levels is not None:
        # What `test` says of the comparison comes first; the rates add what it does not speak of.
        told = {note.code: note for note in cautions_of_table(paired.of_metric(first), cluster)}
        notes += [*told.values(), *cautions_of_arms(paired.of_metric(first), *levels)]
        scope = replace(scope, factor=paired.factor)
    notes += [note for note in cautions_of_table(scope.of_metric(first), cluster)
              if note.code not in told]  # fmt: skip
    return Score(names, scope.cluster, tuple(parts), tuple(losses), tuple(dict.fromkeys(notes)),
                 missing)  # fmt: skip


def _counting(
    rows: Records,
    missing: MissingPolicy,
    estimand: Estimand | str | None,
    by: Sequence[str],
    read: dict[str, Any],
) -> Table:
    """Give the trials, or totals in which those without a score count as `missing` says."""
    if missing in {"drop", "bounds"}:
        return rows
    return totals_under_policy(rows, missing, estimand, by=by, **read)


def _policy_note(missing: MissingPolicy) -> tuple[str, ...]:
    if missing == "drop":
        return ()
    if missing == "bounds":
        return ("rates run from every unscored trial failed to every one passed",)
    what = "failure" if missing == "as-failure" else "success"
    return (f"every planned trial without a score counts as a {what}, but those early-stopped or "
            "invalidated",)  # fmt: skip


def _elsewhere(records: Records, parts: Sequence[MetricScore]) -> list[Loss]:
    """Find the rowless losses of metrics that no row has, as of a log that failed at once."""
    known = {None, *(part.metric for part in parts)}
    if not has_metrics(records):
        return []
    return [x for x in records.losses.entries if dict(x.where).get("metric") not in known]


def _account(records: Records, metric: str, names: tuple[str, ...]) -> Accounting:
    """Account for one metric: its rows, and the rowless losses that are its own."""
    if not metric:
        return account(records, names)
    rows = records.select(metric=metric)
    mine = tuple(x for x in records.losses.entries if dict(x.where).get("metric", metric) == metric)
    kept = Records(rows.factors, rows.numbers, type(records.losses)(mine), kind=records.kind)
    return account(kept, names)


def account_rows(table: Accounting) -> list[dict[str, Any]]:
    """Give an account as plain rows: labels, planned, and a number for each status."""
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
