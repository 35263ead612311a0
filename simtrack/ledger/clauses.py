"""Clauses, what happened to them, and the tombstones that they leave when they are revoked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from simtrack.errors import InputError
from simtrack.ledger.fields import LedgerPart, a_label, a_text
from simtrack.options import choice
from simtrack.plain import Plain
from simtrack.validate import integer

__all__ = ["RUNGS", "Clause", "ClauseState", "Event", "EventKind", "Rung", "Tombstone"]

#: The rungs that the paper implements; L4 and L6 are numbers of a larger design space.
Rung = Literal["L1", "L2", "L3", "L5", "L7"]
#: The five states of the probe and its non-committal outcome, as `simtrack.probe` names them.
ClauseState = Literal["adopted", "redundant", "weak", "dead", "adverse", "not_confident"]
EventKind = Literal["diagnosed", "applied", "withheld", "kept", "rolled back"]

RUNGS: Final[Mapping[Rung, str]] = {
    "L1": "promote the clause into the final-check block",
    "L2": "rewrite its surface text imperatively",
    "L3": "attach a contrastive example that its own checker has verified",
    "L5": "force structure by the opening of the reply",
    "L7": "retry against a report of what was violated",
}
_CLAUSE: Final = "id turn text surface_text checker_id history"


@dataclass(frozen=True, slots=True)
class Event(LedgerPart, what="the event"):
    """What was found out about a clause, or done to it?

    Parameters
    ----------
    kind : "diagnosed", "applied", "withheld", "kept" or "rolled back"
    rung : Rung or None
        The rung of the repair ladder; None for a diagnosis.
    state : ClauseState or None
        What a probe called the clause, where one was made.
    adherence : str or None
        Share of artifacts that pass, a decimal or fraction as text, so that it stays exact.
    surface_text : str or None
        The surface text after the event, so that a history shows every surface in its order.
    note : str
        Why, in words.
    """

    kind: EventKind
    rung: Rung | None = None
    state: ClauseState | None = None
    adherence: str | None = None
    surface_text: str | None = None
    note: str = ""

    def __post_init__(self) -> None:
        choice("kind", self.kind, EventKind)
        if self.rung is not None:
            choice("rung", self.rung, Rung)
        if self.state is not None:
            choice("state", self.state, ClauseState)
        for name in ("adherence", "surface_text"):
            if getattr(self, name) is not None:
                a_text(name, getattr(self, name))
        a_text("note", self.note, empty=True)

    def to_dict(self) -> dict[str, Any]:
        """The event as plain data, without what it does not say."""
        told = Plain.to_dict(self).items()
        return {name: value for name, value in told if name == "kind" or value}


@dataclass(frozen=True, slots=True)
class Clause(LedgerPart, what="the clause", names=_CLAUSE):
    """Which requirement is this, how is it put, who checks it, and what became of it?

    A clause holds what the ReBIND paper records (its section 3.1). The position is the place
    in the ledger.

    Parameters
    ----------
    id : str
        Unique in its ledger, also among revoked clauses.
    text : str
        What the requirement is. Never changes.
    checker_id : str
        Which program decides whether an artifact satisfies it: "unit-tests", or
        "presence:audit_log" with an argument after a colon. Never changes; never run here.
    turn : int
        Turn of the dialogue in which it was added, from 0.
    surface_text : str
        How the model sees it; the text itself unless told otherwise. Repairs change it.
    history : tuple of Event
        The paper's binding history: diagnoses and interventions, only ever appended to.

    Examples
    --------
    >>> clause = Clause("audit", "Define a helper called audit_log.", "presence:audit_log")
    >>> clause.surface_text, clause.marker
    ('Define a helper called audit_log.', 'audit_log')
    """

    id: str
    text: str
    checker_id: str
    turn: int = 0
    surface_text: str = ""
    history: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        a_label("id", self.id)
        a_text("text", self.text)
        a_label("checker_id", self.checker_id)
        object.__setattr__(self, "turn", integer("turn", self.turn, 0))
        a_text("surface_text", self.surface_text, empty=True)
        if not self.surface_text:
            object.__setattr__(self, "surface_text", self.text)
        a_text("surface_text", self.surface_text)
        object.__setattr__(self, "history", tuple(self.history))

    @property
    def marker(self) -> str | None:
        """The name whose definition a presence checker looks for, or None."""
        kind, _, argument = self.checker_id.partition(":")
        return argument if kind == "presence" and argument else None

    def shown_as(self, surface_text: str) -> Clause:
        """Return the clause with another surface text, and everything else as it was."""
        return replace(self, surface_text=a_text("surface_text", surface_text))

    def with_event(self, event: Event) -> Clause:
        """Return the clause with one more event at the end of its history."""
        return replace(self, history=(*self.history, event))


@dataclass(frozen=True, slots=True)
class Tombstone(LedgerPart, what="the tombstone"):
    """Which clause was revoked, when, and does another take its place?

    The record of the clause stays; its obligation does not.

    Parameters
    ----------
    clause : str
        Id of the revoked clause.
    turn : int
        Turn of the dialogue that revoked it.
    replacement : str or None
        Id of the clause that positively replaces it.
    """

    clause: str
    turn: int
    replacement: str | None = None

    def __post_init__(self) -> None:
        a_label("clause", self.clause)
        object.__setattr__(self, "turn", integer("turn", self.turn, 0))
        if self.replacement is not None:
            a_label("replacement", self.replacement)
        if self.replacement == self.clause:
            raise InputError("replacement", "another clause", repr(self.replacement))
