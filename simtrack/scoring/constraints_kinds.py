"""What a kind of checker is, and how its settings are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = ["Check", "Kind", "Settings", "Verdict", "bounds", "one_of", "quoted", "texts_of"]

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
