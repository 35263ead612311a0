"""`simtrack score`: every planned trial accounted for, rates, comparisons, refusals."""

from __future__ import annotations

import csv
import io
import json

import pytest


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def table(tmp_path):
    # 8 tasks x 2 models; y errs once, and one score of x is empty
    rows = ["task,model,trial,correct,note"]
    x = [1, 1, 1, 1, 1, 1, 0, 1]
    y = [0, 0, 1, 0, 0, 0, 0, 0]
    rows += [f"t{k},x,1,{v}," for k, v in enumerate(x)] + ["t8,x,1,,no answer"]
    rows += [f"t{k},y,1,{v}," for k, v in enumerate(y)]
    return write(tmp_path / "scores.csv", "\n".join(rows) + "\n")


MAP = ("--map", "unit=task", "--map", "value=correct", "--map", "repetition=trial")


def test_json_is_stable(simtrack, golden, logs):
    done = simtrack(
        "score",
        str(logs / "stage_reports.eval"),
        "--by",
        "model",
        "--cluster",
        "scenario",
        "--json",
    )
    golden(done.json, "score")


def test_planned_is_scored_plus_every_loss(simtrack, table):
    found = simtrack("score", table, *MAP, "--by", "model", "--json").json
    (metric,) = found["metrics"]
    x, y = metric["accounting"]
    assert (x["planned"], x["scored"], x["unscored"]) == (9, 8, 1)
    assert (y["planned"], y["scored"]) == (8, 8)
    assert [row["rate"] for row in metric["estimates"]["rows"]] == [7 / 8, 1 / 8]
    assert [(x["kind"], x["n"]) for x in found["losses"]] == [("unscored", 1)]


def test_comparison_is_paired_by_id_and_exact(simtrack, table):
    # differences 1,1,0,1,1,1,0,1: six ones, all of one sign: p = 2 / 2^6
    found = simtrack("score", table, *MAP, "--compare", "x", "y", "--json").json
    comparison = found["metrics"][0]["comparison"]
    assert comparison["factor"] == "model"
    (comparison,) = comparison["rows"]
    assert comparison["pvalue"] == 2 / 64
    assert comparison["difference"] == pytest.approx(6 / 8)
    text = simtrack("score", table, *MAP, "--compare", "x", "y").out
    assert "sign-flip p 0.03125 = 1/32" in text


def test_too_few_clusters_are_refused_a_verdict(simtrack, tmp_path):
    rows = ["task,model,correct"] + [f"t{k},{m},{v}" for k in range(5) for m, v in ("x1", "y0")]
    path = write(tmp_path / "few.csv", "\n".join(rows) + "\n")
    done = simtrack("score", path, "--map", "unit=task", "--map", "value=correct",
                    "--compare", "x", "y", "--json")  # fmt: skip
    comparison = done.json["metrics"][0]["comparison"]
    assert comparison["rows"][0]["pvalue"] is None
    assert "5 clusters can give no p below" in comparison["rows"][0]["refused"]


def test_aliases_and_filters(simtrack, logs):
    log = str(logs / "stage_reports.eval")
    by_id = simtrack("score", log, "--cluster", "id", "--metric", "stage.clean", "--json").json
    assert by_id["cluster"] == "unit"
    assert [m["metric"] for m in by_id["metrics"]] == ["stage.clean"]
    some = simtrack("score", log, "--metric", "stage.clean", "--where", "epoch=1", "--json").json
    whole = by_id["metrics"][0]["accounting"][0]["planned"]
    part = some["metrics"][0]["accounting"][0]["planned"]
    assert whole == 2 * part


def test_csv_has_a_row_for_each_group(simtrack, table):
    rows = list(csv.DictReader(io.StringIO(simtrack("score", table, *MAP, "--csv").out)))
    assert [row["model"] for row in rows] == ["x", "y"]
    assert rows[0]["unscored"] == "1"
    assert float(rows[0]["rate"]) == 7 / 8


def test_ids_of_different_tasks_are_different_clusters(simtrack, tmp_path):
    rows = ["unit,task,value"] + [f"{k},{t},{v}" for t, v in (("a", 1), ("b", 0)) for k in range(6)]
    path = write(tmp_path / "two.csv", "\n".join(rows) + "\n")
    done = simtrack("score", path, "--by", "source", "--cluster", "id", "--json").json
    assert done["metrics"][0]["estimates"]["rows"][0]["clusters"] == 12
    assert done["cluster"] == "task/unit"


