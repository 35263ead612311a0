"""An Inspect log as a trial table: one row a sample, epoch and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Loss, Losses
from simtrack.logs.columns import composed_notes, labels, numbers
from simtrack.logs.columns import label as as_label
from simtrack.logs.decode import one_line
from simtrack.logs.inspect.carried import carried_fates, carried_losses, limit_text
from simtrack.logs.inspect.changes import version_of
from simtrack.logs.inspect.columns import (
    LOG_COLUMNS,
    SAMPLE_COLUMNS,
    Plan,
    argument_labels,
    error_text,
    losses_by_metric,
    metadata_columns,
    own_columns,
    own_numbers,
    plan_of,
)
from simtrack.logs.inspect.metrics import ABSENT, metric_columns
from simtrack.logs.inspect.source import InspectLog
from simtrack.logs.score_values import NON_FINITE, NULL, ScoreReader
from simtrack.note import Note
from simtrack.options import Status
from simtrack.records import Records

__all__ = ["NO_METRIC", "inspect_version", "to_records"]

STATUSES: tuple[str, ...] = get_args(Status)
#: The group in which `account` counts rows without a metric.
NO_METRIC = "(none)"
#: From this version on a NaN within an object of scores is logged as NaN, no longer as null.
_NAN_KEPT = (0, 3, 253)


@dataclass(frozen=True, slots=True)
class _Fates:
    """What became of every sample on every metric: arrays of shape (samples, metrics)."""

    values: NDArray[np.float64]
    status: NDArray[np.int32]
    reasons: list[list[str | None]]


def to_records(
    log: InspectLog,
    *,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    lenient: bool = False,
) -> Records:
    """Turn a log into the trial table, every planned sample and epoch accounted for by metric.

    Labels: source, run, task, model, solver, arg.<name>, unit (sample id), repetition (epoch),
    metric, status, reason, limit, and scalar sample metadata. Numbers: value (NaN unless scored),
    tokens_in, tokens_out, duration_s, working_s, cost_usd; they repeat in the rows of a sample.
    Rows keep the order of the file; the metrics of a sample follow one another. With `lenient`,
    scores that stand for no number are unscored rather than refused.
    """
    columns = metric_columns(log.header, log.samples, metric, log.label)
    reader = ScoreReader(scores)
    fates = _fates(log, columns, reader)
    if not lenient:
        reader.refuse_unknown(log.label, list(columns))
    where = _log_labels(log)
    plan = plan_of(log)
    names = list(columns) or [NO_METRIC]
    rows, width = len(log.samples), len(names)
    factors = {name: Factor.constant(level, rows * width) for name, level in where.items()}
    own_labels, own_figures = own_columns(log.header)
    own, left_out = metadata_columns(log.samples, own_labels, own_figures)
    numeric: dict[str, NDArray[np.float64]] = {"value": fates.values.ravel()}
    for column in SAMPLE_COLUMNS:
        taken = list(map(column.take, log.samples))
        if column.kind == "number":
            numeric[column.name] = np.repeat(numbers(taken, f"{log.label}: {column.name}"), width)
        else:
            factors[column.name] = _repeated(labels(taken), width)
    factors |= {name: _repeated(labels(values), width) for name, values in own.items()}
    for name in sorted(own_figures - factors.keys()):
        found = numbers(own_numbers(log.samples, name), f"{log.label}: {name}")
        numeric[name] = np.repeat(found, width)
    codes = np.tile(np.arange(width, dtype=np.int32), rows)
    factors["metric"] = Factor(tuple(columns), codes if columns else codes - 1)
    factors["status"] = Factor(STATUSES, fates.status.ravel()).compact()
    factors["reason"] = labels([reason for row in fates.reasons for reason in row])
    placed = {name: text for name, text in where.items() if name not in own_labels}
    losses = Losses.of(_losses(log, plan, names, placed))
    notes = [*log.notes, *_notes(log, columns, fates, plan.planned), *left_out, *reader.notes()]
    notes += plan.notes
    notes += composed_notes({"unit": [s.id for s in log.samples], **own})
    return Records(
        factors, numeric, losses, notes=tuple(Note.of(note).at(log.label) for note in notes)
    )


def _losses(
    log: InspectLog, plan: Plan, metrics: Sequence[str], where: dict[str, str]
) -> list[Loss]:
    """Give the losses without a row: those of the table that the log was written from, or the
    cells that were planned and left none.
    """
    carried = carried_losses(log.header, len(log.samples), metrics)
    if carried is None:
        return losses_by_metric(log, plan, metrics, where)
    source = {"source": where["source"]} if "source" in where else {}
    return [replace(loss, where=tuple({**dict(loss.where), **source}.items())) for loss in carried]


def _repeated(factor: Factor, width: int) -> Factor:
    return Factor(factor.levels, np.repeat(factor.codes, width))


def _fates(log: InspectLog, columns: Mapping[str, list[Any]], reader: ScoreReader) -> _Fates:
    """Decide the status of every sample on every metric; only "scored" keeps a value."""
    width = max(len(columns), 1)
    values = np.full((len(log.samples), width), np.nan)
    status = np.zeros((len(log.samples), width), dtype=np.int32)
    reasons: list[list[str | None]] = [[None] * width for _ in log.samples]
    lists = list(columns.items()) or [("", [ABSENT] * len(log.samples))]
    without = "no score was logged" if columns else "the task has no scorer"
    whole_numbers: dict[int, tuple[float, str]] = {}
    lost = [_lost(sample) for sample in log.samples]
    limits = [limit_text(sample) for sample in log.samples]
    for k, (name, raw) in enumerate(lists):
        for row, value in enumerate(raw):
            whole = lost[row]
            if whole is not None:
                status[row, k], reasons[row][k] = whole
                continue
            if value is ABSENT:
                number, why = np.nan, without
            elif value.__class__ is int:  # most scores are 0 or 1
                number, why = whole_numbers.get(value) or whole_numbers.setdefault(
                    value, reader.read(value, name)
                )
            else:
                number, why = reader.read(value, name)
            if not why:
                values[row, k] = number
            elif limits[row] is not None:
                status[row, k] = STATUSES.index("limited")
                reasons[row][k] = f"halted by the {limits[row]} limit; {why}"
            else:
                status[row, k] = STATUSES.index("unscored")
                reasons[row][k] = why
    _carry(log, list(columns), _Fates(values, status, reasons))
    return _Fates(values, status, reasons)


def _carry(log: InspectLog, metrics: Sequence[str], fates: _Fates) -> None:
    """Put what simtrack wrote beside Inspect's own fields in the place of what those tell."""
    for row, sample in enumerate(log.samples):
        carried = carried_fates(sample)
        for k, name in enumerate(metrics if carried else ()):
            fate = carried.get(name) or carried.get(name.rpartition(".")[0])
            if fate is None or STATUSES.index(fate[2]) != fates.status[row, k]:
                continue
            fates.status[row, k] = STATUSES.index(fate[0])
            fates.reasons[row][k] = fate[1]
            if fate[0] != "scored":
                fates.values[row, k] = np.nan


