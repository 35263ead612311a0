"""A trial table as a log in Inspect's shape, which Inspect opens and `read_log` reads back."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from simtrack._version import __version__
from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.inspect.carried import (
    FATES,
    LIMITS,
    LOSSES,
    fates_block,
    losses_block,
    native_fate,
)
from simtrack.logs.inspect.columns import OWN_COLUMNS
from simtrack.logs.inspect.readings import Gathered, Trial, gather
from simtrack.options import Status
from simtrack.records import Records

__all__ = ["inspect_text"]

#: A log needs a date; one that is no date of a run, so that equal tables give equal files.
_NO_DATE = "1970-01-01T00:00:00+00:00"
#: Labels of the whole log, where they are the same in all rows: column, field.
_WHOLE = {"task": "task", "model": "model", "run": "eval_id", "task_id": "task_id",
          "solver": "solver"}  # fmt: skip
_USAGE = {"tokens_in": "input_tokens", "tokens_out": "output_tokens", "cost_usd": "total_cost"}
_TIMES = {"duration_s": "total_time", "working_s": "working_time"}
_CELL = re.compile(r"(.*) epoch ([0-9]{1,9})", re.S)


def inspect_text(records: Records) -> tuple[str, tuple[str, ...]]:
    """Write a trial table as Inspect's JSON log: the text, and notes on what it cannot hold.

    A sample is a unit in an epoch; metrics are scorers; other labels are metadata, with their
    names in the log's own metadata, so that reading gives the same columns. Errored trials carry
    an error, and so do infrastructure losses; unscored ones no score, limited ones a limit,
    invalidated ones an invalidation; missing trials are planned and absent. What these fields do
    not tell (classes, reasons, losses without a row) stands in metadata and is read back from
    there. Outcomes beyond PASS and FAIL become one 0/1 score each.

    Raises
    ------
    DataError
        Aggregates, which are no samples; a table without a column to name samples; trials that
        only some of the metrics have a row for.
    """
    if records.kind == "aggregate":
        raise DataError("a table of aggregates has no samples for a log. Write .csv or .parquet.")
    found = gather(records)
    _refuse_gaps(found)
    whole = _whole(records)
    written = [t for t in found.trials if not _is_left(t)]
    kept = _kept(records, found, whole)
    planned, stops = _plan(records, found, written)
    lost = [*_losses_of_rows(found), *records.losses.entries]
    block = losses_block(lost, len(written), planned)
    carried = {LOSSES: block} if block else {}
    log = {
        "version": 2,
        "status": "success",
        "eval": _spec(found, whole, {OWN_COLUMNS: kept, **carried}, planned),
        "plan": {},
        "results": {
            "total_samples": planned,
            "completed_samples": sum(1 for t in written if not _error(t)),
            "scores": [_aggregate(m, written) for m in found.metrics],
            "early_stopping": {"manager": "simtrack", "early_stops": stops, "metadata": {}}
            if stops
            else None,
        },
        "stats": {},
        "invalidated": any(t.all_are("invalidated") for t in written),
        "samples": [_sample(t, kept, whole) for t in written],
    }  # fmt: skip
    return json.dumps(log) + "\n", tuple(_changes(found, records))


def _spec(
    found: Gathered, whole: Mapping[str, str], metadata: Mapping[str, Any], planned: int
) -> dict[str, Any]:
    """Say what was run; ids × epochs are the plan only where they give as many trials."""
    ids = list(dict.fromkeys(t.id for t in found.trials))
    epochs = max((t.epoch for t in found.trials), default=1)
    full = len(ids) * epochs == planned
    return {
        "created": _NO_DATE,
        "eval_id": whole.get("run", "simtrack"),
        "run_id": "simtrack",
        "task_id": whole.get("task_id", "simtrack"),
        "task": whole.get("task", "simtrack"),
        "model": whole.get("model", "simtrack/trials"),
        "solver": whole.get("solver"),
        "task_args": {n.removeprefix("arg."): v for n, v in whole.items() if n[:4] == "arg."},
        "dataset": {"name": "simtrack", "samples": len(ids) if full else None,
                    "sample_ids": ids if full else None},
        "config": {"epochs": epochs},
        "packages": {"simtrack": __version__},
        "scorers": [{"name": metric} for metric in found.metrics],
        "metadata": metadata,
    }  # fmt: skip


def _refuse_gaps(found: Gathered) -> None:
    """Refuse trials that some metric says nothing of: a log would make them unscored."""
    gaps = sum(len(found.metrics) > len(trial.readings) for trial in found.trials)
    if gaps:
        raise DataError(
            f"{gaps} of {len(found.trials)} trials have no row for some of the "
            f"{len(found.metrics)} metrics, and a log would call them unscored. Write one metric "
            "or one source at a time: --metric NAME, --where source=NAME."
        )


def _whole(records: Records) -> dict[str, str]:
    """Give the labels that hold for the whole log: one level, in every row."""
    found = {}
    for name, factor in records.factors.items():
        used = factor.compact().levels
        if len(used) == 1 and (factor.codes >= 0).all() and (name in _WHOLE or name[:4] == "arg."):
            found[name] = used[0]
    return found


def _kept(records: Records, found: Gathered, whole: Mapping[str, str]) -> dict[str, list[str]]:
    """Name the columns that go to metadata and come back from there."""
    elsewhere = {"unit", "metric", "status", "reason", "outcome", "limit", *whole}
    elsewhere |= {found.epochs_are} if found.epochs_are else set()
    factors = {n: f.compact().levels for n, f in records.factors.items()}
    if len(factors.get("source", ())) == 1:
        elsewhere.add("source")
    numbers = [n for n in records.numbers if n not in {"value", *_USAGE, *_TIMES}]
    return {"labels": [n for n in factors if n not in elsewhere], "numbers": numbers}


def _sample(trial: Trial, kept: Mapping[str, list[str]], whole: Mapping[str, str]) -> Any:
    metadata: dict[str, Any] = {n: trial.labels[n] for n in kept["labels"] if n in trial.labels}
    metadata |= {n: trial.numbers[n] for n in kept["numbers"] if n in trial.numbers}
    usage: dict[str, Any] = {
        field: _whole_number(trial.numbers[name])
        for name, field in _USAGE.items()
        if name in trial.numbers
    }
    if usage:
        usage["total_tokens"] = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    error = _error(trial)
    limited = trial.some_are("limited") and error is None
    limit = trial.limit or ("custom" if limited else None)
    limit = limit if limit in LIMITS or limit is None else "custom"
    if block := _carried(trial, error, limit):
        metadata[FATES] = block
    sample = {
        "id": trial.id,
        "epoch": trial.epoch,
        "input": "",
        "target": "",
        "scores": {m: {"value": r.value} for m, r in trial.readings.items() if r.value is not None},
        "metadata": metadata,
        "model_usage": {whole.get("model", "simtrack/trials"): usage} if usage else {},
        "error": {"message": error, "traceback": "", "traceback_ansi": ""} if error else None,
        "limit": {"type": limit, "limit": 0} if limit else None,
    }
    sample |= {field: trial.numbers[n] for n, field in _TIMES.items() if n in trial.numbers}
    if trial.all_are("invalidated"):
        reason = next(iter(trial.readings.values())).reason
        sample["invalidation"] = {"timestamp": _NO_DATE, "author": "simtrack", "reason": reason}
    return sample


def _carried(trial: Trial, error: str | None, limit: str | None) -> dict[str, Any]:
    """Give what of the trial Inspect's fields would tell otherwise."""
    stated = {m: (r.status, r.reason or None) for m, r in trial.readings.items()}
    native = {
        m: native_fate(
            scored=r.value is not None,
            error=error,
            limit=limit,
            invalidated=trial.all_are("invalidated"),
        )
        for m, r in trial.readings.items()
    }
    return fates_block(stated, native, (trial.limit, limit))


