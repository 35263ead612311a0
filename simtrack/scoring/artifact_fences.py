"""Where does a reply hold code? Markdown fences, paired and unpaired, and fences inside strings."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["Block", "fenced_blocks", "may_be_whole"]

#: A line of at least three backticks or tildes, and what is written behind them.
_FENCE = re.compile(r"^([ \t]*+)(`{3,}+|~{3,}+)([^`\n]*+)$", re.MULTILINE)
#: What can begin a string or a comment in Python.
_QUOTE = re.compile(r"#|\"\"\"|'''|\"|'")
_ENDS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ('"""', "'''")}
_LINE_ENDS = {quote: re.compile(rf"\\.|{quote}|\n", re.DOTALL) for quote in ('"', "'")}


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of code in a reply.

    Attributes
    ----------
    language : str
        The first word behind the opening fence, in lower case; empty without one.
    code : str
        The lines between the fences, without the indentation of the opening one.
    before : str or None
        For a bare fence that nothing closes: what stands between it and the fence before it (or
        the beginning of the reply); None for all other blocks.
    closed : bool
    """

    language: str
    code: str
    before: str | None = None
    closed: bool = True


def fenced_blocks(text: str, languages: Collection[str]) -> list[Block]:
    r"""Give the fenced blocks of a reply in their order.

    A fence is a line of three or more backticks or tildes, which may be indented and may name a
    language. It is closed by the next line of at least as many of the same sign and nothing else;
    but while a triple-quoted string is open in a block of an accepted language, a fence belongs to
    that string, if the string ends before a later one; after a string that does not, strings are
    followed no longer, so that the time stays linear. A block that is never closed runs to the end
    of the reply.

    Parameters
    ----------
    text : str
        With "\n" at the ends of lines.
    languages : collection of str
        Languages whose strings are followed.

    Source: CommonMark 0.31, section 4.5, for fences; ReBIND appendix D for their concatenation.

    Examples
    --------
    >>> fenced_blocks("So:\n```python\nx = 1\n```\n", ("", "python"))
    [Block(language='python', code='x = 1\n', before=None, closed=True)]
    """
    fences = list(_FENCE.finditer(text))
    blocks: list[Block] = []
    end, k, follow = 0, 0, True
    while k < len(fences):
        opening = fences[k]
        language = _language(opening[3])
        start = min(opening.end() + 1, len(text))
        close, kept = _closing(text, fences, k, start, follow and language in languages)
        follow = follow and kept
        if close is None:
            before = None if language else text[end : opening.start()]
            blocks.append(Block(language, _without(text[start:], opening[1]), before, False))
            break
        blocks.append(Block(language, _without(text[start : fences[close].start()], opening[1])))
        end, k = min(fences[close].end() + 1, len(text)), close + 1
    return blocks


def may_be_whole(text: str) -> bool:
    """Say whether a reply with fences may be Python as a whole: its first one stands in a string.

    Backticks are no Python outside of strings and comments. Tildes are, so they may be too.
    """
    first = _FENCE.search(text)
    return (
        first is None or "~" in first[2] or _after_strings(text, 0, first.start()) > first.start()
    )


def _language(told: str) -> str:
    words = told.split()
    return words[0].strip("{}").lstrip(".").lower() if words else ""


def _closing(
    text: str, fences: list[re.Match[str]], opening: int, start: int, follow: bool
) -> tuple[int | None, bool]:
    """Find the fence that closes a block, and say whether its strings ended in time."""
    sign = fences[opening][2]
    first: int | None = None
    at = start
    for k in range(opening + 1, len(fences)):
        if fences[k][3].strip() or not fences[k][2].startswith(sign):
            continue
        place = fences[k].start()
        at = _after_strings(text, at, place) if follow else place
        if at <= place:
            return k, True
        first = k if first is None else first
        if at > len(text):
            break
    return first, first is None


def _after_strings(text: str, at: int, place: int) -> int:
    """Read Python from `at` to `place`: where a string that is open there ends, else at most there.

    A triple-quoted string without an end gives a place beyond the text.
    """
    while at <= place and (found := _QUOTE.search(text, at, place)) is not None:
        sign, at = found[0], found.end()
        if sign == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        ends = _ENDS.get(sign) or _LINE_ENDS[sign]
        last = next((m for m in ends.finditer(text, at) if m[0][0] != "\\"), None)
        at = last.end() if last is not None else len(text) + (sign in _ENDS)
    return at


def _without(code: str, indent: str) -> str:
    """Take the indentation of the opening fence off each line that has it."""
    if not indent:
        return code
    lines = code.split("\n")
    return "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)
