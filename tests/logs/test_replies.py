"""Replies are read with their labels, verdicts and fates; what is missing is not what is empty."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import pytest

from simtrack.errors import DataError, InputError
from simtrack.logs import read_logs, read_replies, write_trials

HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "stages", "model": "m", "dataset": {"sample_ids": ["a", "b", "c"]},
             "config": {"epochs": 1}},
    "plan": {},
}  # fmt: skip


def _message(content, role="assistant", calls=()):
    made = {"role": role, "content": content}
    if calls:
        made["tool_calls"] = [{"id": str(k), "function": n} for k, n in enumerate(calls)]
    return made


def _sample(ident, message, score=1, **more):
    messages = [_message("hello", "user"), message]
    return {
        "id": ident, "epoch": 1, "scores": {"acc": {"value": score}}, "messages": messages,
        "output": {"choices": [{"message": message}]},
    } | more  # fmt: skip


def _samples():
    parts = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "one"},
             {"type": "text", "text": "two"}]  # fmt: skip
    return [
        _sample("a", _message(parts)),
        _sample("b", _message("attachment://abc", calls=["book", "pay"]), "odd words",
                attachments={"abc": "a long text"}),
        _sample("c", _message("half"), error={"message": "upstream 502"}),
    ]  # fmt: skip


@pytest.fixture(params=["eval", "json"])
def log(request, tmp_path):
    path = tmp_path / f"run.{request.param}"
    if request.param == "json":
        path.write_text(json.dumps(HEADER | {"samples": _samples()}), encoding="utf-8")
        return path
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for sample in _samples():
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return path


def test_inspect_gives_the_last_reply_of_each_sample(log) -> None:
    found = read_replies(log)
    assert list(found.texts) == ["one\ntwo", "a long text", None]
    assert list(found.calls) == [(), ("book", "pay"), None]
    assert found.records.factors["status"].values() == ["scored", "scored", "errored"]
    assert found.records.factors["reason"].values() == [None, None, "upstream 502"]
    # A verdict in words is no number, and no reason to refuse the replies.
    assert found.verdicts["acc"][0] == 1.0
    assert np.isnan(found.verdicts["acc"][1:]).all()


def test_inspect_gives_every_turn_in_order(log) -> None:
    found = read_replies(log, turns="all")
    rows = found.records.factors
    assert rows["role"].values() == ["user", "assistant"] * 3
    assert rows["turn"].values() == ["0", "1"] * 3
    assert rows["trajectory"].values() == ["a/1", "a/1", "b/1", "b/1", "c/1", "c/1"]
    # The last turn of an errored sample was said; that the sample errored stands beside it.
    assert list(found.texts)[-1] == "half"
    assert rows["ended"].values()[-1] == "errored"
    assert rows["status"].values() == ["scored"] * 6


def test_planned_samples_without_a_row_stay_losses(tmp_path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(HEADER | {"samples": _samples()[:1]}), encoding="utf-8")
    found = read_replies(path)
    assert len(found) == 1
    assert found.records.losses.by_kind() == {"missing": 2}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_a_table_names_its_column_of_replies(tmp_path, suffix) -> None:
    rows = [
        {"id": "q1", "arm": "x", "answer": "yes", "n": 0, "correct": 1},
        {"id": "q2", "arm": "y", "answer": "no, {wait}", "n": 2, "correct": 0},
    ]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        text = 'id,arm,answer,n,correct\nq1,x,yes,0,1\nq2,y,"no, {wait}",2,0\n'
    elif suffix == "json":
        text = json.dumps(rows)
    else:
        text = "\n".join(map(json.dumps, rows))
    path.write_text(text, encoding="utf-8")
    found = read_replies(path, map={"reply": "answer", "calls": "n"})
    assert list(found.texts) == ["yes", "no, {wait}"]
    assert [len(call) for call in found.calls] == [0, 2]
    assert found.verdicts["value"].tolist() == [1.0, 0.0]
    assert found.records.factors["arm"].values() == ["x", "y"]


def test_null_is_missing_and_empty_is_a_reply(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "reply": ""}\n{"id": "b", "reply": null}\n', encoding="utf-8")
    found = read_replies(path)
    assert list(found.texts) == ["", None]
    assert found.records.notes == ("rows.jsonl: columns taken by their names: unit = id",)
    assert found.records.factors["status"].values() == ["scored", "missing"]
    assert list(found.calls) == [None, None]
    assert found.verdicts == {}


def test_a_call_without_words_is_a_reply_and_equal_labels_are_no_repeats(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    line = {"id": "a", "reply": None, "calls": ["book"]}
    path.write_text("\n".join(map(json.dumps, [line, line | {"reply": "x"}])), encoding="utf-8")
    found = read_replies(path)
    assert list(found.texts) == ["", "x"]
    assert found.records.factors["status"].values() == ["scored", "scored"]
    assert not any("repeat" in note for note in found.records.notes)


def test_words_in_parts_are_joined_and_only_the_words(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Working."},
        {"type": "text", "text": "<stage>READY</stage>"},
    ]
    lines = [{"id": "a", "reply": parts}, {"id": "b", "reply": []}, {"id": "c", "reply": None}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert list(read_replies(path).texts) == ["Working.\n<stage>READY</stage>", "", None]
    path.write_text('{"id": "a", "reply": ["x", "y"]}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"column 'reply' must hold text, got list"):
        read_replies(path)


def test_refusals_name_the_file_and_the_cure(tmp_path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "said": "x"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.jsonl: no column holds the replies.*--map reply="):
        read_replies(path)
    path.write_text('{"id": "a", "reply": 3}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: column 'reply' must hold text, got int"):
        read_replies(path)
    helm = tmp_path / "helm.json"
    helm.write_text(json.dumps([{"instance_id": "id1", "stats": []}]), encoding="utf-8")
    with pytest.raises(DataError, match=r"no replies are read from HELM logs, but from Inspect"):
        read_replies(helm)


def _call(name):
    return [{"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}}]


def test_tau_bench_gives_its_messages(tmp_path) -> None:
    traj = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": _call("book")},
        {"role": "tool", "content": "ok"},
        {"role": "assistant", "content": "Booked."},
        {"role": "user", "content": "###STOP###"},
    ]
    trials = [
        {"task_id": 7, "reward": 1.0, "info": {}, "traj": traj, "trial": 0},
        {"task_id": 8, "reward": 0.0, "info": {"error": "502"}, "traj": traj[:3], "trial": 0},
    ]
    path = tmp_path / "tau.json"
    path.write_text(json.dumps(trials), encoding="utf-8")
    last = read_replies(path)
    assert list(last.texts) == ["Booked.", None]
    assert last.records.factors["status"].values() == ["scored", "errored"]
    assert last.verdicts["success"][0] == 1.0
    every = read_replies(path, turns="all")
    assert every.records.factors["role"].values()[:5] == [
        "user", "assistant", "tool", "assistant", "user"
    ]  # fmt: skip
    assert list(every.calls)[1] == ("book",)
    assert list(every.texts)[1] == ""  # a call without words is a reply
    assert every.records.factors["trajectory"].values()[-1] == "8/0"
    assert every.records.factors["ended"].values()[-1] == "errored"


def test_tau2_bench_gives_its_messages(tmp_path) -> None:
    messages = [
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": None, "tool_calls": [{"id": "1", "name": "reboot"}]},
        {"role": "assistant", "content": "Done?", "tool_calls": None},
    ]
    simulation = {
        "id": "s", "task_id": "t1", "trial": 0, "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0}, "messages": messages,
    }  # fmt: skip
    whole = {"info": {"num_trials": 2}, "tasks": [{"id": "t1"}], "timestamp": "now",
             "simulations": [simulation]}  # fmt: skip
    path = tmp_path / "results.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    found = read_replies(path, turns="all")
    assert list(found.calls) == [(), ("reboot",), ()]
    assert found.records.losses.by_kind() == {"missing": 1}
    assert list(read_replies(path).texts) == ["Done?"]
    alone = tmp_path / "s.json"
    alone.write_text(json.dumps(simulation), encoding="utf-8")
    assert list(read_replies(alone).texts) == ["Done?"]


def test_lm_eval_gives_answers_once_for_all_filters(tmp_path) -> None:
    lines = [
        {"doc_id": k, "doc": {}, "target": "x", "arguments": [], "filter": f, "metrics": ["em"],
         "resps": [["one", "two"]] if k == 0 else [["three"]], "filtered_resps": ["o"], "em": v}
        for f, v in (("strict", 0.0), ("flexible", 1.0))
        for k in range(2)
    ]  # fmt: skip
    path = tmp_path / "samples_quiz_2025-01-01T00-00-00.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = read_replies(path)
    assert list(found.texts) == ["one", "two", "three"]
    assert found.records.factors["repetition"].values() == ["1", "2", "1"]
    assert found.verdicts["em,strict"].tolist()[::2] == [0.0, 0.0]
    assert found.verdicts["em,flexible"].tolist()[::2] == [1.0, 1.0]
    assert np.isnan(found.verdicts["em,strict"][1])
    for line in lines:
        line["resps"] = [[[-1.5, True]]]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.raises(DataError, match="line 1: resps hold log-likelihoods, no words"):
        read_replies(path)


def test_an_answer_that_is_damaged_is_missing_and_its_score_stays(tmp_path) -> None:
    lines = [
        {"doc_id": k, "doc": {}, "target": "x", "arguments": [], "filter": "f", "metrics": ["em"],
         "resps": [[f"answer {k}"]], "filtered_resps": ["o"], "em": 1.0}
        for k in range(3)
    ]  # fmt: skip
    path = tmp_path / "samples_quiz_2025-01-01T00-00-00.jsonl"
    raw = "\n".join(map(json.dumps, lines)).encode()
    path.write_bytes(raw.replace(b"answer 1", b"answer \xff"))
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        read_replies(path)
    found = read_replies(path, salvage=True)
    assert list(found.texts) == ["answer 0", None, "answer 2"]
    assert found.records.factors["status"].values() == ["scored", "missing", "scored"]
    assert found.verdicts["em,f"].tolist() == [1.0, 1.0, 1.0]


def test_a_folder_stacks_its_files(log) -> None:
    other = log.parent / "more.jsonl"
    other.write_text('{"id": "z", "reply": "hi", "model": "n"}\n', encoding="utf-8")
    found = read_replies(log.parent)
    assert len(found) == 4
    assert set(found.records.factors["source"].levels) == {log.name, "more.jsonl"}
    assert np.isnan(found.verdicts["acc"]).sum() == 3


def test_empty_cells_of_csv_are_told(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,reply\na,x\nb,\nc,\n", encoding="utf-8")
    told = [note for note in read_replies(path).records.notes if "empty" in note]
    assert told == ["rows.csv: 2 of 3 cells of replies are empty and count as missing: CSV does "
                    "not tell an empty reply from none. JSON lines and Parquet do"]  # fmt: skip


def test_a_copy_of_a_run_counts_once_and_equal_labels_are_told(fixtures, tmp_path) -> None:
    for name in ("a.eval", "b.eval"):
        shutil.copy(fixtures / "stage_replies.eval", tmp_path / name)
    found = read_replies(tmp_path)
    assert len(found) == 60
    assert "b.eval is a copy of a.eval; it counts once" in found.records.notes
    shutil.copy(fixtures / "stage_replies.json", tmp_path / "c.json")
    twice = read_replies(tmp_path)
    assert len(twice) == 120
    assert any("60 replies repeat another in" in note for note in twice.records.notes)
    once = read_replies(tmp_path, latest=True)
    assert len(once) == 60
    assert set(once.records.factors["source"].levels) == {"c.json"}


def test_turns_of_one_trial_are_no_repeats(fixtures) -> None:
    found = read_replies(fixtures / "stage_replies.eval", turns="all")
    assert not any("repeat" in note for note in found.records.notes)


def test_progress_and_files_to_leave_out(log, tmp_path) -> None:
    heard = []
    other = log.parent / "more.jsonl"
    other.write_text('{"id": "z", "reply": "hi"}\n', encoding="utf-8")
    found = read_replies(log.parent, leave_out=[other], progress=heard.append)
    assert len(found) == 3
    assert [far.files_done for far in heard] == [0, 1]


def test_a_table_that_simtrack_scored_is_no_log_of_replies(fixtures, log) -> None:
    table = log.parent / "scored.csv"
    write_trials(read_logs(fixtures / "half.csv"), table)
    found = read_replies(log.parent)
    assert len(found) == 3
    assert any("scored.csv: a trial table of simtrack's" in n for n in found.records.notes)
    with pytest.raises(DataError, match=r"holds no replies\. Give the logs"):
        read_replies(table)


def test_labels_of_a_log_are_renamed_for_a_scheme(fixtures, tmp_path) -> None:
    path = fixtures / "stage_replies.eval"
    found = read_replies(path, map={"branch": "scenario", "stage": "duty"})
    rows = found.records.factors
    assert rows["branch"].values() == rows["scenario"].values()
    assert rows["stage"].values() == rows["duty"].values()
    with pytest.raises(DataError, match=r"no column 'gold' for stage \(there are: .*scenario"):
        read_replies(path, map={"stage": "gold"})
    with pytest.raises(InputError, match=r"map must be of labels only, since stage_replies\.eval"):
        read_replies(path, map={"reply": "scenario"})


def test_what_is_whole_of_a_cut_archive_is_read(fixtures, tmp_path) -> None:
    raw = (fixtures / "stage_replies.eval").read_bytes()
    path = tmp_path / "cut.eval"
    path.write_bytes(raw[:9000])
    with pytest.raises(DataError, match="--salvage"):
        read_replies(path)
    found = read_replies(path, salvage=True)
    whole = read_replies(fixtures / "stage_replies.eval")
    assert 0 < len(found) < 60
    assert len(found) + found.records.losses.by_kind()["missing"] == 60
    assert list(found.texts) == [
        text for text, unit, rep in zip(
            whole.texts, whole.records.factors["unit"].values(),
            whole.records.factors["repetition"].values(), strict=True)
        if (unit, rep) in set(zip(found.records.factors["unit"].values(),
                                  found.records.factors["repetition"].values(), strict=True))
    ]  # fmt: skip
