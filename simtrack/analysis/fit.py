"""Models on clustered scores by name: the same table for each of them, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np

from simtrack.analysis.fit_checks import (
    check_clusters,
    check_columns,
    check_idle,
    check_readings,
    check_score,
    cluster_notes,
    score_columns,
    slope_of,
)
from simtrack.analysis.rows import has_metrics
from simtrack.analysis.scope import Scope, find_factor
from simtrack.counts import Factor, Loss, Losses, Totals
from simtrack.errors import InputError
from simtrack.estimands import RATE, Contrast, Estimand, Unavailable
from simtrack.estimands import estimand as look_up
from simtrack.inference.models.design import terms_of
from simtrack.inference.models.firth import Firth, firth
from simtrack.inference.models.gee import Gee, gee
from simtrack.inference.models.leave_one_out import LeaveOneOut, leave_one_out
from simtrack.inference.models.linear_mixed import LinearMixed, linear_mixed
from simtrack.inference.models.logistic_mixed import LogisticMixed, logistic_mixed
from simtrack.inference.models.methods import FITTED
from simtrack.inference.models.table import ModelTable, model_table
from simtrack.inference.models.two_way import TwoWay, two_way
from simtrack.note import Note, plain_notes
from simtrack.options import (
    Correlation,
    GeeCovariance,
    MissingCluster,
    MixedCriterion,
    ModelName,
)
from simtrack.records import Records, is_binary, scored_rows
from simtrack.taxonomy import STAGES
from simtrack.validate import confidence_level

__all__ = ["DESIGNS", "Fit", "Fits", "NamedDesign", "fit"]

Fitted: TypeAlias = Gee | LinearMixed | LogisticMixed | Firth | TwoWay


@dataclass(frozen=True, slots=True)
class NamedDesign:
    """A design of the papers by name: its formula, what it is fitted to, and its slope.

    `numeric` names columns of 0 and 1 that the design derives from others.
    """

    formula: str
    estimand: str
    numeric: tuple[str, ...]
    meaning: str


#: The columns that designs derive from others, and those others.
_DERIVED = {"intermediate": "stage"}
#: Designs that have a name.
DESIGNS: dict[str, NamedDesign] = {
    "stage-gap": NamedDesign(
        "intermediate", "adherence", ("intermediate",),
        "StageIF: clean ~ intermediate + (1 | scenario), one fit a deployment (--by model)",
    ),
    "pooled-stage-gap": NamedDesign(
        "intermediate + model", "adherence", ("intermediate",),
        "StageIF: the same over all deployments, with their fixed effects",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One model in one group, and its refits without each cluster if they were asked for."""

    labels: tuple[str, ...]
    model: str
    table: ModelTable
    result: Fitted
    without: LeaveOneOut | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        found: dict[str, Any] = {"model": self.model, "fit": self.result.to_dict()}
        if self.without is not None:
            found["leave_one_out"] = self.without.to_dict()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """What do the models say, group by group?

    Attributes
    ----------
    formula, what, cluster : str
        The design, the score or estimand, and the resampling unit.
    by : tuple of str
    level : float
    rows : tuple of Fit
        Groups in order, and in each the models in the order asked for.
    losses : Losses
    notes : tuple of str
    """

    formula: str
    what: str
    cluster: str
    by: tuple[str, ...]
    level: float
    rows: tuple[Fit, ...]
    losses: Losses
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.fit/2",
            "formula": self.formula,
            "what": self.what,
            "cluster": self.cluster,
            "by": list(self.by),
            "level": self.level,
            "fits": [
                {"labels": dict(zip(self.by, row.labels, strict=True))} | row.to_dict()
                for row in self.rows
            ],
            "left_out": self.losses.by_kind(),
            "notes": plain_notes(self.notes),
        }  # fmt: skip


