"""What is asked of a trial table: the unit, its clusters, what repeats it, what groups it.

Every verb makes one `Scope` and reads nothing else, so that one question has one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.crossing import (
    as_factor,
    conditions_within,
    lies_within,
    repeats_across,
)
from simtrack.counts import NO_LABEL, Factor, Losses
from simtrack.errors import DataError, InputError
from simtrack.note import Note
from simtrack.options import Status
from simtrack.records import IDENTITY, Records, account

__all__ = ["ALIASES", "GROUPS", "OF_TRIALS", "REPETITION", "UNNAMED", "Scope",
           "default_cluster", "differing", "factor_of", "find_factor", "has_metrics",
           "selected"]  # fmt: skip

#: Names that people use for columns of the trial table.
ALIASES = {"id": "unit", "sample": "unit", "item": "unit", "epoch": "repetition",
           "trial": "repetition", "file": "source", "log": "source"}  # fmt: skip
#: The metric of rows that name none, in a table where others do.
UNNAMED = "(no metric)"
#: Grouped by, where a table has several levels and nothing was asked for.
GROUPS = ("task", "model", "arm", "source")
#: Columns that tell repetitions of one trial apart, under one condition.
REPETITION = ("repetition", "epoch", "trial", "seed", "replicate", "repeat", "run", "source")
#: Columns that say what became of a trial, or how it was read: nothing that can be sampled.
OF_TRIALS = ("metric", "outcome", "reason", "status", "limit", "score", "scorer", "filter", "view")
#: Numbers that trials gave.
NUMBERS = ("value", "signal", "tokens_in", "tokens_out", "duration_s", "working_s", "cost_usd")
#: Where a level named for a comparison is looked for first.
_ARMS = ("model", "arm", "source", "task", "stage")
#: Columns of the file's own that may hold a `Status` of every row.
_STATUS_COLUMNS = ("column.status", "status_of_trial")


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """What is the unit, what are its clusters, and what varies within it?

    Attributes
    ----------
    records : Records
        The trials that are asked about, with a label for every metric.
    unit : str or None
        The column that names what was tried; ids nest in whatever they repeat across. None in a
        table without ids.
    cluster : str
        The column of independent clusters.
    by : tuple of str
        The columns whose groups are answered one by one.
    factor : str or None
        The column whose levels are compared.
    conditions : tuple of str
        Columns that vary by design within a unit of one group, and are no repetition.
    notes : tuple of str
        What the reader of the logs said, and what was chosen in the user's place.
    """

    records: Records
    unit: str | None
    cluster: str
    by: tuple[str, ...] = ()
    factor: str | None = None
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        records: Records,
        *,
        by: str | Sequence[str] = (),
        cluster: str | None = None,
        levels: tuple[str, str] | None = None,
        factor: str | None = None,
        metric: str | Sequence[str] = (),
        where: Mapping[str, str | Sequence[str]] | None = None,
        apart: bool = False,
    ) -> Scope:
        """Find the columns that were meant, once for every verb.

        Parameters
        ----------
        records : Records
        by : str or sequence of str
            Grouping columns, by name or alias.
        cluster : str, optional
            The column of clusters, taken as it stands; `cluster` if there is one, else the unit.
        levels : pair of str, optional
            Two different levels of one column.
        factor : str, optional
            The column that they are levels of; found by the levels if not given.
        metric, where : optional
            Only these metrics; only trials with these labels.
        apart : bool
            Without `by`, group by those of `GROUPS` that differ.

        Raises
        ------
        InputError, DataError
            A column or level that is not there; a table without any score; groups that are
            clusters.
        """
        records = _with_status(records)
        wanted = {} if not metric else {"metric": metric}
        records = selected(records, wanted | dict(where or {}))
        records = _with_metrics(_with_scores(_with_rows(records, cluster)))
        if levels is not None and levels[0] == levels[1]:
            raise InputError("levels to compare", "two different ones", f"{levels[0]} twice")
        if levels is not None or factor is not None:
            factor = find_factor(records, factor) if factor else factor_of(records, levels or ())
        names = (by,) if isinstance(by, str) else tuple(by)
        groups = tuple(dict.fromkeys(find_factor(records, name) for name in names))
        named = None if cluster is None else find_factor(records, cluster)
        if named in OF_TRIALS:
            raise InputError("cluster", "a column that names what was sampled", cluster)
        home = named or default_cluster(records)
        if apart and not groups:
            groups = differing(records, home)
        if factor is not None and factor in groups:
            raise InputError("by", f"other than the factor that is compared, {factor}")
        apart_by = {*groups, factor}
        records, unit = _nested(records, "unit", apart_by)
        if home == "unit":
            home = unit or home
        elif home == "cluster":
            records, found = _nested(records, "cluster", apart_by)
            home = found or home
        elif unit is not None and named is not None and repeats_across(records, unit, [home]):
            records, unit = _joined(records, unit, [home])
        if home in groups or ("/" in home and home.rpartition("/")[2] in groups):
            raise InputError("by", f"other than the cluster, {home}")
        within = () if unit is None else _conditions(records, unit, groups, factor)
        return cls(records, unit, home, groups, factor, within, records.notes)

    def of_metric(self, metric: str) -> Scope:
        """Keep the readings by one metric; an empty name keeps all."""
        rows = self.records.select(metric=metric) if metric else self.records
        return replace(self, records=rows)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which trials are read; one empty name where there is one reading."""
        found = self.records.factors["metric"].compact().levels if has_metrics(self.records) else ()
        return found or ("",)

    def one_metric(self, why: str) -> None:
        """Refuse readings by several metrics."""
        if len(self.metrics) > 1:
            raise InputError("metric", f"one, as {why}", ", ".join(self.metrics),
                             cure="Use --metric.")  # fmt: skip

    def pooled(self) -> tuple[str, ...]:
        """Name the columns over which trials of one group are added up."""
        parts = {part for name in (self.cluster, self.unit or "") for part in name.split("/")}
        rest = [n for n in GROUPS if n in self.records.factors
                and n not in {*self.by, self.factor, *self.conditions, *parts}]  # fmt: skip
        several = [n for n in rest if len(self.records.factors[n].compact().levels) > 1]
        within = (*self.by, self.cluster)
        mixed = [n for n in several if not lies_within(self.records, n, within)]
        return tuple(dict.fromkeys((*mixed, *(n for n in self.conditions if n not in parts))))

    def pooled_note(self) -> tuple[Note, ...]:
        """Say over which columns trials are added up, and how to keep them apart."""
        names = [f"{n} ({_levels(self.records, n)})" for n in self.pooled()]
        text = f"pooled over {', '.join(names)}: group by them with --by"
        return (Note("pooled", text, n=len(names)),) if names else ()

    def refuse_conditions(self, what: str) -> None:
        """Refuse what needs repetitions where units are repeated under several conditions."""
        if self.conditions:
            names = ", ".join(self.conditions)
            cure = f"Group by --by {','.join(self.conditions)}"
            repeats = [n for n in self.conditions if n not in GROUPS]
            cure += (
                f", or say that trials only repeat (--map repetition={repeats[0]})"
                if repeats
                else ""
            )
            raise InputError(
                what, "asked of trials repeated under one condition",
                f"different {names} within a unit", cure=f"{cure}.",
            )  # fmt: skip


