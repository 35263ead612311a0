"""Checkers of wording: required and forbidden words, beginnings and ends, casing, patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from simtrack.errors import InputError
from simtrack.scoring.constraints.text import (
    Check,
    Kind,
    Settings,
    Verdict,
    one_of,
    quoted,
    texts_of,
    unfenced,
    unified,
    words,
)
from simtrack.scoring.protocol_file import flag
from simtrack.scoring.protocol_file import text as text_of

__all__ = ["REGEX", "WORDS", "Pattern", "folded"]

_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"'})
_CASES = ("ignore", "match")
_PATTERN_MAX_CHARACTERS = 2000


def folded(text: str, case: str) -> str:
    """Write a text as it is compared: composed, quotes straight, case as asked."""
    if text.isascii():
        return unified(text).lower() if case == "ignore" else unified(text)
    plain = unicodedata.normalize("NFC", unified(text)).translate(_QUOTES)
    return unicodedata.normalize("NFC", plain.casefold()) if case == "ignore" else plain


def _search(word: str, case: str, whole: bool) -> re.Pattern[str]:
    """Give the pattern of a word or phrase; blanks within it match any blanks.

    Whole means that no letter, digit or underscore touches it where it itself ends in one.
    """
    inner = r"\s+".join(re.escape(part) for part in folded(word, case).split())
    left = r"(?<!\w)" if whole and _is_wordy(word.strip()[0]) else ""
    right = r"(?!\w)" if whole and _is_wordy(word.strip()[-1]) else ""
    return re.compile(left + inner + right)


def _required(settings: Settings, where: str) -> Check:
    listed, case, patterns = _patterns(settings, where)
    needs = one_of(settings, "need", ("all", "any"), where)
    skips = _skips_code(settings, where)

    def check(text: str) -> Verdict:
        plain = folded(unfenced(text) if skips else text, case)
        missing = [w for w, p in zip(listed, patterns, strict=True) if not p.search(plain)]
        if not missing or (needs == "any" and len(missing) < len(listed)):
            return Verdict(True, "all required words" if not missing else "a required word")
        return Verdict(False, f"lacks {quoted(missing[0])}")

    return check


def _forbidden(settings: Settings, where: str) -> Check:
    listed, case, patterns = _patterns(settings, where)
    skips = _skips_code(settings, where)

    def check(text: str) -> Verdict:
        plain = folded(unfenced(text) if skips else text, case)
        for word, pattern in zip(listed, patterns, strict=True):
            if pattern.search(plain):
                return Verdict(False, f"has {quoted(word)}")
        return Verdict(True, "no forbidden word")

    return check


def _starts_with(settings: Settings, where: str) -> Check:
    return _edge(settings, where, "starts")


def _ends_with(settings: Settings, where: str) -> Check:
    return _edge(settings, where, "ends")


def _edge(settings: Settings, where: str, side: str) -> Check:
    listed = texts_of(settings, "text", where)
    case = one_of(settings, "case", ("match", "ignore"), where)
    whole = flag(settings, "whole", True, where)
    ignores = settings.get("ignoring", "")
    if not isinstance(ignores, str):
        texts_of(settings, "ignoring", where)
    edges = [folded(text.strip(), case) for text in listed]

    def check(text: str) -> Verdict:
        plain = _trimmed(folded(text, case), ignores)
        for edge in edges:
            bare = _trimmed(edge, ignores)
            if side == "starts":
                is_there = plain.startswith(bare) and not (whole and _runs_on(plain, len(bare)))
            else:
                at = len(plain) - len(bare)
                is_there = plain.endswith(bare) and not (whole and _runs_on(plain, at))
            if is_there:
                return Verdict(True, f"{side} with {quoted(edge)}")
        shown = plain[:20] if side == "starts" else plain[-20:]
        return Verdict(False, f"{side} with {quoted(shown)}")

    return check


def _case(settings: Settings, where: str) -> Check:
    style = one_of(settings, "style", ("lower", "upper", "capitalised"), where)
    skips = _skips_code(settings, where)

    def check(text: str) -> Verdict:
        plain = unfenced(text) if skips else text
        odd = _odd_in_case(plain, style)
        if odd is not None:
            return Verdict(False, f"not {style}: {quoted(odd)}")
        cased = any(c.lower() != c.upper() for c in plain)
        return Verdict(True, f"all {style}" if cased else "no letter that has a case")

    return check


def _odd_in_case(text: str, style: str) -> str | None:
    """Give the first word that breaks the style; letters without case break none."""
    for word in words(text):
        if style == "capitalised":
            first = next(c for c in word if c.isalnum())
            if first.islower():
                return word
        elif (style == "lower" and word != word.lower()) or (
            style == "upper" and any(c.islower() and c.upper() != c for c in word)
        ):
            return word
    return None


def _patterns(settings: Settings, where: str) -> tuple[list[str], str, list[re.Pattern[str]]]:
    listed = texts_of(settings, "words", where)
    case = one_of(settings, "case", _CASES, where)
    whole = flag(settings, "whole", True, where)
    return listed, case, [_search(word, case, whole) for word in listed]


def _skips_code(settings: Settings, where: str) -> bool:
    return one_of(settings, "code", ("keep", "skip"), where) == "skip"


def _trimmed(text: str, marks: str) -> str:
    bare = text.strip()
    return bare.strip(marks + " \t\n") if marks else bare


def _runs_on(text: str, at: int) -> bool:
    """Say whether a word goes across this place."""
    return 0 < at < len(text) and _is_wordy(text[at - 1]) and _is_wordy(text[at])


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character == "_"


class Pattern:
    r"""Is there a match of this pattern, anywhere or of the whole text?

    Patterns are those of RE2, which takes time that grows with the text alone, so that none can
    run away. They are Python's but for what needs backtracking (backreferences, lookarounds), for
    \d, \w, \s and \b, which mean ASCII (\pL is a letter, \p{Nd} a digit of any script), and for $,
    which is the very end of the text unless there is (?m).

    Parameters
    ----------
    pattern : str
    flags : str
        Of "i" (case is ignored), "m" (^ and $ at every line), "s" (. takes line ends too).

    Examples
    --------
    >>> evil = Pattern("(a+)+$")
    >>> evil.search("a" * 5000 + "b"), evil.full("aaa")
    (False, True)
    """

    def __init__(self, pattern: str, flags: str = "") -> None:
        import re2

        if len(pattern) > _PATTERN_MAX_CHARACTERS:
            rule = f"at most {_PATTERN_MAX_CHARACTERS} characters"
            raise InputError("pattern", rule, len(pattern))
        options = re2.Options()
        options.log_errors = False
        try:
            found = re2.compile((f"(?{flags})" if flags else "") + pattern, options)
        except (re2.error, UnicodeError) as error:
            why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            rule = "a regular expression without backreferences and lookarounds"
            raise InputError("pattern", rule, f"{quoted(pattern)}: {why}") from None
        self._search, self._full = found.search, found.fullmatch

    def search(self, text: str) -> bool:
        """Say whether the pattern matches anywhere."""
        return self._search(_encodable(text)) is not None

    def full(self, text: str) -> bool:
        """Say whether the pattern matches the text as a whole."""
        return self._full(_encodable(text)) is not None


def _encodable(text: str) -> str:
    """Put a question mark for every half of a surrogate pair, which no UTF-8 can say."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _regex(settings: Settings, where: str) -> Check:
    if "pattern" not in settings:
        raise InputError("pattern", "a regular expression", where=where)
    given = text_of(settings, "pattern", "", where)
    mode = one_of(settings, "mode", ("search", "full", "absent"), where)
    flags = "i" if one_of(settings, "case", ("match", "ignore"), where) == "ignore" else ""
    flags += "m" if flag(settings, "multiline", False, where) else ""
    flags += "s" if flag(settings, "dotall", False, where) else ""
    pattern = Pattern(given, flags)
    shown = quoted(given)

    def check(text: str) -> Verdict:
        plain = unified(text)
        found = pattern.full(plain.strip()) if mode == "full" else pattern.search(plain)
        return Verdict(found != (mode == "absent"), f"{'a' if found else 'no'} match of {shown}")

    return check


