# ruff: noqa: PT028 - test is a verb, not a test
"""Test two levels of a factor in every group of a declared family, by a method of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simtrack.analysis.adjusting import adjusted_rows, families_of
from simtrack.analysis.catalogue import METHODS, method_for
from simtrack.analysis.cautions import cautions_of_arms, cautions_of_table
from simtrack.analysis.families import TestAdjustment, TestFamily, TestRow
from simtrack.analysis.scope import Scope, find_factor
from simtrack.analysis.source import Table
from simtrack.analysis.two_levels import by_levels
from simtrack.answer import Answer
from simtrack.counts import Counts, Sums, Totals, group_rows
from simtrack.errors import DataError, InputError, SimtrackError
from simtrack.estimands import Estimand
from simtrack.inference.differences.margin import Margin, check_margin, margin_answer
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Alternative, MissingCluster, choice
from simtrack.records import Records
from simtrack.validate import confidence_level

__all__ = ["compare", "test"]


def test(
    table: Table,
    a: str,
    b: str,
    *,
    factor: str | None = None,
    by: str | Sequence[str] = (),
    method: str = "sign-flip",
    alternative: Alternative = "two-sided",
    adjust: TestAdjustment | None = None,
    family: int | str | Sequence[str] | None = None,
    estimand: Estimand | str | None = None,
    cluster: str | None = None,
    on: Sequence[str] = (),
    strata: str | None = None,
    level: float = 0.95,
    margin: float | tuple[float, float] | None = None,
    missing_cluster: MissingCluster = "refuse",
    options: Mapping[str, Any] | None = None,
) -> TestFamily:
    """In which groups does level `a` of `factor` do better than level `b`, and could it be chance?

    One hypothesis a group of `by`: together they are the declared family. A group without a
    verdict keeps its place, and counts in the family.

    Parameters
    ----------
    table : Records, Counts or Totals
        Counts and Totals make one hypothesis: they have no rows to group.
    a, b : str
        Two levels of a column.
    factor : str, optional
        The column; for Records found by the levels.
    by : str or sequence of str
        Columns whose groups are tested one by one.
    method : str
        A method for two levels, by its name in the catalogue (`simtrack methods test`, and
        `difference`, `contrast`, `bayes`, `agreement`, `rank`).
    alternative : str
        "greater": a is higher than b.
    adjust : str, optional
        "bonferroni", "holm", "hochberg", "benjamini-hochberg", "benjamini-yekutieli", or, for
        sign-flip, "max-t", which knows how the hypotheses go together.
    family : int, or names of `by`, optional
        The number of hypotheses declared, those not in the table included; or the columns whose
        levels are families of their own. By default all groups are one family.
    estimand, cluster, level, missing_cluster
        As in `simtrack.analysis.estimate`.
    margin : float above 0, or (below 0, above 0), optional
        The smallest difference that matters. Then the test is whether the levels differ by less:
        "two-sided" of equivalence, "greater" of non-inferiority of `a` (lower by less than it),
        "less" of non-superiority; each limit is tested at alpha = 1 - level, and intervals are at
        1 - 2 alpha. Methods: `simtrack.inference.differences.margin.MARGIN_METHODS`.
    on : sequence of str
        For methods that pair single trials: the columns that name a trial; by default task, unit
        and repetition, as far as the table has them.
    strata : str, optional
        For stratified methods and permutation: the column of strata.
    options : mapping of str to value, optional
        What the method takes besides, as `prior` or `weights`.

    Raises
    ------
    InputError
        A method of another kind, a level that is not there, an adjustment that does not fit.
    DataError
        No group has anything to compare.

    Examples
    --------
    >>> records = Records.from_columns(
    ...     {
    ...         "unit": [f"q{k}" for k in range(8)] * 2,
    ...         "model": ["x"] * 8 + ["y"] * 8,
    ...         "value": [1, 1, 1, 1, 1, 1, 0, 1] + [0, 0, 1, 0, 0, 0, 0, 0],
    ...     }
    ... )
    >>> test(records, "x", "y", factor="model").rows[0]
    TestRow(all: +0.7500, p=0.03125)
    >>> test(records, "x", "y", factor="model", method="mcnemar").rows[0].answer.exact
    Fraction(1, 32)
    """
    question = _Question(a, b, factor, (by,) if isinstance(by, str) else tuple(by), cluster,
                         tuple(on), strata)  # fmt: skip
    scope, question, notes = _scoped(table, question)
    data = table if isinstance(table, Counts | Sums | Totals) else scope
    assert data is not None
    factor, names, cluster = question.factor or "", question.by, question.cluster
    found = _checked(method, adjust, question)
    asked = Ask(confidence_level("level", level),
                choice("alternative", alternative, Alternative), factor,
                dict(options or {}))  # fmt: skip
    limits = None if margin is None else Margin.of(margin, asked.alternative)
    if limits is not None:
        check_margin(found, asked)
        if adjust == "max-t":
            raise InputError("adjust", "another than max-t with a margin", cure="Use holm.")
    groups = list(_groups(data, question))
    rows: list[TestRow] = []
    held: list[Layout | None] = []
    faults: list[SimtrackError] = []
    for labels, part in groups:
        try:
            layout = by_levels(
                part, a, b, factor=factor, pairing=found.pairing, estimand=estimand,
                cluster=cluster, missing_cluster=missing_cluster, on=question.on,
                strata=question.strata,
            )  # fmt: skip
            answer = (
                found.one(layout, asked)
                if limits is None
                else margin_answer(found, layout, asked, limits)
            )
            rows.append(TestRow(labels, layout.clusters, layout.trials[0], layout.trials[1],
                                layout.unpaired, answer))  # fmt: skip
            held.append(layout)
        except (InputError, DataError) as error:
            faults.append(error)
            reason = str(error).rstrip(".")
            rows.append(TestRow(labels, 0, 0, 0, 0, Answer(None, refused=reason)))
            held.append(None)
    if len(faults) == len(rows):
        raise faults[0]
    family = _named(scope, family)
    labels_of = families_of(family, names, [row.labels for row in rows])
    adjusted, sizes, controls, more = adjusted_rows(rows, held, asked, adjust, family, labels_of)
    marked = [replace(row, adjusted=p, family=name)
              for row, p, name in zip(rows, adjusted, labels_of, strict=True)]  # fmt: skip
    if limits is not None:
        marked = [_judged(row, limits, asked.alpha) for row in marked]
    losses = dict.fromkeys(x for h in held if h is not None for x in h.totals.losses.entries)
    return TestFamily(
        factor, a, b, _cluster_name(data, cluster), method, alternative, names, level, adjust,
        sizes, controls, tuple(marked), tuple(losses), (*notes, *more), limits,
    )  # fmt: skip


# pytest collects functions of this name.
test.__test__ = False  # type: ignore[attr-defined]


def compare(
    table: Table,
    a: str,
    b: str,
    *,
    factor: str | None = None,
    estimand: Estimand | str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    missing_cluster: MissingCluster = "refuse",
) -> TestFamily:
    """How much higher is level `a` than level `b`, over the clusters that have both?

    `test` with one row: the sign-flip test of the mean cluster difference. Clusters are matched by
    their label, never by row order; those with one level only are left out and counted. Two log
    files are two levels of `model` once their tables are stacked (`Records.concatenate`).

    Parameters
    ----------
    table, a, b, factor, estimand, cluster, level, missing_cluster
        As in `test`.

    Examples
    --------
    >>> records = Records.from_columns(
    ...     {
    ...         "unit": [f"q{k}" for k in range(8)] * 2,
    ...         "model": ["x"] * 8 + ["y"] * 8,
    ...         "value": [1, 1, 1, 1, 1, 1, 0, 1] + [0, 0, 1, 0, 0, 0, 0, 0],
    ...     }
    ... )
    >>> compare(records, "x", "y").answer.pvalue
    0.03125
    """
    return test(
        table, a, b, factor=factor, estimand=estimand, cluster=cluster, level=level,
        missing_cluster=missing_cluster,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Question:
    a: str
    b: str
    factor: str | None
    by: tuple[str, ...]
    cluster: str | None
    on: tuple[str, ...]
    strata: str | None


def _scoped(table: Table, asked: _Question) -> tuple[Scope | None, _Question, tuple[str, ...]]:
    """Find the columns that were meant; readings by several metrics are hypotheses of their own."""
    if not isinstance(table, Records):
        if asked.factor is None:
            raise InputError("factor", "named for a table without rows")
        return None, asked, ()
    pair = (asked.a, asked.b)
    scope = Scope.of(table, by=asked.by, cluster=asked.cluster, levels=pair, factor=asked.factor)
    by, notes = scope.by, (*scope.notes, *scope.pooled_note())
    if len(scope.metrics) > 1 and "metric" not in by:
        by = ("metric", *by)
        text = f"{len(scope.metrics)} metrics are hypotheses of one family: --metric"
        notes = (*notes, Note("metrics", text, n=len(scope.metrics)))
    one = scope.of_metric(scope.metrics[0])
    notes = (*notes, *cautions_of_table(one, asked.cluster), *cautions_of_arms(one, *pair))
    on = tuple(find_factor(scope.records, name) for name in asked.on)
    strata = None if asked.strata is None else find_factor(scope.records, asked.strata)
    found = replace(asked, factor=scope.factor, by=by, cluster=scope.cluster, on=on, strata=strata)
    return scope, found, notes


def _named(scope: Scope | None, family: int | str | Sequence[str] | None) -> int | list[str] | None:
    if family is None or isinstance(family, int):
        return family
    wanted = [family] if isinstance(family, str) else list(family)
    return wanted if scope is None else [find_factor(scope.records, name) for name in wanted]


def _checked(method: str, adjust: str | None, asked: _Question) -> Method:
    found = method_for("test --method", method)
    if adjust is not None:
        choice("adjust", adjust, TestAdjustment)
    if adjust == "max-t" and method != "sign-flip":
        raise InputError("adjust", "max-t with sign-flip alone", method, cure="Use holm.")
    if asked.strata is not None and found.strata == "no":
        takers = ", ".join(m.name for m in METHODS.values() if m.strata != "no")
        raise InputError("strata", f"used with {takers}", method)
    if asked.a == asked.b:
        raise InputError("levels to compare", "two different ones", f"{asked.a} twice")
    if asked.factor in asked.by:
        raise InputError("by", f"other than the factor that is compared, {asked.factor}")
    return found


def _judged(row: TestRow, limits: Margin, alpha: float) -> TestRow:
    """Let the adjusted p decide, where there is one."""
    if row.adjusted is None:
        return row
    verdict = limits.claim if row.adjusted <= alpha else "not shown"
    return replace(row, answer=replace(row.answer, extra={**row.answer.extra, "verdict": verdict}))


def _groups(
    data: Counts | Sums | Totals | Scope, asked: _Question
) -> Iterator[tuple[tuple[str, ...], Counts | Sums | Totals | Scope]]:
    """Give the labels and the trials of each group that has a row of either level."""
    if not asked.by:
        yield (), data
        return
    if not isinstance(data, Scope):
        raise InputError("by", "left out for tables without rows", ", ".join(asked.by))
    table, factor = data.records, data.factor or ""
    side = table.factor(factor)
    here = np.isin(side.codes, [side.code_of(level, factor) for level in (asked.a, asked.b)])
    named = table.with_factors(**{n: table.factor(n).with_missing_named() for n in asked.by})
    groups = group_rows({n: named.factors[n].take(here) for n in asked.by}, int(here.sum()))
    for labels in zip(*(groups.factors[n].values() for n in asked.by), strict=True):
        wanted = {n: str(label) for n, label in zip(asked.by, labels, strict=True)}
        yield tuple(wanted.values()), replace(data, records=named.select(**wanted))


def _cluster_name(data: Counts | Sums | Totals | Scope, cluster: str | None) -> str:
    if isinstance(data, Scope):
        return data.cluster
    return data.cluster_name if isinstance(data, Counts) else cluster or "cluster"
