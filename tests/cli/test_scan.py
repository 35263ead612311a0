"""`simtrack scan`: what is in the files, how complete they are, what stands against comparing."""

from __future__ import annotations

import json
import sys
from typing import get_args

import pytest

import simtrack.cli.scan as scan_verb
from simtrack.cli.reading_progress import _tally, reading_progress
from simtrack.logs import ReadSoFar, read_log, scan
from simtrack.options import Status
from simtrack.records import account

CLASSES = ("scored", "unscored", "errored", "limited", "infrastructure", "early_stopped",
           "invalidated", "missing")  # fmt: skip


def inspect_log(path, ids, *, scores=(), version="0.3.285", status="success", task="t",
                run="r", scorer="match", config=None, metrics=None, task_id="id"):  # fmt: skip
    """Write a log of Inspect's with the planned ids and a score for the first of them."""
    log = {
        "version": 2,
        "status": status,
        "eval": {
            "task": task, "model": "m", "eval_id": run, "task_id": task_id, "created": "2026",
            "dataset": {"sample_ids": ids}, "config": config or {},
            "packages": {"inspect_ai": version}, "scorers": [{"name": scorer}],
        },
        "plan": {},
        "samples": [
            {"id": i, "epoch": 1, "scores": {scorer: {"value": v}}}
            for i, v in zip(ids, scores, strict=False)
        ],
    }  # fmt: skip
    if metrics:
        made = {name: {"name": name, "value": v} for name, v in metrics.items()}
        log["results"] = {
            "total_samples": len(ids),
            "scores": [{"name": scorer, "scorer": scorer, "metrics": made}],
        }
    path.write_text(json.dumps(log), "utf-8")
    return str(path)


def states(found):
    return {file.file: file.state for file in found.files}


def test_json_is_stable(simtrack, golden, logs, tmp_path):
    for name in ("fates.eval", "failed.eval", "stage_reports.json"):
        (tmp_path / name).write_bytes((logs / name).read_bytes())
    (tmp_path / "cut.eval").write_bytes((logs / "stage_reports.eval").read_bytes()[:9000])
    (tmp_path / "notes.md").write_text("# read me\n", "utf-8")
    (tmp_path / "empty.csv").write_text("", "utf-8")
    done = simtrack("scan", ".", "--json")
    assert (done.code, done.err) == (0, "")
    golden(done.json, "scan")


def test_planned_is_the_sum_of_the_classes(logs):
    for file in scan(logs).files:
        assert file.planned == sum(getattr(file, name) for name in CLASSES)
        assert file.state != "no log" or file.reason


@pytest.mark.parametrize("name", ["fates.eval", "failed.eval", "stage_reports.eval"])
def test_summaries_give_the_accounting_that_the_samples_give(logs, name):
    (file,) = scan(logs / name).files
    wanted = account(read_log(logs / name, metric=file.metric))
    assert {c: getattr(file, c.replace("-", "_")) for c in get_args(Status)} == {
        c: wanted.total(c) for c in get_args(Status)
    }


def test_states_tell_how_complete_a_file_is(tmp_path):
    inspect_log(tmp_path / "whole.json", ["a", "b"], scores=["C", "I"])
    inspect_log(tmp_path / "lacking.json", ["a", "b"], scores=["C"])
    inspect_log(tmp_path / "running.json", ["a", "b"], scores=["C"], status="started")
    inspect_log(tmp_path / "stopped.json", ["a", "b"], scores=["C"], status="cancelled")
    whole = (tmp_path / "whole.json").read_text("utf-8")
    (tmp_path / "cut.json").write_text(whole[: whole.index('"b", "epoch"')], "utf-8")
    (tmp_path / "page.html").write_bytes(b"\x1f\x8b zipped")
    (tmp_path / "zero.csv").write_text("", "utf-8")
    assert states(scan(tmp_path)) == {
        "whole.json": "complete", "lacking.json": "incomplete", "running.json": "running",
        "stopped.json": "stopped", "cut.json": "truncated", "page.html": "no log",
        "zero.csv": "refused",
    }  # fmt: skip
    cut = next(file for file in scan(tmp_path).files if file.file == "cut.json")
    assert (cut.planned, cut.scored, cut.missing) == (2, 1, 1)
    assert "--salvage" in cut.reason


