"""`score --scheme`, `gate` and `rescore`, typed as a user would."""

from __future__ import annotations

import json

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
    assert "strict         60      60" in done.out
    assert "truth was fixed from labels before replies were read: sha256" in done.out
    assert "withholding                ω            strict    11  12" in done.out


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


def test_a_misspelt_key_of_a_protocol_is_answered_with_the_nearest(simtrack, logs) -> None:
    import pathlib

    pathlib.Path("p.toml").write_text('encodng = "xml"\n')
    done = simtrack("score", str(logs / LOG), "--scheme", "stageif", "--protocol", "p.toml")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "Did you mean encoding?" in done.err


def test_a_declared_state_machine_gives_the_truth(simtrack) -> None:
    import pathlib

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
    assert any("1 rows meet no rule" in n for n in done.json["notes"])
