"""HELM: the records of an instance are one trial, whatever the number of Metric objects."""

from __future__ import annotations

import json
import math

import pytest

from simtrack.errors import DataError
from simtrack.logs import read_log


def record(instance, split="test", perturbation=None, trial=0, count=1, **stats):
    found = {
        "instance_id": instance,
        "train_trial_index": trial,
        "stats": [
            {"name": {"name": n, "split": split}, "count": count, "sum": v, "mean": v, "stddev": 0}
            for n, v in stats.items()
        ],
    }
    return found | ({"perturbation": {"name": perturbation}} if perturbation else {})


@pytest.fixture
def write(tmp_path):
    def made(records, spec=True):
        folder = tmp_path / "bbq:subject=all,model=org_m"
        folder.mkdir(exist_ok=True)
        path = folder / "per_instance_stats.json"
        path.write_text(json.dumps(records))
        if spec:
            adapter = {"model": "org/m", "max_eval_instances": 2}
            content = {"name": "bbq:subject=all,model=org_m", "adapter_spec": adapter}
            (folder / "run_spec.json").write_text(json.dumps(content))
        return path

    return made


def test_records_of_one_instance_are_merged(write):
    rows = [
        record("id1", judge=1.0),
        record("id2", judge=0.0),
        record("id1", num_prompt_tokens=7, inference_runtime=0.5, exact_match=1),
        record("id2", num_prompt_tokens=9, exact_match=0),
    ]
    records = read_log(write(rows))
    assert records.factor("metric").levels == ("judge", "exact_match")
    assert records.factor("unit").values() == ["id1", "id1", "id2", "id2"]
    assert records.numbers["value"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert records.numbers["tokens_in"].tolist() == [7, 7, 9, 9]
    assert math.isnan(records.numbers["duration_s"][2])
    labels = {n: records.factor(n).levels for n in ("model", "task")}
    assert labels == {"model": ("org/m",), "task": ("bbq:subject=all",)}
    assert any("2 further records of an instance were merged" in n for n in records.notes)


def test_two_values_of_one_statistic_are_refused(write):
    same = [record("a", acc=1), record("a", acc=1)]
    assert len(read_log(write(same))) == 1
    with pytest.raises(DataError, match="instance a, trial 0 has two values of acc: 1 and 0"):
        read_log(write([record("a", acc=1), record("a", acc=0)]))


def test_splits_perturbations_and_trials_tell_apart(write):
    rows = [
        record("a", acc=1),
        record("a", acc=0, perturbation="typos"),
        record("a", acc=0, trial=1),
        record("b", acc=1, split="valid"),
    ]
    records = read_log(write(rows))
    assert len(records) == 4
    assert records.factor("perturbation").values() == ["(none)", "typos", "(none)", "(none)"]
    assert records.factor("repetition").values() == ["0", "0", "1", "0"]
    assert records.factor("split").values() == ["test", "test", "test", "valid"]
    assert any("test 3, valid 1" in note for note in records.notes)


def test_a_metric_that_an_instance_lacks_is_unscored(write):
    rows = [record("a", acc=1, f1=0.5), record("b", acc=1), record("c", acc=1, f1=0.2, count=0)]
    records = read_log(write(rows), metric="f1")
    assert records.factor("status").values() == ["scored", "unscored", "unscored"]
    assert records.factor("reason").values()[1:] == [
        "the run has no such statistic for the instance",
        "score is null",
    ]


def test_bookkeeping_is_a_metric_only_by_name(write):
    rows = [record("a", num_bytes=4, acc=1)]
    assert read_log(write(rows)).factor("metric").levels == ("acc",)
    assert read_log(write(rows), metric="num_bytes").numbers["value"].tolist() == [4.0]
    with pytest.raises(DataError, match="no metric among its statistics: num_bytes"):
        read_log(write([record("a", num_bytes=4)]))


def test_without_a_run_specification_the_folder_names_the_model(write):
    records = read_log(write([record("a", acc=1)], spec=False))
    assert records.factor("model").levels == ("org_m",)
    assert any("taken from the name of the folder" in note for note in records.notes)


@pytest.mark.shared
def test_published_runs(shared):
    folder = shared / "logs" / "public"
    safety = read_log(next(folder.rglob("v3__simple_safety*__per_instance_stats.json")))
    assert safety.factor("model").levels == ("google/gemini-1.5-pro-001",)
    assert len(safety.select(metric="sst_score")) == 2
    bbq = read_log(next(folder.rglob("v4__bbq*__per_instance_stats.json")), metric="exact_match")
    values = json.loads(next(folder.rglob("v4__bbq*__per_instance_stats.json")).read_text())
    stated = [
        s["mean"] for r in values for s in r["stats"] if s["name"]["name"] == "exact_match"
    ]  # fmt: skip
    assert bbq.numbers["value"].tolist() == stated
    assert len(bbq) == 100
    mmlu = read_log(next(folder.rglob("mmlu-subject*__per_instance_stats.json")))
    assert set(mmlu.factor("split").levels) == {"test", "valid"}
