"""What is whole of a JSON document that ends too early? Its pairs and elements, one by one."""

from __future__ import annotations

import json
import re
from typing import Any

from simtrack.errors import DataError

__all__ = ["salvaged_json"]

_BETWEEN = re.compile(r"[ \t\r\n,]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


def salvaged_json(data: bytes, label: str) -> tuple[Any, str]:
    """Give the whole pairs of an object, or elements of an array, and where the document breaks.

    A list that is cut keeps its whole elements. Nothing is guessed within an element.

    Raises
    ------
    DataError
        Not one pair or element is whole.

    Examples
    --------
    >>> found, broken = salvaged_json(b'{"a": 1, "b": [{"c": 2}, {"c": 3}, {"c"', "x.json")
    >>> found, broken
    ({'a': 1, 'b': [{'c': 2}, {'c': 3}]}, 'element 3 of b')
    """
    text = data.decode("utf-8", "replace").lstrip()
    try:
        found, broken = _array(text, 1, "") if text[:1] == "[" else _object(text)
    except RecursionError:
        raise DataError(f"{label} is nested too deeply to be a log.") from None
    if not found:
        raise DataError(f"{label}: salvage found nothing whole in this JSON.")
    return found, broken


def _object(text: str) -> tuple[dict[str, Any], str]:
    found: dict[str, Any] = {}
    at = 1
    while True:
        at = _skip(_BETWEEN, text, at)
        if text[at : at + 1] == "}":
            return found, ""
        try:
            key, at = _DECODER.raw_decode(text, at)
        except ValueError:
            return found, f"a key after {next(reversed(found), 'the start')}"
        colon = _COLON.match(text, at)
        if colon is None or not isinstance(key, str):
            return found, f"key {key}"
        if key in found:  # what closed too early spills its own keys
            return found, f"a second {key}"
        at = colon.end()
        try:
            found[key], at = _DECODER.raw_decode(text, at)
        except ValueError:
            if text[at : at + 1] != "[":
                return found, f"the value of {key}"
            found[key], broken = _array(text, at + 1, f" of {key}")
            return found, broken


def _array(text: str, at: int, where: str) -> tuple[list[Any], str]:
    found: list[Any] = []
    while True:
        at = _skip(_BETWEEN, text, at)
        if text[at : at + 1] == "]":
            return found, ""
        try:
            element, at = _DECODER.raw_decode(text, at)
        except ValueError:
            return found, f"element {len(found) + 1}{where}"
        found.append(element)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


_DECODER = json.JSONDecoder()
