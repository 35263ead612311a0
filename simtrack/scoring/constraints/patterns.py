"""Regular expressions in time that grows with the text alone: an automaton in place of
backtracking.

Patterns are Python's, parsed by Python, and walked with all alternatives side by side (Thompson
1968), so that none can run away: a character costs at most one look at each state, of which there
are `STATES_MAX` at most. What needs memory of the text is refused: backreferences, lookarounds,
conditionals, atomic groups, possessive repeats. Repeats with bounds are written out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from simtrack.errors import InputError
from simtrack.scoring.constraints.text import (
    Check,
    Kind,
    Settings,
    Verdict,
    one_of,
    quoted,
    unified,
)
from simtrack.scoring.protocol_file import flag, text

__all__ = ["REGEX", "STATES_MAX", "Automaton"]


STATES_MAX = 400
_CACHED_MAX = 20_000
_PATTERN_MAX = 2_000
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
_BEGIN, _BEGIN_LINE, _END, _END_LINE, _LAST, _BOUNDARY, _INNER = (1 << k for k in range(7))
_PLACES = {
    codes.AT_BEGINNING: (_BEGIN, _BEGIN_LINE),
    codes.AT_BEGINNING_STRING: (_BEGIN, _BEGIN),
    codes.AT_END: (_LAST, _END_LINE),
    codes.AT_END_STRING: (_END, _END),
    codes.AT_BOUNDARY: (_BOUNDARY, _BOUNDARY),
    codes.AT_NON_BOUNDARY: (_INNER, _INNER),
}
_CLASSES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE
Test = Callable[[str], object]


class Automaton:
    """Is there a match of this pattern, anywhere or of the whole text?

    Parameters
    ----------
    pattern : str
    flags : int
        Of `re`: IGNORECASE, MULTILINE, DOTALL, VERBOSE.

    Examples
    --------
    >>> evil = Automaton(r"(a+)+$")
    >>> evil.search("a" * 5000 + "b"), evil.full("aaa")
    (False, True)
    >>> Automaton(r"(a)\\1")
    Traceback (most recent call last):
    simtrack.errors.InputError: pattern must be without GROUPREF, which needs backtracking, \
