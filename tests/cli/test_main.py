"""The door: help, exit codes, one-line errors, and what is imported on the way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import simtrack as package
from simtrack.cli import main as door

HEAVY = ("scipy", "pandas", "xarray", "numba", "matplotlib", "h5netcdf", "rich")


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout


def loaded(code: str, names: tuple[str, ...]) -> list[str]:
    text = fresh(
        f"{code}\nimport sys, json\nprint(json.dumps([m for m in {names} if m in sys.modules]))"
    )
    return json.loads(text.splitlines()[-1])


def test_import_and_help_load_no_numpy():
    assert loaded("import simtrack", ("numpy", *HEAVY)) == []
    code = "from simtrack.cli.main import main; main(['--help'])"
    assert loaded(code, ("numpy", *HEAVY)) == []


@pytest.mark.parametrize("arguments", [["calibrate"], ["calibrate", "--json"]])
def test_calibrate_loads_numpy_alone(arguments):
    assert loaded(f"from simtrack.cli.main import main; main({arguments})", HEAVY) == []


def test_score_loads_numpy_alone(logs):
    arguments = ["score", str(logs / "stage_reports.eval")]
    assert loaded(f"from simtrack.cli.main import main; main({arguments})", HEAVY) == []


@pytest.mark.parametrize("verb", list(door.VERBS))
def test_every_verb_teaches_with_its_help(simtrack, verb):
    done = simtrack(verb, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: simtrack {verb}")
    assert verb == "doctor" or "Example" in done.out


def test_version(simtrack):
    assert simtrack("--version").out.strip().endswith(package.__version__)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrat"], "there is no verb 'calibrat'. Did you mean calibrate? See simtrack --help."),
        (["calibrate", "--kmax", "3"], "No such option '--kmax'"),
        (["calibrate", "--k-max", "x"], "k_max must be whole numbers with commas between, got 'x'"),
        (["score"], "Missing argument 'LOGS...'"),
        (["score", "nowhere.eval"], "nowhere.eval"),
        (["run", "nothing"], "no study at nothing"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(simtrack, arguments, message):
    done = simtrack(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.startswith("simtrack: ")
    assert done.err.count("\n") == 1


def test_a_fault_of_ours_is_70_and_says_where_to_report(simtrack, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr("simtrack.probe.calibration.calibrate", broken)
    done = simtrack("calibrate")
    assert done.code == 70
    assert "RuntimeError: boom" in done.err
    assert "report" in done.err


def test_interrupted_is_130(simtrack, monkeypatch):
    def stopped(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("simtrack.probe.calibration.calibrate", stopped)
    assert simtrack("calibrate").code == 130


def test_a_closed_pipe_is_no_error():
    code = "import sys; from simtrack.cli.main import run; sys.argv=['simtrack','calibrate']; run()"
    shell = ["bash", "-c", f'set -o pipefail; "{sys.executable}" -c "{code}" | head -n 1']
    done = subprocess.run(shell, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("Rule:")
