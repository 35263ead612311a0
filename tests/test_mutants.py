"""The named faults of tools/mutants.py: each can still be put in, and the tests notice it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: The faults that anyone who doubts the numbers would look for first.
NAMED = {
    "wrong tail",
    "at least for more than",
    "swapped denominators",
    "ddof",
    "row-order pairing",
    "dropped ties",
    "+1 added to an exact p",
    "absolute for relative tolerance",
    "clusters de-duplicated",
    "NaN cluster kept",
    "quantile off by one",
    "FFT without mask",
}


def load():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutants = load()
each = pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda m: m.name)


def test_the_twelve_are_there_under_names_of_their_own():
    names = [m.name for m in mutants.MUTANTS]
    assert len(names) == len(set(names))
    assert set(names) >= NAMED
    assert len({(m.file, m.old, m.new) for m in mutants.MUTANTS}) == len(names)


@each
def test_its_text_stands_once_in_the_source_and_its_tests_exist(mutant):
    assert mutants.occurrences(mutant) == 1
    assert mutant.new != mutant.old
    assert all((ROOT / test.split("::")[0]).is_file() for test in mutant.tests)
    compile(
        (ROOT / mutant.file).read_text(encoding="utf-8").replace(mutant.old, mutant.new),
        mutant.file,
        "exec",
    )


def test_what_cannot_be_put_in_or_is_not_noticed_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # three runs start sooner
    (tmp_path / "simtrack.py").write_text("RATE = 1\n", encoding="utf-8")
    (tmp_path / "test_one.py").write_text(
        "import simtrack\n\n\ndef test_rate():\n    assert simtrack.RATE > 0\n", encoding="utf-8"
    )

    def ran(old, new):
        made = mutants.Mutant("x", "simtrack.py", old, new, ("test_one.py",), "")
        return mutants.run(made, tmp_path)

    assert ran("= 1", "= 0")[:2] == ("killed", "test_one.py::test_rate")
    assert ran("= 1", "= 2").verdict == "survived"
    assert ran("= 3", "= 2")[:2] == ("not run", "its text stands 0 times in simtrack.py")
    assert ran("= 1", "=").verdict == "not run"  # it breaks the import: that is no kill
    with pytest.raises(SystemExit):
        mutants.main(["no such mutant"])


@pytest.mark.slow
def test_every_mutant_is_killed(capsys):
    assert mutants.main([]) == 0, capsys.readouterr().out
