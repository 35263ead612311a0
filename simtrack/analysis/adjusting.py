"""Adjust the p-values of a family of tests, hypotheses without one in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from simtrack.analysis.families import TestAdjustment, TestRow
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import adjust, contrast_table, max_t
from simtrack.method import Ask, Layout
from simtrack.validate import integer

__all__ = ["adjusted_rows", "families_of"]

#: Methods whose smallest adjusted p is the family's size times the smallest p.
_STEPPED = ("bonferroni", "holm", "hochberg")


def families_of(
    family: int | str | Sequence[str] | None,
    by: tuple[str, ...],
    groups: Sequence[tuple[str, ...]],
) -> list[str]:
    """Name the family of each group: one for all, or the levels of the columns named."""
    if family is None or isinstance(family, int):
        return ["all"] * len(groups)
    wanted = (family,) if isinstance(family, str) else tuple(family)
    unknown = [name for name in wanted if name not in by]
    if unknown or not wanted:
        rule = f"a number, or columns of by ({', '.join(by) or 'none given'})"
        raise InputError("family", rule, ", ".join(unknown) or "nothing")
    places = [by.index(name) for name in wanted]
    return ["/".join(labels[k] for k in places) for labels in groups]


def adjusted_rows(
    rows: Sequence[TestRow],
    held: Sequence[Layout | None],
    asked: Ask,
    method: TestAdjustment | None,
    declared: int | str | Sequence[str] | None,
    labels: Sequence[str],
) -> tuple[list[float | None], dict[str, int], str, tuple[str, ...]]:
    """Adjust family by family; hypotheses without a p-value count, and keep their place."""
    blank: list[float | None] = [None] * len(rows)
    if method is None:
        if declared is not None:
            raise InputError("family", "given with adjust", cure="Say how: --adjust holm.")
        many = len([row for row in rows if row.answer.pvalue is not None]) > 1
        return blank, {}, "", (f"{len(rows)} tests, p-values not adjusted",) if many else ()
    if all(row.answer.pvalue is None and not row.answer.refused for row in rows):
        raise InputError("adjust", "left out for a method without p-values", method)
    sizes: dict[str, int] = {}
    controls, notes = "", list[str]()
    for name in dict.fromkeys(labels):
        mine = [k for k, label in enumerate(labels) if label == name]
        sizes[name] = _size(declared, len(mine))
        if method == "max-t":
            if isinstance(declared, int) and declared != len(mine):
                raise InputError("family", "the tested groups, for max-t", declared)
            ps, controls, more = _by_max_t([rows[k] for k in mine], [held[k] for k in mine], asked)
            notes += more
        else:
            done = adjust([rows[k].answer.pvalue for k in mine], method, family=sizes[name])  # type: ignore[arg-type]
            ps, controls = [None if np.isnan(p) else float(p) for p in done.adjusted], done.controls
            notes += _too_many([rows[k] for k in mine], sizes[name], method, asked.alpha)
        for k, p in zip(mine, ps, strict=True):
            blank[k] = p
    without = sum(row.answer.pvalue is None for row in rows)
    if without:
        notes.append(f"{without} hypotheses without a p-value are counted in their family")
    return blank, sizes, controls, tuple(dict.fromkeys(notes))


def _size(declared: int | str | Sequence[str] | None, there: int) -> int:
    if not isinstance(declared, int):
        return there
    if integer("family", declared, 1) < there:
        raise InputError("family", f"at least the {there} groups tested", declared)
    return declared


def _too_many(rows: Sequence[TestRow], m: int, method: str, alpha: float) -> Iterator[str]:
    floors = [row.answer.extra.get("floor") for row in rows if row.answer.pvalue is not None]
    least = min((f for f in floors if isinstance(f, Fraction)), default=None)
    if method in _STEPPED and least is not None and float(least * m) > alpha:
        yield (
            f"in a family of {m} no adjusted p below {float(least * m):.3g} was possible: "
            "more clusters, or a smaller family"
        )


def _by_max_t(
    rows: Sequence[TestRow], held: Sequence[Layout | None], asked: Ask
) -> tuple[list[float | None], str, list[str]]:
    """Step down by max-T over the hypotheses that have a verdict; the rest keep their place."""
    live = [k for k, row in enumerate(rows) if row.answer.pvalue is not None]
    ps: list[float | None] = [None] * len(rows)
    if not live:
        return ps, "", []
    columns: list[Totals] = []
    weights = np.zeros((len(live), 2 * len(live)))
    for place, k in enumerate(live):
        levels = held[k]
        assert levels is not None
        columns += [levels.totals.column(0), levels.totals.column(1)]
        weights[place, 2 * place : 2 * place + 2] = 1.0, -1.0
    stacked = Totals.stack(columns, [str(k) for k in range(len(columns))], "max-t")
    names = ["/".join(rows[k].labels) or "all" for k in live]
    found = max_t(contrast_table(stacked, weights), names=names, alternative=asked.alternative)
    for k, p in zip(live, found.adjusted.tolist(), strict=True):
        ps[k] = 1.0 if np.isnan(p) else p
    refused = found.refusal(asked.alpha)
    return ps, found.controls, [*found.notes, *([f"max-t: {refused}"] if refused else [])]
