"""Which metrics does a log hold, and what did every sample get on each?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simtrack.errors import InputError
from simtrack.logs.inspect.fields import Header, Sample

__all__ = ["ABSENT", "choose_metrics", "header_metric", "metric_columns"]


class _Absent:
    """A metric that a sample was not scored on, which is not the same as a null score."""


ABSENT: Final = _Absent()


def metric_columns(header: Header, samples: Sequence[Sample]) -> dict[str, list[Any]]:
    """Give the raw score of every sample by metric, `ABSENT` where there is none.

    A metric is the scorer's name, or scorer.key where its scores are objects. Scorers that the
    header declares come first, also those that no sample was scored by.
    """
    found: dict[str, list[Any]] = {}
    scorers: dict[str, list[str]] = {}
    single = _single_scorer(header)

    def put(row: int, scorer: str, metric: str, value: Any) -> None:
        column = found.get(metric)
        if column is None:
            column = found[metric] = [ABSENT] * len(samples)
            scorers.setdefault(scorer, []).append(metric)
        column[row] = value

    for row, sample in enumerate(samples):
        scores = sample.scores or ({single: sample.score} if sample.score else {})
        for scorer, score in scores.items():
            value = score.value if score is not None else None
            if isinstance(value, dict):
                for key, leaf in value.items():
                    put(row, scorer, f"{scorer}.{key}", leaf)
            else:
                put(row, scorer, scorer, value)
    ordered = _ordered(header, scorers)
    return {name: found.get(name) or [ABSENT] * len(samples) for name in ordered}


def choose_metrics(
    columns: dict[str, list[Any]], metric: str | Sequence[str] | None, label: str
) -> dict[str, list[Any]]:
    """Keep the metrics that were asked for, or refuse and print those there are."""
    if metric is None:
        return columns
    wanted = [metric] if isinstance(metric, str) else list(metric)
    for name in wanted:
        if name not in columns:
            known = ", ".join(columns) or "(this log has no score)"
            raise InputError("metric", f"one of {known}", repr(name), where=label)
    return {name: columns[name] for name in wanted}


def header_metric(header: Header, metric: str) -> dict[str, float]:
    """Give the aggregates that Inspect itself computed for a metric, if the header has them."""
    for score in header.results.scores if header.results else ():
        scorer = score.scorer or score.name
        if metric in (scorer, f"{scorer}.{score.name}"):
            named = score.name == scorer or metric != scorer
            if named or score.reducer:
                values = {name: m.value for name, m in score.metrics.items()}
                return {n: float(v) for n, v in values.items() if isinstance(v, (int, float))}
    return {}


def _ordered(header: Header, scorers: dict[str, list[str]]) -> list[str]:
    """Put metrics in the header's order; a scorer that no sample shows is taken from there."""
    declared: dict[str, list[str]] = {}
    for score in header.results.scores if header.results else ():
        scorer = score.scorer or score.name
        name = scorer if score.name in ("", scorer) else f"{scorer}.{score.name}"
        declared.setdefault(scorer, []).append(name)
    for spec in header.eval.scorers or ():
        keys = [k for k in spec.metrics if "*" not in k] if isinstance(spec.metrics, dict) else []
        declared.setdefault(spec.name, [f"{spec.name}.{key}" for key in keys] or [spec.name])
    ordered: list[str] = []
    for scorer, names in declared.items():
        ordered += scorers.get(scorer, names)
    ordered += [
        name for scorer, names in scorers.items() if scorer not in declared for name in names
    ]
    return list(dict.fromkeys(ordered))


def _single_scorer(header: Header) -> str:
    """Name the scorer of logs from before several were possible."""
    if header.results and header.results.scores:
        return header.results.scores[0].scorer or header.results.scores[0].name
    return header.eval.scorers[0].name if header.eval.scorers else "score"
