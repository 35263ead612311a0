"""What may be said now, however often one has looked: rates and paired differences as they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.monitor_words import ROW, assumed, said_order, taken_together
from simtrack.analysis.scope import factor_of, find_factor, has_metrics, nested, prepared
from simtrack.counts import natural_order
from simtrack.errors import DataError, InputError
from simtrack.inference.betting import betting_sequence
from simtrack.inference.confidence_sequence import (
    ConfidenceSequence,
    EProcess,
    bernoulli_sequence,
    e_process,
)
from simtrack.inference.group_sequential import GroupSequential, group_sequential
from simtrack.inference.signflip import sign_flip
from simtrack.inference.special import beta_cdf, t_cdf
from simtrack.options import Alternative, BoundaryKind
from simtrack.records import Records, scored_rows
from simtrack.validate import integer, open_unit

__all__ = ["Look", "Monitor", "monitor"]


@dataclass(frozen=True, slots=True)
class Look:
    """A planned look: how many clusters, the p-value then, and what it must reach.

    `pvalue` is None where the look has not been reached, or a test is not possible.
    """

    clusters: int
    pvalue: float | None
    nominal: float
    crossed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """What may be said of a running study?

    Attributes
    ----------
    what : str
        "rate", "mean score", either as "mean ... of" clusters, or "difference".
    levels : pair of str, or empty
        First minus second.
    unit : str
        What one step of the sequence is.
    sequence : ConfidenceSequence
    evidence : EProcess or None
        Against the null, where one was named and scores are 0 or 1.
    null : float or None
    plan : GroupSequential or None
    looks : tuple of Look
    left_out : int
        Trials without a score, or pairs without a partner.
    notes : tuple of str
    """

    what: str
    levels: tuple[str, ...]
    unit: str
    sequence: ConfidenceSequence
    evidence: EProcess | None
    null: float | None
    plan: GroupSequential | None
    looks: tuple[Look, ...]
    left_out: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        evidence = None
        if self.evidence is not None:
            evidence = {
                "null": self.null,
                "alternative": self.evidence.alternative,
                "log_e": self.evidence.log_e.tolist(),
                "pvalue": self.evidence.pvalue.tolist(),
                "rejected_at": self.evidence.rejected_at(self.sequence.alpha),
            }
        return {
            "schema": "simtrack.monitor/1",
            "what": self.what,
            "levels": list(self.levels),
            "unit": self.unit,
            "sequence": self.sequence.to_dict(),
            "evidence": evidence,
            "plan": self.plan.to_dict() if self.plan else None,
            "looks": [
                {"clusters": x.clusters, "pvalue": x.pvalue, "nominal": x.nominal,
                 "crossed": x.crossed}
                for x in self.looks
            ],
            "left_out": self.left_out,
            "notes": list(self.notes),
        }  # fmt: skip


def monitor(
    records: Records,
    *,
    levels: tuple[str, str] | None = None,
    factor: str | None = None,
    cluster: str | None = None,
    order: str | None = None,
    null: float | None = None,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    planned: int | None = None,
    looks: int = 3,
    boundary: BoundaryKind = "obrien-fleming",
) -> Monitor:
    """What may be said now, at every look at once?

    Each step of the sequence is one trial where every id has one; else one cluster, by its mean
    score, in the order in which clusters were complete. A paired difference is one step a cluster
    that has both levels. Clusters weigh alike, whatever their size: the mean is over clusters.

    Parameters
    ----------
    records : Records
        In the order of the file, of one metric.
    levels, factor
        Two levels to compare, first minus second, and their column.
    cluster : str, optional
        What one step is; "row" takes trials as they are.
    order : str, optional
        The column by which trials came (numbers or natural order of labels).
    null : float, optional
        The rate to bet against.
    alternative
        Of the evidence alone.
    alpha
        Of each statement: interval, evidence and planned boundary each err with this chance.
    planned, looks, boundary
        The planned number of clusters, and the looks at equal shares of it, for a boundary on
        two-sided p-values: sign flips of differences, the binomial law of trials against the null,
        t(G-1) of cluster means against it.

    Raises
    ------
    InputError, DataError
        Several metrics; several models or arms that are not compared; no score, or one outside
        [0, 1].

    Notes
    -----
    The promise is that of a sequence which only grows. A cluster that gains trials after a look
    changes a step that was looked at, so look when clusters are complete.

    Examples
    --------
    >>> rows = {"unit": [f"q{k}" for k in range(40)], "value": [1, 1, 0, 1] * 10}
    >>> monitor(Records.from_columns(rows), null=0.5).sequence
    ConfidenceSequence(40 trials: 0.7500, 0.5125 to 0.9154)
    """
    open_unit("alpha", alpha)
    records, unit = prepared(records, cluster)
    if has_metrics(records) and len(records.factors["metric"].compact().levels) > 1:
        names = ", ".join(records.factors["metric"].compact().levels)
        raise InputError("metric", "one, as a sequence is of one", names, cure="Use --metric.")
    column = None
    if levels is not None:
        if levels[0] == levels[1]:
            raise InputError("levels", "two different ones", levels[0])
        column = find_factor(records, factor) if factor else factor_of(records, levels)
    together = taken_together(records, unit, levels, column)
    records, unit = nested(records, unit, () if column is None else (column,))
    keep = scored_rows(records)
    lost = int((~keep).sum()) + records.losses.total()
    rows = _in_order(records.take(keep), order)
    values = _values(rows)
    notes = [*records.notes, said_order(order), *together]
    if levels is not None and column is not None:
        steps, dropped = _paired(rows, values, unit, levels, column)
        what, lost = "difference", lost + dropped
        sequence = betting_sequence(steps, low=-1.0, high=1.0, alpha=alpha)
        step = unit
    else:
        steps, step = _steps(rows, values, unit)
        binary = step == ROW and bool(np.isin(steps, (0.0, 1.0)).all())
        what = "rate" if bool(np.isin(values, (0.0, 1.0)).all()) else "mean score"
        what = what if step == ROW else f"mean {what} of {step}s"
        sequence = (bernoulli_sequence if binary else betting_sequence)(steps, alpha=alpha)
    notes += assumed(rows, values, step, lost, levels)
    evidence = _evidence(steps, step, null, alternative, levels, notes)
    if planned is not None:
        notes.append(
            f"planned looks are two-sided and err with {alpha:g} themselves, beside the interval: "
            "say in advance which of them stops the study"
        )
    plan, planned_looks = _planned(steps, null, levels, planned, looks, boundary, alpha)
    return Monitor(
        what,
        tuple(levels or ()),
        step,
        sequence,
        evidence,
        null,
        plan,
        planned_looks,
        lost,
        tuple(dict.fromkeys((*notes, *sequence.notes))),
    )


def _values(rows: Records) -> NDArray[np.float64]:
    if "value" in rows.numbers:
        values = rows.numbers["value"]
    else:
        outcome = rows.factors["outcome"]
        if not set(outcome.levels) <= {"FAIL", "PASS"}:
            raise DataError("outcomes are several codes. Write a table with a score of 0 and 1.")
        values = np.array([float(level == "PASS") for level in outcome.levels])[outcome.codes]
    if values.size == 0:
        raise DataError("no trial has a score, so there is nothing to monitor.")
    if ((values < 0) | (values > 1)).any():
        bad = float(values[(values < 0) | (values > 1)][0])
        raise DataError(f"scores must lie in [0, 1] to be bet on, got {bad:g}. Rescale them.")
    return values


def _in_order(rows: Records, order: str | None) -> Records:
    if order is None:
        return rows
    if order in rows.numbers:
        column = rows.numbers[order]
        if np.isnan(column).any():
            at = int(np.flatnonzero(np.isnan(column))[0]) + 1
            raise DataError(f"{order} is missing in trial {at}, so it gives no order.")
        return rows.take(np.argsort(column, kind="stable"))
    factor = rows.factor(find_factor(rows, order))
    if (factor.codes < 0).any():
        at = int(np.flatnonzero(factor.codes < 0)[0]) + 1
        raise DataError(f"{order} is missing in trial {at}, so it gives no order.")
    natural = natural_order(factor.levels)
    place = np.array([natural.index(level) for level in factor.levels])
    return rows.take(np.argsort(place[factor.codes], kind="stable"))


def _steps(
    rows: Records, values: NDArray[np.float64], unit: str
) -> tuple[NDArray[np.float64], str]:
    """Give one score a step: trials where no cluster repeats, else means of clusters."""
    factor = rows.factors[unit]
    sizes = np.bincount(factor.codes[factor.codes >= 0], minlength=len(factor.levels))
    if unit == ROW or sizes.max(initial=0) <= 1:
        return values, ROW
    means, _ = _means(values, factor.codes, np.ones(values.size, dtype=bool))
    return means, unit


def _means(
    values: NDArray[np.float64], codes: NDArray[np.int32], of: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], list[int]]:
    """Average by cluster, in the order in which the last trial of each came."""
    last: dict[int, int] = {}
    total: dict[int, float] = {}
    count: dict[int, int] = {}
    for row in np.flatnonzero(of & (codes >= 0)).tolist():
        code = int(codes[row])
        last[code] = row
        total[code] = total.get(code, 0.0) + float(values[row])
        count[code] = count.get(code, 0) + 1
    ids = sorted(last, key=lambda code: last[code])
    return np.array([total[k] / count[k] for k in ids], dtype=np.float64), ids


def _paired(
    rows: Records,
    values: NDArray[np.float64],
    unit: str,
    levels: tuple[str, str],
    factor: str,
) -> tuple[NDArray[np.float64], int]:
    """Give one difference a cluster that has both levels, when the later one was complete."""
    column = rows.factors[factor]
    codes = rows.factors[unit].codes
    sides = []
    for level in levels:
        here = column.codes == column.code_of(level, "level")
        means, ids = _means(values, codes, here)
        last = {int(codes[row]): row for row in np.flatnonzero(here & (codes >= 0)).tolist()}
        sides.append((dict(zip(ids, means.tolist(), strict=True)), last))
    (first, last_a), (second, last_b) = sides
    both = sorted(set(first) & set(second), key=lambda k: max(last_a[k], last_b[k]))
    if not both:
        raise DataError(f"no {unit} has a score of both {levels[0]} and {levels[1]}.")
    dropped = len(set(first) ^ set(second))
    return np.array([first[k] - second[k] for k in both]), dropped


def _evidence(
    steps: NDArray[np.float64],
    step: str,
    null: float | None,
    alternative: Alternative,
    levels: Sequence[str] | None,
    notes: list[str],
) -> EProcess | None:
    if null is None:
        return None
    if levels is not None or step != ROW or not np.isin(steps, (0.0, 1.0)).all():
        notes.append(
            "no e-value: steps are not trials of 0 or 1; the interval says which means are refuted"
        )
        return None
    return e_process(steps, null, alternative=alternative)


def _planned(
    steps: NDArray[np.float64],
    null: float | None,
    levels: Sequence[str] | None,
    planned: int | None,
    looks: int,
    boundary: BoundaryKind,
    alpha: float,
) -> tuple[GroupSequential | None, tuple[Look, ...]]:
    if planned is None:
        return None, ()
    total = integer("planned", planned, 2)
    integer("looks", looks, 1, min(20, total))
    if levels is None and null is None:
        raise InputError("planned", "given with a null or two levels to test", planned)
    at = sorted({max(round(total * (k + 1) / looks), 1) for k in range(looks)})
    plan = group_sequential([n / total for n in at], alpha=alpha, kind=boundary)
    found = []
    for number, n in enumerate(at, 1):
        pvalue = None
        if n <= steps.size:
            pvalue = _own_test(steps[:n], null if levels is None else None)
        crossed = pvalue is not None and plan.rejects(number, pvalue)
        found.append(Look(n, pvalue, plan.nominal[number - 1], crossed))
    return plan, tuple(found)


def _own_test(steps: NDArray[np.float64], null: float | None) -> float | None:
    """Test the steps so far: differences by sign flips, 0/1 by twice a binomial tail.

    Means of clusters are tested by t(G-1).
    """
    if null is None:
        return float(sign_flip(steps.tolist()).pvalue)
    if np.isin(steps, (0.0, 1.0)).all():
        passes, n = int(steps.sum()), steps.size
        above = beta_cdf(null, passes, n - passes + 1.0) if passes else 1.0
        below = 1.0 - beta_cdf(null, passes + 1.0, n - passes) if passes < n else 1.0
        return min(1.0, 2.0 * min(above, below))
    spread = float(steps.std(ddof=1)) if steps.size > 1 else 0.0
    if spread == 0.0:
        return None
    t = (float(steps.mean()) - null) / (spread / math.sqrt(steps.size))
    return 2.0 * t_cdf(-abs(t), steps.size - 1.0)
