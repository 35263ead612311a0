"""Which metrics does a log hold, and what did every sample get on each?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import METRICS_MAX, composed, listed
from simtrack.logs.inspect.fields import Header, Sample, Score

__all__ = ["ABSENT", "header_metric", "metric_columns"]


#: Metrics that a refusal names.
_SHOWN = 20


class _Absent:
    """A metric that a sample was not scored on, which is not the same as a null score."""


ABSENT: Final = _Absent()


def metric_columns(
    header: Header, samples: Sequence[Sample], metric: str | Sequence[str] | None, label: str
) -> dict[str, list[Any]]:
    """Give the raw score of every sample by metric, `ABSENT` where there is none.

    A metric is the scorer's name, or scorer.key where its scores are objects. Scorers that the
    header declares come first, also those that no sample was scored by. With `metric`, only those.

    Raises
    ------
    InputError, DataError
        A metric that is not there; two scores of one name; more metrics than can be meant.
    """
    scorer = _single_scorer(header)
    owner = _owners(scorer, samples, label)
    named: dict[str, list[str]] = {}
    for name, (of, _) in owner.items():
        named.setdefault(of, []).append(name)
    chosen = _chosen(_ordered(header, named), metric, label)
    found: dict[str, list[Any]] = {name: [ABSENT] * len(samples) for name in chosen}
    columns = {owner[name]: column for name, column in found.items() if name in owner}
    for row, sample in enumerate(samples):
        for of, score in _by_scorer(scorer, sample):
            value = score.value if score is not None else None
            if not isinstance(value, dict):
                if (column := columns.get((of, None))) is not None:
                    column[row] = value
                continue
            for key, leaf in value.items():
                if (column := columns.get((of, key))) is not None:
                    column[row] = leaf
    return found


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


def _by_scorer(scorer: str, sample: Sample) -> Iterable[tuple[str, Score | None]]:
    """Give the scores of a sample by scorer; those of old logs have one that the header names."""
    if sample.scores:
        return sample.scores.items()
    return ((scorer, sample.score),) if sample.score else ()


def _owners(
    scorer: str, samples: Sequence[Sample], label: str
) -> dict[str, tuple[str, str | None]]:
    """Give scorer and key of every metric, refusing two scores that would get one name."""
    pairs: dict[tuple[str, str | None], None] = {}
    for sample in samples:
        for of, score in _by_scorer(scorer, sample):
            value = score.value if score is not None else None
            if isinstance(value, dict):
                for key in value:
                    pairs[of, key] = None
            else:
                pairs[of, None] = None
    owner: dict[str, tuple[str, str | None]] = {}
    for of, key in pairs:
        name = composed(of if key is None else f"{of}.{key}")
        source = owner.setdefault(name, (of, key))
        if source != (of, key):
            raise DataError(
                f"{label}: two scores are both named {name!r}: that of scorer "
                f"{source[0]!r} and that of scorer {of!r}. Rename one in the log."
            )
    return owner


def _chosen(names: list[str], metric: str | Sequence[str] | None, label: str) -> list[str]:
    """Keep the metrics that were asked for, or refuse and print those there are."""
    shown = listed(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    wanted = [metric] if isinstance(metric, str) else list(metric or ())
    for name in wanted:
        if name not in names:
            known = shown if names else "(this log has no score)"
            raise InputError("metric", f"one of {known}", repr(name), where=label)
    chosen = wanted if metric is not None else names
    if len(chosen) > METRICS_MAX:
        raise DataError(
            f"{label}: {len(names)} metrics, more than the {METRICS_MAX} that are scored at once. "
            f"Choose some with --metric: {shown}."
        )
    return list(dict.fromkeys(chosen))


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
