"""Which column of a plain table plays which part? The user's map first, then safe guesses."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import LABEL_COLUMNS_MAX, RESERVED, listed
from simtrack.logs.content import UnknownFormat
from simtrack.logs.tables.cells import LABEL_MAX_CHARACTERS, Cells
from simtrack.logs.tables.skipped import Skipped
from simtrack.note import Note

__all__ = ["GUESSES", "LABEL_MAX_CHARACTERS", "USUAL", "assign_roles"]

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
        some = values.distinct()[1] if isinstance(values, Cells) else values
        return all(v in (None, "") or math.isfinite(float(v)) for v in some)
    except (TypeError, ValueError):
        return False


def _is_labelling(values: Sequence[Any]) -> bool:
    """Say whether a column holds short scalars alone; stops at the first that is none."""
    if isinstance(values, Cells):
        return not values.has_heavy()
    return not isinstance(values, Skipped) and not any(
        isinstance(v, (dict, list)) or (isinstance(v, str) and len(v) > LABEL_MAX_CHARACTERS)
        for v in values
    )


def _there_are(wanted: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(wanted, names[:_COMPARED_MAX], n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"The columns are: {listed(names)}.{hint}"
