"""Where does a reply hold code? Markdown fences, paired and unpaired, and fences inside strings."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["Block", "fenced_blocks"]

#: A line of at least three backticks or tildes, and what is written behind them.
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$", re.MULTILINE)
#: What can begin a string or a comment in Python.
_QUOTE = re.compile(r"#|\"\"\"|'''|\"|'")
_REST_OF_LINE = re.compile(r"[^\n]*")
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
    that string, if the string ends before a later one. A block that is never closed runs to the
    end of the reply.

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
    end, k = 0, 0
    while k < len(fences):
        opening = fences[k]
        language = _language(opening[3])
        start = min(opening.end() + 1, len(text))
        close = _closing(text, fences, k, start, language in languages)
        if close is None:
            before = None if language else text[end : opening.start()]
            blocks.append(Block(language, _without(text[start:], opening[1]), before, False))
            break
        blocks.append(Block(language, _without(text[start : fences[close].start()], opening[1])))
        end, k = min(fences[close].end() + 1, len(text)), close + 1
    return blocks


def _language(told: str) -> str:
    words = told.split()
    return words[0].strip("{}").lstrip(".").lower() if words else ""


def _closing(
    text: str, fences: list[re.Match[str]], opening: int, start: int, follow: bool
) -> int | None:
    """Find the fence that closes a block: not one in a string, if the string ends in time."""
    sign = fences[opening][2]
    first: int | None = None
    for k in range(opening + 1, len(fences)):
        if fences[k][3].strip() or not fences[k][2].startswith(sign):
            continue
        first = k if first is None else first
        if not follow or not _ends_in_string(text[start : fences[k].start()]):
            return k
    return first


def _ends_in_string(code: str) -> bool:
    """Say whether a triple-quoted string is still open at the end of this Python code."""
    if '"""' not in code and "'''" not in code:
        return False
    at = 0
    while (found := _QUOTE.search(code, at)) is not None:
        sign, at = found[0], found.end()
        if sign == "#":
            rest = _REST_OF_LINE.match(code, at)
            at = rest.end() if rest else at
            continue
        ends = _ENDS.get(sign) or _LINE_ENDS[sign]
        last = next((m for m in ends.finditer(code, at) if m[0][0] != "\\"), None)
        if last is None:
            return sign in _ENDS
        at = last.end()
    return False


def _without(code: str, indent: str) -> str:
    """Take the indentation of the opening fence off each line that has it."""
    if not indent:
        return code
    lines = code.split("\n")
    return "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)
