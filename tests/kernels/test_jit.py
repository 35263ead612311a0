"""Kernels compile when first called, are cached where they cannot go stale, and run plain."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simtrack
from simtrack import _jit

PACKAGE = Path(simtrack.__file__).parent
DRAW = "from simtrack.rng import Stream; print(Stream(7, 'x').uniform(replicates=1, clusters=1))"


def run(code, tmp_path, package=PACKAGE, **environment):
    """Run code in a fresh process that sees this package and a cache of its own."""
    names = ("SIMTRACK_JIT", "NUMBA_DISABLE_JIT", "SIMTRACK_CACHE")
    clean = {key: value for key, value in os.environ.items() if key not in names}
    clean |= {"SIMTRACK_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(package.parent)}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )


def kernel_folders(tmp_path):
    return sorted((tmp_path / "cache").glob("kernels-*"))


def test_importing_the_streams_does_not_import_numba(tmp_path):
    code = "import sys, simtrack.rng, simtrack._jit; print('numba' in sys.modules)"
    assert run(code, tmp_path).stdout == "False\n"


@pytest.mark.parametrize("switch", [{"SIMTRACK_JIT": "0"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_with_the_jit_off_a_draw_needs_no_numba(tmp_path, switch):
    code = DRAW + "; import sys; print('numba' in sys.modules)"
    assert run(code, tmp_path, **switch).stdout.endswith("False\n")
    assert not kernel_folders(tmp_path)


def test_the_next_process_finds_the_kernel_compiled(tmp_path):
    code = DRAW + (
        "; from simtrack.kernels import draws; s = draws.uniform._run.stats"
        "; print(sum(s.cache_hits.values()), sum(s.cache_misses.values()))"
    )
    first, second = (run(code, tmp_path).stdout.splitlines()[-1] for _ in range(2))
    assert (first, second) == ("0 1", "1 0")
    (folder,) = kernel_folders(tmp_path)
    assert list(folder.glob("**/*.nbi"))


def test_without_a_writable_folder_draws_go_on_with_one_log_line(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    code = DRAW + "; Stream(7, 'x').normal(replicates=1, clusters=1)"
    found = run(code, tmp_path)
    assert found.stdout == run(DRAW, tmp_path, SIMTRACK_JIT="0").stdout
    (line,) = found.stderr.splitlines()
    assert line.startswith("kernels are compiled anew each time: cannot write ")


def copied_package(tmp_path):
    copy = tmp_path / "copy" / "simtrack"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def change_a_callee(copy):
    source = copy / "kernels" / "philox.py"
    text = source.read_text()
    assert "_ROUNDS = 10" in text
    source.write_text(text.replace("_ROUNDS = 10", "_ROUNDS = 9"))


def test_the_folder_changes_with_any_kernel_file(tmp_path):
    copy = copied_package(tmp_path)
    code = "from simtrack._jit import cache; print(cache().folder.name)"
    before = run(code, tmp_path, copy).stdout
    assert run(code, tmp_path, copy).stdout == before
    change_a_callee(copy)
    assert run(code, tmp_path, copy).stdout != before


@pytest.mark.slow
def test_a_changed_callee_in_another_file_is_compiled_anew(tmp_path):
    # Numba's own index looks at the caller's file only: with one folder this gives the old number.
    copy = copied_package(tmp_path)
    before = run(DRAW, tmp_path, copy).stdout
    change_a_callee(copy)
    after = run(DRAW, tmp_path, copy).stdout
    assert after != before
    assert after == run(DRAW, tmp_path, copy, SIMTRACK_JIT="0").stdout


def test_the_cache_can_be_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMTRACK_CACHE", str(tmp_path))
    found = _jit.cache()
    assert (found.folder.parent, found.writable, found.note) == (tmp_path, True, "")
    monkeypatch.delenv("SIMTRACK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _jit.cache().folder.parent == tmp_path / "simtrack"


def test_only_jit_names_numba_and_its_cache():
    for path in PACKAGE.glob("**/*.py"):
        if path.name != "_jit.py":
            code = path.read_text()
            assert not re.search(r"^\s*(import|from) numba|cache=True", code, re.M), path
