"""`simtrack ledger`: the worked examples of its help, its JSON, its pipes and its refusals."""

from __future__ import annotations

import io
import json
import pathlib
import re
import subprocess
import sys

import click
import pytest

from simtrack.cli import ledger as verb
from simtrack.ledger import Ledger, Slices, keep, prefill, promote, rewrite
from simtrack.ledger import example_ledger as made

SUBVERBS = ("compile", "ablate", "slice", "screen", "show", "example")


@pytest.fixture
def piped(simtrack, monkeypatch):
    """Call `simtrack ledger` commands joined by pipes; give what the last one did."""

    def call(line: str, given: str = ""):
        for command in line.split("|"):
            stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogateescape")))
            monkeypatch.setattr(sys, "stdin", stdin)
            done = simtrack(*command.split()[1:])
            given = done.out
        return done

    return call


@pytest.fixture
def files(simtrack, tmp_path):
    """The example's files, in the folder where commands run."""
    simtrack("ledger", "example", "-o", "ledger.json")
    simtrack("ledger", "example", "tasks", "-o", "tasks.json")
    simtrack("ledger", "slice", "tasks.json", "--seed", "7", "-o", "slices.json")
    return tmp_path


@pytest.mark.parametrize("name", SUBVERBS)
def test_every_subverb_has_help(simtrack, name):
    done = simtrack("ledger", name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: simtrack ledger {name}")


def test_the_help_names_every_subverb(simtrack):
    listed = simtrack("ledger", "--help").out
    for name in SUBVERBS:
        assert re.search(rf"^  {name} +\w.*[.?]$", listed, re.M)  # a whole sentence, not cut off


def test_the_commands_of_the_epilog_run_as_printed(simtrack, tmp_path):
    commands = re.findall(r"^  simtrack (ledger .*?)(?:  .*)?$", verb._EPILOG, re.M)
    assert len(commands) == 9
    for command in commands:
        done = simtrack(*command.split())
        assert (done.code, done.err) == (0, ""), command


def test_the_ledger_of_the_epilog_is_one(simtrack, tmp_path):
    text = verb._EPILOG[verb._EPILOG.index('{"task"') :]
    (tmp_path / "own.json").write_text(text, "utf-8")
    assert simtrack("ledger", "compile", "own.json").out == "Task: Write a function f.\n"
    assert "1. Define audit_log." in simtrack("ledger", "compile", "own.json", "--turn", "4").out


@pytest.mark.parametrize("name", ["compile", "ablate", "screen"])
def test_the_worked_example_of_each_help_prints_what_it_says(piped, name):
    command = verb.ledger.commands[name]
    assert isinstance(command, click.Command)
    shown = [line.strip("\b ") for line in (command.help or "").splitlines()]
    start = next(k for k, line in enumerate(shown) if line.startswith("$ "))
    wanted = [line for line in shown[start + 1 :] if line]
    lines = [line for line in piped(shown[start][2:]).out.splitlines() if line]
    if "..." in wanted:
        assert set(wanted) - {"..."} <= set(lines)
        assert len(wanted) == 3
    else:
        assert lines == wanted


def test_a_ledger_compiled_as_json(simtrack, files, golden):
    done = simtrack("ledger", "compile", "ledger.json", "--json")
    golden(done.json, "ledger_compile")


def test_a_ledger_ablated_as_json(simtrack, files, golden):
    done = simtrack("ledger", "ablate", "ledger.json", "--clause", "audit_log", "--json")
    assert len(done.json["full"]) == len(done.json["ablated"])
    golden(done.json, "ledger_ablate")


def test_slices_as_json(simtrack, files, golden):
    arguments = ["--seed", "7", "--load", "2", "--condition", "delayed", "--json"]
    golden(simtrack("ledger", "slice", "tasks.json", *arguments).json, "ledger_slice")


def test_what_is_written_is_what_is_printed(simtrack, files):
    simtrack("ledger", "compile", "ledger.json", "-o", "spec.txt")
    assert (files / "spec.txt").read_text("utf-8") == simtrack(
        "ledger", "compile", "ledger.json"
    ).out
    done = simtrack("ledger", "compile", "ledger.json", "-o", "spec.JSON")
    assert done.out == "spec.JSON: 4 clauses in force at turn 5\n"
    wanted = simtrack("ledger", "compile", "ledger.json", "--json").out
    assert (files / "spec.JSON").read_text("utf-8") == wanted
    assert Slices.from_json((files / "slices.json").read_text("utf-8")).load == 5
    assert Ledger.from_json((files / "ledger.json").read_text("utf-8")) == made()


def test_a_slice_is_compiled_by_its_id(simtrack, files):
    done = simtrack("ledger", "compile", "slices.json", "--slice", "median:control:m5")
    assert done.out.startswith("Task: Write a function median(values)")
    assert done.out.count("Define an extra function") == 5


def test_scripts_are_shown_turn_by_turn(piped):
    out = piped("simtrack ledger example tasks | simtrack ledger slice --seed 7 --load 2").out
    assert out.count("## ") == 6
    assert out.startswith("## palindrome:immediate:m2: validate_input is revoked\n[0 task] Write")
    assert "## median:control:m2: nothing is revoked" in out


def test_delay_and_depth_are_counted_in_turns(simtrack, files):
    arguments = ["--seed", "7", "--load", "2", "--condition", "delayed", "--delay", "3",
                 "--depth", "2", "--json"]  # fmt: skip
    (one, _) = simtrack("ledger", "slice", "tasks.json", *arguments).json["slices"]
    roles = [turn["role"] for turn in one["turns"]]
    assert roles == ["task", *["marker"] * 2, *["auxiliary"] * 3, "revocation", *["auxiliary"] * 2]


def test_the_turn_of_a_ledger_is_screened(simtrack, files):
    assert simtrack("ledger", "screen", "ledger.json", "--turn", "0", "--json").json["units"] == 3
    assert simtrack("ledger", "screen", "ledger.json", "--json").json["units"] == 5


def test_own_pools_are_read_by_generations(simtrack, files):
    (files / "pool.txt").write_text("one\ntwo\nthree\n", "utf-8")
    (files / "more.txt").write_text("one\ntwo\nthree\n\n\nfour\n\n", "utf-8")
    (files / "asks.txt").write_text("Be brief.\nBe kind.\n", "utf-8")
    slices = []
    for pool in ("pool.txt", "more.txt"):
        arguments = ["--seed", "7", "--load", "3", "--markers", pool, "--requests", "asks.txt"]
        slices.append(simtrack("ledger", "slice", "tasks.json", *arguments, "--json").json)
    assert slices[0]["slices"] == slices[1]["slices"]
    assert slices[1]["markers"] == [["one", "two", "three"], ["four"]]


def test_show_lists_what_binds_and_what_was_done(simtrack, files):
    ledger = keep(promote(rewritten := keep(rewrite(made(), "tests")), "stdlib"))
    assert rewritten.pending is None
    ledger = ledger.replace(6, "audit_log", "trace", "Define trace.", "presence:trace")
    (files / "own.json").write_text(ledger.to_json(), "utf-8")
    lines = simtrack("ledger", "show", "own.json").out.splitlines()
    assert lines[0] == "Net state at turn 6: 4 clauses in force"
    assert re.split(r"  +", lines[2].strip())[:4] == ["1", "tests", "0", "in force"]
    assert lines[2].endswith("L2 applied, L2 kept")
    assert "revoked in turn 6 by trace" in lines[4]
    early = simtrack("ledger", "show", "own.json", "--turn", "2").out.splitlines()
    assert "not yet" in early[-1]
    assert Ledger.from_json(simtrack("ledger", "show", "own.json", "--json").out) == ledger


def test_a_prefill_is_told_beside_the_text(simtrack, files):
    (files / "own.json").write_text(keep(prefill(made(), "tests")).to_json(), "utf-8")
    done = simtrack("ledger", "compile", "own.json")
    assert done.err == "Note: the reply opens with '```python\\n' (prefill)\n"
    assert "```" not in done.out
    assert simtrack("ledger", "compile", "own.json", "--json").err == ""


def test_leaks_are_listed_and_fail_if_asked(simtrack, files):
    (files / "asks.txt").write_text("Say how median is computed.\n", "utf-8")
    simtrack("ledger", "slice", "tasks.json", "--seed", "7", "--requests", "asks.txt",
             "-o", "leaky.json")  # fmt: skip
    done = simtrack("ledger", "screen", "leaky.json")
    assert done.code == 0
    assert done.out.splitlines()[0] == "3 of 6 slices leak (46 passages)"
    assert re.split(r"  +", done.out.splitlines()[2])[:3] == [
        "entry-point", "median", "median:immediate:m5 turn 7 (auxiliary)",
    ]  # fmt: skip
    done = simtrack("ledger", "screen", "leaky.json", "--fail", "--json")
    assert (done.code, done.json["units_with_leaks"]) == (3, 3)
    assert done.err == "simtrack: 3 of 6 leak; --fail asked to end with 3\n"
    assert simtrack("ledger", "screen", "slices.json", "--fail").code == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("compile nowhere.json", "nowhere.json: there is no such file."),
        ("compile tasks.json", "tasks.json: these are tasks. Make slices of them"),
        ("compile slices.json", "slice must be one of palindrome:immediate:m5, "),
        ("compile ledger.json --slice x", "slice must be left out for a ledger, got 'x'."),
        ("compile ledger.json --turn -1", "Invalid value for '--turn'"),
        ("ablate ledger.json", "--clause must be one of tests, stdlib, audit_log, verify_bounds"),
        ("ablate ledger.json --clause sanitize_args", "clause must be in force: tests, stdlib"),
        ("ablate ledger.json --clause stdlb",
         "--clause must be one of tests, stdlib, audit_log, verify_bounds, got 'stdlb'. Did you "
         "mean stdlib?"),
        ("compile slices.json --slice palindrome:delayed:m", "Did you mean palindrome:delayed:m5?"),
        ("slice twice.txt --seed 1", "twice.txt: it does not hold tasks in JSON: it begins with "
         "'one'. To start from an example: simtrack ledger example tasks -o tasks.json"),
        ("slice tasks.json", "Missing option '--seed'"),
        ("slice tasks.json --seed 1 --load 9", "load must be an integer from 2 to 8, got 9."),
        ("slice tasks.json --seed 1 --condition late", "conditions must be one of immediate"),
        ("slice ledger.json --seed 1", "ledger.json: schema must be 'simtrack.tasks/1'"),
        ("slice tasks.json --seed 1 --markers twice.txt",
         "twice.txt: pool must be made of distinct names, got 'one'."),
        ("screen slices.json --turn 3", "--turn must be left out for slices"),
        ("screen slices.json --fragment 0", "fragment must be an integer >= 1, got 0."),
        ("screen broken.json", "broken.json: clauses[0].text must be a text that is not empty"),
        ("compile ledger.json -o nowhere/x.txt", "output must be in a folder that exists"),
        ("example poem", "Invalid value for"),
        ("compil", "No such command 'compil'."),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_exit_2(simtrack, files, command, message):
    clause = {"id": "a", "text": "", "checker_id": "c"}
    (files / "broken.json").write_text(json.dumps({"task": "T", "clauses": [clause]}), "utf-8")
    (files / "twice.txt").write_text("one\ntwo\none\n", "utf-8")
    done = simtrack("ledger", *command.split())
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("simtrack: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "standard input: it is empty, where a ledger in JSON should be. To start from an "
             "example: simtrack ledger example -o ledger.json"),
        ("task,model\na,b\n", "standard input: it does not hold a ledger in JSON: it begins with "
                             "'task,model'. To start from an example: simtrack ledger example"),
        ('{"task"', "standard input: the document is not valid JSON"),
        ("\udcff", "standard input: not a text in UTF-8."),
        ('{"task": 3}', "standard input: task must be a text that is not empty, got 3."),
        ('{"task": "\\ud800"}', "standard input: task must be"),
    ],
    ids=range(6),
)  # fmt: skip
def test_standard_input_is_named_where_it_is_wrong(piped, given, message):
    done = piped("simtrack ledger compile", given)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_terminal_is_not_waited_for(simtrack, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    done = simtrack("ledger", "compile")
    assert done.code == 2
    assert "Try: simtrack ledger example | simtrack ledger compile" in done.err


def test_input_may_begin_with_a_byte_order_mark(simtrack, piped, files):
    assert piped("simtrack ledger compile", "\ufeff" + made().to_json()).code == 0
    (files / "bom.json").write_text("\ufeff" + made().to_json(), "utf-8")
    assert simtrack("ledger", "compile", "bom.json").code == 0


def test_the_fixture_of_the_readme_is_the_example():
    fixture = pathlib.Path(__file__).parents[1] / "fixtures" / "ledger" / "palindrome.json"
    assert fixture.read_text("utf-8") == made().to_json()


@pytest.mark.parametrize("what", ["compile", "show", "screen"])
def test_a_ledger_needs_no_numpy(what):
    fixture = pathlib.Path(__file__).parents[1] / "fixtures" / "ledger" / "palindrome.json"
    code = (
        f"import sys; from simtrack.cli.main import main; main(['ledger', {what!r}, "
        f"{str(fixture)!r}]); sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0
