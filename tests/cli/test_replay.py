"""`simtrack replay`: sessions from files, their ends by gate, and the comparison of two gates."""

from __future__ import annotations

import json

import pytest

READY, END = "<stage>ready_for_action</stage>", "<stage>completed</stage>"
DONE = ("--done-call", "create_event", "--done-call", "send_invites")
FREE = ("--recorded", "none")


@pytest.fixture
def sessions(tmp_path):
    """Twelve scenarios, three sessions each: done, not marked at first, and never finished."""
    path = tmp_path / "sessions.jsonl"
    lines = []
    for scenario in range(12):
        for kind in ("good", "unmarked", "early"):
            if kind == "unmarked" and scenario >= 9:
                continue
            turns = [
                ("user", "Book it.", []),
                ("assistant", "Shall I?" if kind == "unmarked" else f"Shall I?\n{READY}", []),
                ("user", "Yes.", []),
                ("assistant", "", ["create_event"]),
                ("tool", "ok", []),
            ]
            if kind == "early":
                turns += [("assistant", f"Done.\n{END}", []), ("user", "No.", [])]
            else:
                turns += [("assistant", "", ["send_invites"]), ("tool", "ok", [])]
                turns += [("assistant", f"Done.\n{END}", [])]
            for turn, (role, text, calls) in enumerate(turns):
                lines.append({
                    "id": f"s{scenario}-{kind}", "scenario": f"s{scenario}", "model": "m",
                    "trajectory": f"{scenario}-{kind}", "turn": turn, "role": role, "text": text,
                    "calls": calls,
                })  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return str(path)


def ends(found):
    return {(row["gate"], row["end"]): (row["n"], row["sessions"]) for row in found["rows"]}


def test_two_gates_and_their_comparison(simtrack, sessions):
    done = simtrack("replay", sessions, "--gate", "no-tool-call", "--gate", "marker", "--json",
                    *DONE, *FREE)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert found["schema"] == "simtrack.replay/2"
    assert found["cluster"] == "scenario"
    # 12 good, 9 unmarked, 12 early: 33 sessions. Under B1 the unmarked die and the early stop.
    marker = {end: n for (gate, end), (n, _) in ends(found).items() if gate == "marker" and n}
    assert marker == {"correct stop": 12, "dead end": 9, "premature stop": 12}
    other = {end: n for (gate, end), (n, _) in ends(found).items() if gate != "marker" and n}
    assert other == {"correct stop": 21, "other": 12}
    assert not {"dead end", "premature stop"} & {e for g, e in ends(found) if g != "marker"}
    (comparison,) = found["comparisons"]
    (paired,) = comparison["comparison"]["rows"]
    # Nine scenarios: 2/3 against 1/3; three: 1/2 against 1/2.
    assert paired["difference"] == pytest.approx(9 * (1 / 3) / 12, abs=1e-15)
    assert paired["pvalue"] == 2 / 2**9  # nine equal signs of nine that differ


def test_the_report_is_what_it_was(simtrack, sessions, golden):
    done = simtrack("replay", sessions, "--gate", "marker", "--gate", "no-tool-call", "--json",
                    *DONE, *FREE)  # fmt: skip
    golden(done.json, "replay")


def test_the_text_names_gates_ends_and_what_was_assumed(simtrack, sessions):
    done = simtrack("replay", sessions, "--gate", "marker", "--gate", "runtime", *DONE, *FREE)
    assert done.code == 0
    assert "Task success: B1 minus A, paired by scenario:" in done.out
    assert "Note: a task is done once create_event, send_invites were executed" in done.out
    assert "runtime (A)  correct stop" in done.out
    lines = [line.split() for line in done.out.splitlines() if line.startswith("marker")]
    assert ["marker", "(B1)", "dead", "end", "DEAD_END", "9", "33"] in [line[:7] for line in lines]


def test_a_table_of_sessions_is_written_and_read_again(simtrack, sessions):
    args = ("replay", sessions, "--gate", "marker", *DONE, *FREE)
    assert simtrack(*args, "-o", "ends.csv").code == 0
    done = simtrack("score", "ends.csv", "--estimand", "dead_end_share", "--cluster", "scenario",
                    "--by", "gate", "--json")  # fmt: skip
    assert done.code == 0, done.err
    assert "0.2727" in json.dumps(done.json)  # 9 of 33


def test_the_protocol_file_and_the_options_that_go_before_it(simtrack, sessions, tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text('[done]\ncalls = ["nothing"]\nrejected = ["error"]\n[record]\ngate = "none"\n')
    args = ("replay", sessions, "--gate", "runtime", "--protocol", str(path), "--json")
    found = ends(simtrack(*args).json)
    assert ("runtime", "correct stop") not in found
    found = ends(simtrack(*args, *DONE).json)
    assert found["runtime", "correct stop"] == (21, 33)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gate", "marker"), "no column 'done' says when a task is done"),
        (("--gate", "B1", *DONE), "Invalid value for '--gate'"),
        (DONE, "Missing option '--gate'"),
        (("--gate", "runtime", *DONE, "--recorded", "marker"), "was cut by the marker gate"),
        (("--gate", "runtime", *DONE, "--recorded", "free"), "gate of the record must be one of"),
        (("--gate", "marker", *DONE, "--metric", "x"), "--metric must be left out"),
        (("--gate", "marker", *DONE, "--by", "nothing"), "column must be one of"),
        (("--gate", "marker", *DONE, "--level", "95"), "level must be strictly between 0 and 1"),
        (("--gate", "marker", "--protocol", "none.toml"), "there is no such file"),
    ],
)
def test_bad_input_is_refused_in_one_line(simtrack, sessions, arguments, message):
    done = simtrack("replay", sessions, *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
