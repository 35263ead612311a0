"""Tasks that slices are made of: a statement, the name to define, and what is required anyway."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from simtrack.errors import DataError, InputError
from simtrack.ledger.clauses import Clause
from simtrack.ledger.fields import LedgerPart, a_label, a_text, items, known, read_object
from simtrack.plain import Plain

__all__ = ["Task", "read_tasks", "require_unique", "tasks_document"]

SCHEMA: Final = "simtrack.tasks/1"
#: How HumanEval names the same things; its unit tests are not needed here.
_HUMAN_EVAL: Final = {"task_id": "id", "prompt": "statement", "canonical_solution": "solution"}


@dataclass(frozen=True, slots=True)
class Task(LedgerPart, what="the task"):
    """What is to be programmed, and which clauses bind from the start?

    Parameters
    ----------
    id : str
    statement : str
        What the first turn says.
    entry_point : str
        The function to define.
    solution : str
        A gold solution, to screen scripts for its fragments; never shown. May be empty.
    requirements : tuple of Clause
        What binds from turn 0. Unless given, the three checkers of the paper's gold tasks: unit
        tests, presence of the entry point, standard library only.

    Examples
    --------
    >>> [clause.checker_id for clause in Task("t1", "Reverse a text.", "flip").requirements]
    ['unit-tests', 'presence:flip', 'standard-library']
    """

    id: str
    statement: str
    entry_point: str
    solution: str = ""
    requirements: tuple[Clause, ...] = ()

    def __post_init__(self) -> None:
        a_label("id", self.id)
        a_text("statement", self.statement)
        a_label("entry_point", self.entry_point)
        if not self.entry_point.isidentifier():
            raise InputError("entry_point", "a Python name", repr(self.entry_point))
        a_text("solution", self.solution, empty=True)
        given = tuple(self.requirements) or _gold_requirements(self.entry_point)
        object.__setattr__(self, "requirements", given)

    def to_dict(self) -> dict[str, Any]:
        """The task as plain data; of its clauses what was fixed from the start."""
        fixed = ("id", "text", "checker_id")
        clauses = [{name: getattr(c, name) for name in fixed} for c in self.requirements]
        return Plain.to_dict(self) | {"requirements": clauses}

    @classmethod
    def _given(cls, data: object, where: str) -> dict[str, Any]:
        if isinstance(data, dict) and "task_id" in data:  # a task of HumanEval's
            data = {_HUMAN_EVAL.get(key, key): data[key] for key in data if key != "test"}
        return known(data, where, *cls._arguments())


def read_tasks(text: str) -> tuple[Task, ...]:
    """Read tasks: a JSON object with a list `tasks`, or JSON lines with a task on each.

    Raises
    ------
    DataError
        One line that names the field; or there is no task, or one id twice.
    """
    found = _rows(text)
    tasks = tuple(Task.from_dict(data, path) for path, data in found)
    if not tasks:
        raise DataError("There is no task. Give at least one.")
    require_unique("tasks", [task.id for task in tasks])
    return tasks


def tasks_document(tasks: Sequence[Task]) -> dict[str, Any]:
    """The tasks as plain data that `read_tasks` reads."""
    return {"schema": SCHEMA, "tasks": [task.to_dict() for task in tasks]}


def require_unique(name: str, ids: Sequence[str]) -> None:
    """Refuse an id that stands twice."""
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise DataError(f"{name} must have distinct ids, got {twice!r} twice.")


def _rows(text: str) -> list[tuple[str, Any]]:
    """Give (path, data) of each task, from either form."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and _whole(lines[0]):
        return [(f"tasks[{k}]", read_object(line, f"tasks[{k}]")) for k, line in enumerate(lines)]
    data = read_object(text, "The document")
    if "tasks" not in data and ("id" in data or "task_id" in data):
        return [("tasks[0]", data)]
    fields = known(data, "the tasks", ("tasks",), (), SCHEMA)
    return items(fields, "tasks", "the tasks")


def _whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _gold_requirements(entry_point: str) -> tuple[Clause, ...]:
    return (
        Clause("tests", f"Implement {entry_point} so that all unit tests pass.", "unit-tests"),
        Clause("entry", f"Name the function {entry_point}.", f"presence:{entry_point}"),
        Clause("stdlib", "Use nothing but the Python standard library.", "standard-library"),
    )
