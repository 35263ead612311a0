"""An estimand trial by trial: which trials is it asked of, and which of them are successes?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simtrack.analysis.source import read_totals
from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand
from simtrack.records import Records

__all__ = ["with_flags"]

_EACH = "row of the sequence"


def with_flags(
    rows: Records, estimand: Estimand | str | None
) -> tuple[Records, str | None, list[str]]:
    """Give the trials that the estimand is asked of, scored 0 or 1; its name; and what is said.

    Tables without an outcome of several codes are left as they are if no estimand is named; a
    table of codes without one is refused as by `estimate`.
    """
    if "view" in rows.factors and len(rows.factors["view"].compact().levels) > 1:
        views = ", ".join(rows.factors["view"].compact().levels)
        rule = "one, since its levels are readings of the same trials"
        raise InputError("view", rule, views, cure="Use --where view=LEVEL.")
    outcome = rows.factors.get("outcome")
    plain = outcome is None or set(outcome.levels) <= {"FAIL", "PASS"}
    if not len(rows) or (plain and estimand is None):
        return rows, None, []
    each = Factor.from_values([str(k) for k in range(len(rows))])
    totals = read_totals(
        rows.with_factors(**{_EACH: each}), estimand, (), _EACH, "refuse"
    ).totals  # fmt: skip
    place = np.array([int(label) for label in totals.clusters], dtype=np.int64)
    asked, passed = np.zeros(len(rows)), np.zeros(len(rows))
    asked[place], passed[place] = totals.denominator.sum(axis=1), totals.numerator.sum(axis=1)
    if not asked.any():
        raise DataError(f"{totals.name} is asked of no trial, so there is nothing to monitor.")
    scored = replace(rows, numbers={**rows.numbers, "value": passed}).take(asked > 0)
    without = int((asked == 0).sum())
    told = (
        f"{totals.name}: asked of {int((asked > 0).sum())} of {len(rows)} scored trials, in order"
    )
    return scored, totals.name, [told + ("; the others make no step" if without else "")]
