"""Several rules at once for `simtrack calibrate`: one line a rule, to choose from."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.probe import Calibration, StoppingRule

__all__ = ["SWEPT", "print_sweep", "rules_of"]

#: Options that take several values, separated by commas.
SWEPT = ("threshold", "confidence", "zero_band", "k_min", "k_max")
_MOST_RULES = 1000
_SHOWN = 60


def rules_of(base: StoppingRule, given: Mapping[str, str | None]) -> list[StoppingRule]:
    """Make every combination of the values that the options list, in their order."""
    lists = {name: _values(name, text) for name in SWEPT if (text := given[name]) is not None}
    count = 1
    for values in lists.values():
        count *= len(values)
    if count > _MOST_RULES:
        raise InputError(
            "rules", f"at most {_MOST_RULES} at once", count, cure="List fewer values."
        )
    combinations = itertools.product(*lists.values())
    return [base.with_(**dict(zip(lists, chosen, strict=True))) for chosen in combinations]


def print_sweep(found: list[Calibration], *, as_json: bool, as_csv: bool) -> None:
    """Print one line a rule: how fast, how silent, how right, how dear."""
    if as_json:
        told = {"schema": "simtrack.sweep/1", "rules": [c.to_dict() for c in found]}
        print(json.dumps(told, indent=1, ensure_ascii=False))
        return
    from simtrack.report.table import Table

    varying = [n for n in SWEPT if len({getattr(c.rule, n) for c in found}) > 1]
    priced = found[0].spending.usd_per_call is not None
    heads = (*varying, "E[rounds]", "most", "not conf.", "most judged", "P(correct|conf.)", "least",
             *(("expected $", "costliest $", "at most $") if priced else ("expected calls",
               "costliest", "at most")))  # fmt: skip
    rows = [(*(_shown(getattr(c.rule, n)) for n in varying), *_cells(c, full=as_csv))
            for c in found]  # fmt: skip
    if as_csv:
        print(Table("", heads, rows).csv(), end="")
        return
    s = found[0].summary
    title = (
        f"{len(found)} rules over the {len(found[0].grid.full)} x {len(found[0].grid.full)} grid"
    )
    Table(f"{title} of truths, {found[0].spending.clauses:,} clauses", heads, rows).show()
    print(f"(judged: {s.n_counted} of {s.n_truths} truths, {float(s.margin):g} or more from a "
          "boundary; expected: every truth of the grid equally likely)")  # fmt: skip


def _cells(found: Calibration, *, full: bool) -> tuple[str, ...]:
    s, cost = found.summary, found.spending
    values = (s.mean_rounds, s.worst_rounds.value, s.mean_not_confident,
              s.worst_not_confident_counted.value, s.mean_correct_if_confident,
              s.worst_correct_if_confident.value)  # fmt: skip
    calls = (cost.expected_calls, cost.costliest_calls, float(cost.most_calls))
    money = [cost.usd(c) if cost.usd_per_call is not None else c for c in calls]
    if full:
        return tuple(str(v) for v in (*values, *money))
    forms = (".2f", ".2f", ".3f", ".3f", ".3f", ".3f")
    shown = tuple(f"{v:{form}}" for v, form in zip(values, forms, strict=True))
    return (*shown, *(f"{m:,.2f}" if cost.usd_per_call is not None else f"{m:,.0f}" for m in money))


def _values(name: str, text: str) -> list[object]:
    parts = [part.strip() for part in text.split(",")]
    if not name.startswith("k_"):
        return list(parts)
    try:
        return [int(part) for part in parts]
    except ValueError:
        shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
        raise InputError(name, "whole numbers with commas between", shown) from None


def _shown(value: object) -> str:
    return f"{float(value):g}"  # type: ignore[arg-type]