def test_differences_of_samples_limits_and_epochs_are_told(tmp_path):
    inspect_log(tmp_path / "a.json", ["1", "2", "3"], run="x", task_id="x",
                config={"limit": 3, "epochs": 1, "message_limit": 10})  # fmt: skip
    inspect_log(tmp_path / "b.json", ["2", "3"], run="y", task_id="y",
                config={"limit": [1, 3], "epochs": 2, "message_limit": 10})  # fmt: skip
    inspect_log(tmp_path / "c.json", ["9"], run="z", task_id="z", task="another")
    told = scan(tmp_path).warnings
    assert len(told) == 3
    assert "sample sets differ (3 in a.json; 2 in b.json; 2 in all of them)" in told[0]
    assert told[1].startswith("task t: limit differs (limit=3 in a.json; limit=[1, 3] in b.json)")
    assert told[2] == "task t: epochs differs (epochs=1 in a.json; epochs=2 in b.json)"


@pytest.mark.parametrize(
    ("scorer", "old", "new", "told"),
    [
        ("model_graded_qa", "0.3.244", "0.3.245", True),
        ("model_graded_qa", "0.3.245", "0.3.285", False),
        ("match", "0.3.244", "0.3.245", False),
        ("match", "0.3.132", "0.3.133", True),
        ("match", "", "0.3.285", False),
    ],
)
def test_versions_between_which_scoring_changed_are_told(tmp_path, scorer, old, new, told):
    for name, version in (("a.json", old), ("b.json", new)):
        inspect_log(tmp_path / name, ["1"], scores=["C"], scorer=scorer, version=version,
                    run=name, task_id=name)  # fmt: skip
    found = [w for w in scan(tmp_path).warnings if "scoring changed" in w]
    assert bool(found) is told


@pytest.mark.parametrize(("accuracy", "told"), [(0.5, True), (1.0, False)])
def test_a_standard_error_of_zero_within_0_and_1_is_told(tmp_path, accuracy, told):
    inspect_log(tmp_path / "a.json", ["1", "2"], scores=["C", "I"],
                metrics={"accuracy": accuracy, "stderr": 0.0})  # fmt: skip
    assert any("cannot be: a.json" in w for w in scan(tmp_path).warnings) is told


def test_h03_the_impossible_standard_error_of_a_results_file_is_told(tmp_path):
    found = {"results": {"t": {"alias": "t", "acc,none": 0.65, "acc_stderr,none": 0.0}},
             "versions": {"t": 1},
             "n-samples": {"t": {"original": 20, "effective": 20}}}  # fmt: skip
    (tmp_path / "results.json").write_text(json.dumps(found), "utf-8")
    assert any("standard error of 0" in w for w in scan(tmp_path).warnings)


def test_runs_that_occur_twice_and_later_tries_are_told(tmp_path):
    inspect_log(tmp_path / "a.json", ["1"], run="x")
    inspect_log(tmp_path / "copy.json", ["1"], run="x")
    inspect_log(tmp_path / "later.json", ["1"], run="y")
    told = scan(tmp_path).warnings
    assert "run x is in 2 files (a.json, copy.json): keep one of them, as --latest does" in told
    assert any(w.startswith("task_id id was run 2 times (a.json, later.json)") for w in told)


def test_the_plain_table_names_every_file_and_reason(simtrack, logs, tmp_path):
    (tmp_path / "bad.eval").write_bytes(b"PK\x03\x04 and no more")
    done = simtrack("scan", str(logs / "fates.eval"), "bad.eval")
    assert done.code == 0
    assert "Refused: " in done.out
    assert "bad.eval: truncated: the zip has no directory" in done.out
    assert "\n2 files: " in done.out


def test_what_is_not_there_is_one_line(simtrack):
    for path, told in (("absent/*.eval", "no file matches"), ("absent.eval", "does not exist")):
        done = simtrack("scan", path)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"simtrack: {path}: {told}.\n"


