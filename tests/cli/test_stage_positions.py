"""Dialogues scored from a table of messages: places, cues and trajectories reach the verbs."""

from __future__ import annotations

import csv
import json

import pytest

VALUE = {"READY": "ready_for_action", "POST_OBS": "post_observation_continue",
         "COMPLETED": "completed"}  # fmt: skip


@pytest.fixture
def dialogues(tmp_path):
    """Six dialogues of READY, three POST_OBS (only the first reported right) and COMPLETED."""
    lines = []
    for k in range(6):
        stages = ["READY", *["POST_OBS"] * 3, "COMPLETED"]
        for turn, stage in enumerate(stages):
            said = "READY" if turn in {2, 3} else stage
            words = "It works now, thanks!" if stage == "COMPLETED" and k < 2 else "Please go on."
            head = {"id": f"q{k}", "trajectory": f"t{k}", "calls": []}
            lines += [
                head | {"turn": 2 * turn, "role": "user", "text": words, "stage": None, "duty": 0},
                head | {"turn": 2 * turn + 1, "role": "assistant", "duty": 1, "stage": stage,
                        "text": f"Ok.\n<stage>{VALUE[said]}</stage>"},
            ]  # fmt: skip
    path = tmp_path / "dialogues.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return str(path)


def rates(done, by):
    assert done.code == 0, done.err
    rows = done.json["metrics"][0]["estimates"]["rows"]
    return {row["labels"][by]: (row["n"], row["rate"]) for row in rows if row["n"]}


def test_places_and_cues_are_columns_of_the_scored_table(simtrack, dialogues):
    scored = simtrack("score", dialogues, "--scheme", "stageif", "-o", "scored.csv")
    assert scored.code == 0, scored.err
    with open("scored.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["view"] == "strict"]
    first = [row for row in rows if row["trajectory"] == "t0"]
    # Mid-task turns 3, 5, 7; duty turns 1 to 9: (3-1)/8 in tenths is the third, (5-1)/8 the sixth.
    assert [row["bin"] for row in first] == ["", "1", "3", "5", ""]
    assert [row["bin10"] for row in first] == ["1", "3", "6", "8", "10"]
    assert [row["cue"] for row in first] == ["", "", "", "", "confirmed"]
    args = ("score", "scored.csv", "--where", "view=strict", "--json")
    found = simtrack(*args, "--estimand", "position_adherence", "--by", "bin")
    assert rates(found, "bin") == {"1": (6, 1.0), "3": (6, 0.0), "5": (6, 0.0)}
    found = simtrack(*args, "--estimand", "completion_adherence", "--by", "cue")
    assert rates(found, "cue") == {"confirmed": (2, 1.0), "unconfirmed": (4, 1.0)}
