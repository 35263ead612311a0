"""Compilation parameters: all that may change about a specification besides surface texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from simtrack.errors import InputError
from simtrack.ledger.fields import LedgerPart, a_label, a_text
from simtrack.options import choice

__all__ = ["FINAL_CHECK_CAPACITY", "Compilation", "Example", "Violation", "ViolationKind"]

#: Clauses that the final-check block can restate (the paper's section 4.1).
FINAL_CHECK_CAPACITY: Final = 3
ViolationKind = Literal["missed", "relapsed", "unparsed"]


@dataclass(frozen=True, slots=True)
class Example(LedgerPart, what="the example"):
    """What does satisfying this clause look like, and what does not satisfy it? (Rung L3.)"""

    clause: str
    accepted: str
    rejected: str

    def __post_init__(self) -> None:
        a_label("clause", self.clause)
        a_text("accepted", self.accepted)
        a_text("rejected", self.rejected)


@dataclass(frozen=True, slots=True)
class Violation(LedgerPart, what="the violation"):
    """What was wrong with the last answer? (Rung L7.)

    Parameters
    ----------
    kind : "missed", "relapsed" or "unparsed"
        A clause in force was not satisfied; a revoked one still was carried out; or the answer
        could not be parsed at all.
    clause : str or None
        Id of the clause; None if unparsed, and only then.
    """

    kind: ViolationKind
    clause: str | None = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, ViolationKind)
        if (self.clause is None) != (self.kind == "unparsed"):
            rule = "given unless the kind is unparsed, and only then"
            raise InputError("clause", rule, repr(self.clause), where=self.kind)
        if self.clause is not None:
            a_label("clause", self.clause)


@dataclass(frozen=True, slots=True)
class Compilation(LedgerPart, what="compilation"):
    """How is the net state laid out, and what stands around it?

    The paper names a task header, a numbered list and a final-check block of capacity 3; that the
    examples of L3, the opening of L5 and the report of L7 are parameters too is our reading of its
    rule that interventions change surface texts and compilation parameters only.

    Parameters
    ----------
    header : str
        What stands before the task.
    final_check_heading : str
        The line above the final-check block.
    final_check : tuple of str
        Ids of at most 3 clauses that are restated at the end, in this order (L1).
    examples : tuple of Example
        Contrastive examples, at most one a clause (L3).
    prefill : str
        How the reply opens (L5); no part of the specification's text.
    report : tuple of Violation
        What a retry is told (L7).
    """

    header: str = "Task:"
    final_check_heading: str = "Before you answer, check once more:"
    final_check: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    prefill: str = ""
    report: tuple[Violation, ...] = ()

    def __post_init__(self) -> None:
        a_text("header", self.header)
        a_text("final_check_heading", self.final_check_heading)
        a_text("prefill", self.prefill, empty=True)
        for name in ("final_check", "examples", "report"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for place, one in enumerate(self.final_check):
            a_label(f"final_check[{place}]", one)
        if len(self.final_check) > FINAL_CHECK_CAPACITY:
            rule = f"at most {FINAL_CHECK_CAPACITY} clauses"
            cure = "Take one out first."
            raise InputError("final_check", rule, ", ".join(self.final_check), cure=cure)
        _distinct("final_check", self.final_check)
        _distinct("examples", tuple(example.clause for example in self.examples))
        _distinct("report", self.report)

    def named(self) -> tuple[tuple[str, str], ...]:
        """Every (parameter, clause id) that stands in the parameters."""
        return (
            *(("final_check", one) for one in self.final_check),
            *(("examples", example.clause) for example in self.examples),
            *(("report", v.clause) for v in self.report if v.clause is not None),
        )

    def without(self, clause: str) -> Compilation:
        """Return the parameters with no obligation of a revoked clause left in them."""
        return replace(
            self,
            final_check=tuple(one for one in self.final_check if one != clause),
            examples=tuple(one for one in self.examples if one.clause != clause),
            report=tuple(v for v in self.report if v.clause != clause),
        )


def _distinct(name: str, values: tuple[object, ...]) -> None:
    if len(set(values)) != len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise InputError(name, "without repetition", repr(twice))
