"""Every verb says today what it said when it was frozen, through and through.

`cases.toml` lists the commands, `expected/` holds what they printed and wrote. After a change that
is meant, write the expected files anew and read the difference before it is committed:

    SIMTRACK_FREEZE=1 pytest tests/golden
    git diff tests/golden/expected

Each command runs in this process, in an empty folder that holds copies of the files it names.
Text, integers and exit codes are compared exactly. Floats may differ by 1e-9 of their size: sums in
another order and other machines move the last digits of a number that an optimiser or a
quadrature has found, a changed method moves more. Versions and digests of results, which change
with every such digit, are masked. Left out are `doctor`, figures, attributes of NetCDF files, and
folders of long runs, which name the machine.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import simtrack
from simtrack.cli.main import VERBS, main

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
INPUTS = (HERE / "inputs", HERE.parent / "fixtures" / "logs", HERE.parent / "fixtures" / "ledger")
FREEZE = os.environ.get("SIMTRACK_FREEZE") == "1"
SAME_RELATIVE = 1e-9
#: What is 0 but for rounding differs from 0 by no more than this.
SAME_ABSOLUTE = 1e-15
#: Differences to print of one case.
SHOWN_MAX = 12
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)", re.IGNORECASE)
#: Digests of numbers, which one digit in the fifteenth place turns over.
DIGEST = re.compile(r"(content_sha256\W+|content  sha256 |sha256\": \"|; sha256 )[0-9a-f]{16,64}")
#: What a verb says of this machine is no fact about the code.
LEFT_OUT = frozenset({"doctor"})


@dataclass(frozen=True)
class Case:
    """Commands that run one after another; the output of the last is frozen."""

    name: str
    commands: tuple[str, ...]

    @property
    def path(self) -> Path:
        ending = "json" if "--json" in shlex.split(self.commands[-1]) else "txt"
        return EXPECTED / f"{self.name}.{ending}"


def read_cases() -> Iterator[Case]:
    for verb, table in tomllib.loads((HERE / "cases.toml").read_text("utf-8")).items():
        for name, given in table.items():
            run, each = (given["run"], given["each"]) if isinstance(given, dict) else (given, [])
            commands = (run,) if isinstance(run, str) else tuple(run)
            if not each:
                yield Case(f"{verb}_{name}", commands)
            for word in each:
                filled = tuple(command.replace("{}", word) for command in commands)
                yield Case(f"{verb}_{name}_{word.replace('-', '_')}", filled)


CASES = tuple(read_cases())


@pytest.fixture(autouse=True)
def an_empty_folder(tmp_path, monkeypatch):
    """Run in an empty folder, as wide as a pipe, with colours off."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_output_is_what_it_was(case, capsys):
    if any(".parquet" in command for command in case.commands):
        pytest.importorskip("pyarrow")
    found = observe(case, capsys)
    if FREEZE:
        case.path.parent.mkdir(exist_ok=True)
        case.path.write_text(frozen(found, case.path.suffix), encoding="utf-8")
    now, wanted = frozen(found, case.path.suffix), case.path.read_text("utf-8")
    if case.path.suffix == ".json":
        told = differences(json.loads(now), json.loads(wanted))
    else:
        told = line_differences(now, wanted)
    more = [f"... and {len(told) - SHOWN_MAX} more"] if len(told) > SHOWN_MAX else []
    report = "\n  ".join([*told[:SHOWN_MAX], *more])
    assert not told, f"simtrack {case.commands[-1]}\n  {report}"


def test_every_expected_file_has_its_case_and_every_verb_has_cases():
    if FREEZE:
        for stale in {*EXPECTED.iterdir()} - {case.path for case in CASES}:
            stale.unlink()
    assert {path.name for path in EXPECTED.iterdir()} == {case.path.name for case in CASES}
    ran = {shlex.split(command)[0] for case in CASES for command in case.commands}
    assert set(VERBS) - ran == LEFT_OUT


