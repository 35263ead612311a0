"""Read a scoring protocol from TOML or JSON, and check its keys, one clear line a fault."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from simtrack.errors import DataError, InputError

__all__ = [
    "EXAMPLES",
    "check_head",
    "flag",
    "load_plain",
    "only_keys",
    "protocol_example",
    "table",
    "text",
    "texts",
    "told_where",
]


def load_plain(path: str | Path) -> dict[str, Any]:
    """Give the content of a `.toml` or `.json` file as plain data."""
    import tomllib

    file = Path(path)
    kind = "JSON" if file.suffix.lower() == ".json" else "TOML"
    try:
        raw = file.read_text(encoding="utf-8-sig")
        found = json.loads(raw, object_pairs_hook=_once) if kind == "JSON" else tomllib.loads(raw)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Give a TOML or JSON file.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{path} is not valid {kind}: {error}. Mend that line.") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} must hold a table of settings, got {type(found).__name__}.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice, which JSON allows and TOML does not."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one table")
    return found


def told_where(error: InputError, where: str) -> InputError:
    """Say in a refusal where the fault stands, unless it says so already."""
    if where not in str(error):
        error.args = (f"{where}: {error}",)
    return error


def check_head(content: Mapping[str, Any], known: Iterable[str], where: str, **fixed: str) -> None:
    """Refuse a key that means nothing, and a schema or scheme that is another's."""
    only_keys(content, known, where)
    for key, value in fixed.items():
        if content.get(key, value) != value:
            raise InputError(key, repr(value), repr(content[key]), where=where)


def only_keys(content: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse a key that means nothing, and name the one that was meant."""
    names = list(known)
    for key in content:
        if key not in names:
            near = get_close_matches(str(key), names, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            raise InputError("key", f"one of {', '.join(names)}", repr(key), where=where, cure=cure)


def text(content: Mapping[str, Any], key: str, default: str, where: str) -> str:
    """Give a setting that is text."""
    found = content.get(key, default)
    if not isinstance(found, str) or not found:
        raise InputError(key, "text", repr(found), where=where)
    return found


def flag(content: Mapping[str, Any], key: str, default: bool, where: str) -> bool:
    """Give a setting that is true or false."""
    found = content.get(key, default)
    if not isinstance(found, bool):
        raise InputError(key, "true or false", repr(found), where=where)
    return found


def table(content: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """Give a setting that is a table; an empty one if it is left out."""
    found = content.get(key, {})
    if not isinstance(found, Mapping):
        raise InputError(key, "a table", repr(found), where=where)
    return dict(found)


def texts(found: Any, key: str, where: str) -> tuple[str, ...]:
    """Give one text or a list of texts as a tuple; numbers and booleans become labels."""
    listed = found if isinstance(found, list) else [found]
    out = []
    for value in listed:
        if isinstance(value, bool):
            out.append("true" if value else "false")
        elif isinstance(value, (str, int)):
            out.append(str(value))
        else:
            raise InputError(key, "text or a list of texts", repr(found), where=where)
    return tuple(out)


# A commented protocol of each scheme, to start from.
#: The schemes, and the replay of sessions, that have one.
EXAMPLES = ("stageif", "obligations", "statetrack", "rebind", "replay")


def protocol_example(scheme: str) -> str:
    """What may a protocol of this scheme say? TOML with comments; as it stands it can be loaded.

    Parameters
    ----------
    scheme : {"stageif", "obligations", "statetrack", "rebind", "replay"}

    Examples
    --------
    >>> print(protocol_example("stageif").splitlines()[0])
    # How replies report their stage, and which stage is right: a protocol of the StageIF scheme.
    """
    if scheme not in EXAMPLES:
        raise InputError("scheme", f"one of {', '.join(EXAMPLES)}", repr(scheme))
    return (files("simtrack.scoring") / "examples" / f"{scheme}.toml").read_text(encoding="utf-8")
