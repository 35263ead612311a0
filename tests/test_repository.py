"""The files around the package agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import simtrack
from simtrack.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"^```console\n\$ simtrack (.*?)\n(.*?)^```", README, re.M | re.S)


def test_environment_file_follows_pyproject():
    command = [sys.executable, "tools/environment.py", "--check"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {simtrack.__version__}" in citation
    assert f"## {simtrack.__version__}" in changelog


def test_constraints_pin_everything_that_is_needed_and_name_no_host():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "==" in line]
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[\[<>=!~ ]", w)[0].lower() for w in wanted} - {"simtrack"}
    assert names <= pinned
    assert "://" not in text


def test_readme_quick_start_has_its_two_blocks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    quick = text.split("## Quick start")[1].split("\n## ")[0]
    assert len(re.findall(r"^```sh\n.*?^```", quick, flags=re.M | re.S)) == 2


def test_the_python_of_the_readme_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["oc"].sizes["state"] == 6
    assert names["decision"] is None
    assert names["found"].rows[0].rate == 0.5
    capsys.readouterr()


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[c for c, _ in CONSOLE])
def test_the_output_of_the_readme_is_what_the_command_prints(command, shown, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 0
    assert capsys.readouterr().out == shown


RECIPES = re.findall(r"^```bash\n(.*?)^```", README, flags=re.M | re.S)


def test_there_are_recipes():
    assert len(RECIPES) >= 2


@pytest.mark.parametrize("block", RECIPES)
def test_the_recipes_of_the_readme_run(block, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # what comes with the source, and is only read
    for line in block.replace("\\\n", " ").splitlines():
        command = line.split("#")[0].split(" > ")[0].split()[1:]
        command = [*command, "--mcse", "0.05"] if command[0] in {"power", "plan"} else command
        assert main(command) == 0, line
        assert capsys.readouterr().out, line
