"""What a folder of blocks belongs to, so that no block of another run is ever taken for its own."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from simtrack import rng
from simtrack.errors import DataError, InputError
from simtrack.files import write_text
from simtrack.runs.blocks_schedule import run_lengths, schedule_from
from simtrack.runs.provenance import source_hash

__all__ = ["MANIFEST_NAME", "Manifest", "environment", "manifest_of", "read_manifest"]

MANIFEST_NAME = "manifest.json"
SCHEMA = "simtrack.blocks-manifest/1"
#: What stands for the hash of a task that was typed at a prompt.
NO_FILE = "no file"
_RESERVED = ("schema", "task", "schedule", "code", "stream scheme")
_SHOWN, _SHOWN_WIDTH = 4, 40


@dataclass(frozen=True)
class Manifest:
    """Everything that decides the bytes of a block, part by part.

    Attributes
    ----------
    parts : mapping of name to plain data
        What the task says it is (design, agent, analysis, seed, ...), its name, the block schedule,
        hashes of the code, the stream scheme and the schema id.
    environment : mapping of library to version
        What computed the first block. It decides no hash: other versions are a note.
    """

    parts: Mapping[str, Any]
    environment: Mapping[str, str]

    @cached_property
    def sha256(self) -> Mapping[str, str]:
        """SHA-256 of each part."""
        return {
            name: hashlib.sha256(_canonical(value).encode()).hexdigest()
            for name, value in self.parts.items()
        }

    @cached_property
    def run_sha256(self) -> str:
        """SHA-256 of all parts: what a block file says that it belongs to."""
        return hashlib.sha256(_canonical(dict(self.sha256)).encode()).hexdigest()

    @cached_property
    def schedule(self) -> tuple[range, ...]:
        """The block schedule."""
        return schedule_from(self.parts["schedule"])

    def changes(self, other: Manifest) -> str:
        """Name the parts in which `other` differs, and where in them; empty if none."""
        texts = []
        for name in sorted({*self.parts, *other.parts}):
            if self.sha256.get(name) == other.sha256.get(name):
                continue
            found = list(_differences("", self.parts.get(name), other.parts.get(name)))
            rest = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            texts.append(f"{name} ({'; '.join(found[:_SHOWN])}{rest})")
        return ", ".join(texts)

    def write(self, folder: Path) -> None:
        """Write the manifest, whole or not at all."""
        content = {
            "run_sha256": self.run_sha256,
            "sha256": dict(self.sha256),
            "parts": dict(self.parts),
            "environment": dict(self.environment),
        }
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(folder / MANIFEST_NAME, text + "\n")


def manifest_of(task: object, schedule: Sequence[range]) -> Manifest:
    """Give the manifest of a task over a schedule, as this code would run it now.

    Raises
    ------
    InputError
        If the task cannot say what it is in plain data.
    """
    identity = getattr(task, "identity", None)
    if not callable(identity):
        cure = 'Give it a method identity() -> {"design": ..., "seed": ...}, or no folder.'
        raise InputError("task", "one that says what it is", type(task).__name__, cure=cure)
    said = identity()
    if not isinstance(said, Mapping) or not said:
        raise InputError("identity()", "a mapping that is not empty", repr(said))
    if taken := sorted(set(said) & set(_RESERVED)):
        raise InputError("identity()", f"without {', '.join(_RESERVED)}", ", ".join(taken))
    parts = {str(name): _plain(str(name), value) for name, value in said.items()}
    parts |= {
        "schema": SCHEMA,
        "task": type(task).__qualname__,
        "schedule": run_lengths(schedule),
        "code": _code(task),
        "stream scheme": rng.SCHEME,
    }
    return Manifest(parts, environment())


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a folder; None if there is none.

    Raises
    ------
    DataError
        If it is damaged: it is not what its own hash says.
    """
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = Manifest(dict(content["parts"]), dict(content["environment"]))
        sound = found.run_sha256 == content["run_sha256"] and len(found.schedule) > 0
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}).") from None
    if not sound:
        raise DataError(f"{path} is damaged (its hash is another).")
    return found


@cache
def environment() -> dict[str, str]:
    """Say which Python, libraries and kind of machine compute here."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "numba": version("numba"),
        "machine": f"{sys.platform} {platform.machine()}",
    }


def _code(task: object) -> dict[str, str]:
    """Hash simtrack's sources and, for a task defined elsewhere, the file that defines it."""
    module = type(task).__module__
    code = {"simtrack": source_hash()}
    if module.partition(".")[0] != "simtrack":
        file = getattr(sys.modules.get(module), "__file__", None)
        code["task"] = NO_FILE
        if file and Path(file).is_file():
            content = Path(file).read_bytes().replace(b"\r\n", b"\n")
            code["task"] = hashlib.sha256(content).hexdigest()
    return code


def _plain(name: str, value: object) -> object:
    """Pass through JSON, so that a manifest read back equals the one that was written."""
    try:
        return json.loads(_canonical(value))
    except (TypeError, ValueError) as error:
        cure = "Use text, integers, finite numbers, lists and mappings."
        raise InputError(f"identity()[{name}]", "plain data", error, cure=cure) from None


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _differences(path: str, old: object, new: object) -> Iterator[str]:
    """Name the places where two plain values differ, deepest first in reading order."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(f"{path}.{key}" if path else key, old.get(key), new.get(key))
    elif old != new:
        yield f"{path + ' ' if path else ''}was {_short(old)}, is {_short(new)}"


def _short(value: object) -> str:
    if value is None:
        return "absent"
    text = value if isinstance(value, str) else _canonical(value)
    return text if len(text) <= _SHOWN_WIDTH else f"{text[:12]}…"
