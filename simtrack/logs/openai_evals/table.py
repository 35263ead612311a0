"""The events of an openai/evals run as a trial table: one row a sample, reading and metric."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from msgspec import Struct

from simtrack.errors import DataError
from simtrack.logs.columns import Column, listed
from simtrack.logs.decode import Decoded, decode, one_line
from simtrack.logs.lines import read_lines
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.records import Records

__all__ = ["read_events"]

#: The events that score a sample; of a match only `correct` is a score.
_MATCH, _METRICS, _ERROR = "match", "metrics", "error"
_CORRECT = "correct"


class Spec(Struct):
    """What was run."""

    run_id: str | None = None
    eval_name: str | None = None
    base_eval: str | None = None
    split: str | None = None
    completion_fns: list[Any] | None = None
    model_name: Any = None
    run_config: dict[str, Any] | None = None


class Event(Struct):
    """One line: the specification, an event, or the final report."""

    spec: Spec | None = None
    final_report: Any = None
    type: str = ""
    sample_id: str | int | None = None
    data: Any = None


@dataclass(slots=True)
class Reading:
    """One scoring of one sample; a sample without any has an empty one."""

    sample: str
    repetition: int
    values: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


COLUMNS = (
    Column("unit", "label", attrgetter("sample")),
    Column("repetition", "label", attrgetter("repetition")),
)


def read_events(
    data: bytes,
    label: str,
    metric: str | Sequence[str] | None = None,
    *,
    salvage: bool = False,
) -> Records:
    """Read the events: `correct` of each match, and each number of a metrics event.

    A sample with an error event and no score is errored, one with neither is unscored. Several
    scorings of one sample are numbered as repetitions. A file without its final report was
    interrupted, which a note says; texts within metrics events are kept as labels.

    Raises
    ------
    DataError
        No sample, or a broken line before the last.
    """
    seen = Decoded()
    lines, torn, notes = read_lines(
        data, lambda text, at: decode(text, Event, at, seen), label, salvage=salvage
    )
    events = [event for _, event in lines]
    readings = _readings(events)
    if not readings:
        raise DataError(f"{label}: a record of openai/evals without a single sample.")
    if all(event.final_report is None for event in events):
        notes.append("no final report: the run was interrupted, and what it planned is not known")
    names = dict.fromkeys(name for r in readings for name in r.values)
    chosen = choose_metrics(names, metric, label) if names or metric is not None else [_CORRECT]
    reader = ScoreReader()
    metrics = {name: [_outcome(reader, r, name) for r in readings] for name in chosen}
    reader.refuse_unknown(label, chosen)
    extra = dict.fromkeys(name for r in readings for name in r.labels)
    spec = next((event.spec for event in events if event.spec is not None), Spec())
    return rows_to_records(
        label,
        readings,
        [*COLUMNS, *(Column(f"metadata.{name}", "label", _label(name)) for name in extra)],
        metrics,
        constants=_constants(spec),
        losses=torn,
        notes=[*notes, *reader.notes(), *seen.notes()],
    )


def _readings(events: Sequence[Event]) -> list[Reading]:
    """Put the events of a sample together: its scorings, else its error, else nothing."""
    samples: dict[str, list[Reading]] = {}
    errors: dict[str, str] = {}
    for event in events:
        if event.sample_id is None:
            continue
        own = samples.setdefault(str(event.sample_id), [])
        found = event.data if isinstance(event.data, dict) else {}
        if event.type == _ERROR:
            why = ": ".join(str(found[k]) for k in ("type", "message") if found.get(k))
            errors[str(event.sample_id)] = one_line(why) or "error"
        elif event.type == _MATCH and _CORRECT in found:
            own.append(Reading(str(event.sample_id), len(own), {_CORRECT: found[_CORRECT]}))
        elif event.type == _METRICS:
            scores = {k: v for k, v in found.items() if v is None or isinstance(v, (int, float))}
            texts = {k: v for k, v in found.items() if isinstance(v, str)}
            own.append(Reading(str(event.sample_id), len(own), scores, texts))
    rows: list[Reading] = []
    for sample, own in samples.items():
        rows += own or [Reading(sample, 0, error=errors.get(sample))]
    return rows


def _outcome(reader: ScoreReader, reading: Reading, metric: str) -> Outcome:
    if metric in reading.values:
        return judged(reader, reading.values[metric], metric)
    if reading.error is not None:
        return Outcome(status="errored", reason=reading.error)
    return Outcome(status="unscored", reason="no score was logged")


def _label(name: str) -> Callable[[Reading], Any]:
    return functools.partial(_label_of, name)


def _label_of(name: str, reading: Reading) -> Any:
    return reading.labels.get(name)


def _constants(spec: Spec) -> dict[str, Any]:
    model = spec.model_name if isinstance(spec.model_name, str) else None
    functions = [f for f in spec.completion_fns or () if isinstance(f, str)]
    return {
        "run": spec.run_id,
        "task": spec.eval_name or spec.base_eval,
        "model": listed(functions) if functions else model,
        "split": spec.split,
    }
