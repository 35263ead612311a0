"""Where does a reply hold code? Markdown fences, paired and unpaired, and fences inside strings."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simtrack.errors import InputError
from simtrack.plain import Plain
from simtrack.scoring.artifacts.facts import Facts, facts_of
from simtrack.scoring.protocol_file import only_keys, texts
from simtrack.validate import integer

__all__ = [
    "GRAMMAR",
    "Artifact",
    "ArtifactClass",
    "ArtifactRules",
    "ArtifactSource",
    "Block",
    "fenced_blocks",
    "may_be_whole",
    "read_artifact",
]


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


# Which code does a reply hold, and does it parse? Read as text and syntax tree, never run.
#: Nothing was delivered; something was, but no Python; or there is code.
ArtifactClass = Literal["empty", "unparseable", "parsed"]
#: Where the code stood.
ArtifactSource = Literal["whole reply", "fences", "before an unpaired fence"]
#: The grammar that decides what parses: that of the running interpreter.
GRAMMAR = f"Python {sys.version_info.major}.{sys.version_info.minor}"
#: Python's own recursion limit must never be what decides; trees of code are 10 to 30 deep.
_DEEPEST = 500
_NESTED = "nested too deeply"


@dataclass(frozen=True, slots=True)
class ArtifactRules(Plain):
    """How is code found in a reply, and what is too little or too much of it?

    Parameters
    ----------
    languages : tuple of str
        Names behind a fence that stand for Python; "" is a fence without a name.
    empty_below : int
        A reply of fewer characters than this, blanks at its ends not counted, is empty. The paper
        took a cut-off between 10 and 50 after the fact and found that it moves about ten samples.
    max_characters : int
        A reply longer than this is not parsed: unparseable.
    max_depth : int
        A syntax tree of more levels than this is unparseable, so that Python's recursion limit,
        which depends on the caller, never decides; at most 500.

    Examples
    --------
    >>> ArtifactRules.from_dict({"empty_below": 50}).empty_below
    50
    """

    languages: tuple[str, ...] = ("", "python", "py", "python3")
    empty_below: int = 10
    max_characters: int = 200_000
    max_depth: int = 400

    def __post_init__(self) -> None:
        integer("empty_below", self.empty_below, 0)
        integer("max_characters", self.max_characters, 1, 10_000_000)
        integer("max_depth", self.max_depth, 1, _DEEPEST)
        lowered = tuple(str(name).lower() for name in self.languages)
        if not lowered:
            raise InputError("languages", "at least one", "none", cure='"" is a bare fence.')
        object.__setattr__(self, "languages", lowered)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "artifact") -> ArtifactRules:
        """Make rules from plain data; what is left out takes its default."""
        only_keys(content, cls.__slots__, where)
        plain = dict(content)
        if "languages" in plain:
            plain["languages"] = texts(plain["languages"], "languages", where)
        return cls(**plain)


@dataclass(frozen=True, slots=True)
class Artifact:
    """What code does one reply hold?

    Attributes
    ----------
    kind : "empty", "unparseable" or "parsed"
    code : str
        What was parsed, or could not be.
    source : ArtifactSource
    facts : Facts or None
        What the syntax tree holds; None unless parsed.
    fault : str
        Why it does not parse, in words; empty if it does.
    blocks : int
        Fenced blocks that were put together; 0 where the whole reply is the code.
    """

    kind: ArtifactClass
    code: str
    source: ArtifactSource = "whole reply"
    facts: Facts | None = None
    fault: str = ""
    blocks: int = 0


def read_artifact(reply: str, rules: ArtifactRules | None = None) -> Artifact:
    r"""Which code does this reply hold: none, some that does not parse, or which?

    In this order. A reply shorter than the cut-off is empty. A reply that parses as a whole is the
    code (a fence then stands in a string of it). Else the fenced blocks of accepted languages are
    put together in their order. A last fence that has no partner and names no language is the end
    of the code before it where nothing follows, or where only what precedes it is code; otherwise
    it opens a block that was cut off. Without any fence the whole reply is the code. If nothing but
    blanks is left the artifact is empty; if what is left does not parse, or is too long or too
    deep, it is unparseable.

    The code is parsed by `ast`, never compiled or run.

    Parameters
    ----------
    reply : str
    rules : ArtifactRules, optional

    Source: ReBIND sections 3.2 and 3.4, appendices B and D.

    Examples
    --------
    >>> found = read_artifact("Here you are:\n```python\nimport math\n```\nDone.")
    >>> found.kind, found.code
    ('parsed', 'import math\n')
    >>> read_artifact("import math\nprint(math.gcd(12, 18))\n```").source
    'before an unpaired fence'
    >>> read_artifact("Sorry, I cannot do that.").kind
    'unparseable'
    """
    used = ArtifactRules() if rules is None else rules
    text = reply.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    bare = text.strip()
    if len(bare) < used.empty_below or not bare:
        return Artifact("empty", "", fault=f"fewer than {used.empty_below} characters")
    if len(text) > used.max_characters:
        return Artifact("unparseable", text, fault=f"more than {used.max_characters} characters")
    blocks = fenced_blocks(text, used.languages)
    if may_be_whole(text):
        whole, why = _parsed(text, used)
        if whole is not None or not blocks:
            kind: ArtifactClass = "unparseable" if whole is None else "parsed"
            return Artifact(kind, text, facts=whole, fault=why)
    return _of_blocks(blocks, used)


def _of_blocks(blocks: list[Block], rules: ArtifactRules) -> Artifact:
    source: ArtifactSource = "fences"
    kept = [block.code for block in blocks if block.language in rules.languages]
    last = blocks[-1]
    if last.before is not None and last.language in rules.languages and _closes(last, rules):
        kept[-1], source = last.before, "before an unpaired fence"
    if not kept:
        named = ", ".join(dict.fromkeys(block.language for block in blocks))
        return Artifact("unparseable", "", source, fault=f"fences of other languages only: {named}")
    code = "".join(part if part.endswith("\n") else f"{part}\n" for part in kept)
    if not code.strip():
        return Artifact("empty", code, source, None, "fences with nothing in them", len(kept))
    facts, why = _parsed(code, rules)
    kind: ArtifactClass = "unparseable" if facts is None else "parsed"
    return Artifact(kind, code, source, facts, why, len(kept))


def _closes(last: Block, rules: ArtifactRules) -> bool:
    """Say whether a bare unpaired fence ends the code before it, rather than opens some."""
    if not last.code.strip():
        return bool((last.before or "").strip())
    return not _is_code(last.code, rules) and _is_code(last.before or "", rules)


def _is_code(text: str, rules: ArtifactRules) -> bool:
    """Say whether a text parses and holds more than bare expressions, which words may be."""
    facts, _ = _parsed(text, rules)
    return facts is not None and facts.statements > 0


def _parsed(code: str, rules: ArtifactRules) -> tuple[Facts | None, str]:
    """Parse code under guards: what it holds, or None and why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except SyntaxError as error:
        return None, f"{type(error).__name__}: {error.msg} (line {error.lineno})"
    except (RecursionError, MemoryError):
        return None, _NESTED
    except ValueError as error:  # null bytes, lone surrogates
        return None, f"{type(error).__name__}: {error}"
    facts = facts_of(tree, rules.max_depth)
    return (None, _NESTED) if facts is None else (facts, "")
