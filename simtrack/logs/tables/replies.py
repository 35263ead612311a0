"""A plain table as replies: which column holds the words, and which the tool calls?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.logs.tables.roles import GUESSES
from simtrack.logs.tables.table import Table, to_records
from simtrack.logs.transcripts import text_parts
from simtrack.records import Records, Replies

__all__ = ["CALL_COLUMNS", "REPLY_COLUMNS", "to_replies"]

#: Usual names of the column that holds what the model said, in order of preference.
REPLY_COLUMNS = ("reply", "response", "completion", "output", "prediction", "generation", "text")
CALL_COLUMNS = ("calls", "tool_calls")
#: The column that stands in for a missing score.
_STAND_IN = "value"


def to_replies(
    table: Table,
    *,
    map: Mapping[str, str] | None = None,
    scores: Mapping[str, float | None] | None = None,
) -> Replies:
    """Take the words from the column that is named or usual, the labels from the others.

    Parts of `map` beside those of a trial table: "reply", the column of the words, and "calls",
    that of the tool calls: a list of names, names with commas between, or how many there were.
    Without such a column it is not known whether a reply called a tool. A reply that is null is
    missing; one that is empty is a reply.

    Raises
    ------
    DataError
        No column of replies, or one that does not hold text.
    """
    given = dict(map or {})
    names = list(table.columns)
    words = given.pop("reply", None) or next((n for n in REPLY_COLUMNS if n in names), None)
    if words is None or words not in table.columns:
        asked = f"no column {words!r}" if words else "no column holds the replies"
        raise DataError(
            f"{table.label}: {asked} (there are: {listed(names)}). Name it: --map reply=COLUMN."
        )
    called = given.pop("calls", None) or next((n for n in CALL_COLUMNS if n in names), None)
    if called is not None and called not in table.columns:
        raise DataError(f"{table.label}: no column {called!r} for calls. Mend --map calls=COLUMN.")
    texts = [_text(table, row, words, value) for row, value in enumerate(table.columns[words])]
    calls: Sequence[tuple[str, ...] | None] = [None] * len(texts)
    if called is not None:
        column = table.columns[called]
        calls = [_called(table, row, called, value) for row, value in enumerate(column)]
    # A call without words is a reply; chat APIs log its words as null.
    texts = ["" if text is None and call else text for text, call in zip(texts, calls, strict=True)]
    rest = {n: v for n, v in table.columns.items() if n not in (words, called)}
    records, has_score = _labelled(replace(table, columns=rest), given, scores)
    verdicts = {"value": records.numbers["value"]} if has_score else {}
    numbers = {n: v for n, v in records.numbers.items() if n != "value"}
    factors = dict(records.factors)
    missing = np.array([text is None for text in texts], dtype=bool)
    factors |= _fates(factors, missing)
    kept = Records(factors, numbers, records.losses, records.parents, "reply", records.notes)
    return Replies(kept, texts, calls, verdicts)


def _labelled(
    table: Table, given: Mapping[str, str], scores: Mapping[str, float | None] | None
) -> tuple[Records, bool]:
    """Read the other columns as a trial table, whether or not one of them is a score."""
    lower = {name.lower() for name in table.columns}
    has_score = "value" in given or "outcome" in given or not lower.isdisjoint(GUESSES["value"])
    if has_score:
        return to_records(table, map=given, scores=scores, whole=False), "outcome" not in given
    columns = {**table.columns, _STAND_IN: [0.0] * len(table.lines)}
    stood_in = replace(table, columns=columns)
    return to_records(stood_in, map=given, scores=scores, whole=False), False


def _fates(factors: Mapping[str, Factor], missing: np.ndarray[Any, Any]) -> dict[str, Factor]:
    """Say that there is a reply, wherever there is one and the file does not say otherwise."""
    said = factors["status"].values()
    why = factors["reason"].values() if "reason" in factors else [None] * len(said)
    status, reasons = [], []
    for given, reason, gone in zip(said, why, missing.tolist(), strict=True):
        lost = given not in ("scored", "unscored")
        status.append(given if lost else "missing" if gone else "scored")
        reasons.append(reason if lost else "the row holds no reply" if gone else None)
    return {"status": Factor.from_values(status), "reason": Factor.from_values(reasons)}


def _text(table: Table, row: int, name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) and "type" in part for part in value):
        return "\n".join(text_parts(value))
    raise DataError(
        f"{table.label}: line {table.lines[row]}: column {name!r} must hold text, got "
        f"{type(value).__name__}. Map another column: --map reply=COLUMN."
    )


def _called(table: Table, row: int, name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        if value.strip().isdigit():
            return ("tool",) * int(value)
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (bool, int)) and value >= 0:
        return ("tool",) * int(value)
    if isinstance(value, list):
        return tuple(_name_of(call) for call in value)
    raise DataError(
        f"{table.label}: line {table.lines[row]}: column {name!r} must list tool calls or count "
        f"them, got {value!r}. Map another column: --map calls=COLUMN."
    )


def _name_of(call: Any) -> str:
    """Give the name of a call, as plain text or in the form that chat APIs log."""
    if isinstance(call, dict):
        inner = call.get("function", call.get("name"))
        return _name_of(inner) if isinstance(inner, dict) else str(inner or "tool")
    return str(call)
