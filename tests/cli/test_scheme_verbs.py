"""`score --scheme`, `gate` and `rescore`, typed as a user would."""

from __future__ import annotations

import json
import pathlib

import pytest

from simtrack.scoring.protocol_file import protocol_example

LOG = "stage_replies.eval"


def test_score_by_scheme_is_stable(simtrack, golden, logs) -> None:
    done = simtrack("score", str(logs / LOG), "--scheme", "stageif", "--json")
    assert done.code == 0
    golden(done.json, "score_stageif")


def test_strict_verdicts_are_those_of_the_scorer_that_made_the_log(simtrack, logs) -> None:
    done = simtrack("rescore", str(logs / LOG), "--against", "stage.clean", "--json")
    assert done.code == 0
    strict, stripped = done.json["rows"]
    assert (strict["only_old"], strict["only_new"]) == (0, 0)
    assert strict["both"] + strict["neither"] == 60
    # The envelope is all that the scorer of the log did not see through.
    assert stripped["only_old"] == 0
    assert all(c["last_line"].startswith('{"message"') for c in stripped["changes"])
    assert stripped["only_new"] == len(stripped["changes"]) > 0


def test_text_output_says_where_replies_went(simtrack, logs) -> None:
    done = simtrack("score", str(logs / LOG), "--scheme", "stageif")
    assert done.code == 0
    assert "both       60      60" in done.out
    assert "truth was fixed from labels before replies were read: sha256" in done.out
    assert "withholding                ω            both      11  12" in done.out


def test_the_archive_and_the_object_of_one_run_say_the_same(simtrack, logs) -> None:
    found = [
        simtrack("score", str(logs / f"stage_replies.{kind}"), "--scheme", "stageif", "--json").json
        for kind in ("eval", "json")
    ]
    assert found[0]["rows"] == found[1]["rows"]
    assert found[0]["composition"] == found[1]["composition"]
    assert found[0]["notes"][-1] == found[1]["notes"][-1]  # the digest of the truth


def test_the_scored_table_goes_on_to_every_other_verb(simtrack, logs, tmp_path) -> None:
    first = simtrack("score", str(logs / LOG), "--scheme", "stageif", "-o", "scored.csv")
    assert first.code == 0
    told = first.out.rpartition("Read it: simtrack ")[2].split()
    both = simtrack(*told, "--json").json["metrics"][0]["estimates"]["rows"]
    assert [row["labels"]["view"] for row in both] == ["strict", "stripped"]
    again = simtrack("score", "scored.csv", "--where", "view=strict", "--estimand", "adherence",
                     "--cluster", "scenario", "--json")  # fmt: skip
    direct = simtrack("score", str(logs / LOG), "--scheme", "stageif", "--json")
    row = again.json["metrics"][0]["estimates"]["rows"][0]
    wanted = next(r for r in direct.json["rows"]
                  if r["estimand"] == "adherence" and r["labels"]["view"] == "strict")  # fmt: skip
    assert (row["rate"], row["low"], row["high"]) == (
        wanted["estimate"], wanted["low"], wanted["high"]
    )  # fmt: skip


def test_the_gate_passes_a_sound_log_and_fails_an_empty_one(simtrack, logs, tmp_path) -> None:
    done = simtrack("gate", str(logs / LOG), "--json")
    assert done.code == 0
    assert done.json["passed"] is True
    assert [row["survivors"] for row in done.json["rows"]] == [0] * 6
    rows = [{"id": "a", "stage": "READY", "reply": "nothing"}]
    path = tmp_path / "silent.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n" + json.dumps(rows[0] | {"id": "b"}) + "\n")
    vacuous = simtrack("gate", str(path))
    assert vacuous.code == 3
    assert "Nothing was tested" in vacuous.out


def test_options_that_belong_elsewhere_are_refused(simtrack, logs) -> None:
    log = str(logs / LOG)
    done = simtrack("score", log, "--scheme", "stageif", "--compare", "a", "b")
    assert done.code == 2
    assert "--compare must be left out with --scheme" in done.err
    done = simtrack("score", log, "--protocol", "x.toml")
    assert done.code == 2
    assert "--protocol must be used with --scheme" in done.err
    done = simtrack("score", log, "--scheme", "stageif", "--protocol", "none.toml")
    assert done.code == 2
    assert "none.toml: there is no such file" in done.err