def test_progress_is_for_terminals_alone_and_for_long_reads(simtrack, logs, monkeypatch, capsys):
    assert simtrack("scan", str(logs)).err == ""
    assert simtrack("ingest", str(logs), "-o", "t.csv", "--skip-refused").err == ""
    with reading_progress() as show:
        assert show is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    times = iter([0.0, 0.5, 4.0, 6.0])
    with reading_progress(lambda: next(times)) as show:
        show(ReadSoFar(0, 4, 0, 8_000_000, "a.eval"))
        assert "a.eval" not in capsys.readouterr().err  # it may be over in a moment
        show(ReadSoFar(1, 4, 2_000_000, 8_000_000, "[b]\x1b[2J.eval"))
        show(ReadSoFar(2, 4, 4_000_000, 8_000_000, "c.eval"))
    told = capsys.readouterr().err
    assert "\x1b[2J" not in told


def test_the_tally_of_a_reading_says_how_long_the_rest_takes():
    text = str(_tally(ReadSoFar(1, 4, 2_000_000, 8_000_000, "[b]\x1b.eval"), 4.0))
    assert text == r"1 of 4 files (2 of 8 MB), about 0:12 left: \[b]\x1b.eval"
    assert "left" not in str(_tally(ReadSoFar(0, 4, 0, 8, "a"), 4.0))


@pytest.mark.shared
def test_every_file_of_the_study_material_has_one_row(simtrack, shared):
    done = simtrack("scan", str(shared / "logs"), "--json")
    files = {file["file"]: file for file in done.json["files"]}
    there = {p.relative_to(shared / "logs").as_posix() for p in (shared / "logs").rglob("*")
             if p.is_file()}  # fmt: skip
    assert files.keys() == there
    assert list(files) == sorted(files, key=lambda name: name.split("/"))
    cut = files["public/derived/truncated_70pct.eval"]
    assert (cut["state"], cut["planned"], cut["scored"], cut["missing"]) == ("truncated", 10, 8, 2)
    assert files["public/derived/inprogress_journal_only.eval"]["state"] == "running"
    assert files["public/sierra-research__tau2-bench/results.json"]["state"] == "refused"
    airline = files["public/sierra-research__tau-bench/gpt-4o-airline.json"]
    assert (airline["planned"], airline["mean"]) == (200, 0.42)


def test_strict_fails_on_what_is_refused_or_not_comparable(simtrack, logs, tmp_path):
    for name in ("fates.eval", "failed.eval"):
        (tmp_path / name).write_bytes((logs / name).read_bytes())
    assert simtrack("scan", ".", "--strict").code == 0
    (tmp_path / "empty.eval").write_bytes(b"")
    assert simtrack("scan", ".").code == 0
    done = simtrack("scan", ".", "--strict", "--json")
    assert (done.code, done.err) == (3, "simtrack: --strict: 1 refused.\n")
    assert done.json["files"][0]["state"] == "refused"
    (tmp_path / "empty.eval").write_bytes((logs / "stage_reports.eval").read_bytes()[:9000])
    assert simtrack("scan", ".", "--strict").err == "simtrack: --strict: 1 truncated.\n"
    (tmp_path / "empty.eval").write_bytes((logs / "failed.eval").read_bytes())
    assert simtrack("scan", ".", "--strict").err == "simtrack: --strict: 1 warning.\n"


def test_the_arms_within_one_table_are_compared(tmp_path):
    rows = [f"q{i},a,{e},1" for i in range(4) for e in (1, 2)]
    rows += [f"q{i},b,1,0" for i in range(2, 6)]
    (tmp_path / "t.csv").write_text("\n".join(["id,model,epoch,score", *rows, ""]), "utf-8")
    (tmp_path / "same.csv").write_text("id,model,score\nx,a,1\nx,b,0\n", "utf-8")
    sets, epochs = scan(tmp_path).warnings
    assert sets.startswith(
        "t.csv: the sample sets differ (4 in t.csv [a]; 4 in t.csv [b]; 2 in all of them)"
    )
    assert epochs == "t.csv: epochs differs (epochs=2 in t.csv [a]; epochs=1 in t.csv [b])"