def _kind(make: Any, keys: str, about: str) -> Kind:
    return Kind(tuple(keys.split()), about, make)


_WORD_RULE = (
    'case = "ignore" (default) or "match"; whole (default true): not within a longer word; curly '
    'quotes are straight ones, blanks within a phrase any blanks; code = "keep" or "skip".'
)
_EDGE_RULE = (
    'blanks around it left out; case = "match" (default) or "ignore"; whole (default true); '
    "ignoring = marks left out at both ends, such as full stops."
)

#: The kinds of this file, by name.
WORDS: Mapping[str, Kind] = {
    "required": _kind(_required, "words case whole need code",
                      'Words or phrases that must occur; need = "all" (default) or "any"; '
                      + _WORD_RULE),
    "forbidden": _kind(_forbidden, "words case whole code",
                       "Words or phrases that must not occur; " + _WORD_RULE),
    "starts_with": _kind(_starts_with, "text case whole ignoring",
                         "The reply begins with a text, or one of several; " + _EDGE_RULE),
    "ends_with": _kind(_ends_with, "text case whole ignoring",
                       "The reply ends with a text, or one of several; " + _EDGE_RULE),
    "case": _kind(_case, "style code",
                  'style = "lower", "upper" or "capitalised" (no word begins small). Letters '
                  'without case break none; code = "keep" or "skip".'),
}  # fmt: skip
#: A kind of its own, as it stands behind the others.
REGEX: Mapping[str, Kind] = {
    "regex": _kind(_regex, "pattern mode case multiline dotall",
                   "A pattern of RE2: Python's without backreferences and lookarounds; \\d, \\w, "
                   '\\s and \\b mean ASCII; mode = "search" (default), "full" (the reply without '
                   'blanks around it) or "absent"; case = "match" (default) or "ignore"; '
                   "multiline: ^ and $ at every line; dotall: . takes line ends too."),
}  # fmt: skip