@pytest.mark.parametrize("verb", ["score", "gate", "rescore"])
@pytest.mark.parametrize("order", [0, 1])
def test_an_example_of_each_scheme_is_printed_without_any_log(simtrack, verb, order) -> None:
    for scheme in ("stageif", "obligations", "statetrack", "rebind"):
        asked = [("--scheme", scheme), ("--example",)]
        done = simtrack(verb, *asked[order], *asked[1 - order])
        assert (done.code, done.err) == (0, "")
        assert done.out == protocol_example(scheme)


def test_an_example_goes_by_the_default_scheme_where_there_is_one(simtrack) -> None:
    assert simtrack("gate", "--example").out == protocol_example("stageif")
    assert simtrack("replay", "--example").out == protocol_example("replay")
    done = simtrack("score", "--example")
    assert done.code == 2
    assert "--example must be used with --scheme stageif, obligations" in done.err


def test_the_scored_table_never_takes_the_place_of_the_replies(simtrack, logs) -> None:
    row = '{"id": "a", "stage": "READY", "reply": "x"}\n'
    pathlib.Path("runs").mkdir()
    log = pathlib.Path("runs/r.jsonl")
    log.write_text(row)
    done = simtrack("score", str(log), "--scheme", "stageif", "-o", str(log))
    assert done.code == 2
    assert "output must be another file than those that are read" in done.err
    assert log.read_text() == row
    # Its own table of the last time is left out of the folder, and replaced.
    for _ in range(2):
        done = simtrack("score", "runs", "--scheme", "stageif", "-o", "runs/scored.csv", "--json")
        assert done.code == 0, done.err
        assert done.json["accounting"][0]["planned"] == 1


def test_options_that_choose_among_scores_are_refused_and_latest_is_not(simtrack, logs) -> None:
    log = str(logs / LOG)
    for verb in ("gate", "rescore"):
        done = simtrack(verb, log, "--metric", "letter")
        assert done.code == 2
        assert "--metric must be left out" in done.err
    done = simtrack("score", log, "--scheme", "stageif", "--missing", "as-failure")
    assert done.code == 2
    assert "--missing must be left out with --scheme" in done.err
    both = (log, str(logs / "stage_replies.json"))
    found = simtrack("score", *both, "--scheme", "stageif", "--json")
    assert [row["planned"] for row in found.json["accounting"]] == [60] * 4
    assert any("is in 2 files" in note["text"] for note in found.json["notes"])
    latest = simtrack("score", *both, "--scheme", "stageif", "--json", "--latest")
    assert [row["planned"] for row in latest.json["accounting"]] == [60] * 2
    assert any("left out, replies 60, since" in note["text"] for note in latest.json["notes"])


def test_a_misspelt_key_of_a_protocol_is_answered_with_the_nearest(simtrack, logs) -> None:
    pathlib.Path("p.toml").write_text('encodng = "xml"\n')
    done = simtrack("score", str(logs / LOG), "--scheme", "stageif", "--protocol", "p.toml")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "Did you mean encoding?" in done.err


def test_a_declared_state_machine_gives_the_truth(simtrack) -> None:
    pathlib.Path("p.toml").write_text(
        '[[rule]]\nwhen = {done = 1}\nduty = 1\ngold = "COMPLETED"\n'
        '[[rule]]\nwhen = {told = ["no"]}\nduty = 1\ngold = ["NEEDS_INFO", "READY"]\n'
    )
    rows = [
        {"id": "a", "done": 1, "told": "yes", "reply": "<stage>completed</stage>"},
        {"id": "b", "done": 0, "told": "no", "reply": "<stage>ready_for_action</stage>"},
        {"id": "c", "done": 0, "told": "yes", "reply": "<stage>completed</stage>"},
    ]
    pathlib.Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = simtrack("score", "r.jsonl", "--scheme", "stageif", "--protocol", "p.toml", "--json")
    assert done.code == 0
    row = next(r for r in done.json["rows"] if r["estimand"] == "broad_adherence")
    assert (row["numerator"], row["denominator"]) == (2, 2)
    account = done.json["accounting"][0]
    assert (account["planned"], account["scored"], account["unscored"]) == (3, 2, 1)
    assert any("1 rows meet no rule" in n["text"] for n in done.json["notes"])


def test_verdicts_on_trials_are_not_held_against_turns(simtrack, logs) -> None:
    done = simtrack("rescore", str(logs / LOG), "--turns", "all")
    assert done.code == 2
    assert "the log's verdicts are on trials, and every turn was read" in done.err


def test_a_misspelt_estimand_is_answered_with_the_nearest(simtrack) -> None:
    done = simtrack("methods", "--estimands", "falsecompletion")
    assert done.code == 2
    assert "Did you mean false_completion?" in done.err
    assert len(done.err) < 200
