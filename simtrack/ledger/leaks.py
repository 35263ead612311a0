"""The mechanical screen: which words stand where they must not?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from simtrack.ledger.fields import as_json
from simtrack.plain import Plain
from simtrack.validate import integer

__all__ = ["VERDICT_HINTS", "Leak", "LeakRule", "Passage", "Screening", "screen"]

SCHEMA: Final = "simtrack.screening/1"
LeakRule = Literal[
    "entry-point", "solution-fragment", "marker", "contract-word", "verdict-hint", "checker-id"
]
#: Words that tell a model that it is being measured, or what the verdict would be. Ours.
VERDICT_HINTS: Final = (
    "ablated", "ablation", "checker", "grader", "graded", "gold solution", "placebo",
    "placeholder", "relapse", "relapsed", "tombstone", "verdict",
)  # fmt: skip
_FRAGMENT: Final = 20
_EXCERPT: Final = 24

_SCREENING: Final = "clean unit units units_with_leaks passages leaks notes"


@dataclass(frozen=True, slots=True)
class Passage:
    """Which text is screened, and what must not stand in it?

    Parameters
    ----------
    where : str
        How a reader finds it: "t1:delayed:m5 turn 6 (auxiliary)".
    text : str
    forbidden : tuple of (rule, terms)
        Terms are whole words or phrases, in any case: letters, digits and underscores on neither
        side.
    solution : str
        A gold solution of which no fragment may occur; empty for none.
    """

    where: str
    text: str
    forbidden: tuple[tuple[LeakRule, tuple[str, ...]], ...]
    solution: str = ""


@dataclass(frozen=True, slots=True)
class Leak(Plain):
    """What stands where it must not?"""

    rule: LeakRule
    term: str
    where: str
    offset: int
    excerpt: str


@dataclass(frozen=True, slots=True)
class Screening(Plain, schema=SCHEMA, names=_SCREENING):
    """What was found, in how many passages, and what was not looked for?

    Attributes
    ----------
    leaks : tuple of Leak
    passages : int
        Texts that were looked through.
    units, units_with_leaks : int
        Slices, or compiled and ablated specifications; the paper prints leaks as 0 of 201 slices.
    unit : str
        What the units are.
    notes : tuple of str
        What could not be screened, and why.
    """

    leaks: tuple[Leak, ...]
    passages: int
    units: int
    units_with_leaks: int
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Was nothing found?"""
        return not self.leaks

    def to_json(self) -> str:
        """The screening as a JSON document."""
        return as_json(self.to_dict())

    def __repr__(self) -> str:
        return f"Screening({self.units_with_leaks}/{self.units} {self.unit}s leak)"


def screen(passages: Iterable[Passage], *, fragment: int = _FRAGMENT) -> tuple[Leak, ...]:
    """Which forbidden words, and which fragments of a solution, stand in these passages?

    A term is found as a whole word in any case. The paper rejects auxiliary turns that contain the
    entry point's name or a fragment of the gold solution of twenty characters or more (its
    Appendix D); a name inside a longer word is no leak here, as HumanEval has entry points like
    `add`, which would be found in "additional". Fragments are compared after runs of blanks became
    one blank, so that another indentation hides nothing; that is stricter than the paper's text.
    Of one term in one passage the first place is given, of a solution the first fragment, whole.

    Parameters
    ----------
    passages : iterable of Passage
    fragment : int, at least 1
        Characters from which on a common part with the solution counts.

    Examples
    --------
    >>> rules = (("entry-point", ("add",)), ("marker", ("audit_log",)))
    >>> for leak in screen([Passage("turn 6", "In addition, add a note to Audit_Log.", rules)]):
    ...     print(leak.rule, leak.term, leak.offset)
    entry-point add 13
    marker audit_log 27
    """
    fragment = integer("fragment", fragment, 1)
    found: list[Leak] = []
    for passage in passages:
        for rule, terms in passage.forbidden:
            for term in terms:
                place = _place(term, passage.text)
                if place is not None:
                    found.append(_leak(rule, term, passage, place))
        if passage.solution:
            text = _squeezed(passage.text)
            common = _common(_squeezed(passage.solution), text, fragment)
            if common:
                found.append(_leak("solution-fragment", common, passage, text.index(common)))
    return tuple(found)


def _place(term: str, text: str) -> int | None:
    pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, term.split())) + r"(?!\w)"
    match = re.search(pattern, text, re.IGNORECASE)
    return match.start() if match else None


def _leak(rule: LeakRule, term: str, passage: Passage, place: int) -> Leak:
    text = _squeezed(passage.text) if rule == "solution-fragment" else passage.text
    start, end = max(place - _EXCERPT, 0), place + len(term) + _EXCERPT
    excerpt = " ".join(text[start:end].split())
    return Leak(rule, term, passage.where, place, excerpt)


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _common(solution: str, text: str, least: int) -> str:
    """Return the first part of `text` of at least `least` characters that `solution` holds."""
    windows = {solution[k : k + least] for k in range(len(solution) - least + 1)}
    for start in range(len(text) - least + 1):
        if text[start : start + least] in windows:
            end = start + least
            while end < len(text) and text[start : end + 1] in solution:
                end += 1
            return text[start:end]
    return ""
