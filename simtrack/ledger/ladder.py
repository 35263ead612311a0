"""The repair ladder: five client-side changes of how a clause is delivered, none of what it says.

Every rung returns another ledger in which the intervention waits (`pending`) for a re-test;
`simtrack.ledger.retest` keeps it or rolls it back. No rung calls a model. Rungs change surface
texts and compilation parameters; texts, checkers and turns cannot be reached from here, and
`Ledger.contract` is the same before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from simtrack.errors import InputError
from simtrack.ledger.clauses import Clause, Event, Rung
from simtrack.ledger.compilation import (
    FINAL_CHECK_CAPACITY,
    Compilation,
    Example,
    Violation,
)
from simtrack.ledger.fields import a_text
from simtrack.ledger.ledger import Ledger, Pending

__all__ = ["exemplify", "prefill", "promote", "report_back", "revised", "rewrite", "rung_for"]

#: The paper's Appendix G routes two kinds of violation; it prints no route to L2, L3 and L7.
_ROUTES: Final[dict[str, Rung]] = {"missed": "L1", "unparsed": "L5"}


def rung_for(violation: Violation) -> Rung:
    """Which rung does the adaptive ladder take first for this violation?

    A missed clause goes to L1, an unparsed answer to L5 (Appendix G). A relapse goes to L7 here:
    the clause is revoked, so there is nothing to promote, and only a report can say so; that is
    our choice.

    Examples
    --------
    >>> rung_for(Violation("missed", "audit")), rung_for(Violation("unparsed"))
    ('L1', 'L5')
    """
    return _ROUTES.get(violation.kind, "L7")


def promote(ledger: Ledger, clause: str, note: str = "") -> Ledger:
    """L1: restate the clause in the final-check block at the end of the specification.

    A full block of 3 is refused, not reshuffled: which clause should give way is not ours to
    guess (the paper is silent).

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> promote(ledger, "short").compilation.final_check
    ('short',)
    """
    _repairable(ledger, clause)
    block = ledger.compilation.final_check
    if len(block) >= FINAL_CHECK_CAPACITY and clause not in block:
        rule = f"left with room (it holds {FINAL_CHECK_CAPACITY})"
        cure = "Roll one back or choose another rung."
        raise InputError("final_check", rule, ", ".join(block), cure=cure)
    if clause in block:
        raise _nothing("L1", clause)
    changed = replace(ledger.compilation, final_check=(*block, clause))
    return _apply(ledger, clause, "L1", note, compilation=changed)


def rewrite(ledger: Ledger, clause: str, surface_text: str = "", note: str = "") -> Ledger:
    """L2: put the clause as an order.

    The paper prints no wording. Without one, the surface text becomes "You must meet this
    requirement: " and the clause's own text, so that the content cannot drift.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> rewrite(ledger, "short").clause("short").surface_text
    'You must meet this requirement: Use at most 10 lines.'
    """
    found = _repairable(ledger, clause)
    surface = surface_text or f"You must meet this requirement: {found.text}"
    if a_text("surface_text", surface) == found.surface_text:
        raise _nothing("L2", clause)
    return _apply(ledger, clause, "L2", note, surface_text=surface)


def exemplify(
    ledger: Ledger,
    clause: str,
    accepted: str,
    rejected: str,
    check: Callable[[str], bool],
    note: str = "",
) -> Ledger:
    """L3: attach a minimal contrastive example, if the clause's own checker agrees with it.

    Parameters
    ----------
    ledger : Ledger
    clause : str
    accepted, rejected : str
        What satisfies the clause, and what does not.
    check : callable
        The program that `checker_id` names: text in, True if satisfied. Ledgers hold names of
        programs, not programs.

    Returns
    -------
    Ledger
        With the example waiting for its re-test; or, where the checker rejects `accepted` or
        accepts `rejected`, with a "withheld" event in the clause's history and nothing else.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 2 lines.", "lines:2")
    >>> tried = exemplify(ledger, "short", "a", "a", check=lambda text: text.count("\\n") < 2)
    >>> tried.pending, tried.clause("short").history[-1].kind
    (None, 'withheld')
    """
    _repairable(ledger, clause)
    example = Example(clause, accepted, rejected)
    if example in ledger.compilation.examples:
        raise _nothing("L3", clause)
    trouble = "" if check(accepted) else "its checker rejects the example to follow"
    if not trouble and check(rejected):
        trouble = "its checker accepts the example to avoid"
    if trouble:
        return revised(ledger, clause, Event("withheld", "L3", note=_said(trouble, note)))
    others = tuple(one for one in ledger.compilation.examples if one.clause != clause)
    changed = replace(ledger.compilation, examples=(*others, example))
    return _apply(ledger, clause, "L3", note, compilation=changed)


def prefill(ledger: Ledger, clause: str, opening: str = "```python\n", note: str = "") -> Ledger:
    """L5: let the reply open with a code fence, or with whatever structure is to be forced.

    The opening holds for the whole reply; the clause is the one whose failure asked for it and
    whose history tells of it.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> prefill(ledger, "short").compilation.prefill
    '```python\\n'
    """
    _repairable(ledger, clause)
    if a_text("opening", opening) == ledger.compilation.prefill:
        raise _nothing("L5", clause)
    changed = replace(ledger.compilation, prefill=opening)
    return _apply(ledger, clause, "L5", note, compilation=changed)


def report_back(
    ledger: Ledger, clause: str, violations: Sequence[Violation], note: str = ""
) -> Ledger:
    """L7: try again with a report that points at what was violated.

    The next specification ends with the report; earlier answers are not shown, which the paper
    says of this rung. It replaces an earlier report. A verifier that is blind to revocation, the
    paper's no-ledger baseline, reports no "relapsed".

    Examples
    --------
    >>> from simtrack.ledger import compile_ledger
    >>> ledger = Ledger("Reverse a text.").add(1, "short", "Use at most 10 lines.", "lines:10")
    >>> print(compile_ledger(report_back(ledger, "short", [Violation("missed", "short")])).report)
    The last answer broke these points. Mend them and give the whole answer again:
    - point 1 is not met: Use at most 10 lines.
    """
    _repairable(ledger, clause)
    report = tuple(violations)
    if not report:
        raise InputError("violations", "at least one", "none")
    if report == ledger.compilation.report:
        raise _nothing("L7", clause)
    return _apply(
        ledger, clause, "L7", note, compilation=replace(ledger.compilation, report=report)
    )


def revised(
    ledger: Ledger,
    clause: str,
    event: Event,
    *,
    surface_text: str | None = None,
    compilation: Compilation | None = None,
    pending: Pending | None = None,
) -> Ledger:
    """Return the ledger with one event, and perhaps another delivery. All repairs pass here.

    What it can change is what its arguments name: one surface text, the compilation parameters,
    one history, and what waits.
    """
    found = ledger.clause(clause)
    if surface_text is not None:
        found = found.shown_as(surface_text)
    found = found.with_event(replace(event, surface_text=found.surface_text))
    return replace(
        ledger,
        clauses=tuple(found if one.id == clause else one for one in ledger.clauses),
        compilation=ledger.compilation if compilation is None else compilation,
        pending=pending,
    )


def _repairable(ledger: Ledger, clause: str) -> Clause:
    """Refuse what cannot be repaired: revoked clauses, and a ledger whose last repair waits."""
    found = ledger.clause(clause)
    if found not in ledger.in_force():
        raise InputError("clause", "in force", repr(clause), where="revoked")
    if ledger.pending is not None:
        waits = f"{ledger.pending.rung} of {ledger.pending.clause}"
        cure = "Settle it first: keep or roll back."
        raise InputError("ledger", "without an intervention that waits", waits, cure=cure)
    return found


def _apply(
    ledger: Ledger,
    clause: str,
    rung: Rung,
    note: str,
    *,
    surface_text: str | None = None,
    compilation: Compilation | None = None,
) -> Ledger:
    before = Pending(rung, clause, ledger.clause(clause).surface_text, ledger.compilation)
    event = Event("applied", rung, note=note)
    return revised(
        ledger, clause, event, surface_text=surface_text, compilation=compilation, pending=before
    )


def _nothing(rung: Rung, clause: str) -> InputError:
    return InputError(
        "rung", "one that changes something", rung, where=clause, cure="Choose another."
    )


def _said(trouble: str, note: str) -> str:
    return f"{trouble}; {note}" if note else trouble