def test_many_sets_of_samples_are_counted_not_listed(tmp_path):
    rows = [f"q{i},m{i},1" for i in range(50)]
    (tmp_path / "t.csv").write_text("\n".join(["id,model,score", *rows, ""]), "utf-8")
    (told,) = scan(tmp_path).warnings
    assert "1 in t.csv [m7]; 42 more such; 0 in all of them" in told


def test_the_tasks_within_a_table_are_compared_each_with_itself_and_with_files(tmp_path):
    inspect_log(tmp_path / "a.json", ["1", "2"], scores=["C", "I"], config={"limit": 2})
    table = "id,task,model,score\n1,t,m,1\n2,t,m,1\n9,u,m,1\n1,t,n,0\n8,u,n,0\n"
    (tmp_path / "t.csv").write_text(table, "utf-8")
    told = scan(tmp_path).warnings
    assert [w.split(":")[0] for w in told] == ["task t", "task u"]
    assert "(2 in a.json, t.csv [m]; 1 in t.csv [n]; 1 in all of them)" in told[0]
    assert "(1 in t.csv [m]; 1 in t.csv [n]; 0 in all of them)" in told[1]


def test_a_table_of_several_sources_counts_each_on_its_own_metric(simtrack, logs, tmp_path):
    simtrack("ingest", str(logs), "-o", "all.csv", "--skip-refused", "--salvage")
    whole = [f for f in scan(logs).files if f.kind == "trials"]
    (table,) = scan(tmp_path / "all.csv").files
    for name in ("planned", *CLASSES):
        assert getattr(table, name) == sum(getattr(f, name) for f in whole)
    assert table.metric == ""
    assert table.to_dict()["mean"] is None
    assert f"{table.metrics} of them" in simtrack("scan", "all.csv").out


@pytest.mark.parametrize(
    ("columns", "gone"),
    [(80, {"kind", "format", "task", "model"}), (100, {"kind", "format", "task"}), (160, set())],
)
def test_on_a_terminal_each_file_keeps_to_one_line_that_fits(
    simtrack, logs, tmp_path, monkeypatch, columns, gone
):
    folder = tmp_path / "long"
    folder.mkdir()
    inspect_log(folder / f"2025-05-05_{'task' * 20}_run.json", ["1"], scores=["C"])
    (folder / "failed.eval").write_bytes((logs / "failed.eval").read_bytes())
    assert "task" * 20 in simtrack("scan", "long").out
    monkeypatch.setenv("COLUMNS", str(columns))
    whole = scan_verb._table(scan(folder))
    assert scan_verb._fitted(whole) == whole  # in a pipe
    monkeypatch.setattr(scan_verb, "_on_terminal", lambda: True)
    fitted = scan_verb._fitted(whole)
    assert max(map(len, fitted.plain().splitlines())) <= columns
    assert set(whole.heads) - set(fitted.heads) == gone
    assert fitted.rows[0][0].startswith("202")
    assert fitted.rows[0][0].endswith("run.json")
    monkeypatch.setenv("COLUMNS", "40")
    assert scan_verb._fitted(whole) == whole  # blocks, with whole names


def test_what_a_terminal_would_act_on_is_written_out(simtrack, tmp_path):
    name = "\x1b[2Jrun\u202e.csv"
    (tmp_path / name).write_text("id,model,score\nq1,\x1b]0;x\x07,1\nq2,m,0\n", "utf-8")
    (tmp_path / "\x1b[31m.eval").write_bytes(b"")
    for verb, *given in (
        ("scan", "--notes"),
        ("score", "--skip-refused"),
        ("ingest", "--skip-refused", "-o", "t.csv"),
        ("ingest", "-o", "u.csv"),
    ):
        done = simtrack(verb, ".", *given)
        assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
        assert r"\x1b[31m.eval" in done.out + done.err
