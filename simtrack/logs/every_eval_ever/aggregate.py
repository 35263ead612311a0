"""An aggregate file of every_eval_ever: one row a result, its standard error beside it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from simtrack.errors import DataError
from simtrack.logs.columns import Column
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.rows import choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.records import Records

__all__ = ["read_aggregate"]

Number = int | float | None


class StandardError(Struct):
    """A standard error and how it was computed."""

    value: Any = None


class Uncertainty(Struct):
    """What the source says of the noise of a score."""

    standard_error: StandardError | float | None = None
    num_samples: Number = None


class Score(Struct):
    """A score with its uncertainty."""

    score: Any = None
    uncertainty: Uncertainty | None = None


class MetricConfig(Struct):
    """What the score means."""

    metric_name: str | None = None
    lower_is_better: bool | None = None
    score_type: str | None = None


class Result(Struct):
    """One evaluation result."""

    evaluation_name: str
    score_details: Score
    metric_config: MetricConfig | None = None


class Named(Struct):
    """A model or a library."""

    name: str | None = None
    id: str | None = None


class AggregateFile(Struct):
    """A whole aggregate file."""

    evaluation_results: list[Result]
    evaluation_id: str | None = None
    model_info: Named | None = None
    eval_library: Named | None = None


def _stderr(result: Result) -> float | None:
    found = result.score_details.uncertainty and result.score_details.uncertainty.standard_error
    value = found.value if isinstance(found, StandardError) else found
    return float(value) if isinstance(value, (int, float)) else None


def _samples(result: Result) -> Number:
    found = result.score_details.uncertainty
    return found.num_samples if found else None


COLUMNS = (
    Column("unit", "label", attrgetter("evaluation_name")),
    Column("task", "label", attrgetter("evaluation_name")),
    Column(
        "lower_is_better", "label", lambda r: r.metric_config and r.metric_config.lower_is_better
    ),
    Column("stderr", "number", _stderr),
    Column("n", "number", _samples),
)


def read_aggregate(data: bytes, label: str, metric: str | Sequence[str] | None = None) -> Records:
    """Read the results of one model; the rows are aggregates, no trials.

    The metric is the configured name, or "score". A standard error that is text is missing.
    """
    seen = Decoded()
    file = decode(data, AggregateFile, label, seen)
    results = file.evaluation_results
    if not results:
        raise DataError(f"{label}: empty: it holds no evaluation result.")
    names = [(r.metric_config and r.metric_config.metric_name) or "score" for r in results]
    chosen = choose_metrics(names, metric, label)
    reader = ScoreReader()
    outcomes = [
        judged(reader, r.score_details.score, n) for r, n in zip(results, names, strict=True)
    ]
    model = file.model_info
    note = "aggregates, one row a result: no trials. Give the instance-level file for those"
    return rows_to_records(
        label,
        results,
        COLUMNS,
        {
            name: [o if n == name else None for n, o in zip(names, outcomes, strict=True)]
            for name in chosen
        },
        constants={
            "run": file.evaluation_id,
            "model": (model.id or model.name) if model else None,
            "library": file.eval_library.name if file.eval_library else None,
        },
        notes=[note, *seen.notes()],
        kind="aggregate",
    )
