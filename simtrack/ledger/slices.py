"""RELAPSE-style slices, as data: scripts that ask for markers and revoke one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from simtrack.errors import InputError
from simtrack.ledger.fields import (
    LedgerPart,
    a_label,
    a_text,
    as_json,
    at,
    items,
    known,
    read_object,
)
from simtrack.ledger.ledger import Ledger
from simtrack.ledger.pool import Pool
from simtrack.ledger.tasks import Task, require_unique
from simtrack.options import choice
from simtrack.plain import Plain
from simtrack.validate import integer

__all__ = ["ASKING", "CONDITIONS", "Condition", "Slice", "Slices", "Turn", "TurnRole"]

SCHEMA: Final = "simtrack.slices/1"
Condition = Literal["immediate", "delayed", "control"]
TurnRole = Literal["task", "marker", "auxiliary", "revocation"]
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)
#: How our scripts introduce a marker; no part of the clause.
ASKING: Final = "One more requirement: "
_SET: Final = "seed load delay depth markers fillers tasks slices"
_NEEDED: Final = ("id", "task", "condition", "markers", "turns")
_SLICE: Final = "id task=task_id condition markers revoked turns"


@dataclass(frozen=True, slots=True)
class Turn(LedgerPart, what="the turn"):
    """What does the user say, and what for?"""

    role: TurnRole
    text: str

    def __post_init__(self) -> None:
        choice("role", self.role, TurnRole)
        a_text("text", self.text)


@dataclass(frozen=True, slots=True)
class Slice(Plain, names=_SLICE):
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

        The clause of a marker is what its turn says, without the words that only introduce it.
        Auxiliary requests have no checker, so they are no clauses, and the paper's compiled example
        leaves them out as well.
        """
        ledger = Ledger(self.task.statement, self.task.requirements)
        names = iter(self.markers)
        for place, turn in enumerate(self.turns):
            if turn.role == "marker":
                marker, text = next(names), turn.text.removeprefix(ASKING)
                ledger = ledger.add(place, marker, text, f"presence:{marker}")
            elif turn.role == "revocation" and self.revoked is not None:
                ledger = ledger.revoke(place, self.revoked)
        return ledger

    @property
    def task_id(self) -> str:
        """The task by its id."""
        return self.task.id

    @classmethod
    def from_dict(cls, data: object, tasks: dict[str, Task], path: str = "the slice") -> Slice:
        """Read what `to_dict` wrote; `tasks` by id."""
        fields = known(data, path, _NEEDED, ("revoked",))
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
class Slices(Plain, schema=SCHEMA, names=_SET):
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

    @classmethod
    def from_dict(cls, data: object, where: str = "the slices") -> Slices:
        """Read what `to_dict` wrote."""
        fields = known(data, where, tuple(_SET.split()), (), SCHEMA)
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
            numbers = {
                name: integer(name, fields[name], 0) for name in ("seed", "load", "delay", "depth")
            }
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
