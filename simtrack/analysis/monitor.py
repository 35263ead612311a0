"""What may be said now, however often one has looked: rates and paired differences as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.catalogue import method_for
from simtrack.analysis.cautions import cautions_of_arms, cautions_of_table
from simtrack.analysis.monitor_flags import with_flags
from simtrack.analysis.monitor_looks import (
    Look,
    LookMethod,
    about_looks,
    as_typed,
    planned_looks,
)
from simtrack.analysis.monitor_words import ROW, assumed, said_order, taken_together
from simtrack.analysis.scope import Scope, find_factor
from simtrack.counts import natural_order
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand
from simtrack.inference.sequential.confidence_sequence import (
    ConfidenceSequence,
    EProcess,
    e_process,
)
from simtrack.inference.sequential.group_sequential import GroupSequential
from simtrack.inference.sequential.methods import SEQUENCES
from simtrack.method import Ask
from simtrack.note import plain_notes
from simtrack.options import Alternative, BoundaryKind
from simtrack.records import Records, scored_rows
from simtrack.validate import open_unit

__all__ = ["Look", "Monitor", "monitor"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Monitor:
    """What may be said of a running study?

    Attributes
    ----------
    what : str
        "rate", "mean score" or an estimand, each as "mean ... of" clusters; or "difference".
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
    looks_method : str or None
        What p is at planned looks: "binomial" of trials of 0 or 1, "bounded-mean" of other steps
        (Gaffke), "sign-flip" of differences.
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
    looks_method: LookMethod | None
    left_out: int
    notes: tuple[str, ...]

    def null_left_at(self) -> int | None:
        """Give the first step at which the interval leaves the null out; None if it holds it."""
        if self.null is None:
            return None
        out = (self.sequence.low > self.null) | (self.sequence.high < self.null)
        return int(self.sequence.trials[np.argmax(out)]) if out.any() else None

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
            "schema": "simtrack.monitor/2",
            "what": self.what,
            "levels": list(self.levels),
            "unit": self.unit,
            "null": self.null,
            "null_left_at": self.null_left_at(),
            "sequence": self.sequence.to_dict(),
            "evidence": evidence,
            "plan": self.plan.to_dict() if self.plan else None,
            "looks_method": self.looks_method,
            "looks": [
                {"clusters": x.clusters, "pvalue": x.pvalue, "nominal": x.nominal,
                 "crossed": x.crossed}
                for x in self.looks
            ],
            "left_out": self.left_out,
            "notes": plain_notes(self.notes),
        }  # fmt: skip


