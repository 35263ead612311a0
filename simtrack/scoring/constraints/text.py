"""What a kind of checker is, and how its settings are read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = [
    "Check",
    "Item",
    "Kind",
    "Settings",
    "Verdict",
    "bounds",
    "items",
    "lines",
    "one_of",
    "paragraphs",
    "quoted",
    "sentences",
    "texts_of",
    "unfenced",
    "unified",
    "words",
]


_SHOWN = 40
_LARGEST = 10**9


class Verdict(NamedTuple):
    """Whether a text keeps a rule, and the reason in one line."""

    passed: bool
    reason: str


Check = Callable[[str], Verdict]
Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of checker: which settings it has, what they mean, and how it is made from them."""

    keys: tuple[str, ...]
    about: str
    make: Callable[[Settings, str], Check]
    is_approximate: bool = False


def bounds(settings: Settings, where: str) -> Callable[[int], bool]:
    """Read `exactly`, or `at_least` and `at_most`, and give the test of a count."""
    given = [key for key in ("exactly", "at_least", "at_most") if key in settings]
    if not given or (len(given) > 1 and "exactly" in given):
        rule = "either exactly, or at_least, at_most or both"
        raise InputError("bound", rule, ", ".join(given) or "none", where=where)
    found = {key: integer(key, settings[key], 0, _LARGEST) for key in given}
    low = found.get("exactly", found.get("at_least", 0))
    high = found.get("exactly", found.get("at_most", _LARGEST))
    if low > high:
        raise InputError("at_least", f"at most at_most, {high}", low, where=where)
    return lambda count: low <= count <= high


def one_of(settings: Settings, key: str, allowed: tuple[str, ...], where: str) -> str:
    """Read a choice, the first of `allowed` if it is left out."""
    found = settings.get(key, allowed[0])
    if found not in allowed:
        raise InputError(key, "one of " + ", ".join(allowed), repr(found), where=where)
    return str(found)


def texts_of(settings: Settings, key: str, where: str) -> list[str]:
    """Read a text or a list of texts, none of them empty."""
    given = settings.get(key)
    listed = given if isinstance(given, list) else [given]
    if not listed or not all(isinstance(text, str) and text.strip() for text in listed):
        raise InputError(key, "a text or a list of texts that are not blank", repr(given),
                         where=where)  # fmt: skip
    return [str(text) for text in listed]


def quoted(text: str) -> str:
    """Quote a text in a reason, shortened and on one line."""
    bare = " ".join(text.split())
    return repr(bare if len(bare) <= _SHOWN else bare[: _SHOWN - 1] + "…")


# What is a word, a sentence, a line, a paragraph, a list item? The units that checkers count.
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
#: What stands between blanks and holds a letter or digit; begun at the head of a token only.
_TOKEN = re.compile(r"(?<!\S)(?:[^\w\s]|_)*+[^\W_]\S*")
_RUN = re.compile(r"[^\W_]+(?:['’\-‐‑.,][^\W_]+)*")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_BULLET = re.compile(r"([ \t]*)[-*+•‣◦▪·–][ \t]+(\S.*)")
_NUMBER = re.compile(r"([ \t]*)[0-9]{1,9}[.)][ \t]+(\S.*)")
# Possessive, and begun at the head of a run only: a million dots take one pass.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|\Z)|(?<![。！？｡])[。！？｡]++[」』”’）]*+"
)
_LAST_WORD = re.compile(r"([^\s(\[\"'“‘«]+)\.\Z")
_INITIALS = re.compile(r"(?!i\Z)[^\W\d_](?:\.[^\W\d_])*")
#: Words after which a full stop ends no sentence, in lower case and without their last stop.
_SHORT_WORDS = """
mr mrs ms dr prof sr jr vs e.g i.e cf al approx nr fig eq sec vol pp eds z.b d.h bzw usw
resp dept est inc ltd corp sgt capt hon jan feb apr aug sep sept oct nov dec
"""
_SHORT = frozenset(_SHORT_WORDS.split())
#: No abbreviation is longer, so that no more is looked at.
_LONGEST_SHORT = 24


class Item(NamedTuple):
    """A list item: how far it is indented (tabs count 4), and its first line's words."""

    indent: int
    text: str


