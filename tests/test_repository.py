"""The files around the package agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import simtrack

ROOT = Path(__file__).resolve().parents[1]


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


def test_the_python_of_the_readme_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
        names: dict[str, object] = {}
        exec(compile(block, "README.md", "exec"), names)
        assert names["oc"].sizes["state"] == 6
        assert names["decision"] is None


def test_the_help_of_the_readme_is_what_calibrate_prints(capsys):
    from simtrack.cli.main import main

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command, shown = re.findall(r"^```console\n\$ simtrack (.*?)\n(.*?)^```", text, re.M | re.S)[0]
    assert main(command.split()) == 0
    assert capsys.readouterr().out == shown
