"""openai/evals: matches and metrics by sample, errors and interruptions in sight."""

from __future__ import annotations

import json

import pytest

from simtrack.errors import DataError
from simtrack.logs import read_log
from simtrack.records import account

SPEC = {
    "spec": {
        "completion_fns": ["gpt-x"],
        "eval_name": "quiz.s1.v0",
        "base_eval": "quiz",
        "split": "s1",
        "run_config": {},
        "run_id": "r1",
    }
}


def event(sample, kind, k=0, **data):
    return {"run_id": "r1", "event_id": k, "sample_id": sample, "type": kind, "data": data}


@pytest.fixture
def write(tmp_path):
    def made(rows, end="\n"):
        path = tmp_path / "run.jsonl"
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + end)
        return path

    return made


def test_every_sample_has_one_fate(write):
    rows = [
        SPEC,
        event("a.0", "sampling", prompt="?", sampled="B"),
        event("a.0", "match", correct=True, expected="B", picked="B"),
        event("a.1", "match", correct=False, expected="B", picked="A"),
        event("a.2", "sampling", prompt="?", sampled="C"),
        event("a.3", "error", type="RateLimit", message="slow\ndown"),
        {"final_report": {"accuracy": 0.5}},
    ]
    records = read_log(write(rows))
    found = {
        unit: (status, reason)
        for unit, status, reason in zip(
            *(records.factor(n).values() for n in ("unit", "status", "reason")), strict=True
        )
    }
    assert found == {
        "a.0": ("scored", None),
        "a.1": ("scored", None),
        "a.2": ("unscored", "no score was logged"),
        "a.3": ("errored", "RateLimit: slow"),
    }
    assert records.numbers["value"].tolist()[:2] == [1.0, 0.0]
    labels = {n: records.factor(n).levels for n in ("run", "task", "model", "split", "metric")}
    assert labels == {
        "run": ("r1",),
        "task": ("quiz.s1.v0",),
        "model": ("gpt-x",),
        "split": ("s1",),
        "metric": ("correct",),
    }
    assert not any("interrupted" in note for note in records.notes)


def test_metrics_events_keep_their_texts_as_labels_and_null_unscored(write):
    rows = [
        SPEC,
        event("a", "metrics", choice="E", score=None),
        event("b", "metrics", choice="A", score=1.0),
        event("b", "metrics", choice="B", score=0.0),
        '{"run_id": "r1", "ev',
    ]
    records = read_log(write(rows))
    assert records.factor("metric").levels == ("score",)
    assert records.factor("status").values() == ["unscored", "scored", "scored"]
    assert records.factor("repetition").values() == ["0", "0", "1"]
    assert records.factor("metadata.choice").values() == ["E", "A", "B"]
    assert any("the run was interrupted" in note for note in records.notes)
    assert account(records).total("missing") == 1


def test_a_file_of_the_specification_alone_is_refused(write):
    with pytest.raises(DataError, match="without a single sample"):
        read_log(write([SPEC, {"final_report": {}}]))
