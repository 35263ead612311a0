"""Estimate a rate or a mean score in each group, with an interval that respects clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from simtrack.analysis.catalogue import method_for
from simtrack.analysis.scope import Scope
from simtrack.analysis.source import Source, Table, read_totals
from simtrack.answer import Answer
from simtrack.counts import Losses, Totals
from simtrack.errors import InputError
from simtrack.estimands import Estimand
from simtrack.inference import default_method
from simtrack.method import Ask, Layout
from simtrack.note import plain_notes
from simtrack.options import Alternative, Computation, Guarantee, MissingCluster, choice
from simtrack.records import Records

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Estimate", "Estimates", "estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is the rate of one group, and how well is it known?

    A value that is None is not defined or was refused; `notes` say why.

    Attributes
    ----------
    labels : tuple of str
        One for each name in `Estimates.by`.
    clusters : int
    n : float
        Trials (a whole number).
    rate : float or None
        Pooled over trials: Σ numerator / Σ denominator.
    low, high : float or None
        Ends of the interval.
    naive_se, clustered_se, design_effect, effective_n, icc : float or None
        See `simtrack.inference.ClusteredRates`. `effective_n` is what an interval
        by Wilson or Korn and Graubard was computed on.
    method : str
    extra : mapping of str to plain values
        What only this method gives: a p-value, a posterior mean, a Bayes factor.
    """

    labels: tuple[str, ...]
    clusters: int
    n: int
    rate: float | None
    low: float | None
    high: float | None
    naive_se: float | None
    clustered_se: float | None
    design_effect: float | None
    effective_n: float | None
    icc: float | None
    method: str
    computation: Computation
    guarantee: Guarantee
    notes: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        name = "/".join(self.labels) or "all"
        if self.rate is None:
            return f"Estimate({name}: no trial)"
        ends = "no interval" if self.low is None else f"{self.low:.4f} to {self.high:.4f}"
        return f"Estimate({name}: {self.rate:.4f}, {ends}, {self.clusters} clusters, n={self.n})"


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is the rate of each group?

    Attributes
    ----------
    estimand, cluster : str
        What is estimated, and what the clusters are.
    by : tuple of str
        The grouping factors.
    level : float
    rows : tuple of Estimate
        In the order of the factors' levels.
    losses : Losses
        The trials that are in no row, with their reasons.
    """

    estimand: str
    cluster: str
    by: tuple[str, ...]
    level: float
    rows: tuple[Estimate, ...]
    losses: Losses = field(default_factory=Losses)

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        rows: list[dict[str, object]] = []
        for row in self.rows:
            plain = asdict(row)
            plain["labels"] = dict(zip(self.by, row.labels, strict=True))
            plain["notes"] = plain_notes(row.notes)
            rows.append(plain | plain.pop("extra"))
        return {
            "schema": "simtrack.estimate/2",
            "estimand": self.estimand,
            "cluster": self.cluster,
            "by": list(self.by),
            "level": self.level,
            "left_out": self.losses.by_kind(),
            "rows": rows,
        }

    def to_frame(self) -> pd.DataFrame:
        """Give one row a group; the labels are columns, the notes one text."""
        import pandas as pd

        rows = []
        for row in self.rows:
            plain = asdict(row)
            labels = dict(zip(self.by, plain.pop("labels"), strict=True))
            rows.append(labels | plain | {"notes": "; ".join(row.notes)} | plain.pop("extra"))
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return f"Estimates({self.estimand} by {', '.join(self.by) or 'nothing'}: {len(self.rows)})"


def estimate(
    table: Table,
    estimand: Estimand | str | None = None,
    *,
    by: str | Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    icc: float | None = None,
    missing_cluster: MissingCluster = "refuse",
    options: Mapping[str, Any] | None = None,
) -> Estimates:
    """What is the rate or the mean score of each group, and how well is it known?

    Scores in [0, 1] get the bounded mean of clusters (`simtrack.inference.bounded_mean`), others
    the cluster t interval, unless a `method` of the catalogue (`simtrack methods rate`) is named.

    Parameters
    ----------
    table : Counts, Sums, Totals or Records
    estimand : Estimand or its name, optional
        The plain rate (passes over trials) by default; for Counts and outcomes only.
    by : str or sequence of str
        Grouping factors.
    cluster : str, optional
        For Records, the resampling unit: `cluster` if there is such a column, else `unit`.
    level : float
        Confidence level.
    method : str, optional
        A method for one rate, by its name in the catalogue.
    icc : float, optional
        Intracluster correlation to assume where clusters show no spread, by a method that assumes
        one, such as wilson-guarded.
    missing_cluster : "refuse" or "own"
        For Records, what to do with scored rows that have no cluster label.
    options : mapping of str to value, optional
        What the method takes besides, as `prior` or `null`; "alternative" for those with sides.

    Raises
    ------
    InputError, DataError
        A name that the table does not have, an option outside its range, or rows that cannot be
        reduced (see `simtrack.records.to_counts`).

    Examples
    --------
    >>> from simtrack.records import Records
    >>> records = Records.from_columns(
    ...     {"unit": ["q1", "q1", "q2", "q2", "q3", "q3"], "value": [1, 1, 0, 1, 0, 0]}
    ... )
    >>> estimate(records).rows[0]
    Estimate(all: 0.5000, 0.0668 to 0.9332, 3 clusters, n=6)
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if isinstance(table, Records):
        scope = Scope.of(table, by=names, cluster=cluster)
        table, names, cluster = scope.records, scope.by, scope.cluster
    source = read_totals(table, estimand, names, cluster, missing_cluster)
    totals = source.totals
    return Estimates(
        totals.name,
        source.cluster_name,
        totals.by,
        level,
        _rows(source, level, method, _options(options, icc)),
        totals.losses,
    )


def _rows(
    source: Source, level: float, method: str | None, options: dict[str, Any]
) -> tuple[Estimate, ...]:
    totals = source.totals
    extra = source.notes
    if method is None:
        method, why = default_method(totals, source.bounded)
        extra = (why, *extra)
    found = method_for("score --method", method)
    if "icc" in options and "icc" not in found.options:
        raise InputError("icc", f"left out for {found.name}, which assumes none", options["icc"],
                         cure="Or name --method wilson-guarded.")  # fmt: skip
    side = choice("alternative", options.pop("alternative", "two-sided"), Alternative)
    ask = Ask(level, side, options=options)
    return tuple(
        _row(totals.conditions[k], found.one(_layout(totals, k, source.bounded), ask), extra)
        for k in range(len(totals.conditions))
    )


def _options(options: Mapping[str, Any] | None, icc: float | None) -> dict[str, Any]:
    return dict(options or {}) | ({} if icc is None else {"icc": icc})


def _layout(totals: Totals, k: int, bounded: bool) -> Layout:
    mine = totals.column(k)
    trials = round(float(mine.denominator.sum()))
    return Layout(mine, clusters=mine.shape[0], trials=(trials,), bounded=bounded)


def _row(labels: tuple[str, ...], found: Answer, notes: tuple[str, ...]) -> Estimate:
    names = ("naive_se", "se", "design_effect", "effective_n", "icc")
    naive, se, effect, n, icc = (_number(found.extra.get(name)) for name in names)
    more = {k: v for k, v in found.extra.items() if k not in (*names, "interval")}
    more |= {} if found.pvalue is None else {"pvalue": found.pvalue}
    return Estimate(
        labels, found.clusters, found.n, found.estimate, found.low, found.high, naive, se, effect,
        n, icc, str(found.extra.get("interval", "")), found.computation, found.guarantee,
        (*notes, *found.notes), more,
    )  # fmt: skip


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
