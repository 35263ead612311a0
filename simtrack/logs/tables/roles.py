"""Which column of a plain table plays which part? The user's map first, then safe guesses."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import LABEL_COLUMNS_MAX, LABEL_MAX_CHARACTERS, RESERVED, listed
from simtrack.logs.content import UnknownFormat
from simtrack.logs.decode import Decoded, decode_record
from simtrack.note import Note

__all__ = [
    "GUESSES",
    "MARKER",
    "USUAL",
    "LongColumn",
    "assign_roles",
    "is_long",
    "is_used",
]

#: Common names of the parts; a guess is made only if exactly one of them is a column.
GUESSES: Mapping[str, tuple[str, ...]] = {
    "value": (
        "value",
        "score",
        "correct",
        "is_correct",
        "reward",
        "passed",
        "success",
    ),
    "unit": ("unit", "item_id", "item", "sample_id", "question_id", "doc_id", "task_id", "id"),
    "cluster": ("cluster",),
    "model": ("model", "model_id", "model_name"),
    "repetition": ("repetition", "epoch", "trial"),
    "metric": ("metric",),
    "task": ("task", "task_name"),
}
#: Names, in lower case, that mean something in a table.
USUAL = RESERVED.union(*GUESSES.values())
#: Parts that a column plays only if the user says so: they change what is counted.
_BY_MAP_ONLY = frozenset({"outcome", "status", "reason", "signal", "source", "score"})
#: A column of this name says that all others have the names of the trial table.
MARKER = "simtrack_trials"
#: Names that a misspelt one is compared with.
_COMPARED_MAX = 1000


class LongColumn(Sequence[Any]):
    """A column of long texts or nested values, which is none of labels.

    Parameters
    ----------
    cells : sequence
        Values; one that stands as raw JSON is decoded when it is asked for.
    """

    __slots__ = ("_cells",)

    def __init__(self, cells: Sequence[Any]) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return LongColumn(self._cells[row])
        cell = self._cells[row]
        if not isinstance(cell, msgspec.Raw):
            return cell
        text = bytes(cell).decode("utf-8", "replace").encode()  # as msgspec passed over it
        return decode_record(text, f"row {row + 1}", Decoded())

    def take(self, rows: Sequence[int]) -> LongColumn:
        """Keep these rows."""
        return LongColumn([self._cells[row] for row in rows])


def is_used(name: str, wanted: Collection[str]) -> bool:
    """Say whether a column is asked for, or has a name that means something in a table."""
    return name in wanted or name.lower() in USUAL


def is_long(value: object) -> bool:
    """Say whether a value is too long or nested to be a label."""
    return isinstance(value, (dict, list)) or (
        isinstance(value, str) and len(value) > LABEL_MAX_CHARACTERS
    )


def assign_roles(
    label: str, columns: Mapping[str, Sequence[Any]], given: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Give {column of the trial table: column of the file}, and what was guessed.

    Raises
    ------
    DataError
        No column for the score, or several that it could be; a mapped column that is not there.
    """
    if MARKER in columns:
        columns = {name: values for name, values in columns.items() if name != MARKER}
        given = {name: name for name in columns if name in _BY_MAP_ONLY} | dict(given)
    names = list(columns)
    roles: dict[str, str] = {}
    for role, column in given.items():
        if column not in columns:
            raise DataError(
                f"{label}: no column {column!r} for {role}. {_there_are(column, names)}"
            )
        roles[role] = column
    if "value" in roles and "outcome" in roles:
        raise InputError("map", "of a value or an outcome, not both", where=label)
    notes = _guess(label, names, roles)
    if "value" not in roles and "outcome" not in roles:
        raise UnknownFormat(
            f"{label}: no column holds a score (there are: {listed(names)}). "
            f"{_wide_hint(columns)}Name it: --map value=COLUMN (in Python map={{'value': COLUMN}})."
        )
    notes += _keep_others(columns, roles)
    return roles, notes


def _guess(label: str, names: Sequence[str], roles: dict[str, str]) -> list[str]:
    taken = set(roles.values())
    lower: dict[str, list[str]] = {}
    for name in names:
        if name not in taken:
            lower.setdefault(name.lower(), []).append(name)
    guessed, unclear = [], []
    for role, usual in GUESSES.items():
        if role in roles or (role == "value" and "outcome" in roles):
            continue
        own = lower.get(role, [])
        if len(own) == 1:
            roles[role] = own[0]
            continue
        fits = own or [name for word in usual for name in lower.get(word, ())]
        if role in own and role != "value":
            roles[role] = role
            guessed.append(f"{role} = {role} (not {', '.join(n for n in own if n != role)})")
        elif len(fits) == 1:
            roles[role] = fits[0]
            guessed.append(f"{role} = {fits[0]}")
        elif fits and role == "value":
            raise DataError(
                f"{label}: several columns may be the score: {', '.join(fits)}. "
                f"Name one: --map value={fits[0]} (in Python map={{'value': '{fits[0]}'}})."
            )
        elif fits:
            unclear.append(f"{role} could be {' or '.join(fits)}")
    notes: list[str] = []
    if guessed:
        score = roles.get("value", roles.get("outcome", ""))
        told = f"columns taken by their names: {', '.join(guessed)}"
        notes.append(Note("columns-guessed", told, score))
    if unclear:
        notes.append(Note("not-guessed", f"not guessed: {'; '.join(unclear)}"))
    return notes


def _keep_others(columns: Mapping[str, Sequence[Any]], roles: dict[str, str]) -> list[str]:
    """Keep every other column of short scalars as labels, under a name that means nothing else.

    A column that plays another part stays reachable by its own name too, unless it is the score.
    """
    dropped: list[str] = []
    beyond: list[str] = []
    kept = 0
    for name, values in columns.items():
        if roles.get(name) == name or name in (roles.get("value"), roles.get("outcome")):
            continue
        if kept >= LABEL_COLUMNS_MAX:
            beyond.append(name)
        elif _is_labelling(values):
            kept += 1
            free = name not in roles and name not in _BY_MAP_ONLY
            roles[name if free else f"column.{name}"] = name
        else:
            dropped.append(name)
    notes = [f"columns left out (nested or long): {listed(dropped)}"] if dropped else []
    if beyond:
        notes.append(
            f"{len(beyond)} columns left out after the first {LABEL_COLUMNS_MAX}: "
            f"{listed(beyond, 5)}. Keep one with --map NAME=NAME"
        )
    return notes


def _wide_hint(columns: Mapping[str, Sequence[Any]]) -> str:
    """Recognise a table with one column a model: nothing but numbers and gaps."""
    if len(columns) < 3 or not all(_looks_numeric(values) for values in columns.values()):
        return ""
    return (
        "All columns are numbers: if there is one column a model, stack them into two columns, "
        "model and score, with the question's id beside them. "
    )


def _looks_numeric(values: Sequence[Any]) -> bool:
    try:
        return all(v in (None, "") or math.isfinite(float(v)) for v in values)
    except (TypeError, ValueError):
        return False


def _is_labelling(values: Sequence[Any]) -> bool:
    """Say whether a column holds short scalars alone."""
    if isinstance(values, LongColumn):
        return False
    kinds = set(map(type, values))
    texts = values if kinds == {str} else (v for v in values if isinstance(v, str))
    longest = max(map(len, texts), default=0)
    return kinds.isdisjoint({dict, list}) and longest <= LABEL_MAX_CHARACTERS


def _there_are(wanted: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(wanted, names[:_COMPARED_MAX], n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"The columns are: {listed(names)}.{hint}"
