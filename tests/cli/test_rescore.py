"""`simtrack rescore`: how changed replies are shown, and which verdict is meant."""

from __future__ import annotations

import json
import pathlib

import pytest

REPLIES = {
    "a": ("COMPLETED", 0, "Working.\n<stage>completed</stage>"),
    "b": ("COMPLETED", 0, "<stage>completed</stage>\n"),
    "c": ("READY", 1, "Nothing" + "." * 100),
    "d": ("READY", 1, "<stage>ready_for_action</stage>"),
}
LEGEND = "Changed, old → new verdict (1 passes, 0 does not) and new outcome: reply: last line"


@pytest.fixture
def table(simtrack) -> str:
    rows = [
        {"id": name, "stage": stage, "correct": correct, "reply": reply}
        for name, (stage, correct, reply) in REPLIES.items()
    ]
    pathlib.Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return "r.jsonl"


def test_a_reply_of_which_a_part_is_shown_is_marked(simtrack, table) -> None:
    done = simtrack("rescore", table)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "  0 → 1 CLEAN: unit a: …'<stage>completed</stage>'" in lines
    assert "  0 → 1 CLEAN: unit b: '<stage>completed</stage>'" in lines
    assert any(line.startswith("  1 → 0 APP_MISS: unit c: …'....") for line in lines)
    assert sum(line.startswith(LEGEND) for line in lines) == 1
    assert lines[next(k for k, x in enumerate(lines) if x.startswith(LEGEND)) + 1].startswith("  0")


def test_without_a_list_there_is_no_legend(simtrack, table) -> None:
    assert LEGEND not in simtrack("rescore", table, "--show", "0").out
    pathlib.Path("same.jsonl").write_text(
        json.dumps({"id": "d", "stage": "READY", "correct": 1, "reply": REPLIES["d"][2]})
    )
    assert LEGEND not in simtrack("rescore", "same.jsonl").out


def test_the_score_column_of_a_table_is_its_verdict(simtrack, table) -> None:
    plain = simtrack("rescore", table, "--against", "value", "--json")
    for more in ((), ("--map", "value=correct")):
        done = simtrack("rescore", table, "--against", "correct", "--json", *more)
        assert done.code == 0, done.err
        assert done.json["rows"] == plain.json["rows"]
        assert (plain.json["against"], done.json["against"]) == ("value", "correct")
        wrong = simtrack("rescore", table, "--against", "nope", *more)
        assert wrong.code == 2
        assert "metrics: value (taken from the column correct), got 'nope'" in wrong.err
    pathlib.Path("p.toml").write_text('scheme = "stageif"\n')
    both = simtrack("rescore", table, "--against", "nope", "--old-protocol", "p.toml")
    assert both.code == 2
    assert "against must be left out with an old protocol" in both.err