def selected(records: Records, where: Mapping[str, str | Sequence[str]]) -> Records:
    """Keep the trials with these labels; a text with bars between labels means any of them."""
    for name, label in where.items():
        column = find_factor(records, name)
        known = records.factors[column].levels
        one = isinstance(label, str) and (label in known or "|" not in label)
        wanted = [label] if one else label.split("|") if isinstance(label, str) else list(label)
        records = records.select(**{column: [str(x) for x in wanted]})
    return records


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


def factor_of(records: Records, levels: Sequence[str]) -> str:
    """Give the column that all these levels belong to."""
    holding = [n for n, f in records.factors.items() if set(levels) <= set(f.levels)]
    for name in (*_ARMS, *holding):
        if name in holding:
            return name
    parts = [
        f"{n} ({', '.join(records.factors[n].levels[:6])})"
        for n in _ARMS
        if n in records.factors and records.factors[n].levels
    ]
    raise InputError(
        "levels to compare", "two levels of one column", " and ".join(levels),
        cure=f"There are: {'; '.join(parts)}.",
    )  # fmt: skip


def default_cluster(records: Records, names: Sequence[str] = ("cluster", "unit")) -> str:
    """Give the first of these columns that has labels, or refuse and print what there is."""
    for name in names:
        if name in records.factors and len(records.factors[name].levels):
            return name
    known = [n for n in sorted(records.factors) if n not in (*OF_TRIALS, "source")]
    shown = "task" if "task" in known else (known or [""])[-1]
    cure = f"Say what was sampled, such as --cluster {shown}." if known else ""
    raise InputError("cluster", f"named, one of {', '.join(known)}", cure=cure)