def _lost(sample: Any) -> tuple[int, str] | None:
    """Give status and reason of a sample that counts on no metric."""
    if sample.invalidation is not None:
        return STATUSES.index("invalidated"), "invalidated in the log"
    error = error_text(sample)
    if error is None:
        return None
    return STATUSES.index("errored"), one_line(error) or "error"


def _log_labels(log: InspectLog) -> dict[str, str]:
    found = {"source": log.label}
    taken = {column.name: column.take(log.header) for column in LOG_COLUMNS}
    taken |= argument_labels(log.header)
    return found | {name: text for name, v in taken.items() if (text := as_label(v)) is not None}


def _notes(
    log: InspectLog,
    columns: Mapping[str, list[Any]],
    fates: _Fates,
    planned: int,
) -> list[str]:
    notes = []
    if log.status != "success":
        error = log.header.error
        why = f" ({one_line(error.message)})" if error and error.message else ""
        left = f"{len(log.samples)} of {planned} planned samples left a row"
        notes.append(f"run status is {log.status}{why}: {left}")
    if log.header.invalidated:
        notes.append("the log is marked as invalidated")
    both = sum(1 for s in log.samples if error_text(s) is not None and (s.scores or s.score))
    if both:
        told = f"{both} errored samples carry scores (score_on_error), which do not count"
        notes.append(Note("scored-errors", told, n=both))
    fallen = sum(
        1 for s in log.samples if isinstance(s.model_fallbacks, list) and s.model_fallbacks
    )
    if fallen:
        notes.append(f"{fallen} samples were answered by a fallback model, at least in part")
    flat = [reason for row in fates.reasons for reason in row if reason]
    infinite = sum(1 for reason in flat if NON_FINITE in reason)
    if infinite:
        notes.append(f"{infinite} scores are not finite and count as unscored")
    nested = sum(1 for name, raw in columns.items() if "." in name for v in raw if v is None)
    if nested and inspect_version(log) < _NAN_KEPT and any(NULL in reason for reason in flat):
        notes.append(f"{nested} null scores within objects may have been NaN; they are unscored")
    return notes


def inspect_version(log: InspectLog) -> tuple[int, ...]:
    """Give the version of Inspect that wrote a log, (0,) where it does not say."""
    return version_of(log.header)
