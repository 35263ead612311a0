"""What is the mean of a group of tasks, and its standard error? Always of one and the same mean."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.lm_eval.fields import AGGREGATE_COLUMNS, Aggregate, ResultsFile, metric_name
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.options import Computation, Guarantee, choice
from simtrack.plain import Plain
from simtrack.records import Records

__all__ = ["GroupMean", "GroupWeights", "aggregates", "group_mean", "judge_group", "read_results"]


GroupWeights = Literal["equal", "size"]
#: Two ways of adding up the same numbers.
_SAME = 1e-6
#: The harness pools variances, which differs in the last digits from the weighted formula.
_NEAR = 0.05


@dataclass(frozen=True, slots=True)
class GroupMean(Plain, schema="simtrack.group-mean/1"):
    """The mean over a group of tasks, with the standard error of that very mean."""

    weights: GroupWeights
    mean: float
    standard_error: float
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"


def group_mean(
    means: Sequence[float],
    stderrs: Sequence[float],
    sizes: Sequence[int],
    weights: GroupWeights = "equal",
) -> GroupMean:
    """What is the mean of several tasks, each one alike or each by its number of documents?

    With weights w that add up to 1 the mean is Σ w m and its standard error √Σ w² s²: tasks are
    taken as independent. A mean of one kind beside a standard error of the other, as some group
    rows have, says nothing.

    Parameters
    ----------
    means, stderrs, sizes : sequences, one entry a task
        Scores, standard errors (0 or more) and numbers of documents.
    weights : {"equal", "size"}

    Raises
    ------
    InputError
        No task, sequences of several lengths, or no documents.

    Examples
    --------
    >>> found = group_mean([0.8, 0.5], [0.04, 0.025], [100, 400], "size")
    >>> round(found.mean, 6), round(found.standard_error, 10)
    (0.56, 0.0215406592)
    """
    choice("weights", weights, GroupWeights)
    if not means or len({len(means), len(stderrs), len(sizes)}) != 1:
        raise InputError("means, stderrs and sizes", "of one length, at least 1", len(means))
    total = sum(sizes)
    if weights == "size" and (total <= 0 or min(sizes) < 0):
        raise InputError("sizes", "numbers of documents", list(sizes))
    share = [1 / len(means)] * len(means) if weights == "equal" else [n / total for n in sizes]
    mean = math.fsum(w * m for w, m in zip(share, means, strict=True))
    variance = math.fsum((w * s) ** 2 for w, s in zip(share, stderrs, strict=True))
    return GroupMean(weights, mean, math.sqrt(variance))


def judge_group(
    mean: float, stderr: float | None, parts: Sequence[Mapping[str, float]]
) -> tuple[str | None, float | None]:
    """Say whether a stored group row mixes two means, and give the standard error of its own.

    `parts` hold mean, stderr and n of the subtasks; without all three nothing can be said.
    """
    if not parts or stderr is None or any(math.isnan(v) for p in parts for v in p.values()):
        return None, None
    columns = [[p[name] for p in parts] for name in ("mean", "stderr", "n")]
    sizes = [int(n) for n in columns[2]]
    both = {
        w: group_mean(columns[0], columns[1], sizes, w) for w in ("equal", "size")
    }  # fmt: skip
    fits = [g for g in both.values() if math.isclose(g.mean, mean, rel_tol=_SAME, abs_tol=_SAME)]
    if not fits:
        return "mean is neither the equal nor the size-weighted one of its subtasks", None
    if any(math.isclose(g.standard_error, stderr, rel_tol=_NEAR) for g in fits):
        return None, None
    own = fits[0]
    return f"stderr is not that of its mean ({own.weights} weights)", own.standard_error


# A results file as a table of aggregates: one row a task and metric, its stderr beside it.
_STDERR = "_stderr"
_TEXTS = frozenset({"alias", "name", "samples", "sample_len"})
_ZERO = "stderr is 0 although the score is within (0, 1)"


def read_results(data: bytes, label: str, metric: str | Sequence[str] | None = None) -> Records:
    """Read the aggregates of a results file of any vintage; its rows are no trials.

    Columns stderr (NaN where there is none, "N/A" included), n, level ("task" or "group"), n_shot,
    version, and flag: a stderr of exactly 0 beside a score within (0, 1), or one that is not that
    of its group's mean, is flagged and NaN; `stderr_checked` is what it should be, where that can
    be said (for a mean of zeros and ones √(p(1 - p)/(n - 1))).
    """
    seen = Decoded()
    found = decode(data, ResultsFile, label, seen)
    rows = aggregates(found)
    if not rows:
        raise DataError(f"{label}: a results file of lm-eval without a single metric.")
    chosen = choose_metrics((row.metric for row in rows), metric, label)
    rows = [row for row in rows if row.metric in set(chosen)]
    reader = ScoreReader()
    outcomes = [_outcome(reader, row) for row in rows]
    constants = {"model": found.model, "run": _run(found), "lm_eval": found.lm_eval_version}
    return rows_to_records(
        label,
        rows,
        AGGREGATE_COLUMNS,
        {
            name: [o if r.metric == name else None for r, o in zip(rows, outcomes, strict=True)]
            for name in chosen
        },
        constants=constants,
        notes=[*_notes(rows), *seen.notes()],
        kind="aggregate",
    )


def aggregates(file: ResultsFile) -> list[Aggregate]:
    """List every metric of every task and group, each standard error with its own metric."""
    subtasks = file.group_subtasks or {}
    groups = {name for name, parts in subtasks.items() if parts} | set(file.groups or ())
    every = {**file.results, **{k: v for k, v in (file.groups or {}).items()
                                if k not in file.results}}  # fmt: skip
    rows = []
    for task, entries in every.items():
        size = (file.n_samples or {}).get(task)
        for key, raw, stderr in _metrics(entries):
            rows.append(
                Aggregate(
                    task,
                    key,
                    raw,
                    stderr,
                    size.effective if size else None,
                    "group" if task in groups else "task",
                    _scalar((file.n_shot or {}).get(task)),
                    _scalar((file.versions or {}).get(task)),
                )
            )
    return [_checked(row, rows, subtasks) for row in rows]


def _metrics(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any, float | None]]:
    """Yield (metric, value, stderr); keys are "acc" or "acc,filter", "acc_stderr" or with it."""
    for key, raw in entries.items():
        base, _, chosen = key.partition(",")
        owner = base.removesuffix(_STDERR)
        spelled = f"{owner},{chosen}" if chosen else owner
        is_stderr = base.endswith(_STDERR) and spelled in entries
        if base in _TEXTS or not base.strip() or is_stderr:
            continue
        beside = f"{base}{_STDERR}" + (f",{chosen}" if chosen else "")
        yield metric_name(base, chosen), raw, _number(entries.get(beside))


def _checked(
    row: Aggregate, rows: Sequence[Aggregate], subtasks: Mapping[str, Sequence[str]]
) -> Aggregate:
    """Flag a standard error that cannot be right; it is never used as a weight or an interval."""
    value = _number(row.raw)
    if value is None:
        return row
    if row.stderr == 0 and 0 < value < 1:
        right = math.sqrt(value * (1 - value) / (row.n - 1)) if row.n and row.n > 1 else None
        return replace(row, flag=_ZERO, stderr=None, stderr_checked=right)
    if row.level == "group":
        names = set(subtasks.get(row.task, ()))
        parts = [
            {
                "mean": _or_nan(_number(r.raw)),
                "stderr": _or_nan(r.stderr),
                "n": _or_nan(None if r.n is None else float(r.n)),
            }
            for r in rows
            if r.task in names and r.metric == row.metric
        ]
        flag, right = judge_group(value, row.stderr, parts)
        if flag:
            return replace(row, flag=flag, stderr=None, stderr_checked=right)
    return row


def _outcome(reader: ScoreReader, row: Aggregate) -> Outcome:
    if isinstance(row.raw, (list, dict)) or (isinstance(row.raw, str) and _number(row.raw) is None):
        return Outcome(status="unscored", reason="the file states no number")
    return judged(reader, row.raw, row.metric)


def _run(file: ResultsFile) -> str | None:
    parts = [str(v) for v in (file.git_hash, file.date) if v is not None]
    return "@".join(parts) or None


def _notes(rows: Sequence[Aggregate]) -> list[str]:
    notes = ["aggregates, one row a task and metric: no trials. Give the samples files for those"]
    groups = list(dict.fromkeys(r.task for r in rows if r.level == "group"))
    if groups:
        notes.append(
            f"{len(groups)} of the tasks are groups, means of others: select(level='task') before "
            f"anything is averaged ({listed(groups, 5)})"
        )
    flags: dict[str, list[str]] = {}
    for row in rows:
        if row.flag:
            flags.setdefault(row.flag, []).append(f"{row.task} {row.metric}")
    notes += [f"{flag}, so it is not used: {listed(names, 5)}" for flag, names in flags.items()]
    return notes


def _number(value: Any) -> float | None:
    """Give a finite number, also one written as text; None for "N/A", lists and the like."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _scalar(value: Any) -> Any:
    return None if isinstance(value, (list, dict)) else value
