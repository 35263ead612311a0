"""What does a piece of JSON hold, of the fields that are wanted? Typed and fast, then forgiving."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, TypeVar

import msgspec

from simtrack.errors import DataError
from simtrack.note import Note

__all__ = ["Decoded", "decode", "decode_record", "one_line", "scrub"]

T = TypeVar("T")
_SURROGATES = re.compile("[\ud800-\udfff]")
_TOO_DEEP = "is nested too deeply to be a log."
_SHOWN = 120


class Decoded:
    """What was unusual in the text that was decoded, to be told to the user once a file."""

    __slots__ = ("replaced",)

    def __init__(self) -> None:
        self.replaced = 0

    def notes(self) -> list[str]:
        r"""Say how many halves of surrogate pairs stand as text."""
        if not self.replaced:
            return []
        told = f"{self.replaced} halves of surrogate pairs are written out, as \\udXXX"
        return [Note("surrogates", told, n=self.replaced)]


def decode(data: bytes | bytearray, kind: type[T], label: str, seen: Decoded) -> T:
    """Decode the wanted fields of one JSON document into `kind`, a msgspec Struct.

    Text that strict JSON forbids but Inspect writes (NaN, Infinity, halves of surrogate pairs,
    numbers beyond a float) is read by the slower standard module; a lone surrogate in a wanted
    field becomes its escape as text and is counted in `seen`. Of equal keys the last one counts.

    Raises
    ------
    DataError
        Text that is no JSON, is nested absurdly deep, or has fields of another shape.
    """
    try:
        found: Any = _decoder(kind).decode(data)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _forgiving(data, label)
    if isinstance(found, kind):
        return found
    if not isinstance(found, dict):
        raise DataError(f"{label} must hold a JSON object, got {type(found).__name__}.")
    wanted = {f: found[f] for f in getattr(kind, "__struct_fields__", ()) if f in found}
    try:
        return msgspec.convert(scrub(wanted, seen), kind)
    except RecursionError:
        raise DataError(f"{label} {_TOO_DEEP}") from None
    except (msgspec.ValidationError, OverflowError) as error:
        raise DataError(f"{label} does not have the fields of its format: {error}.") from None


def decode_record(data: bytes | bytearray, label: str, seen: Decoded) -> Any:
    """Decode one JSON document of any shape, with the same forgiveness as `decode`."""
    try:
        return _decoder(object).decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _forgiving(data, label)
    try:
        return scrub(found, seen)
    except RecursionError:
        raise DataError(f"{label} {_TOO_DEEP}") from None


def scrub(value: Any, seen: Decoded) -> Any:
    r"""Write every lone half of a surrogate pair as text, such as \ud83d, counting them.

    Labels that differ in nothing else stay different.
    """
    if isinstance(value, str):
        text, times = _SURROGATES.subn(lambda half: f"\\u{ord(half[0]):04x}", value)
        seen.replaced += times
        return text
    if isinstance(value, dict):
        return {scrub(key, seen): scrub(item, seen) for key, item in value.items()}
    if isinstance(value, list):
        return [scrub(item, seen) for item in value]
    return value


def one_line(text: object, shown: int = _SHOWN) -> str:
    """Give the first line of a message, cut to `shown` characters."""
    line = " ".join(str(text).split("\n", 1)[0].split())
    return line if len(line) <= shown else line[: shown - 1] + "…"


def _forgiving(data: bytes | bytearray, label: str) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{label} is not UTF-8 text (byte {error.start}).") from None
    except RecursionError:
        raise DataError(f"{label} {_TOO_DEEP}") from None
    except ValueError as error:
        raise DataError(f"{label} is not valid JSON: {error}.") from None


@functools.cache
def _decoder(kind: Any) -> Any:
    return msgspec.json.Decoder() if kind is object else msgspec.json.Decoder(kind)
