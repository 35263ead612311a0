"""Does a text keep a rule that a program can check? Checkers as data: a kind and its settings.

Kinds, by file: counts (`words`, `characters`, `sentences`, `lines`, `paragraphs`, `items`,
`stated_words`), words (`required`, `forbidden`, `starts_with`, `ends_with`, `case`, `regex`),
`json`, numbers (`number`, `amounts`), and what is made of others: `all`, `any`, `not`. A checker
sees the text alone and gives a verdict with its reason. `sentences` is approximate, all others are
exact by the rule that their kind states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simtrack.errors import InputError
from simtrack.scoring.constraints.numbers import NUMBERS
from simtrack.scoring.constraints.structure import COUNTS, JSON
from simtrack.scoring.constraints.text import Check, Kind, Verdict
from simtrack.scoring.constraints.words import REGEX, WORDS
from simtrack.scoring.protocol_file import only_keys

__all__ = ["CONSTRAINT_KINDS", "Constraint", "Verdict"]

_DEEPEST = 16
#: Kinds that look at the text themselves, by name.
CONSTRAINT_KINDS: Mapping[str, Kind] = {**COUNTS, **WORDS, **JSON, **NUMBERS, **REGEX}
_MADE_OF_OTHERS = ("all", "any", "not")


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """What must hold of a text, as data, and the check of it?

    Parameters
    ----------
    kind : str
        See the kinds of this module.
    settings : mapping
        Those of the kind; see `CONSTRAINT_KINDS[kind].about`.

    Examples
    --------
    >>> three = Constraint.from_dict({"kind": "items", "exactly": 3, "only": True})
    >>> three.check("- one\\n- two\\n- three")
    Verdict(passed=True, reason='3 items')
    >>> three.check("- one\\n- two\\n- three\\nAnything else?").reason
    "a line that is no item: 'Anything else?'"
    >>> Constraint.from_dict({"kind": "words", "exactli": 5})
    Traceback (most recent call last):
    simtrack.errors.InputError: key must be one of kind, exactly, at_least, at_most, split, code, \
got 'exactli' (constraint). Did you mean exactly?
    """

    kind: str
    settings: Mapping[str, Any]
    is_approximate: bool = False
    _check: Check = field(repr=False, kw_only=True)

    @classmethod
    def from_dict(cls, content: object, where: str = "constraint") -> Constraint:
        """Make a checker from plain data, as TOML or JSON hold it."""
        return _made(content, where, 0)

    def check(self, text: str) -> Verdict:
        """Say whether the text keeps the rule, and why."""
        return self._check(text)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        plain: dict[str, Any] = json.loads(json.dumps({"kind": self.kind, **self.settings}))
        return plain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))


def _made(content: object, where: str, depth: int) -> Constraint:
    if not isinstance(content, Mapping):
        raise InputError("constraint", "a table with a kind", repr(content), where=where)
    if depth > _DEEPEST:
        raise InputError("constraint", f"nested at most {_DEEPEST} deep", where=where)
    kind = content.get("kind")
    if kind in _MADE_OF_OTHERS:
        return _of_others(str(kind), content, where, depth)
    if not isinstance(kind, str) or kind not in CONSTRAINT_KINDS:
        from difflib import get_close_matches

        names = (*CONSTRAINT_KINDS, *_MADE_OF_OTHERS)
        near = get_close_matches(str(kind), names, 1)
        cure = f"Did you mean {near[0]}?" if near else ""
        raise InputError("kind", "one of " + ", ".join(names), repr(kind), where=where, cure=cure)
    found = CONSTRAINT_KINDS[kind]
    only_keys(content, ("kind", *found.keys), where)
    settings = {key: value for key, value in content.items() if key != "kind"}
    return Constraint(kind, settings, found.is_approximate, _check=found.make(settings, where))


def _of_others(kind: str, content: Mapping[str, Any], where: str, depth: int) -> Constraint:
    only_keys(content, ("kind", "of"), where)
    given = content.get("of")
    listed = [given] if kind == "not" else given
    if not isinstance(listed, list) or not listed:
        raise InputError("of", "a list of constraints", repr(given), where=where)
    parts = [_made(part, f"{where}, {kind} {k}", depth + 1) for k, part in enumerate(listed, 1)]
    plain = [part.to_dict() for part in parts]
    checks: dict[str, Callable[[list[Constraint]], Check]] = {
        "all": _all,
        "any": _any,
        "not": _not,
    }
    settings = {"of": plain[0] if kind == "not" else plain}
    approximate = any(part.is_approximate for part in parts)
    return Constraint(kind, settings, approximate, _check=checks[kind](parts))


def _all(parts: list[Constraint]) -> Check:
    def check(text: str) -> Verdict:
        for part in parts:
            found = part.check(text)
            if not found.passed:
                return found
        return Verdict(True, f"all {len(parts)} hold")

    return check


def _any(parts: list[Constraint]) -> Check:
    def check(text: str) -> Verdict:
        reasons = []
        for part in parts:
            found = part.check(text)
            if found.passed:
                return found
            reasons.append(found.reason)
        return Verdict(False, "none holds: " + "; ".join(reasons))

    return check


def _not(parts: list[Constraint]) -> Check:
    def check(text: str) -> Verdict:
        found = parts[0].check(text)
        return Verdict(not found.passed, f"not wanted: {found.reason}")

    return check
