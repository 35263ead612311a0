"""Ablation: the same specification with one clause's surface text made neutral."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from simtrack.errors import InputError
from simtrack.ledger.fields import as_json
from simtrack.ledger.ledger import Ledger
from simtrack.ledger.placeholder import neutral_placeholder, words_of
from simtrack.ledger.specification import Specification, compile_ledger

__all__ = ["Ablation", "ablate"]

SCHEMA: Final = "simtrack.ablation/1"


@dataclass(frozen=True, slots=True)
class Ablation:
    """Which two specifications does a probe round compare?

    Attributes
    ----------
    clause : str
        Id of the ablated clause.
    surface_text, placeholder : str
        What was replaced by what; equally many characters.
    full, ablated : Specification
        S, and S without C: the same length, and the same lines with the same lengths.
    """

    clause: str
    surface_text: str
    placeholder: str
    full: Specification
    ablated: Specification

    def to_dict(self) -> dict[str, Any]:
        """The ablation as plain data; both texts, and how their length was measured."""
        return {
            "schema": SCHEMA,
            "clause": self.clause,
            "turn": self.full.turn,
            "surface_text": self.surface_text,
            "placeholder": self.placeholder,
            "length": len(self.placeholder),
            "measure": "characters",
            "full": self.full.text,
            "ablated": self.ablated.text,
        }

    def to_json(self) -> str:
        """The ablation as a JSON document."""
        return as_json(self.to_dict())

    def __repr__(self) -> str:
        return f"Ablation({self.clause!r}, {len(self.placeholder)} characters)"


def ablate(ledger: Ledger, clause: str, turn: int | None = None) -> Ablation:
    """What does the specification look like without this clause, layout held fixed?

    The clause's surface text becomes a neutral placeholder of the same length at the same position
    (the paper's section 4.2), wherever the specification shows it: in the list, in the final-check
    block and in a report. A contrastive example of the clause (L3) is part of its content, so it
    becomes neutral too, each half by itself; that is our choice. The placeholder avoids the words
    of all clauses and of the task. The ledger stays as it is: ablation is no repair.

    Deleting the clause instead would change the layout; the paper found the two no more alike than
    chance (κ = 0.000 over 10 clauses).

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "log", "Define audit_log.", "presence:audit_log")
    >>> found = ablate(ledger.add(2, "short", "Use at most 10 lines.", "lines:10"), "log")
    >>> print(found.ablated.text)
    Task: Reverse a text.
    <BLANKLINE>
    1. The archive desk.
    2. Use at most 10 lines.
    """
    net = {one.id: one for one in ledger.in_force(turn)}
    if clause not in net:
        when = "" if turn is None else f" at turn {turn}"
        rule = f"in force{when}: {', '.join(net) or 'none is'}"
        raise InputError("clause", rule, repr(clause), cure="A revoked clause has nothing to hide.")
    avoid = words_of(" ".join([ledger.task, *(one.text for one in ledger.clauses)]))
    surface = net[clause].surface_text
    neutral = neutral_placeholder(surface, avoid)
    examples = tuple(
        replace(
            example,
            accepted=neutral_placeholder(example.accepted, avoid),
            rejected=neutral_placeholder(example.rejected, avoid),
        )
        if example.clause == clause
        else example
        for example in ledger.compilation.examples
    )
    return Ablation(
        clause=clause,
        surface_text=surface,
        placeholder=neutral,
        full=compile_ledger(ledger, turn),
        ablated=compile_ledger(ledger, turn, surfaces={clause: neutral}, examples=examples),
    )