def test_labels_cannot_become_formulas(simtrack, tmp_path):
    path = write(
        tmp_path / "x.csv", 'unit,model,value\na,"=cmd()",1\nb,"=cmd()",0\na,ok,1\nb,ok,1\n'
    )
    out = simtrack("score", path, "--by", "model", "--csv").out
    assert "'=cmd()" in out


def test_an_unknown_value_is_refused_or_mapped(simtrack, tmp_path):
    path = write(tmp_path / "odd.csv", "unit,value\na,1\nb,D\n")
    done = simtrack("score", path)
    assert done.code == 2
    assert "D" in done.err
    mapped = simtrack("score", path, "--score", "D=0", "--json").json
    assert mapped["metrics"][0]["estimates"]["rows"][0]["rate"] == 0.5
    left_out = simtrack("score", path, "--score", "D=unscored", "--json").json
    assert left_out["metrics"][0]["accounting"][0]["unscored"] == 1


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", [], "empty"),
        ("unit,value\n", [], "no trial has a score"),
        ("unit,value\na,1\n", ["--by", "modle"], "column must be one of"),
        ("unit,value\na,1\n", ["--map", "value=score"], "score"),
        ("unit,value\na,1\n", ["--map", "value"], "--map must be of the form KEY=VALUE"),
        ("unit,value\na,1\n", ["--level", "1"], "level must be strictly between 0 and 1"),
        ("unit,value\na,1\n", ["--compare", "x", "y"], "levels to compare"),
        ("unit,value\na,1\n", ["--cluster", "task"], "column must be one of"),
        ("unit,value\na,1\n", ["--where", "model=x"], "column must be one of"),
        ("unit,value\na,1\n", ["--estimand", "adherense"], "estimand must be one of"),
        ("unit,value\na,1\n", ["--by", "unit"], "by must be other than the cluster"),
        ("\x00\x01\x02 no log", [], "x.csv"),
    ],
)
def test_bad_input_is_one_line(simtrack, tmp_path, content, arguments, message):
    path = write(tmp_path / "x.csv", content)
    done = simtrack("score", path, *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err
    assert done.err.count("\n") == 1


def test_one_cluster_has_a_rate_and_no_interval(simtrack, tmp_path):
    path = write(tmp_path / "one.csv", "unit,value\na,1\na,0\n")
    row = simtrack("score", path, "--json").json["metrics"][0]["estimates"]["rows"][0]
    assert row["rate"] == 0.5
    assert row["low"] is None
    assert row["notes"]


def test_nothing_scored_says_what_became_of_the_trials(simtrack, tmp_path):
    path = write(tmp_path / "none.csv", "unit,value\na,\nb,\n")
    done = simtrack("score", path)
    assert done.code == 2
    assert "2 planned, 2 unscored" in done.err


def test_rows_without_a_metric_are_scored_beside_those_with_one(simtrack, tmp_path, logs):
    table = write(tmp_path / "t.csv", "unit,value\na,1\nb,0\nc,1\n")
    found = simtrack("score", table, str(logs / "failed.eval"), "--by", "source", "--json").json
    planned = {
        m["metric"]: sum(row["planned"] for row in m["accounting"]) for m in found["metrics"]
    }
    assert planned["(no metric)"] == 3
    assert len(planned) == 2


def test_what_was_pooled_is_said(simtrack, table):
    told = simtrack("score", table, *MAP, "--by", "trial", "--json").json["notes"]
    notes = [note["text"] for note in told]
    assert any(note.startswith("pooled over model (2)") for note in notes)


def test_every_row_can_be_its_own_cluster(simtrack, tmp_path):
    path = write(tmp_path / "noid.csv", "model,value\nx,1\nx,0\ny,1\ny,1\n")
    assert simtrack("score", path).code == 2
    found = simtrack("score", path, "--cluster", "row", "--json").json
    assert [r["clusters"] for r in found["metrics"][0]["estimates"]["rows"]] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare", "x", "x"], "two different ones, got x twice"),
        (["--compare", "x", "y", "--csv"], "--csv must be used for rates alone"),
        (["--compare", "x", "y", "--cluster", "model"], "by must be other than the cluster"),
        (["--level", "95"], "Did you mean 0.95?"),
        (["--by", "modle"], "Did you mean model?"),
        (["--estimand", "adherence"], "This table lacks duty"),
        (["--estimand", "adherense"], "Did you mean adherence?"),
    ],
)
def test_slips_are_told_with_their_cure(simtrack, table, arguments, message):
    done = simtrack("score", table, *MAP, *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err


def test_no_pair_at_all_is_refused(simtrack, tmp_path):
    path = write(tmp_path / "u.csv", "unit,model,value\na,x,1\nb,x,0\nc,y,1\nd,y,1\n")
    done = simtrack("score", path, "--compare", "x", "y")
    assert done.code == 2
    assert "no unit has both x and y" in done.err


def test_a_pipe_of_ascii_is_no_fault():
    import os
    import subprocess
    import sys

    env = os.environ | {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "simtrack", "calibrate"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert done.stdout.startswith("Rule: threshold 0.8")


def test_where_takes_the_losses_of_other_files_away(simtrack, tmp_path, logs):
    import shutil

    for name in ("failed.eval", "left_out.eval"):
        shutil.copy(logs / name, tmp_path / name)
    both = simtrack(
        "score", "failed.eval", "left_out.eval", "--where", "file=left_out.eval", "--json"
    )
    alone = simtrack("score", "left_out.eval", "--json")
    assert both.json["losses"] == alone.json["losses"]
    assert both.json["metrics"][0]["accounting"] == alone.json["metrics"][0]["accounting"]


def test_a_column_named_twice_groups_once(simtrack, table):
    twice = simtrack("score", table, *MAP, "--by", "model,model", "--json")
    assert twice.json == simtrack("score", table, *MAP, "--by", "model", "--json").json


def test_a_level_of_almost_nothing_is_refused(simtrack, table):
    done = simtrack("score", table, *MAP, "--level", "1e-320")
    assert (done.code, done.out) == (2, "")
    assert done.err == "simtrack: level must be a share from 0.01 to 0.9999999, got 1e-320.\n"


def test_scores_beyond_any_sum_are_refused(simtrack, tmp_path):
    path = write(tmp_path / "x.csv", "unit,value\na,1e308\nb,-1e308\nc,1e308\n")
    done = simtrack("score", path)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "score must be between -1e+60 and 1e+60" in done.err


def test_losses_of_a_metric_without_a_row_are_told(simtrack, tmp_path, logs):
    # A second run that failed before its first sample: five planned trials, no scorer known.
    empty = {"version": 2, "status": "error", "eval": {"task": "t", "model": "m", "dataset":
             {"samples": 5}, "config": {"epochs": 1}}, "plan": {}, "samples": []}  # fmt: skip
    import json

    path = write(tmp_path / "b.json", json.dumps(empty))
    found = simtrack("score", str(logs / "left_out.eval"), path, "--json").json
    assert sum(x["n"] for x in found["losses"] if x["where"].get("source") == "b.json") == 5


def test_unscored_trials_count_as_asked(simtrack, table):
    # x: 7 of 8 passed and one empty score; y: 1 of 8
    ask = ("score", table, *MAP, "--by", "model", "--json")
    rates = {}
    for policy in ("drop", "as-failure", "as-success"):
        found = simtrack(*ask, "--missing", policy).json
        rates[policy] = [row["rate"] for row in found["metrics"][0]["estimates"]["rows"]]
    assert rates["drop"] == [7 / 8, 1 / 8]
    assert rates["as-failure"] == [7 / 9, 1 / 8]
    assert rates["as-success"] == [8 / 9, 1 / 8]
    text = simtrack("score", table, *MAP, "--by", "model", "--missing", "as-failure").out
    assert "No score: 1 unscored" in text
    assert "counts as a failure" in text


def test_bounds_and_all_policies_are_shown(simtrack, table):
    text = simtrack("score", table, *MAP, "--by", "model", "--missing", "bounds").out
    assert "0.7778 to 0.8889" in text
    every = simtrack("score", table, *MAP, "--by", "model", "--sensitivity").out
    assert "as-failure" in every
    assert "0.7778 to 0.8889" in every
    found = simtrack("score", table, *MAP, "--sensitivity", "--json").json["metrics"][0]
    assert found["sensitivity"]["schema"] == "simtrack.sensitivity/2"


def test_a_comparison_counts_unscored_trials_too(simtrack, tmp_path):
    # eight tasks, x passes all; y fails all and has no score for the last two
    rows = ["task_no,model,correct"]
    rows += [f"t{k},x,1\nt{k},y,{'' if k > 5 else 0}" for k in range(8)]
    path = write(tmp_path / "lost.csv", "\n".join(rows) + "\n")
    ask = ("score", path, "--map", "unit=task_no", "--map", "value=correct",
           "--compare", "x", "y")  # fmt: skip
    ps = {}
    for policy in ("drop", "as-failure", "as-success"):
        comparison = simtrack(*ask, "--missing", policy, "--json").json["metrics"][0]["comparison"]
        (row,) = comparison["rows"]
        ps[policy] = (row["clusters"], row["pvalue"])
    assert ps == {"drop": (6, 2 / 64), "as-failure": (8, 2 / 256), "as-success": (8, 2 / 64)}
    done = simtrack(*ask, "--missing", "bounds")
    assert (done.code, done.out) == (2, "")
    assert "Compare under as-failure and as-success." in done.err


def test_pass_at_k_of_scores_that_sum_to_whole_numbers_is_refused(simtrack, tmp_path):
    path = write(tmp_path / "halves.csv", "id,epoch,score\na,1,0.5\na,2,0.5\na,3,1\na,4,0\n")
    done = simtrack("score", path, "--pass-k", "1,2")
    assert (done.code, done.out) == (2, "")
    assert "scores must be 0 or 1 for pass@k and pass^k, got 0.5." in done.err
    done = simtrack("score", path, "--pass-k", "1,2", "--score", "0.5=0", "--json")  # its cure
    assert [row["value_exact"] for row in done.json["metrics"][0]["pass_k"][0]["pass_hat_k"]] == [
        "1/4",
        "0",
    ]


def test_once_of_one_and_the_rate_are_one_number_with_one_interval(simtrack, tmp_path):
    rows = [f"p{t},{e},{int(e < 2 + (t == 0))}" for t in range(8) for e in range(4)]
    path = write(tmp_path / "t.csv", "\n".join(["task_id,trial,passed", *rows]) + "\n")
    found = simtrack("score", path, "--cluster", "task_id", "--pass-k", "1", "--json").json
    (rate,) = found["metrics"][0]["estimates"]["rows"]
    (group,) = found["metrics"][0]["pass_k"]
    for once in (*group["pass_at_k"], *group["pass_hat_k"]):
        assert once["value"] == rate["rate"]
        assert (once["low"], once["high"]) == pytest.approx((rate["low"], rate["high"]), rel=1e-12)
    assert rate["method"] == "bounded mean of clusters (Gaffke)"


def test_pass_at_k_and_all_of_k_are_shown_by_group(simtrack, tmp_path):
    # a: 4 of 4, b: 2 of 4, c: 1 of 2 passed: pass^2 = (1 + 1/6 + 0) / 3, pass^4 of a and b alone
    trials = {"a": [1, 1, 1, 1], "b": [1, 1, 0, 0], "c": [1, 0]}
    rows = ["unit,repetition,value"]
    rows += [f"{u},{k},{v}" for u, values in trials.items() for k, v in enumerate(values)]
    path = write(tmp_path / "k.csv", "\n".join(rows) + "\n")
    (found,) = simtrack("score", path, "--pass-k", "2,4", "--json").json["metrics"][0]["pass_k"]
    assert [row["value_exact"] for row in found["pass_hat_k"]] == ["7/18", "1/2"]
    assert [row["value_exact"] for row in found["pass_at_k"]] == ["17/18", "1"]
    assert found["pass_hat_k"][1]["not_estimable"] == ["c"]
    assert "1: c" in simtrack("score", path, "--pass-k", "2,4").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pass-k", "1,x"], "--pass-k must be whole numbers"),
        (["--pass-k", "0"], "k must be an integer >= 1"),
        (["--pass-k", "2,2"], "k must be different numbers"),
        (["--sensitivity", "--csv"], "--csv must be used for rates alone"),
        (["--missing", "bounds", "--csv"], "--csv must be used for rates alone"),
        (["--missing", "failed"], "'failed' is not one of"),
    ],
)
def test_slips_with_missing_scores_and_k(simtrack, table, arguments, message):
    done = simtrack("score", table, *MAP, *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err


@pytest.mark.shared
def test_tau_bench_airline_has_its_published_pass_hat_k(simtrack, tmp_path, shared):
    # gpt-4o with tools, airline: the trajectories that tau-bench publishes, 50 tasks x 4 trials
    text = (shared / "logs/public/sierra-research__tau-bench/gpt-4o-airline.json").read_text()
    rows = ["unit,repetition,value"]
    rows += [f"{t['task_id']},{t['trial']},{int(t['reward'])}" for t in json.loads(text)]
    path = write(tmp_path / "tau.csv", "\n".join(rows) + "\n")
    done = simtrack("score", path, "--pass-k", "1,2,3,4", "--json").json
    (found,) = done["metrics"][0]["pass_k"]
    assert [round(row["value"], 4) for row in found["pass_hat_k"]] == [0.42, 0.2733, 0.22, 0.2]


def test_strict_fails_where_something_asked_for_has_no_number(simtrack, tmp_path):
    rows = [f"q{i},{m},{(i + k) % 2}" for i in range(8) for k, m in enumerate("ab")]
    (tmp_path / "t.csv").write_text("\n".join(["id,model,score", *rows, ""]), "utf-8")
    assert simtrack("score", "t.csv", "--compare", "a", "b", "--strict").code == 0
    few = [row for row in rows if row[:2] in {"q1", "q2"}]
    (tmp_path / "few.csv").write_text("\n".join(["id,model,score", *few, "q9,c,1", ""]), "utf-8")
    assert simtrack("score", "few.csv", "--compare", "a", "b").code == 0
    done = simtrack("score", "few.csv", "--compare", "a", "b", "--strict")
    assert done.code == 3
    assert done.err == "simtrack: --strict: not estimable: interval of c; the p.\n"
    assert "a minus b" in done.out
    short = simtrack("score", "t.csv", "--by", "model", "--pass-k", "1,2", "--strict")
    assert (short.code, short.err.count("pass@2")) == (3, 2)
    test = simtrack("test", "few.csv", "--compare", "a", "b", "--strict", "--json")
    assert (test.code, test.err) == (3, "simtrack: --strict: 1 of 1 tests are refused.\n")
    assert simtrack("test", "few.csv", "--compare", "a", "b").code == 0


def test_an_estimand_of_some_trials_shows_how_many(simtrack, tmp_path):
    rows = ["scenario,unit,duty,stage,outcome"]
    rows += [f"s{k % 3},u{k},1,READY,{'CLEAN' if k % 2 else 'APP_MISS'}" for k in range(12)]
    rows += [f"s{k % 3},v{k},0,READY,CLEAN" for k in range(6)]
    (tmp_path / "coded.csv").write_text("\n".join(rows) + "\n", "utf-8")
    found = simtrack("score", "coded.csv", "--estimand", "adherence", "--map", "outcome=outcome")
    assert found.code == 0, found.err
    head, line = found.out.splitlines()[1:3]
    assert dict(zip(head.split(), line.split(), strict=False))["of"] == "12"
    assert (
        "clusters are units; ids share a scenario: --cluster scenario takes the 3 of them"
        in found.out
    )
    whole = simtrack("score", "coded.csv", "--estimand", "adherence", "--cluster", "scenario")
    assert "clusters are units" not in whole.out
    grouped = simtrack("score", "coded.csv", "--estimand", "adherence", "--by", "scenario")
    assert "clusters are units" not in grouped.out


def test_what_cannot_be_sampled_is_no_cluster(simtrack, tmp_path):
    (tmp_path / "a.csv").write_text("task,passed\n" + "a,1\na,0\nb,1\nb,1\n", "utf-8")
    assert "named, one of task. Say what was sampled, such as --cluster task." in (
        simtrack("score", "a.csv").err
    )
    done = simtrack("score", "a.csv", "--cluster", "status")
    assert done.code == 2
    assert "cluster must be a column that names what was sampled, got status" in done.err
    assert "got 'id'" in simtrack("score", "a.csv", "--cluster", "id").err
