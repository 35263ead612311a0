"""Checker of JSON: is the reply valid JSON and nothing else, with these keys?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from simtrack.scoring.constraints_kinds import Check, Kind, Settings, Verdict, one_of, texts_of
from simtrack.scoring.constraints_text import unified
from simtrack.scoring.protocol_file import flag

__all__ = ["JSON", "json_in"]

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