def fit(
    records: Records,
    formula: str | None = None,
    *,
    design: str | None = None,
    models: Sequence[str] = ("gee",),
    by: Sequence[str] = (),
    cluster: str | None = None,
    estimand: Estimand | str | None = None,
    reference: Mapping[str, str] | None = None,
    numeric: Sequence[str] = (),
    slope: str | None = None,
    crossed: str | None = None,
    correlation: Correlation = "exchangeable",
    covariance: GeeCovariance = "kauermann-carroll",
    criterion: MixedCriterion = "REML",
    nodes: int | None = None,
    without_each: bool = False,
    level: float = 0.95,
    missing_cluster: MissingCluster = "refuse",
    score: str | None = None,
) -> Fits:
    """How do scores depend on a design, if trials come in clusters?

    Parameters
    ----------
    records : Records
        Of one metric.
    formula : str
        Columns joined by +, : and *: "stage * arm". Or a named `design` in its place. Left of ~
        stands nothing, "rate", "value", or the name of the score, metric or estimand.
    design : str, optional
        One of `DESIGNS`.
    models : sequence of str
        "gee", "lmm", "glmm", "firth", "two-way", or a model of the catalogue by name
        (`simtrack methods model`).
        Logistic estimating equations; linear and logistic mixed models with a random intercept;
        Firth's penalised logistic regression, which takes trials as independent; logistic
        regression with errors clustered by the clusters and by `crossed`.
    by : sequence of str
        One fit in each group.
    cluster : str, optional
    estimand : Estimand or its name, optional
        What counts as a success among which trials; passes over trials if not given.
    reference : mapping of column to level, optional
    numeric : sequence of str
        Columns whose labels are numbers.
    slope : str, optional
        The coefficient whose effect differs by cluster too (lmm, glmm): "model[b]", or the column
        if it has two levels.
    crossed : str, optional
        A factor crossed with the clusters: random effects of its own (glmm, by Laplace), or errors
        clustered by it too (two-way).
    correlation, covariance
        Of gee.
    criterion
        Of lmm.
    nodes
        Of glmm.
    without_each : bool
        Fit again without each cluster.
    level, missing_cluster
        As in `estimate`.
    score : str, optional
        The column that the score was taken from, if the notes of the records do not say so.

    Raises
    ------
    InputError, DataError
        No or two formulas; columns that are not there; options that no asked model has.

    Examples
    --------
    >>> rows = {"unit": list("aaaabbbbccccdddd"), "arm": ["x", "x", "y", "y"] * 4,
    ...         "value": [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0]}
    >>> found = fit(Records.from_columns(rows), "arm", models=("lmm",))
    >>> found.rows[0].result.coefficients.estimate.round(4).tolist()
    [0.5, 0.25]
    """
    confidence_level("level", level)
    if not models:
        raise InputError("models", "at least one")
    meant = {model: _meant(model) for model in models}
    named = _design(formula, design)
    derived: tuple[str, ...] = ()
    if named is not None:
        derived = tuple(_DERIVED[name] for name in named.numeric)
        needed = derived if estimand else (*derived, *_factors(named.estimand))
        check_columns(records, design or "", needed)
        formula, estimand = named.formula, estimand or named.estimand
        numeric = (*numeric, *named.numeric)
        slope = next((n for n in named.numeric if slope == _DERIVED[n]), slope)
    assert formula is not None
    check_score(formula, _score_names(records, estimand, score))
    check_idle(meant, slope, crossed, nodes)
    scope = Scope.of(records, by=by, cluster=cluster)
    scope.one_metric("a model is of one")
    records, groups = scope.records, scope.by
    if named is not None and "intermediate" in named.numeric:
        records = _with_intermediate(records)
    used = list(dict.fromkeys(n for term in terms_of(formula) for n in term))
    for name in used:
        records.factor(name)
    keep = [] if crossed is None else [find_factor(records, crossed)]
    columns = list(dict.fromkeys((*used, *keep)))
    records, unlabelled, told = _complete(records, columns)
    unit = scope.cluster
    check_clusters(unit, used, keep[0] if keep else None)
    both = sorted(set(columns) & set(groups))
    if both:
        raise InputError("by", "of columns that are not in the formula", ", ".join(both))
    how: dict[str, Any] = {"slope": slope, "crossed": crossed, "correlation": correlation,
                           "covariance": covariance, "criterion": criterion, "nodes": nodes,
                           "level": level}  # fmt: skip
    rows: list[Fit] = []
    losses = unlabelled
    title = ""
    for labels, part in _parts(records, groups):
        totals, title = _totals(part, estimand, columns, unit, missing_cluster)
        table = model_table(totals, formula, reference=reference, numeric=numeric, keep=keep)
        asked = how if slope is None else how | {"slope": slope_of(table, slope)}
        rows += [
            _one(labels, model, name, table, asked | fixed, without_each)
            for model, (name, fixed, _) in meant.items()
        ]
        losses = losses + totals.losses
    notes = (*scope.notes, *told, *_pooled_over(scope, columns))
    if cluster is None:
        notes += cluster_notes(records, unit, (*derived, *columns, *groups))
    return Fits(formula, title, unit, groups, level, tuple(rows), losses, notes)


def _meant(name: str) -> tuple[ModelName, dict[str, str | None], str]:
    """Give the model that a name stands for, what it fixes, and the option that it needs."""
    if name in FITTED:
        return FITTED[name]
    for short in get_args(ModelName):
        if name == short:
            return short, {}, ""
    names = ", ".join(dict.fromkeys((*get_args(ModelName), *FITTED)))
    raise InputError("models", f"one of {names}", repr(name))


def _complete(records: Records, columns: Sequence[str]) -> tuple[Records, Losses, tuple[Note, ...]]:
    """Leave out, and count, scored trials without a label in a column of the model."""
    lost, kept = Losses(), records
    told: list[Note] = []
    for name in columns:
        missing = scored_rows(kept) & (kept.factors[name].codes < 0)
        rows = np.flatnonzero(missing)
        if not rows.size:
            continue
        unit = kept.factors.get("unit")
        ids = unit.take(missing).values() if unit is not None else []
        shown = tuple(x for x in ids if x is not None) or tuple(f"row {r + 1}" for r in rows)
        what = "1 trial has" if rows.size == 1 else f"{rows.size} trials have"
        text = f"{what} no {name}, and no part in a fit (first: {shown[0]})"
        lost += Losses.of([Loss("unlabelled", rows.size, f"no label in {name}", (), shown)])
        told.append(Note("missing-covariate", text, where=name, n=int(rows.size)))
        kept = kept.take(~missing)
    return kept, lost, tuple(told)