def unified(text: str) -> str:
    r"""Write every line end as LF.

    Examples
    --------
    >>> unified("a\r\nb\rc\nd")
    'a\nb\nc\nd'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def unfenced(text: str) -> str:
    r"""Leave out fenced code blocks; a fence that is never closed runs to the end.

    Examples
    --------
    >>> unfenced("See:\n```py\nx = 1\n```\nDone.")
    'See:\nDone.'
    """
    kept: list[str] = []
    fence = ""
    for line in unified(text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def words(text: str, split: str = "blank") -> list[str]:
    """Give the words: what stands between blanks and holds a letter or digit, or runs of those.

    "blank" is the word processor's rule: "state-of-the-art", "don't", "1,234.5" and "word—word"
    are one word each, a dash alone is none. "run" takes runs of letters and digits, which hyphen,
    apostrophe, point and comma join: "word—word" and "and/or" are two. Scripts without blanks
    between words have none to count: count characters there.

    Examples
    --------
    >>> words("It's 1,234.5 — no, well-known/odd.")
    ["It's", '1,234.5', 'no,', 'well-known/odd.']
    >>> words("It's 1,234.5 — no, well-known/odd.", "run")
    ["It's", '1,234.5', 'no', 'well-known', 'odd']
    """
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return (_RUN if split == "run" else _TOKEN).findall(composed)


def sentences(text: str) -> list[str]:
    """Give the sentences, approximately: no rule without a language gets all of them right.

    A sentence ends at . ! ? … before a blank, at 。！？ anywhere, and at a line that starts a list
    item or follows or precedes a blank line. No end is a stop after a usual abbreviation ("Dr.",
    "e.g."), after a letter alone ("J. Smith", "U.S.") or after a list number. What holds no letter
    or digit is no sentence.

    Examples
    --------
    >>> sentences('Dr. Lee paid $3.50, i.e. little. "Really?" she asked. Yes')
    ['Dr. Lee paid $3.50, i.e. little.', '"Really?"', 'she asked.', 'Yes']
    """
    found: list[str] = []
    for block in _blocks(text):
        start = 0
        for end in _END.finditer(block):
            if not _is_short(block[start : end.end()]):
                found.append(block[start : end.end()])
                start = end.end()
        found.append(block[start:])
    return [s.strip() for s in found if any(map(str.isalnum, s))]


def lines(text: str, blank: bool = False) -> list[str]:
    """Give the lines that are not blank, or with `blank` all; a last line end opens no new one."""
    listed = unified(text).split("\n")
    if listed[-1] == "":
        listed.pop()
    return listed if blank else [line for line in listed if line.strip()]


def paragraphs(text: str) -> list[str]:
    """Give the blocks of lines between blank lines."""
    blocks = re.split(r"\n[^\S\n]*\n", unified(text))
    return [block.strip() for block in blocks if block.strip()]


def items(text: str, marks: str = "any") -> tuple[list[Item], list[str]]:
    r"""Give the list items, and the other lines that are neither blank nor an item's own.

    Bullets are - * + • ‣ ◦ ▪ · – and a blank before words; numbers are 1. or 1). Lines that are
    indented further than the item above belong to it. A rule (---) is no item.

    Examples
    --------
    >>> items("Sure:\n- one\n  more of it\n2) two")
    ([Item(indent=0, text='one'), Item(indent=0, text='two')], ['Sure:'])
    """
    patterns = {"bullet": (_BULLET,), "number": (_NUMBER,), "any": (_BULLET, _NUMBER)}[marks]
    found: list[Item] = []
    others: list[str] = []
    is_open = False  # whether the line above is an item's
    for line in lines(text):
        match = None if _RULE.fullmatch(line) else _first(patterns, line)
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if match:
            found.append(Item(indent, match[2]))
            is_open = True
        elif not (is_open and indent > found[-1].indent):
            others.append(line)
            is_open = False
    return found, others


def _first(patterns: tuple[re.Pattern[str], ...], line: str) -> re.Match[str] | None:
    for pattern in patterns:
        if match := pattern.fullmatch(line):
            return match
    return None


def _blocks(text: str) -> list[str]:
    """Cut at blank lines and before list items, whose marks are left out."""
    blocks: list[list[str]] = [[]]
    for line in unified(text).split("\n"):
        match = None if _RULE.fullmatch(line) else _first((_BULLET, _NUMBER), line)
        if match:
            blocks.append([match[2]])
        elif line.strip():
            blocks[-1].append(line)
        else:
            blocks.append([])
    return ["\n".join(block) for block in blocks]


def _is_short(sentence: str) -> bool:
    last = _LAST_WORD.search(sentence[-_LONGEST_SHORT:])
    if last is None:
        return False
    word = last[1].lower()
    return word in _SHORT or _INITIALS.fullmatch(word) is not None
