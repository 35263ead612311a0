"""What a rate would be under every way of counting the trials that have no score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simtrack.analysis.estimate import Estimate, estimate
from simtrack.analysis.missing import (
    IMPUTED,
    NO_ROW,
    Lost,
    level_order,
    lost_trials,
    score_ends,
    with_lost,
)
from simtrack.analysis.source import Table, read_totals
from simtrack.counts import Loss
from simtrack.estimands import Estimand
from simtrack.method import Method
from simtrack.note import plain_notes
from simtrack.options import MissingCluster, MissingPolicy, Status, choice

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METHODS", "PolicyRate", "Sensitivity", "SensitivityRow", "sensitivity"]


@dataclass(frozen=True, slots=True)
class PolicyRate:
    """What is the rate of one group under one policy?

    `rate_low` and `rate_high` are equal but for "bounds", where they are the rates with all lost
    trials failed and all passed. `low` and `high` are the ends of the interval; for "bounds" the
    lower end of the one and the upper end of the other, which covers whatever became of them.
    A value is None where it is not defined.
    """

    policy: MissingPolicy
    n: int
    rate_low: float | None
    rate_high: float | None
    low: float | None
    high: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """How much hangs on the trials of one group that have no score?

    Attributes
    ----------
    labels : tuple of str
        One for each name in `Sensitivity.by`.
    planned, scored : int
        planned = scored + imputed + those missing by design.
    clusters_planned, clusters_scored : int
        Clusters with any planned trial to count, and with a scored one.
    imputed, by_design : dict of status to int
    rates : tuple of PolicyRate
        In the order of `MissingPolicy`.
    notes : tuple of str
    """

    labels: tuple[str, ...]
    planned: int
    scored: int
    clusters_planned: int
    clusters_scored: int
    imputed: dict[str, int]
    by_design: dict[str, int]
    rates: tuple[PolicyRate, ...]
    notes: tuple[str, ...] = ()

    def rate(self, policy: MissingPolicy) -> PolicyRate:
        """Give the rate under one policy."""
        choice("policy", policy, MissingPolicy)
        return next(rate for rate in self.rates if rate.policy == policy)

    def __repr__(self) -> str:
        bounds, drop = self.rate("bounds"), self.rate("drop")
        name = "/".join(self.labels) or "all"
        dropped = "not defined" if drop.rate_low is None else f"{drop.rate_low:.4f}"
        return (
            f"SensitivityRow({name}: {dropped} on {self.scored} of {self.planned} planned, "
            f"bounds {bounds.rate_low:.4f} to {bounds.rate_high:.4f})"
        )


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What is the rate of each group under every policy for missing scores?

    Attributes
    ----------
    estimand, cluster : str
    by : tuple of str
    level : float
    imputed : tuple of str
        The statuses that count as failure or success.
    rows : tuple of SensitivityRow
    unplaced : tuple of Loss
        Lost trials whose group nobody knows: in no row.
    """

    estimand: str
    cluster: str
    by: tuple[str, ...]
    level: float
    imputed: tuple[Status, ...]
    rows: tuple[SensitivityRow, ...]
    unplaced: tuple[Loss, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        rows: list[dict[str, object]] = []
        for row in self.rows:
            plain = {name: getattr(row, name) for name in _PLAIN}
            rates = {
                r.policy: {name: getattr(r, name) for name in _RATE}
                | {"notes": plain_notes(r.notes)}
                for r in row.rates
            }
            labels = dict(zip(self.by, row.labels, strict=True))
            rows.append(
                {"labels": labels} | plain | {"rates": rates, "notes": plain_notes(row.notes)}
            )
        return {
            "schema": "simtrack.sensitivity/2",
            "estimand": self.estimand,
            "cluster": self.cluster,
            "by": list(self.by),
            "level": self.level,
            "imputed": list(self.imputed),
            "rows": rows,
            "unplaced": sum(loss.n for loss in self.unplaced),
        }

    def to_frame(self) -> pd.DataFrame:
        """Give one row a group and policy."""
        import pandas as pd

        rows = []
        for row in self.rows:
            labels = dict(zip(self.by, row.labels, strict=True))
            for r in row.rates:
                numbers = {name: getattr(r, name) for name in _RATE}
                counts = {"planned": row.planned, "scored": row.scored}
                notes = "; ".join((*row.notes, *r.notes))
                rows.append(labels | {"policy": r.policy} | numbers | counts | {"notes": notes})
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return (
            f"Sensitivity({self.estimand} by {', '.join(self.by) or 'nothing'}: {len(self.rows)})"
        )


_PLAIN = (
    "planned", "scored", "clusters_planned", "clusters_scored", "imputed", "by_design",
)  # fmt: skip
_RATE = ("n", "rate_low", "rate_high", "low", "high")


def sensitivity(
    table: Table,
    estimand: Estimand | str | None = None,
    *,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    icc: float | None = None,
    imputed: Sequence[Status] = IMPUTED,
    worst: float | None = None,
    best: float | None = None,
    missing_cluster: MissingCluster = "refuse",
    options: Mapping[str, Any] | None = None,
) -> Sensitivity:
    """How much does the rate of each group depend on what the unscored trials count as?

    Four policies side by side: drop them; count them as failures; as successes; and the bounds
    that the last two give, which hold without any assumption. Denominators are the planned
    trials, with those that left no row. A group in which nothing was scored keeps its row.

    Parameters
    ----------
    table : Counts, Sums, Totals or Records
        Records know the cluster of a lost row. In the other tables, and for losses without a row,
        lost trials of unknown cluster share one cluster.
    estimand, by, cluster, level, method, icc, missing_cluster, options
        As in `estimate`.
    imputed : sequence of Status
        What counts as failure or success. Early-stopped and invalidated trials are missing by
        design, so by default they are stated and left alone.
    worst, best : float, optional
        The score of a failure and of a success; 0 and 1 for scores in [0, 1].

    Raises
    ------
    InputError
        Scores outside [0, 1] without `worst` and `best`.

    References
    ----------
    Manski (1989), J. Human Resources 24, 343-360 (bounds under missing outcomes).

    Examples
    --------
    >>> from simtrack.records import Records
    >>> records = Records.from_columns(
    ...     {
    ...         "unit": ["T1", "T1", "T2", "T2", "T3", "T3"],
    ...         "value": [1, None, 0, 1, None, None],
    ...         "status": ["scored", "infrastructure", "scored", "scored"] + ["infrastructure"] * 2,
    ...     }
    ... )
    >>> sensitivity(records).rows[0]
    SensitivityRow(all: 0.6667 on 3 of 6 planned, bounds 0.3333 to 0.8333)
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    source = read_totals(table, estimand, names, cluster, missing_cluster)
    low, high = score_ends(source.bounded, worst, best)
    lost = lost_trials(table, source, estimand, imputed=imputed, missing_cluster=missing_cluster)
    order = level_order(table, source.totals.by)
    known = {"level": level, "method": method, "icc": icc, "options": options}
    found: dict[MissingPolicy, dict[tuple[str, ...], Estimate]] = {}
    policies: tuple[tuple[MissingPolicy, Lost, float], ...] = (
        ("drop", Lost(), 0.0), ("as-failure", lost, low), ("as-success", lost, high)
    )  # fmt: skip
    for policy, counted, score in policies:
        totals = with_lost(source.totals, counted, score, order)
        estimates = estimate(totals, cluster=source.cluster_name, **known)  # type: ignore[arg-type]
        found[policy] = {row.labels: row for row in estimates.rows}
    groups = list(found["as-failure"])
    rest = [group for group in lost.by_design if group not in found["as-failure"]]
    return Sensitivity(
        source.totals.name,
        source.cluster_name,
        source.totals.by,
        level,
        tuple(imputed),
        tuple(_row(group, found, lost) for group in (*groups, *rest)),
        lost.unplaced,
    )


def _row(
    group: tuple[str, ...],
    found: dict[MissingPolicy, dict[tuple[str, ...], Estimate]],
    lost: Lost,
) -> SensitivityRow:
    drop, fail, succeed = (
        found[policy].get(group) for policy in ("drop", "as-failure", "as-success")
    )
    imputed, by_design = (
        dict(sorted(table.get(group, {}).items())) for table in (lost.by_status, lost.by_design)
    )
    scored = 0 if drop is None else drop.n
    rates = [_rate(p, r) for p, r in zip(_SINGLE, (drop, fail, succeed), strict=True)]
    bounds = PolicyRate(
        "bounds", rates[1].n, rates[1].rate_low, rates[2].rate_high, rates[1].low, rates[2].high
    )
    notes = []
    if by_design:
        shown = ", ".join(f"{n} {status}" for status, n in by_design.items())
        notes.append(f"not imputed: {shown}")
    nowhere = lost.cells.get((group, NO_ROW), 0)
    if nowhere:
        notes.append(f"{nowhere} lost trials of unknown cluster are taken as one cluster")
    if lost.unplaced:
        n = sum(loss.n for loss in lost.unplaced)
        notes.append(f"{n} lost trials belong to no known group: the bounds leave them out")
    planned = scored + sum(imputed.values()) + sum(by_design.values())
    return SensitivityRow(
        group,
        planned,
        scored,
        0 if fail is None else fail.clusters,
        0 if drop is None else drop.clusters,
        imputed,
        by_design,
        (*rates, bounds),
        tuple(notes),
    )


_SINGLE: tuple[MissingPolicy, ...] = ("drop", "as-failure", "as-success")


def _rate(policy: MissingPolicy, row: Estimate | None) -> PolicyRate:
    if row is None:
        return PolicyRate(policy, 0, None, None, None, None, ("no scored trial",))
    return PolicyRate(policy, row.n, row.rate, row.rate, row.low, row.high, row.notes)


METHODS = (
    Method(
        "sensitivity", "missingness",
        "Trials without a score: what the rate is if they are dropped, failed or passed.",
        "Lost trials whose group nobody knows; bounds are wide where much is lost.",
        "closed-form", "asymptotic", "Manski 1989, worst-case bounds",
        verb="score --sensitivity",
    ),
)  # fmt: skip
