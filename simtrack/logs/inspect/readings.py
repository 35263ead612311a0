"""Which rows of a trial table are readings of one sample? Gathered for a log in Inspect's shape."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrack.errors import DataError
from simtrack.records import BINARY, Records

__all__ = ["NO_NAME", "Gathered", "Reading", "Trial", "gather"]

#: The scorer of rows that name no metric.
NO_NAME = "score"
#: Columns that say what became of a trial, not which trial it is.
_FATES = frozenset({"metric", "status", "reason", "outcome", "limit"})
#: Columns that may name the sample, the first that is there.
_NAMING = ("unit", "cluster", "scenario", "item", "task_id")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one metric says of one trial."""

    status: str
    value: float | dict[str, float] | None
    reason: str


@dataclass(slots=True)
class Trial:
    """One sample in one epoch: its labels and numbers, and its readings by metric."""

    id: str
    epoch: int
    labels: dict[str, str]
    numbers: dict[str, float]
    limit: str | None
    readings: dict[str, Reading] = field(default_factory=dict)

    def all_are(self, status: str) -> bool:
        """Say whether every metric says the same of this trial."""
        return all(reading.status == status for reading in self.readings.values())

    def some_are(self, status: str) -> bool:
        """Say whether some metric says this of the trial."""
        return any(reading.status == status for reading in self.readings.values())


@dataclass(frozen=True, slots=True)
class Gathered:
    """The trials in order; the metrics; and the column of repetitions, if epochs hold it."""

    trials: list[Trial]
    metrics: list[str]
    named_by: str
    epochs_are: str | None


def gather(records: Records) -> Gathered:
    """Put rows that agree in all that tells trials apart into one trial.

    Ids are the labels of `unit`, or of the first column that may name a sample. Epochs are the
    repetitions where these are whole numbers from 1 that tell the rows of an id apart; else the
    trials of an id are numbered.

    Raises
    ------
    DataError
        No column that names samples, or a row without a label there.
    """
    named_by = next((n for n in _NAMING if n in records.factors), None if len(records) else "unit")
    if named_by is None:
        raise DataError(
            f"no column names the samples of a log (one of {', '.join(_NAMING)}). Write .csv, "
            ".jsonl or .parquet, or name one: simtrack ingest --map unit=COLUMN."
        )
    labels = {name: factor.values() for name, factor in records.factors.items()}
    labels.setdefault(named_by, [])
    without = [row for row, text in enumerate(labels[named_by], 1) if text is None]
    if without:
        raise DataError(f"{len(without)} rows have no {named_by} (first: row {without[0]}).")
    telling = [name for name in labels if name not in _FATES]
    metric_of = labels.get("metric") or [None] * len(records)
    found: dict[tuple[object, ...], Trial] = {}
    times: Counter[tuple[object, ...]] = Counter()
    for row in range(len(records)):
        key = tuple(labels[name][row] for name in telling)
        metric = metric_of[row] or NO_NAME
        times[key, metric] += 1
        trial = found.get((*key, times[key, metric]))
        if trial is None:
            trial = found[*key, times[key, metric]] = _trial(
                records, labels, row, named_by, telling
            )
        trial.readings[metric] = _reading(records, labels, row)
    trials = list(found.values())
    epochs_are = "repetition" if _are_epochs(trials) else None
    _number(trials, epochs_are)
    metrics = _metrics(records, [metric or NO_NAME for metric in metric_of])
    return Gathered(trials, metrics, named_by, epochs_are)


def _metrics(records: Records, of_rows: Sequence[str]) -> list[str]:
    """Name the metrics of rows and losses, in the order of their levels."""
    seen = set(of_rows) | {dict(loss.where).get("metric", "") for loss in records.losses.entries}
    levels = records.factors["metric"].levels if "metric" in records.factors else ()
    ordered = dict.fromkeys([*levels, *of_rows, *sorted(seen)])
    return [name for name in ordered if name in seen and name]


def _trial(
    records: Records,
    labels: dict[str, list[str | None]],
    row: int,
    named_by: str,
    telling: Sequence[str],
) -> Trial:
    own = {name: text for name in telling if (text := labels[name][row]) is not None}
    numbers = {
        name: float(column[row])
        for name, column in records.numbers.items()
        if name != "value" and math.isfinite(column[row])
    }
    limit = labels["limit"][row] if "limit" in labels else None
    return Trial(own[named_by], 0, own, numbers, limit)


def _reading(records: Records, labels: dict[str, list[str | None]], row: int) -> Reading:
    status = (labels["status"][row] if "status" in labels else "scored") or "unscored"
    reason = (labels["reason"][row] if "reason" in labels else None) or ""
    outcome = labels["outcome"][row] if "outcome" in labels else None
    value: float | dict[str, float] | None = None
    if outcome is not None:
        levels = records.factors["outcome"].levels
        binary = set(levels) <= set(BINARY)
        value = (
            float(BINARY.index(outcome))
            if binary
            else {level: float(level == outcome) for level in levels}
        )
    elif "value" in records.numbers and math.isfinite(records.numbers["value"][row]):
        value = float(records.numbers["value"][row])
    if status == "scored" and value is None:
        status, reason = "unscored", reason or "no score"
    return Reading(status, value if status == "scored" else None, reason)


def _are_epochs(trials: Sequence[Trial]) -> bool:
    seen = set()
    for trial in trials:
        text = trial.labels.get("repetition", "")
        if not (text.isascii() and text.isdigit() and text == str(int(text)) and int(text) > 0):
            return False
        seen.add((trial.id, text))
    return len(seen) == len(trials)


def _number(trials: Sequence[Trial], epochs_are: str | None) -> None:
    times: Counter[str] = Counter()
    for trial in trials:
        times[trial.id] += 1
        trial.epoch = int(trial.labels[epochs_are]) if epochs_are else times[trial.id]
