"""Checkers that count: words, characters, sentences, lines, paragraphs, list items."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from simtrack.scoring.constraints.text import (
    Check,
    Kind,
    Settings,
    Verdict,
    bounds,
    items,
    lines,
    one_of,
    paragraphs,
    quoted,
    sentences,
    texts_of,
    unfenced,
    unified,
    words,
)
from simtrack.scoring.protocol_file import flag

__all__ = ["COUNTS", "JSON", "json_in"]


_BOUNDS = ("exactly", "at_least", "at_most")
_CODE = ("keep", "skip")
_SPLITS = ("blank", "run")
_STATED = re.compile(r"[\[(]\s*([0-9]{1,9})(?:\s+[Ww]ords?)?\s*[\])]\s*\Z")
_NO_STATEMENT = "no number in brackets at the end"


def _counted(unit: str, count: Callable[[str], int], settings: Settings, where: str) -> Check:
    is_within = bounds(settings, where)
    skips = one_of(settings, "code", _CODE, where) == "skip"

    def check(text: str) -> Verdict:
        n = count(unfenced(text) if skips else text)
        return Verdict(is_within(n), f"{n} {unit}" if n != 1 else f"1 {unit[:-1]}")

    return check


def _words(settings: Settings, where: str) -> Check:
    split = one_of(settings, "split", _SPLITS, where)
    return _counted("words", lambda text: len(words(text, split)), settings, where)


def _characters(settings: Settings, where: str) -> Check:
    blanks = one_of(settings, "blanks", ("count", "skip"), where) == "count"

    def count(text: str) -> int:
        composed = unicodedata.normalize("NFC", unified(text)).strip()
        return len(composed) if blanks else sum(1 for c in composed if not c.isspace())

    return _counted("characters", count, settings, where)


def _lines(settings: Settings, where: str) -> Check:
    blank = one_of(settings, "blank", ("skip", "count"), where) == "count"
    return _counted("lines", lambda text: len(lines(text, blank)), settings, where)


def _plain(unit: str, split: Callable[[str], Sequence[str]]) -> Callable[[Settings, str], Check]:
    return lambda settings, where: _counted(unit, lambda t: len(split(t)), settings, where)


def _items(settings: Settings, where: str) -> Check:
    is_within = bounds(settings, where)
    marks = one_of(settings, "marks", ("any", "bullet", "number"), where)
    nested = one_of(settings, "nested", ("count", "skip"), where) == "count"
    only = flag(settings, "only", False, where)

    def check(text: str) -> Verdict:
        found, others = items(unfenced(text), marks)
        outer = min((item.indent for item in found), default=0)
        n = sum(1 for item in found if nested or item.indent == outer)
        if only and others:
            return Verdict(False, f"a line that is no item: {quoted(others[0])}")
        return Verdict(is_within(n), f"{n} items" if n != 1 else "1 item")

    return check


def _stated_words(settings: Settings, where: str) -> Check:
    split = one_of(settings, "split", _SPLITS, where)

    def check(text: str) -> Verdict:
        stated = _STATED.search(text[-64:])
        if stated is None:
            return Verdict(False, _NO_STATEMENT)
        before = text[: len(text) - len(stated[0])]
        n, said = len(words(before, split)), int(stated[1])
        return Verdict(n == said, f"says {said} words, has {n}")

    return check


_CODE_RULE = 'code = "keep" (default) or "skip" fenced code blocks.'

#: The kinds of this file, by name.
COUNTS: Mapping[str, Kind] = {
    "words": Kind((*_BOUNDS, "split", "code"),
                  'Words; split = "blank" (default: what blanks part) or "run". ' + _CODE_RULE,
                  _words),
    "characters": Kind((*_BOUNDS, "blanks", "code"),
                       "Code points in composed form, blanks at the ends left out, a line end one; "
                       'blanks = "count" (default) or "skip". ' + _CODE_RULE, _characters),
    "sentences": Kind((*_BOUNDS, "code"), "Sentences, approximately. " + _CODE_RULE,
                      _plain("sentences", sentences), True),
    "lines": Kind((*_BOUNDS, "blank", "code"),
                  'Lines; blank = "skip" (default) or "count". ' + _CODE_RULE, _lines),
    "paragraphs": Kind((*_BOUNDS, "code"),
                       "Blocks of lines between blank ones. " + _CODE_RULE,
                       _plain("paragraphs", paragraphs)),
    "items": Kind((*_BOUNDS, "marks", "nested", "only"),
                  'List items outside code; marks = "any" (default), "bullet" or "number"; nested '
                  '= "count" (default) or "skip"; only: no other lines at all.', _items),
    "stated_words": Kind(("split",),
                         "The reply ends in [N] or (N words), and N words stand before it.",
                         _stated_words),
}  # fmt: skip


# Checker of JSON: is the reply valid JSON and nothing else, with these keys?
_OPEN = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
_NOTHING = object()
_TYPES: Mapping[str, type | tuple[type, ...]] = {"any": object, "object": dict, "array": list}


def json_in(text: str, fences: str = "whole") -> tuple[bool, Any]:
    r"""Read a reply as JSON: the whole of it first, and code fences only where that fails.

    Parameters
    ----------
    fences : {"whole", "any", "no"}
        A fence around the whole reply may be taken off, or any fenced block be taken (the first
        that is JSON), or neither.

    Returns
    -------
    found, value
        Whether there is JSON, and what it holds. NaN and Infinity are no JSON.

    Examples
    --------
    >>> json_in('{"body": "Wrong:\\n```py\\nx = {1: 2}\\n```"}')[0]
    True
    >>> json_in("```json\n[1, 2]\n```"), json_in("Here: [1, 2]")
    ((True, [1, 2]), (False, None))
    """
    value = _parsed(text.strip("\ufeff \t\r\n"))
    if value is _NOTHING and fences != "no":
        blocks = _blocks(text, fences == "whole")
        value = next((v for v in map(_parsed, blocks) if v is not _NOTHING), _NOTHING)
    return (False, None) if value is _NOTHING else (True, value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _blocks(text: str, whole: bool) -> list[str]:
    """Give the insides of fenced blocks; of the one around the whole text only, if asked."""
    plain = unified(text).strip()
    found: list[str] = []
    at = 0
    while opening := _OPEN.search(plain, at):
        if whole and opening.start() > 0:
            break
        closing = re.compile(rf"\n[ ]{{0,3}}{re.escape(opening[1])}[ \t]*$", re.MULTILINE)
        end = closing.search(plain, opening.end())
        if end is None or (whole and end.end() < len(plain)):
            break
        found.append(plain[opening.end() : end.start()])
        at = end.end()
    return found


def _json(settings: Settings, where: str) -> Check:
    fences = one_of(settings, "fences", ("whole", "any", "no"), where)
    kind = one_of(settings, "type", tuple(_TYPES), where)
    keys = texts_of(settings, "keys", where) if "keys" in settings else []
    only = flag(settings, "only", False, where)

    def check(text: str) -> Verdict:
        is_json, value = json_in(text, fences)
        if not is_json:
            return Verdict(False, "no JSON")
        is_wanted = isinstance(value, _TYPES[kind])
        if not is_wanted or (keys and not isinstance(value, dict)):
            return Verdict(False, f"JSON of another type: {type(value).__name__}")
        missing = [key for key in keys if key not in value]
        if missing:
            return Verdict(False, f"JSON without the key {missing[0]!r}")
        more = [key for key in value if key not in keys] if only and keys else []
        if more:
            return Verdict(False, f"JSON with another key, {more[0]!r}")
        return Verdict(True, "JSON" + (" with its keys" if keys else ""))

    return check


#: The kind of this file, by name.
JSON: Mapping[str, Kind] = {
    "json": Kind(
        ("type", "keys", "only", "fences"),
        'The reply is JSON: type = "any" (default), "object" or "array"; keys it must have; only: '
        'no others; fences = "whole" (default: one around the reply may be taken off), "any" (a '
        'fenced block within it will do) or "no". The whole reply is tried first.',
        _json,
    )
}