got '(a)\\\\1'.
    """

    __slots__ = ("_cache", "_pattern", "_places", "_start", "_steps")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        if len(pattern) > _PATTERN_MAX:
            raise InputError("pattern", f"at most {_PATTERN_MAX} characters", len(pattern))
        self._pattern = pattern
        #: For each state: (test of a character or None, place bits, states that follow).
        self._steps: list[tuple[Test | None, int, tuple[int, ...]]] = [(None, 0, ())]
        try:
            tree = parser.parse(pattern, flags)
            self._start = self._sequence(list(tree), 0, self._checked(tree.state.flags))
        except (re.error, OverflowError) as error:
            rule, got = "a regular expression", f"{quoted(pattern)}: {error}"
            raise InputError("pattern", rule, got) from None
        except RecursionError:
            raise InputError("pattern", "nested less deeply", quoted(pattern)) from None
        self._places = any(bits for _, bits, _ in self._steps)
        self._cache: dict[tuple[frozenset[int], int, str], tuple[bool, frozenset[int]]] = {}

    def search(self, text: str) -> bool:
        """Say whether the pattern matches anywhere."""
        return self._run(text, True)

    def full(self, text: str) -> bool:
        """Say whether the pattern matches the text as a whole."""
        return self._run(text, False)

    def _run(self, text: str, anywhere: bool) -> bool:
        again = frozenset([self._start] if anywhere else ())
        alive = frozenset([self._start])
        last = len(text)
        for at in range(last + 1):
            place = _place(text, at) if self._places else 0
            character = text[at] if at < last else ""
            key = (alive, place, character)
            found = self._cache.get(key)
            if found is None:
                if len(self._cache) >= _CACHED_MAX:
                    self._cache.clear()
                found = self._cache[key] = self._step(*key)
            accepts, alive = found
            if accepts and (anywhere or at == last):
                return True
            alive |= again
            if not alive:
                return False
        return False

    def _step(
        self, alive: frozenset[int], place: int, character: str
    ) -> tuple[bool, frozenset[int]]:
        """Follow what needs no character, then take one."""
        seen: set[int] = set()
        stack = list(alive)
        after: set[int] = set()
        while stack:
            state = stack.pop()
            if state in seen:
                continue
            seen.add(state)
            test, bits, follow = self._steps[state]
            if test is not None:
                if character and test(character):
                    after.update(follow)
            elif not bits or place & bits:
                stack.extend(follow)
        return 0 in seen, frozenset(after)

    def _sequence(self, nodes: Sequence[Any], then: int, flags: int) -> int:
        for op, given in reversed(nodes):
            then = self._node(op, given, then, flags)
        return then

    def _node(self, op: Any, given: Any, then: int, flags: int) -> int:
        if op is codes.AT:
            bits = _PLACES[given][bool(flags & re.MULTILINE)]
            return self._add(None, bits, (then,))
        if op is codes.BRANCH:
            starts = tuple(self._sequence(list(part), then, flags) for part in given[1])
            return self._add(None, 0, starts)
        if op is codes.SUBPATTERN:
            _, on, off, part = given
            return self._sequence(list(part), then, self._checked((flags | on) & ~off))
        if op in _REPEATS:
            low, high, part = given
            return self._repeat(low, high, list(part), then, flags)
        source = _source(op, given)
        if source is None:
            name = str(op).replace("_", " ")
            raise InputError(
                "pattern", f"without {name}, which needs backtracking", quoted(self._pattern)
            )
        test = re.compile(source, flags & (re.IGNORECASE | re.DOTALL)).fullmatch
        return self._add(test, 0, (then,))

    def _repeat(self, low: int, high: Any, part: list[Any], then: int, flags: int) -> int:
        if high is codes.MAXREPEAT:
            loop = self._add(None, 0, (then,))
            body = self._sequence(part, loop, flags)
            self._steps[loop] = (None, 0, (body, then))
            then = loop
        else:
            after = then
            for _ in range(high - low):
                body = self._sequence(part, then, flags)
                then = self._add(None, 0, (body, after))
        for _ in range(low):
            body = self._sequence(part, then, flags)
            if body == then:  # nothing, however often
                break
            then = body
        return then

    def _add(self, test: Test | None, bits: int, follow: tuple[int, ...]) -> int:
        if len(self._steps) >= STATES_MAX:
            raise InputError(
                "pattern", f"of at most {STATES_MAX} states, bounded repeats written out",
                quoted(self._pattern), cure="Shorten it, or use * or + for long repeats.",
            )  # fmt: skip
        self._steps.append((test, bits, follow))
        return len(self._steps) - 1

    def _checked(self, flags: int) -> int:
        if flags & ~_FLAGS:
            raise InputError("pattern", "without the flags a, L and u", quoted(self._pattern))
        return flags


def _source(op: Any, given: Any) -> str | None:
    """Write a node that takes one character as a pattern of its own; None if it is no such node."""
    if op is codes.ANY:
        return "."
    if op is codes.LITERAL:
        return _escaped(given)
    if op is codes.NOT_LITERAL:
        return f"[^{_escaped(given)}]"
    if op is not codes.IN:
        return None
    parts = []
    for inner, value in given:
        if inner is codes.NEGATE:
            parts.append("^")
        elif inner is codes.RANGE:
            parts.append(f"{_escaped(value[0])}-{_escaped(value[1])}")
        else:
            parts.append(_CLASSES[value] if inner is codes.CATEGORY else _escaped(value))
    return f"[{''.join(parts)}]"


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"


def _place(text: str, at: int) -> int:
    """Say what holds between two characters, in bits."""
    last = len(text)
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    is_inner = _is_wordy(before) == _is_wordy(after)
    bits = (_INNER if is_inner else _BOUNDARY) if text else 0
    if at == 0:
        bits |= _BEGIN | _BEGIN_LINE
    if before == "\n":
        bits |= _BEGIN_LINE
    if at == last:
        bits |= _END | _END_LINE | _LAST
    if after == "\n":
        bits |= _END_LINE | (_LAST if at == last - 1 else 0)
    return bits


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character == "_"


# Checker by a regular expression that cannot run away.
def _regex(settings: Settings, where: str) -> Check:
    if "pattern" not in settings:
        raise InputError("pattern", "a regular expression", where=where)
    pattern = text(settings, "pattern", "", where)
    mode = one_of(settings, "mode", ("search", "full", "absent"), where)
    flags = re.IGNORECASE if one_of(settings, "case", ("match", "ignore"), where) == "ignore" else 0
    flags |= re.MULTILINE if flag(settings, "multiline", False, where) else 0
    flags |= re.DOTALL if flag(settings, "dotall", False, where) else 0
    automaton = Automaton(pattern, flags)
    shown = quoted(pattern)

    def check(reply: str) -> Verdict:
        plain = unified(reply)
        whole = mode == "full"
        found = automaton.full(plain.strip()) if whole else automaton.search(plain)
        return Verdict(found != (mode == "absent"), f"{'a' if found else 'no'} match of {shown}")

    return check


#: The kind of this file, by name.
REGEX: Mapping[str, Kind] = {
    "regex": Kind(
        ("pattern", "mode", "case", "multiline", "dotall"),
        'A pattern of Python without backreferences and lookarounds; mode = "search" (default), '
        '"full" (the reply without blanks around it) or "absent"; case = "match" (default) or '
        '"ignore"; multiline: ^ and $ at every line; dotall: . takes line ends too.',
        _regex,
    )
}
