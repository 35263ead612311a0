"""Checkers that count: words, characters, sentences, lines, paragraphs, list items."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from simtrack.scoring.constraints_kinds import (
    Check,
    Kind,
    Settings,
    Verdict,
    bounds,
    one_of,
    quoted,
)
from simtrack.scoring.constraints_text import (
    items,
    lines,
    paragraphs,
    sentences,
    unfenced,
    unified,
    words,
)
from simtrack.scoring.protocol_file import flag

__all__ = ["COUNTS"]

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
