"""Compilation: the net state of a dialogue as one numbered specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from simtrack.ledger.clauses import Clause
from simtrack.ledger.compilation import Compilation, Example
from simtrack.ledger.fields import as_json
from simtrack.ledger.ledger import Ledger
from simtrack.validate import integer

__all__ = ["Specification", "compile_ledger"]

SCHEMA: Final = "simtrack.specification/1"
_REPORT: Final = "The last answer broke these points. Mend them and give the whole answer again:"
_UNPARSED: Final = "it could not be parsed as code; answer with complete code and nothing else"


@dataclass(frozen=True, slots=True)
class Specification:
    """What does the model see, and which clause stands under which number?

    Attributes
    ----------
    turn : int
        The turn whose net state this is.
    body : str
        Task header, numbered clauses, final-check block.
    report : str
        What a retry is told after it; mostly empty.
    prefill : str
        How the reply opens; mostly empty, and no part of the text.
    clauses : tuple of Clause
        In force, in their order: number n is `clauses[n - 1]`.
    final_check : tuple of str
        Ids of the clauses that the final-check block restates.
    """

    turn: int
    body: str
    report: str
    prefill: str
    clauses: tuple[Clause, ...]
    final_check: tuple[str, ...]

    @property
    def text(self) -> str:
        """The message to send: the body, and the report if there is one."""
        return f"{self.body}\n\n{self.report}" if self.report else self.body

    def to_dict(self) -> dict[str, Any]:
        """The specification as plain data."""
        return {
            "schema": SCHEMA,
            "turn": self.turn,
            "text": self.text,
            "characters": len(self.text),
            "clauses": [
                {"number": number, "id": clause.id, "checker_id": clause.checker_id}
                for number, clause in enumerate(self.clauses, 1)
            ],
            "final_check": list(self.final_check),
            "prefill": self.prefill,
        }

    def to_json(self) -> str:
        """The specification as a JSON document."""
        return as_json(self.to_dict())

    def __repr__(self) -> str:
        return f"Specification(turn={self.turn}, {len(self.clauses)} clauses)"


def compile_ledger(
    ledger: Ledger,
    turn: int | None = None,
    *,
    surfaces: Mapping[str, str] | None = None,
    examples: tuple[Example, ...] | None = None,
) -> Specification:
    """Which one specification states what binds once this turn is over?

    A task header, the clauses in force as a numbered list in their positions, and the final-check
    block, which restates at most 3 of them (the paper's section 4.1). Revoked clauses do not occur.
    Where the paper is silent: parameters are those of now, whatever the turn; of what they name,
    that which does not bind at this turn is left out; an example stands under its clause; a report
    is the last block, so that a retry is one message without the earlier answers; later lines of a
    surface text are indented to its number; a task of several lines begins below its header.

    Parameters
    ----------
    ledger : Ledger
    turn : int or None
        None for the last one.
    surfaces : mapping of clause id to text, or None
        Texts to show instead of the surface texts, as ablation does.
    examples : tuple of Example or None
        Examples to show instead of the ledger's.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "log", "Define audit_log.", "presence:audit_log")
    >>> ledger = ledger.add(2, "short", "Use at most 10 lines.", "lines:10").revoke(5, "log")
    >>> print(compile_ledger(ledger).text)
    Task: Reverse a text.
    <BLANKLINE>
    1. Use at most 10 lines.
    """
    if turn is not None:
        turn = integer("turn", turn, 0)
    net = ledger.in_force(turn)
    shown = {clause.id: (surfaces or {}).get(clause.id, clause.surface_text) for clause in net}
    parameters = ledger.compilation
    pairs = parameters.examples if examples is None else examples
    final = tuple(one for one in parameters.final_check if one in shown)
    blocks = [
        parameters.header + ("\n" if "\n" in ledger.task else " ") + ledger.task.rstrip(),
        _numbered(shown, {example.clause: example for example in pairs}),
        _final_block(parameters, final, shown),
    ]
    return Specification(
        turn=ledger.last_turn if turn is None else turn,
        body="\n\n".join(block for block in blocks if block),
        report=_report(ledger, turn, shown),
        prefill=parameters.prefill,
        clauses=net,
        final_check=final,
    )


def _numbered(shown: Mapping[str, str], examples: Mapping[str, Example]) -> str:
    lines = []
    for number, (clause_id, surface) in enumerate(shown.items(), 1):
        lines.append(_item(f"{number}. ", surface))
        if clause_id in examples:
            indent = " " * len(f"{number}. ")
            lines.append(_item(f"{indent}Like this: ", examples[clause_id].accepted))
            lines.append(_item(f"{indent}Not like this: ", examples[clause_id].rejected))
    return "\n".join(lines)


def _final_block(parameters: Compilation, final: tuple[str, ...], shown: Mapping[str, str]) -> str:
    numbers = {clause_id: number for number, clause_id in enumerate(shown, 1)}
    lines = [_item(f"- ({numbers[one]}) ", shown[one]) for one in final]
    return "\n".join([parameters.final_check_heading, *lines]) if lines else ""


def _report(ledger: Ledger, turn: int | None, shown: Mapping[str, str]) -> str:
    """Point at what was violated, by number and surface text; nothing that does not apply now."""
    numbers = {clause_id: number for number, clause_id in enumerate(shown, 1)}
    gone = {clause.id: clause.surface_text for clause in ledger.revoked(turn)}
    lines = []
    for violation in ledger.compilation.report:
        one = violation.clause or ""
        if violation.kind == "unparsed":
            lines.append(f"- {_UNPARSED}")
        elif violation.kind == "missed" and one in shown:
            lines.append(_item(f"- point {numbers[one]} is not met: ", shown[one]))
        elif violation.kind == "relapsed" and one in gone:
            lines.append(_item("- this was withdrawn, but is still done: ", gone[one]))
    return "\n".join([_REPORT, *lines]) if lines else ""


def _item(mark: str, text: str) -> str:
    """Put a text after its mark, later lines indented to where the first one begins."""
    return mark + text.replace("\n", "\n" + " " * len(mark))
