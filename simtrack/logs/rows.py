"""How the records of a format become rows: labels, numbers, and what became of each trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import METRICS_MAX, Column, composed_notes, labels, listed, numbers
from simtrack.logs.columns import label as as_label
from simtrack.logs.score_values import ScoreReader
from simtrack.note import Note
from simtrack.options import Status
from simtrack.records import Records

__all__ = ["Outcome", "choose_metrics", "judged", "rows_to_records"]

STATUSES: tuple[str, ...] = get_args(Status)


class Outcome(NamedTuple):
    """What became of one trial on one metric? `value` is NaN unless it is scored."""

    value: float = math.nan
    status: str = "scored"
    reason: str | None = None


def judged(reader: ScoreReader, raw: Any, metric: str = "") -> Outcome:
    """Give a logged score as an outcome: scored, or unscored with the reason.

    Examples
    --------
    >>> judged(ScoreReader(), "C"), judged(ScoreReader(), None).reason
    (Outcome(value=1.0, status='scored', reason=None), 'score is null')
    """
    number, why = reader.read(raw, metric)
    return Outcome(number, "unscored" if why else "scored", why or None)


def choose_metrics(
    names: Iterable[str], metric: str | Sequence[str] | None, label: str
) -> list[str]:
    """Keep the metrics that were asked for, all if none was, or refuse and print those there are.

    Examples
    --------
    >>> choose_metrics(["acc", "f1"], "acc", "run.json")
    ['acc']
    """
    known = list(dict.fromkeys(names))
    wanted = [metric] if isinstance(metric, str) else list(metric or known)
    for name in wanted:
        if name not in known:
            raise InputError("metric", f"one of {listed(known)}", repr(name), where=label)
    if len(wanted) > METRICS_MAX:
        raise DataError(
            f"{label}: {len(wanted)} metrics, more than the {METRICS_MAX} that are scored at once. "
            f"Choose some with --metric: {listed(wanted)}."
        )
    return wanted


def rows_to_records(
    label: str,
    rows: Sequence[Any],
    columns: Sequence[Column],
    metrics: Mapping[str, Sequence[Outcome | None]],
    *,
    constants: Mapping[str, Any] | None = None,
    losses: Sequence[Loss] = (),
    notes: Sequence[str] = (),
    kind: str = "trial",
) -> Records:
    """Make the trial table: one row for each record and each metric that it has an outcome on.

    Parameters
    ----------
    label : str
        The file, as named in messages and in the column `source`.
    rows : sequence of objects
        What the extractor found, in file order.
    columns : sequence of Column
        The format's map; a column that is missing in every row is left out.
    metrics : mapping of name to outcomes
        Each as long as `rows`; None where a record has no reading on the metric.
    constants : mapping of name to scalar, optional
        Labels of the whole file; None is left out.
    losses : sequence of Loss
        Planned trials without a row; they are counted once for every metric.
    """
    fixed = {"source": label}
    fixed |= {n: text for n, v in (constants or {}).items() if (text := as_label(v)) is not None}
    names = list(metrics)
    cells = [
        (row, code, found)
        for row in range(len(rows))
        for code, name in enumerate(names)
        if (found := metrics[name][row]) is not None
    ]
    index = np.array([row for row, _, _ in cells], dtype=np.intp)
    factors = {name: Factor.constant(level, len(cells)) for name, level in fixed.items()}
    numeric: dict[str, NDArray[np.float64]] = {
        "value": np.array([found.value for _, _, found in cells], dtype=np.float64)
    }
    for column in columns:
        taken = [column.take(row) for row in rows]
        if all(value is None for value in taken):
            continue
        if column.kind == "number":
            numeric[column.name] = numbers(taken, f"{label}: {column.name}")[index]
        else:
            factors[column.name] = labels(taken).take(index)
    codes = np.array([code for _, code, _ in cells], dtype=np.int32)
    factors["metric"] = Factor(tuple(names), codes)
    status = np.array([STATUSES.index(found.status) for _, _, found in cells], dtype=np.int32)
    factors["status"] = Factor(STATUSES, status).compact()
    factors["reason"] = labels([found.reason for _, _, found in cells])
    lost = [
        replace(loss, where=tuple({**fixed, **dict(loss.where), "metric": name}.items()))
        for name in names
        for loss in losses
    ]
    texts = {c.name: [c.take(row) for row in rows] for c in columns if c.name == "unit"}
    told = (*notes, *composed_notes(texts))
    return Records(
        factors,
        numeric,
        Losses.of(lost),
        kind=kind,
        notes=tuple(Note.of(note).at(label) for note in told),
    )
