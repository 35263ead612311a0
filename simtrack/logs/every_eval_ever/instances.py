"""Instance-level lines of every_eval_ever as a trial table: one row a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct

from simtrack.logs.columns import Column
from simtrack.logs.decode import Decoded, decode, one_line
from simtrack.logs.lines import read_lines
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.records import Records

__all__ = ["read_instances"]

Number = int | float | None
METRICS = ("score", "is_correct")


class Evaluation(Struct, gc=False):
    """The score of one sample, and whether the source calls it correct."""

    score: Any = None
    is_correct: Any = None
    num_turns: Number = None


class Usage(Struct, gc=False):
    """Tokens of one sample."""

    input_tokens: Number = None
    output_tokens: Number = None


class Performance(Struct, gc=False):
    """Times of one sample, in milliseconds."""

    latency_ms: Number = None


class Instance(Struct):
    """One line, without its texts."""

    sample_id: str | int
    evaluation_name: str | None = None
    evaluation_id: str | None = None
    model_id: str | None = None
    sample_hash: str | None = None
    interaction_type: str | None = None
    evaluation: Evaluation | None = None
    token_usage: Usage | None = None
    performance: Performance | None = None
    error: Any = None
    repetition: int = 0


def _within(part: str, name: str) -> Callable[[Instance], Any]:
    def take(instance: Instance) -> Any:
        return getattr(getattr(instance, part), name, None)

    return take


def _duration(instance: Instance) -> float | None:
    found = instance.performance
    return found.latency_ms / 1000 if found and found.latency_ms is not None else None


COLUMNS = (
    Column("run", "label", attrgetter("evaluation_id")),
    Column("task", "label", attrgetter("evaluation_name")),
    Column("model", "label", attrgetter("model_id")),
    Column("unit", "label", attrgetter("sample_id")),
    Column("repetition", "label", attrgetter("repetition")),
    Column("sample_hash", "label", attrgetter("sample_hash")),
    Column("interaction", "label", attrgetter("interaction_type")),
    Column("tokens_in", "number", _within("token_usage", "input_tokens")),
    Column("tokens_out", "number", _within("token_usage", "output_tokens")),
    Column("duration_s", "number", _duration),
    Column("turns", "number", _within("evaluation", "num_turns")),
)


def read_instances(
    data: bytes,
    label: str,
    metric: str | Sequence[str] | None = None,
    *,
    salvage: bool = False,
) -> Records:
    """Read one line a sample, scored by `score` (default) or `is_correct`.

    A sample with an `error` is errored; lines of one sample, task and model are numbered as
    repetitions. Files that were converted from Inspect may hold scores that the converter made
    up, which a note says.
    """
    seen = Decoded()
    lines, torn, notes = read_lines(
        data, lambda text, at: decode(text, Instance, at, seen), label, salvage=salvage
    )
    rows = _numbered([instance for _, instance in lines])
    chosen = choose_metrics(METRICS, metric or "score", label)
    reader = ScoreReader()
    metrics = {name: [_outcome(reader, row, name) for row in rows] for name in chosen}
    reader.refuse_unknown(label, chosen)
    notes.append(
        "scores as its converter wrote them: for Inspect logs it takes one scorer, and makes a "
        "score up where it finds none. Give the original log where there is one"
    )
    return rows_to_records(
        label,
        rows,
        COLUMNS,
        metrics,
        losses=torn,
        notes=[*notes, *reader.notes(), *seen.notes()],
    )


def _numbered(instances: Sequence[Instance]) -> list[Instance]:
    times: Counter[tuple[Any, ...]] = Counter()
    found = []
    for one in instances:
        key = str(one.sample_id), one.evaluation_name, one.model_id, one.evaluation_id
        found.append(msgspec.structs.replace(one, repetition=times[key]))
        times[key] += 1
    return found


def _outcome(reader: ScoreReader, instance: Instance, metric: str) -> Outcome:
    if instance.error:
        return Outcome(status="errored", reason=one_line(instance.error) or "error")
    if instance.evaluation is None:
        return Outcome(status="unscored", reason="no score was logged")
    return judged(reader, getattr(instance.evaluation, metric), metric)
