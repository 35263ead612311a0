"""What is asked of a trial table: the unit, its clusters, what repeats it, what groups it.

Every verb makes one `Scope` and reads nothing else, so that one question has one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simtrack.analysis.crossing import (
    as_factor,
    conditions_within,
    joined_labels,
    lies_within,
    repeats_across,
    tells_apart,
    units_across,
)
from simtrack.analysis.rows import (
    has_metrics,
    with_metrics,
    with_rows,
    with_scores,
    with_status,
)
from simtrack.counts import NO_LABEL, Factor
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.records import IDENTITY, Records

__all__ = ["ALIASES", "GROUPS", "OF_TRIALS", "REPETITION", "Scope",
           "default_cluster", "differing", "factor_of", "find_factor",
           "selected"]  # fmt: skip

#: Names that people use for columns of the trial table.
ALIASES = {"id": "unit", "sample": "unit", "item": "unit", "epoch": "repetition",
           "trial": "repetition", "file": "source", "log": "source"}  # fmt: skip
#: Grouped by, where a table has several levels and nothing was asked for.
GROUPS = ("task", "model", "arm", "source")
#: Columns that tell repetitions of one trial apart, under one condition.
REPETITION = ("repetition", "epoch", "trial", "seed", "replicate", "repeat", "run", "source")
#: Columns that say what became of a trial, or how it was read: nothing that can be sampled.
OF_TRIALS = ("metric", "outcome", "reason", "status", "limit", "score", "scorer", "filter", "view")
#: Those of them that no trial is named by.
_RESULTS = ("outcome", "reason", "status", "limit", "score")
#: Numbers that trials gave.
NUMBERS = ("value", "signal", "tokens_in", "tokens_out", "duration_s", "working_s", "cost_usd")
#: Where a level named for a comparison is looked for first.
_ARMS = ("model", "arm", "source", "task", "stage")


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
    levels : pair of str or None
        The two levels.
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
    levels: tuple[str, str] | None = None
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
            Grouping columns, by name or alias; an empty name is none.
        cluster : str, optional
            The column of clusters, taken as it stands; `cluster` if there is one, else the unit.
        levels : pair of str, optional
            Two different levels of one column.
        factor : str, optional
            The column that they are levels of; found by the levels if not given.
        metric, where : optional
            Only these metrics; only trials with these labels.
        apart : bool
            Without `by`, group by those of `GROUPS` that differ. An empty name keeps all together.

        Raises
        ------
        InputError, DataError
            A column or level that is not there; a table without any score; groups that are
            clusters.
        """
        records = with_status(records)
        wanted = {} if not metric else {"metric": metric}
        records = selected(records, wanted | dict(where or {}))
        records = with_metrics(with_scores(with_rows(records, cluster)))
        if levels is not None and levels[0] == levels[1]:
            raise InputError("levels to compare", "two different ones", f"{levels[0]} twice")
        if levels is not None or factor is not None:
            factor = find_factor(records, factor) if factor else factor_of(records, levels or ())
        names = (by,) if by and isinstance(by, str) else tuple(by)
        asked = [name for name in names if name.strip()]
        groups = tuple(dict.fromkeys(find_factor(records, name) for name in asked))
        named = None if cluster is None else find_factor(records, cluster)
        if named in OF_TRIALS:
            raise InputError("cluster", "a column that names what was sampled", cluster)
        home = named or default_cluster(records)
        if apart and not names:
            groups = differing(records, home)
        if factor is not None and factor in groups:
            raise InputError("by", f"other than the factor that is compared, {factor}")
        apart_by = {*groups, factor}
        records, unit = _nested(records, "unit", apart_by)
        if home == "unit":
            home = unit or home
        else:
            if home == "cluster":
                records, found = _nested(records, "cluster", apart_by)
                home = found or home
            if unit is not None and _starts_again(records, unit, home):
                records, unit = _joined(records, unit, [home])
        if home in groups or ("/" in home and home.rpartition("/")[2] in groups):
            raise InputError("by", f"other than the cluster, {home}")
        records = _with_files_apart(records, unit, groups) if apart and not names else records
        within = () if unit is None else _conditions(records, unit, groups, factor)
        return cls(records, unit, home, groups, factor, levels, within, records.notes)

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

    @property
    def cut_units(self) -> int:
        """Units whose trials of one group lie in several clusters, so that these depend."""
        if self.unit is None or self.unit == self.cluster:
            return 0
        asked = tuple(n for n in (*self.by, self.factor) if n)
        return units_across(self.records, self.cluster, (*asked, self.unit))

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
        if self.cut_units:
            rule = f"a column that keeps the trials of a unit together for {what}"
            raise InputError("cluster", rule, self.cluster)
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
    """Keep the trials with these labels; a text with bars between labels means any of them.

    Trials without a label are meant by `NO_LABEL`, unless a label is called so.
    """
    for name, label in where.items():
        column = find_factor(records, name)
        factor = records.factors[column]
        one = isinstance(label, str) and (label in factor.levels or "|" not in label)
        wanted = [label] if one else label.split("|") if isinstance(label, str) else list(label)
        wanted = [str(x) for x in wanted]
        if NO_LABEL in wanted and (factor.codes < 0).any():
            records = records.with_factors(**{column: factor.with_missing_named()})
        records = records.select(**{column: wanted})
    return records


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
    near = [n for n, f in records.factors.items() if not set(levels).isdisjoint(f.levels)]
    shown = dict.fromkeys([*near, *(n for n in _ARMS if n in records.factors)])
    parts = [f"{n} ({', '.join(records.factors[n].levels[:6])})"
             for n in shown if records.factors[n].levels]  # fmt: skip
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
    found = (*conditions_within(records, unit, arms, asked),
             *conditions_within(wider, unit, rest, (*asked, *arms)))  # fmt: skip
    numbered = [n for n in (*REPETITION, *OF_TRIALS) if n in records.factors and n not in _RESULTS]
    trial = dict.fromkeys((*asked, *arms, *numbered, *found))
    left = [n for n in rest if n not in found]
    return (*found, *tells_apart(wider, unit, left, tuple(trial)))


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


