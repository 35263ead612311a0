"""What happened in every trial of a data frame? Plain ones, and those that Inspect makes of logs.

pandas, polars and pyarrow frames are read by what they offer; none of the three is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from simtrack.counts import Losses
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import LABEL_COLUMNS_MAX, LABEL_MAX_CHARACTERS, RESERVED, Column
from simtrack.logs.decode import one_line
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.logs.tables import Table, to_records
from simtrack.records import Records
from simtrack.records.plain_columns import is_missing

__all__ = ["from_frame"]

#: What tells a frame of Inspect's samples from a plain one.
_INSPECT = frozenset({"sample_id", "eval_id", "id", "epoch", "error"})
_SCORE, _METADATA = "score_", "metadata_"
_COLUMNS_MAX = 10 * LABEL_COLUMNS_MAX
#: Where a column of Inspect's frame goes.
_PLACES = {
    "unit": "id",
    "repetition": "epoch",
    "run": "eval_id",
    "sample": "sample_id",
    "log": "log",
    "task": "task_name",
    "model": "model",
    "limit": "limit",
}
_NUMBERS = {"duration_s": "total_time", "working_s": "working_time", "turns": "turn_count"}


def from_frame(
    frame: Any,
    *,
    label: str = "frame",
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
) -> Records:
    """What happened in every trial of this data frame?

    A frame of Inspect's `samples_df` is recognised by its columns: each score column is a metric
    (scores that are objects are one for each key), errored samples are errored. Samples that
    Inspect left out of the frame cannot be counted: read the log for those. Any other frame is a
    plain table as in `read_log`.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
        NaN, NaT, NA and null are missing.
    label : str
        The name of the frame in messages and in the column `source`.
    map, metric, scores
        As in `read_log`; `map` makes a frame of Inspect's a plain table.

    Raises
    ------
    InputError
        What has no named columns.
    DataError
        A frame without a row, or without a score.

    Examples
    --------
    >>> import pandas as pd
    >>> records = from_frame(pd.DataFrame({"item": ["q1", "q2"], "correct": [1, 0]}))
    >>> records.numbers["value"].tolist()
    [1.0, 0.0]
    """
    columns = _columns(frame)
    if not columns or not next(iter(columns.values())):
        raise DataError(f"{label}: empty: the frame holds no row.")
    if columns.keys() >= _INSPECT and not map:
        return _of_inspect(columns, label, metric, scores)
    if len(columns) > _COLUMNS_MAX:
        raise DataError(f"{label}: {len(columns)} columns are data rather than names.")
    rows = len(next(iter(columns.values())))
    table = Table(label, columns, range(1, rows + 1), Losses())
    return to_records(table, map=map, metric=metric, scores=scores)


def _columns(frame: Any) -> dict[str, list[Any]]:
    """Give the columns as lists, None where a value is missing."""
    if hasattr(frame, "to_pydict"):
        found = frame.to_pydict()
    elif hasattr(frame, "get_columns"):
        found = {series.name: series.to_list() for series in frame.get_columns()}
    elif hasattr(frame, "columns") and hasattr(frame, "iloc"):
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise InputError("frame", "a table whose columns have different names")
        found = {name: frame.iloc[:, k].tolist() for k, name in enumerate(names)}
    elif isinstance(frame, Mapping):
        found = {str(name): list(values) for name, values in frame.items()}
    else:
        raise InputError("frame", "a pandas, polars or pyarrow table", type(frame).__name__)
    return {n: [None if _gone(v) else v for v in values] for n, values in found.items()}


def _gone(value: Any) -> bool:
    return not isinstance(value, (list, dict, tuple)) and is_missing(value)


Row = dict[str, Any]


def _of_inspect(
    columns: Mapping[str, list[Any]],
    label: str,
    metric: str | Sequence[str] | None,
    scores: Mapping[str, float | None] | None,
) -> Records:
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    readings = [_scores_of(row) for row in rows]
    names = dict.fromkeys(name for found in readings for name in found)
    if not names:
        raise DataError(f"{label}: no column holds a score (named {_SCORE}<scorer>).")
    chosen = choose_metrics(names, metric, label)
    reader = ScoreReader(scores)
    metrics = {
        name: [
            _outcome(reader, row, found, name) for row, found in zip(rows, readings, strict=True)
        ]
        for name in chosen
    }
    reader.refuse_unknown(label, chosen)
    places = [Column(n, "label", _taker(c)) for n, c in _PLACES.items() if c in columns]
    places += [Column(n, "number", _taker(c)) for n, c in _NUMBERS.items() if c in columns]
    places += [_metadata(name) for name, values in columns.items() if _is_metadata(name, values)]
    note = "a frame of Inspect's samples: trials that left no row in it are not known"
    return rows_to_records(label, rows, places, metrics, notes=[note, *reader.notes()])


def _scores_of(row: Row) -> dict[str, Any]:
    """Give {metric: raw score}; an object of scores, which stands as JSON text, by its keys."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if not name.startswith(_SCORE) or name.startswith(f"{_SCORE}headline_"):
            continue
        metric, whole = name.removeprefix(_SCORE), _object(value)
        if whole is None:
            if value is not None:
                found[metric] = value
        else:
            found |= {f"{metric}.{key}": leaf for key, leaf in whole.items()}
    return found


def _object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.startswith("{"):
        try:
            decoded = msgspec.json.decode(value)
        except msgspec.MsgspecError:
            return None
        return decoded if isinstance(decoded, dict) else None
    return None


def _outcome(reader: ScoreReader, row: Row, found: Mapping[str, Any], metric: str) -> Outcome:
    error = row.get("error")
    if error:
        return Outcome(status="errored", reason=one_line(error) or "error")
    if metric not in found:
        return Outcome(status="unscored", reason="no score was logged")
    judgement = judged(reader, found[metric], metric)
    if judgement.status == "unscored" and row.get("limit"):
        return Outcome(status="limited", reason=f"halted by the {row['limit']} limit")
    return judgement


def _taker(name: str) -> Any:
    def take(row: Row) -> Any:
        return row[name]

    return take


def _is_metadata(name: str, values: Sequence[Any]) -> bool:
    return name.startswith(_METADATA) and all(
        v is None
        or (isinstance(v, (str, bool, int, float)) and len(str(v)) <= LABEL_MAX_CHARACTERS)
        for v in values
    )


def _metadata(name: str) -> Column:
    key = name.removeprefix(_METADATA)
    taken = key in RESERVED or key in _PLACES or key in _NUMBERS
    return Column(f"metadata.{key}" if taken else key, "label", _taker(name))