def _is_left(trial: Trial) -> bool:
    return any(trial.all_are(status) for status in ("missing", "early-stopped"))


def _losses_of_rows(found: Gathered) -> list[Loss]:
    """Give the trials that a log has no sample of as losses, grouped by what is said of them."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for trial in filter(_is_left, found.trials):
        own = {n: v for n, v in trial.labels.items() if n not in {found.named_by, "repetition"}}
        for metric, reading in trial.readings.items():
            where = tuple(({**own, "metric": metric}).items())
            key = reading.status, reading.reason, where
            groups.setdefault(key, []).append(f"{trial.id} epoch {trial.epoch}")
    return [
        Loss(kind, len(trials), reason, where, tuple(trials))
        for (kind, reason, where), trials in groups.items()
    ]


def _error(trial: Trial) -> str | None:
    """Give the error of a trial that no metric could score for one."""
    if not all(r.status in {"errored", "infrastructure"} for r in trial.readings.values()):
        return None
    first = next(iter(trial.readings.values()))
    return (f"{first.status}: " if first.status != "errored" else "") + (first.reason or "error")


def _aggregate(metric: str, trials: list[Trial]) -> Any:
    scores = [t.readings[metric].value for t in trials if metric in t.readings]
    values = [v for v in scores if isinstance(v, float)]
    mean = {"mean": {"name": "mean", "value": math.fsum(values) / len(values)}} if values else {}
    scored = sum(v is not None for v in scores)
    return {"name": metric, "scorer": metric, "metrics": mean, "scored_samples": scored,
            "unscored_samples": len(trials) - scored}  # fmt: skip


def _plan(records: Records, found: Gathered, written: list[Trial]) -> tuple[int, list[Any]]:
    """Give the number of planned trials, and the early stops that have a name."""
    lost: Counter[str] = Counter()
    for loss in records.losses.entries:
        lost[dict(loss.where).get("metric", "")] += loss.n if loss.kind in get_args(Status) else 0
    everywhere = lost.pop("", 0)
    planned = len(found.trials) + everywhere + max(lost.values(), default=0)
    stops = {
        (t.id, t.epoch): next(iter(t.readings.values())).reason
        for t in found.trials
        if t.all_are("early-stopped")
    }
    for loss in records.losses.entries:
        cells = [m.groups() for e in loss.examples if (m := _CELL.fullmatch(e))]
        if loss.kind == "early-stopped" and len(cells) == loss.n:
            stops |= {(name, int(epoch)): loss.reason for name, epoch in cells}
    planned = max(planned, len(written) + len(stops))
    made = [{"id": i, "epoch": e, "reason": why} for (i, e), why in stops.items()]
    return planned, made


def _changes(found: Gathered, records: Records) -> list[str]:
    """Say what the log cannot hold as the table has it."""
    other: Counter[str] = Counter()
    for loss in records.losses.entries:
        other[loss.kind] += loss.n
    told = [f"{n} {kind} rows, which are no trials, are left out" for kind, n in other.items()
            if kind not in get_args(Status)]  # fmt: skip
    if "repetition" in records.factors and found.epochs_are is None:
        told.append("repetitions do not number the trials of a sample: epochs are counted, and "
                    "the repetition stands in metadata")  # fmt: skip
    return told


def _whole_number(value: float) -> float | int:
    return int(value) if value.is_integer() else value