def observe(case: Case, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Run the commands and give what came of the last: exit code, output, errors and files."""
    code = 0
    for command in case.commands:
        assert code == 0, f"a command before this one failed: {command}"
        words = shlex.split(command)
        before = copies(words) | set(Path().rglob("*"))
        capsys.readouterr()
        code = main(words)
    printed = capsys.readouterr()
    as_json = case.path.suffix == ".json"
    out = masked(printed.out)
    return {
        "command": f"simtrack {case.commands[-1]}",
        "exit": code,
        "errors": masked(printed.err).splitlines(),
        "out": json.loads(out) if as_json and out else out.splitlines(),
        "files": {path.as_posix(): contents(path) for path in sorted(made_since(before))},
    }


def copies(words: list[str]) -> set[Path]:
    """Copy the inputs that a command names into this folder."""
    made = set()
    for word in words:
        for folder in INPUTS:
            source, target = folder / word, Path(word)
            if not source.exists() or target.exists():
                continue
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, target)
            made |= {target, *target.rglob("*")}
    return made


def made_since(before: set[Path]) -> set[Path]:
    return {path for path in set(Path().rglob("*")) - before if path.is_file()}


def contents(path: Path) -> object:
    """Give a file as plain data: lines of text, columns of Parquet, small arrays of NetCDF."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return [json.dumps(row) for row in pyarrow.parquet.read_table(path).to_pylist()]
    if path.suffix == ".nc":
        return arrays(path)
    lines = masked(path.read_text("utf-8")).splitlines()
    return json.loads("\n".join(lines)) if path.suffix == ".json" else lines


def arrays(path: Path) -> dict[str, object]:
    """Describe a NetCDF file: shapes of all variables, and the numbers of small ones."""
    import xarray

    told: dict[str, object] = {}
    with xarray.open_dataset(path) as data:
        for name, array in data.variables.items():
            few = array.size <= 400
            told[str(name)] = {
                "dims": list(array.dims),
                "shape": list(array.shape),
                "type": array.dtype.kind,
                "values": array.values.tolist() if few else "more than 400",
            }
    return told


def masked(text: str) -> str:
    """Take out what changes from version to version and from machine to machine."""
    text = text.replace(str(Path.cwd()), "FOLDER")
    text = DIGEST.sub(r"\1DIGEST", text)
    return text.replace(simtrack.__version__, "VERSION")


def frozen(found: dict[str, object], suffix: str) -> str:
    """Write what was observed: as JSON, or as a transcript where the output is text."""
    if suffix == ".json":
        return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    lines = [f"$ {found['command']}", f"exit {found['exit']}"]
    parts: dict[str, object] = {"output": found["out"], "errors": found["errors"]}
    parts |= {f"file {name}": content for name, content in found["files"].items()}
    for head, content in parts.items():
        if content:
            lines.append(f"--- {head}")
            lines += content if isinstance(content, list) else [json.dumps(content, indent=1)]
    return "\n".join(map(str, lines)) + "\n"


def differences(found: object, wanted: object, where: str = "$") -> list[str]:
    """List the JSON paths at which two values differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        told = [f"{where}.{k}: no longer there" for k in wanted if k not in found]
        told += [f"{where}.{k}: new, {found[k]!r:.80}" for k in found if k not in wanted]
        shared = [k for k in wanted if k in found]
        if not told and list(found) != list(wanted):
            told.append(f"{where}: keys in another order: {list(found)}, were {list(wanted)}")
        return told + [d for k in shared for d in differences(found[k], wanted[k], f"{where}.{k}")]
    if isinstance(found, list) and isinstance(wanted, list):
        told = []
        if len(found) != len(wanted):
            told.append(f"{where}: {len(found)} items, were {len(wanted)}")
        pairs = zip(found, wanted, strict=False)
        return told + [
            d for k, (a, b) in enumerate(pairs) for d in differences(a, b, f"{where}[{k}]")
        ]
    if isinstance(found, str) and isinstance(wanted, str):
        same = same_text(found, wanted)
    elif isinstance(found, float) and isinstance(wanted, float):
        same = same_float(found, wanted)
    else:
        same = type(found) is type(wanted) and found == wanted
    return [] if same else [f"{where}: {found!r}, was {wanted!r}"]


def line_differences(found: str, wanted: str) -> list[str]:
    """List the lines at which two transcripts differ."""
    old, new = wanted.splitlines(), found.splitlines()
    told = []
    if len(old) != len(new):
        told.append(f"{len(new)} lines, were {len(old)}")
    for number, (a, b) in enumerate(zip(new, old, strict=False), 1):
        if not same_text(a, b):
            told.append(f"line {number}: {a!r}\n{'':>12}was {b!r}")
    return told


def same_text(a: str, b: str) -> bool:
    """Compare text exactly, but for the numbers with a point or an exponent that stand in it."""
    if a == b:
        return True
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    return all(same_float(*(float(x.replace("−", "-")) for x in pair)) for pair in pairs)


def same_float(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=SAME_RELATIVE, abs_tol=SAME_ABSOLUTE)
