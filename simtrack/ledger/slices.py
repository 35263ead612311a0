"""RELAPSE-style slices: scripts in which markers are asked for, and one of them is revoked."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from simtrack.errors import InputError
from simtrack.ledger.fields import a_label, a_text, as_json, at, items, known, read_object
from simtrack.ledger.ledger import Ledger
from simtrack.ledger.pool import FILLERS, MARKERS, Pool
from simtrack.ledger.tasks import Task, require_unique
from simtrack.options import choice
from simtrack.validate import integer

__all__ = ["CONDITIONS", "Condition", "Slice", "Slices", "Turn", "TurnRole", "make_slices"]

SCHEMA: Final = "simtrack.slices/1"
Condition = Literal["immediate", "delayed", "control"]
TurnRole = Literal["task", "marker", "auxiliary", "revocation"]
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)
#: Which marker is revoked: the second, as in the paper.
_REVOKED: Final = 1
_SET: Final = ("seed", "load", "delay", "depth", "markers", "fillers", "tasks", "slices")
_SLICE: Final = ("id", "task", "condition", "markers", "turns")


@dataclass(frozen=True, slots=True)
class Turn:
    """What does the user say, and what for?"""

    role: TurnRole
    text: str

    def __post_init__(self) -> None:
        choice("role", self.role, TurnRole)
        a_text("text", self.text)

    def to_dict(self) -> dict[str, Any]:
        """The turn as plain data."""
        return {"role": self.role, "text": self.text}

    @classmethod
    def from_dict(cls, data: object, path: str = "the turn") -> Turn:
        """Read what `to_dict` wrote."""
        fields = known(data, path, ("role", "text"))
        with at(path):
            return cls(**fields)


@dataclass(frozen=True, slots=True)
class Slice:
    """Which script is this, and which marker may relapse?

    Attributes
    ----------
    id : str
        "task:condition:m<load>", unless someone else named it.
    task : Task
    condition : "immediate", "delayed" or "control"
    markers : tuple of str
        In the order in which they are asked for.
    revoked : str or None
        The withdrawn one; None in the control.
    turns : tuple of Turn
        User turns only: an episode elicits one final implementation.
    """

    id: str
    task: Task
    condition: Condition
    markers: tuple[str, ...]
    revoked: str | None
    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        a_label("id", self.id)
        choice("condition", self.condition, Condition)
        for place, name in enumerate(self.markers):
            a_label(f"markers[{place}]", name)
        if (self.revoked is None) != (self.condition == "control"):
            rule = "given but for the control, which revokes nothing"
            raise InputError("revoked", rule, repr(self.revoked), where=self.condition)
        if self.revoked is not None and self.revoked not in self.markers:
            raise InputError("revoked", f"one of {', '.join(self.markers)}", repr(self.revoked))
        roles: list[str] = [turn.role for turn in self.turns]
        for role, n in (("marker", len(self.markers)), ("revocation", self.revoked is not None)):
            if roles.count(role) != n:
                rule = f"made with {int(n)} of role {role}, as markers and revoked say"
                raise InputError("turns", rule, roles.count(role))
        self.ledger()  # its own rules: a marker asked for once, and before it is withdrawn

    @property
    def depth(self) -> int | None:
        """How many turns follow the revocation; None in the control."""
        roles = [turn.role for turn in self.turns]
        return len(roles) - 1 - roles.index("revocation") if "revocation" in roles else None

    def ledger(self) -> Ledger:
        """Return the contract of this script: compiled, it is the paper's rebind arm.

        Auxiliary requests have no checker, so they are no clauses, and the paper's compiled example
        leaves them out as well.
        """
        ledger = Ledger(self.task.statement, self.task.requirements)
        names = iter(self.markers)
        for place, turn in enumerate(self.turns):
            if turn.role == "marker":
                marker = next(names)
                ledger = ledger.add(place, marker, _asks(marker), f"presence:{marker}")
            elif turn.role == "revocation" and self.revoked is not None:
                ledger = ledger.revoke(place, self.revoked)
        return ledger

    def to_dict(self) -> dict[str, Any]:
        """The slice as plain data; its task by id."""
        return {
            "id": self.id,
            "task": self.task.id,
            "condition": self.condition,
            "markers": list(self.markers),
            "revoked": self.revoked,
            "turns": [turn.to_dict() for turn in self.turns],
        }

    @classmethod
    def from_dict(cls, data: object, tasks: dict[str, Task], path: str = "the slice") -> Slice:
        """Read what `to_dict` wrote; `tasks` by id."""
        fields = known(data, path, _SLICE, ("revoked",))
        task = fields["task"]
        turns = items(fields, "turns", path)
        with at(path):
            if not isinstance(task, str) or task not in tasks:
                raise InputError("task", f"one of {', '.join(tasks) or '(none)'}", repr(task))
            fields["task"] = tasks[task]
            fields["markers"] = tuple(one for _, one in items(fields, "markers", path))
            fields["turns"] = tuple(Turn.from_dict(one, place) for place, one in turns)
            return cls(**{"revoked": None, **fields})


@dataclass(frozen=True, slots=True)
class Slices:
    """Which slices were made, from which tasks and pools, by which draw?

    `markers` and `fillers` are the pools; all else is as in `make_slices`.
    """

    slices: tuple[Slice, ...]
    tasks: tuple[Task, ...]
    markers: Pool
    fillers: Pool
    seed: int
    load: int
    delay: int
    depth: int

    def to_dict(self) -> dict[str, Any]:
        """The slices as plain data, with the tasks and the pools that they are from."""
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in ("seed", "load", "delay", "depth")},
            "markers": [list(generation) for generation in self.markers.generations],
            "fillers": [list(generation) for generation in self.fillers.generations],
            "tasks": [task.to_dict() for task in self.tasks],
            "slices": [one.to_dict() for one in self.slices],
        }

    @classmethod
    def from_dict(cls, data: object, where: str = "the slices") -> Slices:
        """Read what `to_dict` wrote."""
        fields = known(data, where, _SET, (), SCHEMA)
        given = items(fields, "tasks", where)
        tasks = tuple(Task.from_dict(one, path) for path, one in given)
        require_unique("tasks", [task.id for task in tasks])
        by_id = {task.id: task for task in tasks}
        found = items(fields, "slices", where)
        slices = tuple(Slice.from_dict(one, by_id, path) for path, one in found)
        require_unique("slices", [one.id for one in slices])
        pools = {}
        for name in ("markers", "fillers"):
            each = items(fields, name, where)
            with at(name):
                pools[name] = Pool(*(tuple(n for _, n in items({p: g}, p, "")) for p, g in each))
        with at(where):
            numbers = {name: integer(name, fields[name], 0) for name in _SET[:4]}
        return cls(slices, tasks, pools["markers"], pools["fillers"], **numbers)

    def to_json(self) -> str:
        """The slices as a JSON document."""
        return as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str, where: str = "the slices") -> Slices:
        """Read a JSON document."""
        return cls.from_dict(read_object(text, where), where)

    def __repr__(self) -> str:
        return f"Slices({len(self.slices)} of {len(self.tasks)} tasks, load {self.load})"


def make_slices(
    tasks: Sequence[Task],
    *,
    seed: int,
    load: int = 5,
    conditions: Sequence[Condition] = CONDITIONS,
    delay: int = 1,
    depth: int = 0,
    markers: Pool = MARKERS,
    fillers: Pool = FILLERS,
) -> Slices:
    """Which scripts ask for `load` markers and, outside the control, withdraw the second?

    The paper's section 3.3 and Appendix D: the task turn; one turn a marker; auxiliary turns; and
    a revocation by name that asks to keep the code lean. Delayed: `delay` auxiliary turns stand
    before the revocation. Where the paper is silent: in the immediate condition the same turns
    stand after it, and the control has them without it, so that the scripts of a task differ in the
    revocation and its place alone; `depth` more auxiliary turns follow at the end in all three.
    Markers and fillers of a task are the first of one order each, so loads, delays and depths are
    nested: the revoked marker is the same at every load.

    Parameters
    ----------
    tasks : sequence of Task
    seed : int, 0 to 2^63 - 1
    load : int, at least 2
        Markers of a script; the paper has 2, 5 and 8.
    conditions : sequence of Condition
    delay : int, at least 1
        Auxiliary turns between marker block and delayed revocation.
    depth : int, at least 0
        Auxiliary turns after all that.
    markers, fillers : Pool
        Growing them leaves every script as it was.

    Examples
    --------
    >>> found = make_slices([Task("t1", "Reverse a text.", "flip")], seed=7, load=2)
    >>> found.slices[1].markers, [turn.role for turn in found.slices[1].turns]
    (('helper_check', 'validate_input'), ['task', 'marker', 'marker', 'auxiliary', 'revocation'])
    >>> print(found.slices[1].turns[1].text)
    One more requirement: Define an extra function helper_check; its body may be empty.
    """
    load = integer("load", load, 2, len(markers.names))
    delay = integer("delay", delay, 1, len(fillers.names))
    depth = integer("depth", depth, 0, len(fillers.names) - delay)
    for condition in conditions:
        choice("conditions", condition, Condition)
    if not conditions or len(set(conditions)) < len(conditions):
        rule = "at least one, each of them once"
        raise InputError("conditions", rule, ", ".join(conditions) or "none")
    _require_names(markers)
    require_unique("tasks", [task.id for task in tasks])
    made = []
    for task in tasks:
        if task.entry_point in markers.names:
            cure = "Take another pool of markers."
            raise InputError(
                "markers", "other names than entry points", task.entry_point, cure=cure
            )
        drawn = markers.draw(load, seed=seed, purpose="marker", task=task.id)
        extra = fillers.draw(delay + depth, seed=seed, purpose="filler", task=task.id)
        made += [_slice(task, condition, drawn, extra, delay) for condition in conditions]
    return Slices(tuple(made), tuple(tasks), markers, fillers, seed, load, delay, depth)


def _slice(
    task: Task, condition: Condition, markers: tuple[str, ...], extra: tuple[str, ...], delay: int
) -> Slice:
    revoked = None if condition == "control" else markers[_REVOKED]
    opening = " ".join([task.statement, *(clause.text for clause in task.requirements)])
    turns = [Turn("task", opening)]
    turns += [Turn("marker", f"One more requirement: {_asks(name)}") for name in markers]
    block = [Turn("auxiliary", text) for text in extra]
    if revoked is not None:
        withdrawal = Turn("revocation", _withdraws(revoked))
        block.insert(0 if condition == "immediate" else delay, withdrawal)
    name = f"{task.id}:{condition}:m{len(markers)}"
    return Slice(name, task, condition, markers, revoked, (*turns, *block))


def _asks(marker: str) -> str:
    return f"Define an extra function {marker}; its body may be empty."


def _withdraws(marker: str) -> str:
    return (
        f"The requirement of {marker} no longer holds: leave {marker} undefined and keep the "
        "code lean."
    )


def _require_names(markers: Pool) -> None:
    for name in markers.names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError("markers", "Python names that can be defined", repr(name))