def _pooled_over(scope: Scope, columns: Sequence[str]) -> list[Note]:
    """Say which models, arms, tasks or conditions go into one fit without being a term of it."""
    told = []
    for name in scope.pooled():
        if name not in (*columns, "source"):
            factor = scope.records.factors.get(name)
            shown = "" if factor is None else f": {', '.join(factor.compact().levels)}"
            text = (f"taken together, over {name}{shown} (a term of the formula or --by {name} "
                    "tells them apart)")  # fmt: skip
            told.append(Note("pooled", text))
    return told


def _score_names(records: Records, estimand: Estimand | str | None, score: str | None) -> list[str]:
    """List the names that the score goes by."""
    metrics = records.factors["metric"].compact().levels if has_metrics(records) else ()
    what = estimand if isinstance(estimand, str) else getattr(estimand, "name", None)
    return [n for n in (*metrics, score, *score_columns(records.notes), what) if n]


def _factors(estimand: str) -> list[str]:
    """List the columns that an estimand looks at."""
    what = look_up(estimand)
    if not isinstance(what, Estimand):
        return []
    return [f for c in (*what.where, *what.among) for f in c.factors]


def _design(formula: str | None, design: str | None) -> NamedDesign | None:
    if (formula is None) == (design is None):
        cure = f"Give a formula, or a design of {', '.join(DESIGNS)}."
        raise InputError("formula", "given, or a design instead", formula or "neither", cure=cure)
    if design is None:
        return None
    if design not in DESIGNS:
        from difflib import get_close_matches

        near = get_close_matches(design, DESIGNS, 1)
        cure = f"Did you mean {near[0]}?" if near else ""
        raise InputError("design", f"one of {', '.join(DESIGNS)}", repr(design), cure=cure)
    return DESIGNS[design]


def _with_intermediate(records: Records) -> Records:
    """Say of every row with a stage whether it is one before completion."""
    stage = records.factor("stage")
    codes = [1 if level in STAGES[:-1] else 0 if level == STAGES[-1] else -1
             for level in stage.levels]  # fmt: skip
    derived = Factor(("0", "1"), np.array([*codes, -1], dtype=np.int32)[stage.codes])
    return records.with_factors(intermediate=derived)


def _totals(
    records: Records,
    estimand: Estimand | str | None,
    columns: Sequence[str],
    unit: str,
    missing: MissingCluster,
) -> tuple[Totals, str]:
    """Give numerators and denominators by cluster and pattern, and what they are of."""
    if not is_binary(records):
        if estimand is not None:
            raise InputError("estimand", "left out where scores are numbers", str(estimand))
        check_readings(records, columns)
        sums = records.sums(cluster=unit, by=columns, missing_cluster=missing)
        return sums.totals(columns), "mean score"
    what = look_up(estimand) if isinstance(estimand, str) else estimand or RATE
    if isinstance(what, Contrast | Unavailable):
        raise InputError("estimand", "a ratio of counts", what.name)
    needed = [f for c in (*what.where, *what.among) for f in c.factors]
    names = list(dict.fromkeys((*columns, *needed)))
    check_readings(records, names)
    counts = records.counts(cluster=unit, by=names, missing_cluster=missing)
    return what.totals(counts, columns), what.name


def _parts(records: Records, groups: tuple[str, ...]) -> list[tuple[tuple[str, ...], Records]]:
    """Split the table by groups, in the order of their levels; rows without a label are one."""
    if not groups:
        return [((), records)]
    factors = [records.factors[name].with_missing_named() for name in groups]
    codes = np.stack([f.codes for f in factors], axis=1)
    found = []
    for group in np.unique(codes, axis=0):
        rows = (codes == group).all(axis=1)
        labels = tuple(f.levels[c] for f, c in zip(factors, group.tolist(), strict=True))
        found.append((labels, records.take(rows)))
    return found


def _one(
    labels: tuple[str, ...],
    model: str,
    name: ModelName,
    table: ModelTable,
    how: Mapping[str, Any],
    without_each: bool,
) -> Fit:
    found = _fitted(name, table, how)
    if not without_each:
        return Fit(labels, model, table, found)
    again = leave_one_out(table, lambda part: _fitted(name, part, how))
    return Fit(labels, model, table, found, again)


def _fitted(name: ModelName, table: ModelTable, how: Mapping[str, Any]) -> Fitted:
    level = how["level"]
    if name == "gee":
        return gee(table, correlation=how["correlation"], covariance=how["covariance"],
                   level=level)  # fmt: skip
    if name == "lmm":
        return linear_mixed(table, slope=how["slope"], criterion=how["criterion"], level=level)
    if name == "firth":
        return firth(table, level=level)
    if name == "two-way":
        return two_way(table, how["crossed"], level=level)
    crossed = how["crossed"]
    return logistic_mixed(table, slope=None if crossed else how["slope"], crossed=crossed,
                          nodes=how["nodes"], level=level)  # fmt: skip