def _with_files_apart(records: Records, unit: str | None, groups: tuple[str, ...]) -> Records:
    """Say how files are pooled that hold the same units and differ in nothing else."""
    if groups != ("source",) or unit is None or not repeats_across(records, unit, groups):
        return records
    n = len(records.factors["source"].compact().levels)
    text = f"{n} files hold the same units: --by '' takes their trials as repetitions"
    return replace(records, notes=(*records.notes, Note("files-apart", text, n=n)))


def _joined(records: Records, name: str, outer: Sequence[str]) -> tuple[Records, str]:
    """Add a column whose labels are those of `outer` and `name`, with slashes between."""
    whole = list(dict.fromkeys((*outer, name)))
    joined = "/".join(whole)
    return records.with_factors(**{joined: joined_labels(records, whole)}), joined


def _starts_again(records: Records, unit: str, cluster: str) -> bool:
    """Say whether ids start again in every cluster, so that equal ones are different units.

    Not so under columns that repeat units or are given to them, such as a seed or a model, nor
    where clusters are finer than units.
    """
    crossed = (*REPETITION, *(n for n in GROUPS if n not in IDENTITY))
    if cluster in crossed or lies_within(records, unit, (cluster,)):
        return False
    return repeats_across(records, unit, [cluster])


def _levels(records: Records, name: str) -> int:
    if name in records.factors:
        return len(records.factors[name].compact().levels)
    return int(np.unique(records.numbers[name]).size)


def _same_partition(first: Factor, second: Factor) -> bool:
    both = Records({"first": first, "second": second})
    return lies_within(both, "first", ("second",)) and lies_within(both, "second", ("first",))