def monitor(
    records: Records,
    *,
    levels: tuple[str, str] | None = None,
    factor: str | None = None,
    cluster: str | None = None,
    order: str | None = None,
    estimand: Estimand | str | None = None,
    null: float | None = None,
    alternative: Alternative | None = None,
    alpha: float = 0.05,
    planned: int | None = None,
    looks: int | None = None,
    boundary: BoundaryKind | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
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
    estimand : Estimand or its name, optional
        What is a success among which trials; of codes of a scheme it must be named. Trials that
        it is not asked of make no step.
    null : float, optional
        The rate to bet against.
    alternative : optional
        Of the evidence alone, so only with a null [two-sided].
    alpha
        Of each statement: interval, evidence and planned boundary each err with this chance.
    planned, looks, boundary
        The planned number of clusters, and the looks [3] at equal shares of it, for a boundary
        [obrien-fleming] on two-sided p-values: sign flips of differences; of trials of 0 or 1 the
        binomial law against the null; of other steps Gaffke's extension of that law.
    method : str, optional
        The interval, by its name in the catalogue (`simtrack methods sequential`): by default
        confidence-sequence for trials of 0 or 1, betting-sequence for other steps.
    options : mapping of str to value, optional
        What it takes besides: `tuned_at`, the number of steps at which it is to be narrow.

    Raises
    ------
    InputError, DataError
        Several metrics or views; several models or arms that are not compared; codes of a scheme
        without an estimand; no score, or one outside [0, 1]; options that nothing would use.

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
    if null is not None:
        open_unit("null", null)
    _used(levels, factor, null, alternative, planned, looks, boundary)
    scope = Scope.of(records, cluster=cluster, levels=levels, factor=factor)
    scope.one_metric("a sequence is of one")
    records, unit, column = scope.records, scope.cluster, scope.factor
    together = [*taken_together(scope), *cautions_of_table(scope, cluster)]
    # Of rows as steps there is a warning of its own.
    together = [note for note in together if (cluster, note.code) != (ROW, "cut-units")]
    if levels is not None:
        together += cautions_of_arms(scope, *levels)
    keep = scored_rows(records)
    lost = int((~keep).sum()) + records.losses.total()
    rows, name, flagged = with_flags(records.take(keep), estimand)
    rows = _in_order(rows, order)
    values = _values(rows)
    notes = [*scope.notes, said_order(order), *together, *flagged]
    look: LookMethod
    low = 0.0 if levels is None else -1.0
    if levels is not None and column is not None:
        exact, dropped = _paired(rows, values, unit, levels, column)
        steps = np.array([float(step) for step in exact])
        what = "difference" if name is None else f"difference in {name}"
        lost, look, step = lost + dropped, "sign-flip", unit
    else:
        steps, step = _steps(rows, values, unit)
        exact = steps.tolist()
        binary = step == ROW and bool(np.isin(steps, (0.0, 1.0)).all())
        look = "binomial" if binary else "bounded-mean"
        flags = bool(np.isin(values, (0.0, 1.0)).all())
        what = name or ("rate" if flags else "mean score")
        what = what if step == ROW else f"mean {what} of {step}s"
    usual = "confidence-sequence" if look == "binomial" else "betting-sequence"
    sequence = _sequence(method or usual, steps, low, alpha, options)
    notes += assumed(rows, values, step, lost, levels, name)
    evidence = _evidence(steps, step, null, alternative, levels, notes)
    plan: GroupSequential | None = None
    judged: tuple[Look, ...] = ()
    if planned is not None:
        plan, judged = planned_looks(
            exact, null, look, planned, 3 if looks is None else looks,
            boundary or "obrien-fleming", alpha,
        )  # fmt: skip
        notes += about_looks(look, alpha, len(exact), planned)
    return Monitor(
        what,
        tuple(levels or ()),
        step,
        sequence,
        evidence,
        null,
        plan,
        judged,
        None if plan is None else look,
        lost,
        tuple(dict.fromkeys((*notes, *sequence.notes))),
    )


def _sequence(
    name: str, steps: Floats, low: float, alpha: float, options: Mapping[str, Any] | None
) -> ConfidenceSequence:
    found = method_for("monitor --method", name)
    found.check(Ask(options=options or {}))
    return SEQUENCES[name](steps, low, 1.0, alpha, **options or {})


def _used(
    levels: tuple[str, str] | None,
    factor: str | None,
    null: float | None,
    alternative: Alternative | None,
    planned: int | None,
    looks: int | None,
    boundary: BoundaryKind | None,
) -> None:
    """Refuse options that nothing would use."""
    if levels is not None and null is not None:
        raise InputError("null", "left out with two levels to compare (0 is tested)", null)
    if levels is None and factor is not None:
        raise InputError("factor", "given with two levels to compare", factor)
    if null is None and alternative is not None:
        raise InputError("alternative", "given with a null to bet against", alternative)
    for name, value in (("looks", looks), ("boundary", boundary)):
        if planned is None and value is not None:
            raise InputError(name, "given with the planned number of clusters", value)
    if planned is not None and levels is None and null is None:
        raise InputError("planned", "given with a null or two levels to test", planned)


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
    return np.array([float(mean) for mean in means]), unit


def _means(
    values: NDArray[np.float64], codes: NDArray[np.int32], of: NDArray[np.bool_]
) -> tuple[list[Fraction | float], list[int]]:
    """Average by cluster, in the order in which the last trial of each came.

    Means of scores as typed are exact, so that equal sizes are ties and counted quickly.
    """
    typed = {value: as_typed(value) for value in set(values.tolist())}
    last: dict[int, int] = {}
    total: dict[int, Fraction | float] = {}
    count: dict[int, int] = {}
    for row in np.flatnonzero(of & (codes >= 0)).tolist():
        code = int(codes[row])
        last[code] = row
        total[code] = total.get(code, 0) + typed[float(values[row])]
        count[code] = count.get(code, 0) + 1
    ids = sorted(last, key=lambda code: last[code])
    return [total[k] / count[k] for k in ids], ids


def _paired(
    rows: Records,
    values: NDArray[np.float64],
    unit: str,
    levels: tuple[str, str],
    factor: str,
) -> tuple[list[Fraction | float], int]:
    """Give one difference a cluster that has both levels, when the later one was complete."""
    column = rows.factors[factor]
    codes = rows.factors[unit].codes
    sides = []
    for level in levels:
        here = column.codes == column.code_of(level, "level")
        means, ids = _means(values, codes, here)
        last = {int(codes[row]): row for row in np.flatnonzero(here & (codes >= 0)).tolist()}
        sides.append((dict(zip(ids, means, strict=True)), last))
    (first, last_a), (second, last_b) = sides
    both = sorted(set(first) & set(second), key=lambda k: max(last_a[k], last_b[k]))
    if not both:
        raise DataError(f"no {unit} has a score of both {levels[0]} and {levels[1]}.")
    dropped = len(set(first) ^ set(second))
    return [first[k] - second[k] for k in both], dropped


def _evidence(
    steps: NDArray[np.float64],
    step: str,
    null: float | None,
    alternative: Alternative | None,
    levels: Sequence[str] | None,
    notes: list[str],
) -> EProcess | None:
    if null is None:
        return None
    if levels is not None or step != ROW or not np.isin(steps, (0.0, 1.0)).all():
        notes.append(
            "no e-value: steps are not trials of 0 or 1; the interval says which means are refuted"
            + ("" if alternative is None else f", and {alternative} (alternative) is not used")
        )
        return None
    return e_process(steps, null, alternative=alternative or "two-sided")
