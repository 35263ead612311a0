"""Screens of whole scripts and of compiled ledgers: what is looked at, and for what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from simtrack.ledger.ablation import Ablation, ablate
from simtrack.ledger.clauses import Clause
from simtrack.ledger.fields import a_text
from simtrack.ledger.leaks import VERDICT_HINTS, LeakRule, Passage, Screening, screen
from simtrack.ledger.ledger import Ledger
from simtrack.ledger.placeholder import words_of
from simtrack.ledger.slices import Slice, Slices
from simtrack.ledger.specification import compile_ledger

__all__ = ["contract_words", "screen_ledger", "screen_slices"]

Forbidden = tuple[tuple[LeakRule, tuple[str, ...]], ...]
#: Words of four letters and more that carry no requirement of their own.
_COMMON: Final = (
    "also always another been before both called does each else every extra following from given "
    "have here into just keep least less longer made make many more most must need never nothing "
    "once only other please put should shall such take than that them then there these they this "
    "those under until used uses very well were what when where which while will with without "
    "would your"
)
_LEAST: Final = 4


def contract_words(clause: Clause, others: Iterable[Clause], task: str = "") -> tuple[str, ...]:
    """Which words tell this clause from everything else that was said?

    Words of at least four letters of its text, parts of identifiers among them, that stand neither
    in the text of another clause nor in the task; common words apart. The wording that clauses
    share ("define a function") drops out by itself, and what is left names the requirement. Neither
    the notion nor the rule is the paper's.

    Examples
    --------
    >>> first = Clause("a", "Define a function audit_log.", "presence:audit_log")
    >>> second = Clause("b", "Define a function trace_calls.", "presence:trace_calls")
    >>> contract_words(first, [second])
    ('audit', 'audit_log')
    """
    rest = " ".join([task, *(one.text for one in others if one.id != clause.id)])
    elsewhere = words_of(rest)
    own = {word for word in words_of(clause.text) if len(word) >= _LEAST} - elsewhere
    own -= set(_COMMON.split())
    marker = (clause.marker,) if clause.marker and clause.marker not in rest else ()
    return tuple(dict.fromkeys([*sorted(own), *marker]))


def screen_slices(
    slices: Slices, *, words: Sequence[str] = (), hints: Sequence[str] = (), fragment: int = 20
) -> Screening:
    """Does any script give away what it must not?

    The paper's screen looks at auxiliary turns, for the entry point and for fragments of the gold
    solution. This one looks at every turn:

    ========== =================================================================================
    turn       must not hold
    ========== =================================================================================
    task       markers, verdict hints
    marker     entry point, solution fragments, markers but its own, verdict hints
    auxiliary  entry point, solution fragments, markers, contract words, verdict hints
    revocation entry point, solution fragments, markers but the revoked one, verdict hints
    ========== =================================================================================

    Markers are all of the pool. Verdict hints that the task itself uses are no leaks.

    Parameters
    ----------
    slices : Slices
    words, hints : sequence of str
        Further contract words, for auxiliary turns, and further verdict hints.
    fragment : int
        Characters from which on a part of the solution counts; the paper has 20.

    Examples
    --------
    >>> from simtrack.ledger import Task, make_slices
    >>> screen_slices(make_slices([Task("t1", "Reverse a text.", "flip", "a[::-1]")], seed=7))
    Screening(0/3 slices leak)
    """
    _named(words, hints)
    per_slice = [_of_slice(one, slices, words, hints) for one in slices.slices]
    without = sorted({one.task.id for one in slices.slices if not one.task.solution})
    notes = []
    if without:
        few = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
        tasks = "task" if len(without) == 1 else "tasks"
        notes.append(f"solution fragments of {len(without)} {tasks} without a solution: {few}")
    return _screened(per_slice, "slice", fragment, notes)


def screen_ledger(
    ledger: Ledger,
    turn: int | None = None,
    *,
    words: Sequence[str] = (),
    hints: Sequence[str] = (),
) -> Screening:
    """Does the compiled specification, or an ablation of it, give away what it must not?

    ============= ============================================================================
    text          must not hold
    ============= ============================================================================
    specification contract words of revoked clauses, checker ids, verdict hints, `words`
    placeholder   contract words of any clause, verdict hints
    rest          of an ablated specification: contract words of the ablated clause
    ============= ============================================================================

    The report of a retry (L7) may name what was violated, so it is not looked at. Words of the task
    and of texts in force are no leaks: the model has to see them.

    Parameters
    ----------
    ledger : Ledger
    turn : int or None
        Whose net state; None is the last turn.
    words, hints : sequence of str
        Further words that the specification must not hold, and further verdict hints.

    Examples
    --------
    >>> ledger = Ledger("Reverse a text.").add(1, "log", "Define audit_log.", "presence:audit_log")
    >>> ledger = ledger.add(2, "short", "Use 9 lines.", "lines:9", "Use 9 lines, no audit_log.")
    >>> for leak in screen_ledger(ledger.revoke(5, "log")).leaks:
    ...     print(leak.rule, leak.term, leak.where)
    contract-word audit_log specification at turn 5
    """
    _named(words, hints)
    net = ledger.in_force(turn)
    specification = compile_ledger(ledger, turn)
    when = f" at turn {specification.turn}"
    open_words = words_of(" ".join([ledger.task, *(clause.text for clause in net)]))
    telling = _hints(hints, open_words)
    gone = chain.from_iterable(
        contract_words(clause, net, ledger.task) for clause in ledger.revoked(turn)
    )
    checkers = tuple(dict.fromkeys(c.checker_id for c in ledger.clauses if ":" in c.checker_id))
    rules: Forbidden = (
        ("contract-word", tuple(dict.fromkeys([*gone, *words]))),
        ("checker-id", checkers),
        ("verdict-hint", telling),
    )
    units = [[Passage(f"specification{when}", specification.body, rules)]]
    units += [_of_ablation(ledger, ablate(ledger, clause.id, turn), telling) for clause in net]
    return _screened(units, "specification", 1, [])


def _of_slice(
    one: Slice, slices: Slices, words: Sequence[str], hints: Sequence[str]
) -> list[Passage]:
    task, ledger = one.task, one.ledger()
    names = iter(one.markers)
    every = set(slices.markers.names) | set(one.markers)
    telling = _hints(hints, words_of(" ".join([task.statement, *(c.text for c in ledger.clauses)])))
    contract = chain.from_iterable(contract_words(c, ledger.clauses) for c in ledger.clauses)
    bound = tuple(dict.fromkeys([*(w for w in contract if w not in every), *words]))
    passages = []
    for place, turn in enumerate(one.turns):
        own = {"marker": next(names, "") if turn.role == "marker" else "",
               "revocation": one.revoked or ""}.get(turn.role, "")  # fmt: skip
        rules: list[tuple[LeakRule, tuple[str, ...]]] = [
            ("marker", tuple(sorted(every - {own}))),
            ("verdict-hint", telling),
        ]
        if turn.role != "task":
            rules.insert(0, ("entry-point", (task.entry_point,)))
        if turn.role == "auxiliary":
            rules.append(("contract-word", tuple(w for w in bound if w != task.entry_point)))
        solution = "" if turn.role == "task" else task.solution
        where = f"{one.id} turn {place} ({turn.role})"
        passages.append(Passage(where, turn.text, tuple(rules), solution))
    return passages


def _of_ablation(ledger: Ledger, found: Ablation, telling: tuple[str, ...]) -> list[Passage]:
    """Screen the placeholder for all contract words, and the rest for those of its clause."""
    everything = chain.from_iterable(
        contract_words(clause, ledger.clauses, ledger.task) for clause in ledger.clauses
    )
    own = contract_words(ledger.clause(found.clause), ledger.clauses, ledger.task)
    return [
        Passage(
            f"placeholder of {found.clause}",
            found.placeholder,
            (("contract-word", tuple(dict.fromkeys(everything))), ("verdict-hint", telling)),
        ),
        Passage(
            f"specification without {found.clause}",
            found.ablated.body,
            (("contract-word", own),),
        ),
    ]


def _screened(
    units: Sequence[Sequence[Passage]], unit: str, fragment: int, notes: Sequence[str]
) -> Screening:
    leaks = [screen(passages, fragment=fragment) for passages in units]
    return Screening(
        leaks=tuple(chain.from_iterable(leaks)),
        passages=sum(map(len, units)),
        units=len(units),
        units_with_leaks=sum(map(bool, leaks)),
        unit=unit,
        notes=tuple(f"not screened: {note}" for note in notes),
    )


def _hints(extra: Sequence[str], open_words: Iterable[str]) -> tuple[str, ...]:
    """Return the hints that the contract does not itself use, and the extra ones."""
    allowed = set(open_words)
    return tuple(dict.fromkeys([*(h for h in VERDICT_HINTS if h not in allowed), *extra]))


def _named(words: Sequence[str], hints: Sequence[str]) -> None:
    for name, given in (("word", words), ("hint", hints)):
        for one in given:
            a_text(name, one)
