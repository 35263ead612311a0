"""A frozen study: what is asked, why, and every number that decides the answer, in one TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from simtrack.errors import DataError, InputError

__all__ = ["Study", "find_study", "load_study", "parse_study"]

_ABOUT = ("name", "kind", "title", "what", "why", "primary")
FILE = "study.toml"
_NAME = re.compile(r"[\w-][\w.-]{0,99}")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Study:
    """What does a study ask, and with which settings?

    Attributes
    ----------
    name, kind, title, what, why, primary : str
        Its folder's name; which run it asks for; a heading; what is computed; why; the one number
        or test that was chosen beforehand.
    settings : mapping
        All other tables of the TOML, as read.
    """

    name: str
    kind: str
    title: str
    what: str
    why: str
    primary: str
    settings: Mapping[str, Any]

    def to_dict(self) -> dict[str, object]:
        """Give plain data from which `parse_study` makes an equal study."""
        return {"study": {key: getattr(self, key) for key in _ABOUT}, **self.settings}

    def table(self, name: str, known: tuple[str, ...]) -> dict[str, Any]:
        """Give one table of settings (empty if absent), refusing keys that are not `known`."""
        found = self.settings.get(name, {})
        where = f"study {self.name}, [{name}]"
        if not isinstance(found, dict):
            raise InputError(name, "a table", type(found).__name__, where=where)
        _refuse_unknown(found, known, where)
        return dict(found)


def parse_study(content: Mapping[str, Any], where: str) -> Study:
    """Make a study from the content of its TOML; `where` names the file in complaints."""
    about = content.get("study")
    if not isinstance(about, dict):
        raise DataError(f"{where} has no [study] table. Begin it with [study] and name = ….")
    _refuse_unknown(about, _ABOUT, f"{where}, [study]")
    missing = [key for key in _ABOUT if not isinstance(about.get(key), str)]
    if missing:
        raise DataError(f"{where}, [study] lacks {', '.join(missing)}. Write them as text.")
    if not _NAME.fullmatch(about["name"]):
        raise InputError(
            "name", "letters, digits, _, - and . (it names a folder), not beginning with a dot",
            repr(about["name"][:_SHOWN]), where=f"{where}, [study]",
        )  # fmt: skip
    settings = {key: value for key, value in content.items() if key != "study"}
    _refuse_unstorable(settings, where)
    return Study(**{key: about[key] for key in _ABOUT}, settings=settings)


def load_study(path: Path) -> Study:
    """Read a study from its TOML file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise DataError(f"{path} is nested too deeply to be a study.") from None
    except ValueError as error:  # bad TOML or UTF-8, or an integer of thousands of digits
        raise DataError(f"{path} is not valid TOML: {error}. Mend that line.") from None
    return parse_study(content, str(path))


def find_study(wanted: str) -> Path:
    """Find a study: a TOML file, a folder with a study.toml, or a name.

    A name is looked up in ./studies first, then among the studies that come with simtrack.
    """
    if not wanted:
        raise InputError("study", "a file, a folder or a name", repr(wanted))
    path = Path(wanted)
    for name in (FILE, "result.nc"):
        if path.is_dir() and (path / name).is_file():
            return path / name
    if path.is_file():
        return path
    local = Path("studies") / wanted / FILE
    if local.is_file():
        return local
    shipped = _shipped()
    if wanted in shipped:
        return shipped[wanted]
    near = get_close_matches(wanted, shipped, 1)
    cure = f"Did you mean {near[0]}?" if near else f"Shipped studies: {', '.join(shipped)}."
    raise DataError(
        f"no study at {wanted}: neither a file, a folder with {FILE}, nor a known name. {cure}"
    )


def _refuse_unstorable(settings: Mapping[str, object], where: str) -> None:
    """Refuse what the result could not carry, before anything is computed or written."""
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise DataError(
            f"{where} holds a date, NaN, infinity or endless number, which a result cannot carry. "
            "Write it as text."
        ) from None


def _shipped() -> dict[str, Path]:
    folder = Path(str(files("simtrack") / "runs" / "data"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _refuse_unknown(found: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in found:
        if key not in known:
            near = get_close_matches(key, known, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            raise InputError("key", f"one of {', '.join(known)}", repr(key), where=where, cure=cure)
