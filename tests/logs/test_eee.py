"""every_eval_ever: instance lines and aggregate files, in the shape of its schema 0.2."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from simtrack.logs import read_log


def instance(sample, score, correct, **more):
    return {
        "schema_version": "instance_level_eval_0.2.0",
        "evaluation_id": "quiz/org/m/1",
        "model_id": "org/m",
        "evaluation_name": "quiz",
        "sample_id": sample,
        "sample_hash": f"h{sample}",
        "interaction_type": "single_turn",
        "input": {"raw": "?", "reference": ["5"]},
        "output": {"raw": ["5"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": correct, "num_turns": 1},
    } | more


@pytest.fixture
def write(tmp_path):
    def made(text):
        path = tmp_path / "file"
        path.write_text(text)
        return path

    return made


def test_instances(write):
    rows = [
        instance(4, 1.0, True, token_usage={"input_tokens": 3, "output_tokens": 2}),
        instance("5", 0.25, False, performance={"latency_ms": 1500.0}),
        instance("5", 0.5, False),
        instance("6", 0.0, False, error="timeout\nat 30 s"),
    ]
    path = write("\n".join(map(json.dumps, rows)))
    records = read_log(path)
    np.testing.assert_array_equal(records.numbers["value"], [1.0, 0.25, 0.5, math.nan])
    assert records.factor("unit").values() == ["4", "5", "5", "6"]
    assert records.factor("repetition").values() == ["0", "0", "1", "0"]
    assert records.factor("status").values()[3] == "errored"
    assert records.factor("reason").values()[3] == "timeout"
    assert records.numbers["tokens_in"][0] == 3
    assert records.numbers["duration_s"][1] == 1.5
    assert any("makes a score up" in note for note in records.notes)
    assert read_log(path, metric="is_correct").numbers["value"].tolist()[:3] == [1.0, 0.0, 0.0]
    assert len(read_log(write(json.dumps(rows[0])))) == 1


def test_aggregates_keep_their_standard_error(write):
    def result(name, score, **uncertainty):
        return {
            "evaluation_name": name,
            "source_data": {},
            "metric_config": {"lower_is_better": False, "score_type": "continuous"},
            "score_details": {"score": score, "uncertainty": uncertainty or None},
        }

    content = {
        "schema_version": "0.2.1",
        "evaluation_id": "quiz/org/m/1",
        "retrieved_timestamp": "1",
        "source_metadata": {},
        "eval_library": {"name": "lm_eval", "version": "0.4"},
        "model_info": {"name": "m", "id": "org/m"},
        "evaluation_results": [
            result("a", 0.5, standard_error={"value": 0.05, "method": "analytic"}, num_samples=100),
            result("b", 0.7, standard_error={"value": "N/A"}),
            result("c", 0.9),
        ],
    }
    records = read_log(write(json.dumps(content, indent=1)))
    assert records.kind == "aggregate"
    assert records.factor("task").values() == ["a", "b", "c"]
    np.testing.assert_array_equal(records.numbers["stderr"], [0.05, math.nan, math.nan])
    np.testing.assert_array_equal(records.numbers["n"], [100, math.nan, math.nan])
    assert records.factor("model").levels == ("org/m",)
