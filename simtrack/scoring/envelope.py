"""What is inside the envelope that a reply was put in? The stripped reading of a reply."""

from __future__ import annotations

import json
import re

__all__ = ["UNREADABLE", "stripped"]

#: What a reply of another JSON shape becomes: it carries no report that can be read.
UNREADABLE = ""
_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.-]*")
_OPENING = frozenset('{["')


def stripped(text: str, *, tag: str = "", field: str = "message", fences: bool = False) -> str:
    r"""Take a reply out of its JSON envelope; a reply without one stays as it is.

    A reply that is a JSON object gives its `field`, one that is a JSON string literal the string;
    any other JSON shape carries no report. One envelope is taken off, not one within another. An
    object with the key `tag` is itself a report in JSON and stays, unless the words in its `field`
    name that key. With `fences` a code fence around the whole reply, or around what was in the
    envelope, is taken off too.

    Examples
    --------
    >>> stripped('{"message": "Done.\\n<stage>completed</stage>"}')
    'Done.\n<stage>completed</stage>'
    >>> stripped('{"answer": 1}'), stripped("Done.")
    ('', 'Done.')

    Source: StageIF appendix G.
    """
    inner = _from_json(text, tag, field)
    return _unfenced(inner) if fences else inner


def _from_json(text: str, tag: str, field: str) -> str:
    bare = text.strip()
    if not bare or bare[0] not in _OPENING:
        return text
    try:
        found = json.loads(bare, parse_int=float)  # an int of thousands of digits is refused
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict):
        return found if isinstance(found, str) else UNREADABLE
    inner = found.get(field)
    if not isinstance(inner, str):
        return text if tag in found and field not in found else UNREADABLE
    return text if tag in found and f'"{tag}"' not in inner else inner


def _unfenced(text: str) -> str:
    """Take off the one code fence that is around all of a text."""
    bare = text.strip()
    head, _, rest = bare.partition("\n")
    is_fence = head.startswith(_FENCE) and rest.endswith(_FENCE)
    if not is_fence or not _LANGUAGE.fullmatch(head[len(_FENCE) :].strip()):
        return text
    inner = rest[: -len(_FENCE)]
    return text if _FENCE in inner else inner.rstrip()
