"""Options and files that lie about their size, and streams that cannot be written: one line, 2."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simtrack.cli.main import main

LOGS = pathlib.Path(__file__).parents[1] / "fixtures" / "logs"
ORIGINALS = [path.read_bytes() for path in sorted(LOGS.glob("*.eval"))] + [
    b"unit,epoch,model,score\n"
    + b"".join(b"q%d,1,m%d,%d\n" % (k // 2, k % 2, k % 3 == 0) for k in range(20))
]
#: What readers stumble over: numbers without end, half characters, quotes, names of columns.
PIECES = [
    b"NaN",
    b"1e999",
    b"\xff",
    b"\\ud83d",
    b'"',
    b",",
    b"\n",
    b"-1",
    b"null",
    b"(none)",
    b"source",
]
ZEROS, SEVENS = "0" * 400, "7" * 5_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--threshold", "1e-100000000"], "threshold must be a decimal number"),
        (["--threshold", "1e5000"], "threshold must be a decimal number"),
        (["--margin", "1e-9999999"], "margin must be a decimal number"),
        (["--clauses", f"1{ZEROS}"], "clauses must be an integer from 1 to"),
        (["--k-min", SEVENS], "k_min must be whole numbers"),
        (["--usd-per-mtok", "1e400,1", "--tokens", "1,1"], "usd-per-mtok must be two numbers"),
        (["--usd-per-mtok", "1,1", "--tokens", "1e400,1"], "tokens must be two numbers"),
        (["--usd-per-call", "1e308"], "usd_per_call must be a finite number from 0 to 1e+12"),
    ],
    ids=range(8),
)
def test_endless_numbers_are_refused_in_one_short_line(simtrack, arguments, words):
    done = simtrack("calibrate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert len(done.err) < 300


@pytest.mark.parametrize(
    "text",
    [
        f'{{"threshold": {SEVENS}}}',
        f"k_min = {SEVENS}",
        "[" * 100_000,
        "x = " + "[" * 5_000,
        '{"a":' + "[" * 100_000,
    ],
    ids=range(5),
)
def test_rules_of_endless_digits_or_depth_are_refused(simtrack, tmp_path, text):
    (tmp_path / "rule").write_text(text)
    done = simtrack("calibrate", "rule")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("simtrack: rule: The rule is ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("figure", ["x.jpg", "nowhere/x.png", "x"])
def test_a_figure_is_refused_before_anything_is_computed(simtrack, monkeypatch, figure):
    from simtrack.probe import calibration

    def never(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr(calibration, "calibrate", never)
    done = simtrack("calibrate", "--figure", figure)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("simtrack: figure must be ")


def test_an_empty_path_is_not_the_current_folder(simtrack, tmp_path):
    (tmp_path / "x.csv").write_text("unit,score\na,1\n")
    done = simtrack("score", "")
    assert (done.code, done.out) == (2, "")
    assert done.err == "simtrack: path must be the path of a file, got ''.\n"
    assert (
        simtrack("run", "").err == "simtrack: study must be a file, a folder or a name, got ''.\n"
    )


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m simtrack"
    return subprocess.run(
        ["sh", "-c", command.replace("simtrack", program, 1)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("verb", ["calibrate --k-max 0", "calibrate --nope", "nope", ""])
def test_without_standard_error_the_exit_code_tells_and_output_stays_empty(verb, where):
    if "full" in where and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = shell(f"simtrack {verb} {where}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_without_standard_output_nothing_breaks():
    done = shell("simtrack calibrate --grid 2 >&-")
    assert (done.returncode, done.stderr) == (0, "")
    done = shell("simtrack calibrate --k-max 0 >&-")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@st.composite
def mutated(draw):
    """Flip bytes, put pieces in, cut, or splice two logs."""
    data = bytearray(draw(st.sampled_from(ORIGINALS)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data) - 1))
        piece = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=1))
        data[at : at + len(piece)] = piece
    if draw(st.booleans()):
        data = data[: draw(st.integers(1, len(data)))]
    if draw(st.booleans()):
        other = draw(st.sampled_from(ORIGINALS))
        data += other[draw(st.integers(0, len(other))) :]
    return bytes(data)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutated())
def test_a_damaged_log_is_scored_and_adds_up_or_is_one_line(tmp_path, capsys, data):
    path = tmp_path / "x.log"
    path.write_bytes(data)
    capsys.readouterr()
    code = main(["score", str(path), "--json"])
    out, err = capsys.readouterr()
    if code != 0:
        assert (code, out, err.count("\n")) == (2, "", 1)
        return
    assert err == ""
    for metric in json.loads(out)["metrics"]:
        for row in metric["accounting"]:
            classes = [n for name, n in row.items() if name not in {"labels", "planned"}]
            assert row["planned"] == sum(classes)
            assert min(classes) >= 0