def differing(records: Records, cluster: str) -> tuple[str, ...]:
    """Columns that differ and are coarser than clusters; the file only if nothing else does."""
    several = [
        name
        for name in GROUPS
        if name in records.factors
        and len(records.factors[name].compact().levels) > 1
        and not _same_partition(records.factors[name], records.factors[cluster])
    ]
    if "source" in several and len(several) > 1:
        several.remove("source")
    return tuple(several)


def _conditions(
    records: Records, unit: str, by: Sequence[str], factor: str | None
) -> tuple[str, ...]:
    """Columns of labels, and numbers of few values, that vary within a unit by design."""
    asked = [n for n in (*by, factor) if n]
    arms = [n for n in GROUPS[:3] if n in records.factors and n not in asked]
    known = {*REPETITION, *OF_TRIALS, *GROUPS, *IDENTITY, *asked, "unit", "cluster", "row"}
    few = {n: as_factor(v) for n, v in records.numbers.items() if n not in NUMBERS}
    labels = {n: f for n, f in few.items() if f is not None}
    wider = Records({**records.factors, **labels})
    rest = [n for n in wider.factors if n not in known and "/" not in n]
    return (*conditions_within(records, unit, arms, asked),
            *conditions_within(wider, unit, rest, (*asked, *arms)))  # fmt: skip


def _nested(records: Records, name: str, apart: set[str | None]) -> tuple[Records, str | None]:
    """Keep equal ids apart that stand under different tasks, datasets or scenarios."""
    factor = records.factors.get(name)
    if factor is None or not len(factor.levels):
        return records, None
    across = [n for n in IDENTITY if n not in apart and n in records.factors and n != name]
    outer: list[str] = []
    for column in across:
        several = column == "task" and len(records.factors[column].compact().levels) > 1
        if several or repeats_across(records, name, [*outer, column], outer):
            outer.append(column)
    return _joined(records, name, outer) if outer else (records, name)


def _joined(records: Records, name: str, outer: Sequence[str]) -> tuple[Records, str]:
    """Add a column whose labels are those of `outer` and `name`, with slashes between."""
    columns = [records.factors[n].values() for n in (*outer, name)]
    labels = [None if row[-1] is None else "/".join(part or "" for part in row)
              for row in zip(*columns, strict=True)]  # fmt: skip
    joined = "/".join((*outer, name))
    return records.with_factors(**{joined: Factor.from_values(labels)}), joined


def _with_status(records: Records) -> Records:
    """Use a column of the file's own that says what became of every trial, in our words."""
    known = set(get_args(Status))
    now = records.factors.get("status")
    if now is not None and set(now.compact().levels) != {"scored"}:
        return records
    for name in _STATUS_COLUMNS:
        theirs = records.factors.get(name)
        if theirs is None or not set(theirs.compact().levels) <= known:
            continue
        told = theirs.compact().levels
        if set(told) <= {"scored"}:
            continue
        filled = Factor.from_values([v or "scored" for v in theirs.values()])
        n = int(sum(v not in (None, "scored") for v in theirs.values()))
        note = Note("status-column", f"the column {name.removeprefix('column.')} says what became "
                    f"of every trial: {n} are not scored by it", n=n)  # fmt: skip
        found = records.with_factors(status=filled)
        return replace(found, notes=(*found.notes, note))
    return records


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


def _levels(records: Records, name: str) -> int:
    if name in records.factors:
        return len(records.factors[name].compact().levels)
    return int(np.unique(records.numbers[name]).size)


def _same_partition(first: Factor, second: Factor) -> bool:
    pairs: NDArray[np.int64] = np.unique(np.stack([first.codes, second.codes]), axis=1)
    return bool(pairs.shape[1] == np.unique(pairs[0]).size == np.unique(pairs[1]).size)
