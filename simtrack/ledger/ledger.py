"""The contract ledger: clauses and tombstones of a dialogue, and the net state at any turn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from simtrack.errors import InputError
from simtrack.ledger.clauses import Clause, Rung, Tombstone
from simtrack.ledger.compilation import Compilation
from simtrack.ledger.fields import (
    LedgerPart,
    a_label,
    a_text,
    as_json,
    read_object,
)
from simtrack.options import choice

__all__ = ["Ledger", "Pending"]

SCHEMA: Final = "simtrack.ledger/1"


@dataclass(frozen=True, slots=True)
class Pending(LedgerPart, what="pending"):
    """Which intervention waits for its re-test, and what was there before it?"""

    rung: Rung
    clause: str
    surface_text: str
    compilation: Compilation

    def __post_init__(self) -> None:
        choice("rung", self.rung, Rung)
        a_label("clause", self.clause)
        a_text("surface_text", self.surface_text)


@dataclass(frozen=True, slots=True)
class Ledger(LedgerPart, schema=SCHEMA, what="the ledger"):
    """Which requirements did the dialogue make, and which of them bind at a given turn?

    A ledger is a value: `add`, `revoke` and `replace` return another one. The dialogue only ever
    adds clauses and tombstones, at its last turn or later, so the net state of past turns never
    changes. Repairs (`simtrack.ledger.ladder`) change surface texts, compilation parameters and
    histories, and nothing else: `contract` is the part that they cannot reach.

    Parameters
    ----------
    task : str
        The statement of the task.
    clauses : tuple of Clause
        In order of their turns; the place in it is the position of a clause.
    tombstones : tuple of Tombstone
        In order of their turns, at most one a clause. A clause that is wanted again after it was
        revoked is a new clause with another id.
    compilation : Compilation
    pending : Pending or None
        The intervention that is not yet kept or rolled back.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "log", "Define audit_log.", "presence:audit_log")
    >>> ledger = ledger.add(2, "short", "Use at most 10 lines.", "lines:10").revoke(5, "log")
    >>> [clause.id for clause in ledger.in_force(turn=4)]
    ['log', 'short']
    >>> [clause.id for clause in ledger.in_force()]
    ['short']
    """

    task: str
    clauses: tuple[Clause, ...] = ()
    tombstones: tuple[Tombstone, ...] = ()
    compilation: Compilation = Compilation()  # noqa: RUF009 - frozen
    pending: Pending | None = None

    def __post_init__(self) -> None:
        a_text("task", self.task)
        object.__setattr__(self, "clauses", tuple(self.clauses))
        object.__setattr__(self, "tombstones", tuple(self.tombstones))
        _check_clauses(self.clauses)
        _check_tombstones(self.tombstones, {clause.id: clause for clause in self.clauses})
        self._check_named(self.compilation, "")
        if self.pending is not None:
            self.clause(self.pending.clause)
            self._check_named(self.pending.compilation, "pending.compilation.")

    @property
    def last_turn(self) -> int:
        """The turn of the last change; 0 for an empty ledger."""
        return max([c.turn for c in self.clauses] + [t.turn for t in self.tombstones], default=0)

    def clause(self, clause_id: str) -> Clause:
        """Return the clause of this id, revoked or not."""
        for clause in self.clauses:
            if clause.id == clause_id:
                return clause
        names = ", ".join(clause.id for clause in self.clauses) or "(none)"
        raise InputError("clause", f"one of {names}", repr(clause_id))

    def in_force(self, turn: int | None = None) -> tuple[Clause, ...]:
        """Return the net state: the clauses that bind once `turn` is over, in their positions.

        A clause binds from its own turn on, up to the turn before its tombstone; None is the
        last turn. Added and revoked in one turn, it never binds.
        """
        gone = {t.clause for t in self.tombstones if turn is None or t.turn <= turn}
        return tuple(
            clause
            for clause in self.clauses
            if (turn is None or clause.turn <= turn) and clause.id not in gone
        )

    def revoked(self, turn: int | None = None) -> tuple[Clause, ...]:
        """Return the clauses under a tombstone once `turn` is over, in their positions."""
        gone = {t.clause for t in self.tombstones if turn is None or t.turn <= turn}
        return tuple(clause for clause in self.clauses if clause.id in gone)

    def add(
        self, turn: int, clause_id: str, text: str, checker_id: str, surface_text: str = ""
    ) -> Ledger:
        """Return the ledger with one more clause, whose surface text is its text unless given."""
        self._require_open(turn)
        new = Clause(clause_id, text, checker_id, turn, surface_text)
        return replace(self, clauses=(*self.clauses, new))

    def revoke(self, turn: int, clause_id: str, replacement: str | None = None) -> Ledger:
        """Return the ledger with a tombstone for a clause in force.

        The clause also leaves the final-check block, the examples and the list of missed clauses:
        nothing may go on asking for it.
        """
        self._require_open(turn)
        if self.clause(clause_id) not in self.in_force():
            raise InputError("clause", "in force", repr(clause_id), where="revoked already")
        return replace(
            self,
            tombstones=(*self.tombstones, Tombstone(clause_id, turn, replacement)),
            compilation=self.compilation.without(clause_id),
        )

    def replace(self, turn: int, clause_id: str, by: str, text: str, checker_id: str) -> Ledger:
        """Return the ledger with a clause revoked and, in the same turn, another in its place."""
        return self.add(turn, by, text, checker_id).revoke(turn, clause_id, by)

    def contract(self) -> str:
        """Return what no repair may change, as one line of JSON: task, texts, checkers, turns."""
        fixed = ("id", "turn", "text", "checker_id")
        told = {
            "task": self.task,
            "clauses": [{name: getattr(clause, name) for name in fixed} for clause in self.clauses],
            "tombstones": [tombstone.to_dict() for tombstone in self.tombstones],
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    def to_json(self) -> str:
        """The ledger as a JSON document."""
        return as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str, where: str = "the ledger") -> Ledger:
        """Read a JSON document."""
        return cls.from_dict(read_object(text, where), where)

    def __repr__(self) -> str:
        stones, open_one = len(self.tombstones), self.pending
        waits = f", {open_one.rung} of {open_one.clause} waits" if open_one else ""
        return f"Ledger({len(self.clauses)} clauses, {stones} tombstones{waits})"

    def _require_open(self, turn: int) -> None:
        """Refuse a change of the past, and one while an intervention waits for its re-test."""
        if self.pending is not None:
            cure = "Settle it first: keep or roll back."
            waits = f"{self.pending.rung} of {self.pending.clause}"
            raise InputError("ledger", "without an intervention that waits", waits, cure=cure)
        if turn < self.last_turn:
            raise InputError("turn", f"{self.last_turn} or later, the last change", turn)

    def _check_named(self, compilation: Compilation, where: str) -> None:
        """Refuse parameters that name a clause which is not there, or is revoked."""
        ids = {clause.id for clause in self.clauses}
        gone = {tombstone.clause for tombstone in self.tombstones}
        relapsed = {v.clause for v in compilation.report if v.kind == "relapsed"}
        for name, one in compilation.named():
            if one not in ids:
                rule = f"made of clauses of the ledger ({', '.join(sorted(ids)) or 'none'})"
                raise InputError(f"{where}{name}", rule, repr(one))
            if one in gone and not (name == "report" and one in relapsed):
                raise InputError(f"{where}{name}", "made of clauses that are in force", repr(one))
        for still in sorted(filter(None, relapsed - gone)):
            raise InputError(f"{where}report", "relapsed for revoked clauses only", repr(still))


def _check_clauses(clauses: tuple[Clause, ...]) -> None:
    seen: set[str] = set()
    last = 0
    for place, clause in enumerate(clauses):
        if clause.id in seen:
            raise InputError(
                f"clauses[{place}].id", "unique, also among revoked clauses", repr(clause.id)
            )
        if clause.turn < last:
            raise InputError(f"clauses[{place}].turn", f"{last} or later, in order", clause.turn)
        seen.add(clause.id)
        last = clause.turn


def _check_tombstones(tombstones: Iterable[Tombstone], clauses: dict[str, Clause]) -> None:
    seen: set[str] = set()
    last = 0
    for place, tombstone in enumerate(tombstones):
        where = f"tombstones[{place}]"
        if tombstone.clause not in clauses or tombstone.clause in seen:
            rule = f"one of {', '.join(c for c in clauses if c not in seen) or '(none)'}"
            raise InputError(f"{where}.clause", rule, repr(tombstone.clause))
        earliest = max(last, clauses[tombstone.clause].turn)
        if tombstone.turn < earliest:
            raise InputError(f"{where}.turn", f"{earliest} or later", tombstone.turn)
        other = tombstone.replacement
        if other is not None and (other not in clauses or clauses[other].turn != tombstone.turn):
            rule = f"a clause added in turn {tombstone.turn}"
            raise InputError(f"{where}.replacement", rule, repr(other))
        seen.add(tombstone.clause)
        last = tombstone.turn
