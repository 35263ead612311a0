"""Run the command line in this process, and hold its JSON against golden files."""

from __future__ import annotations

import json
import math
import os
import pathlib
from dataclasses import dataclass

import pytest

from simtrack.cli.main import main

GOLDEN = pathlib.Path(__file__).parent / "golden"
LOGS = pathlib.Path(__file__).parents[1] / "fixtures" / "logs"
# Two machines agree on a float to about 1e-12; the golden files come from one of them.
SAME_RELATIVE = 1e-11
SAME_ABSOLUTE = 1e-13


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def simtrack(capsys, monkeypatch, tmp_path):
    """Call the command line in an empty folder; give exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def logs() -> pathlib.Path:
    return LOGS


@pytest.fixture
def golden():
    """Hold plain data against a golden file; SIMTRACK_GOLDEN=write makes the file anew."""

    def check(found: object, name: str) -> None:
        path = GOLDEN / f"{name}.json"
        if os.environ.get("SIMTRACK_GOLDEN") == "write":
            path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        wanted = json.loads(path.read_text("utf-8"))
        assert differences(found, wanted) == []

    return check


def differences(found: object, wanted: object, where: str = "$") -> list[str]:
    """List the places where two plain values differ by more than two machines may."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        if list(found) != list(wanted):
            return [f"{where}: keys {list(found)} != {list(wanted)}"]
        return [d for k in found for d in differences(found[k], wanted[k], f"{where}.{k}")]
    if isinstance(found, list) and isinstance(wanted, list):
        if len(found) != len(wanted):
            return [f"{where}: {len(found)} items != {len(wanted)}"]
        pairs = zip(found, wanted, strict=True)
        return [d for k, (a, b) in enumerate(pairs) for d in differences(a, b, f"{where}[{k}]")]
    if isinstance(found, float) and isinstance(wanted, float):
        near = math.isclose(found, wanted, rel_tol=SAME_RELATIVE, abs_tol=SAME_ABSOLUTE)
        return [] if near else [f"{where}: {found} != {wanted}"]
    same = found == wanted and type(found) is type(wanted)
    return [] if same else [f"{where}: {found!r} != {wanted!r}"]
