"""What is inside the envelope that a reply was put in? The stripped reading of a reply."""

from __future__ import annotations

import json
import re

__all__ = ["UNREADABLE", "stripped"]

#: What a reply of another JSON shape becomes: it carries no report that can be read.
UNREADABLE = ""
_FENCE = re.compile(r"\s*```[A-Za-z0-9_+-]*[^\S\n]*\n(.*?)\n?[^\S\n]*```\s*", re.DOTALL)
_DEEPEST = 64
_OPENING = frozenset('{["')


def stripped(text: str, *, tag: str = "", field: str = "message", fences: bool = False) -> str:
    r"""Take a reply out of its JSON envelope; a reply without one stays as it is.

    A reply that is a JSON object gives its `field`, one that is a JSON string literal the string;
    any other JSON shape carries no report. One envelope is taken off, not one within another. An
    object with the key `tag` and no `field` is itself a report in JSON and stays. With `fences` a
    code fence around the whole reply, or around what was in the envelope, is taken off too.

    Examples
    --------
    >>> stripped('{"message": "Done.\\n<stage>completed</stage>"}')
    'Done.\n<stage>completed</stage>'
    >>> stripped('{"answer": 1}'), stripped("Done.")
    ('', 'Done.')

    Source: StageIF appendix G.
    """
    inner = _from_json(text, tag, field)
    if fences and (match := _FENCE.fullmatch(inner)):
        return match.group(1)
    return inner


def _from_json(text: str, tag: str, field: str) -> str:
    bare = text.strip()
    if not bare or bare[0] not in _OPENING or max(bare.count("["), bare.count("{")) > _DEEPEST:
        return text
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return text
    inner = found.get(field) if isinstance(found, dict) else found
    if isinstance(inner, str):
        return inner
    is_report = isinstance(found, dict) and tag in found and field not in found
    return text if is_report else UNREADABLE
