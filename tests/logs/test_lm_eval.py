"""lm-evaluation-harness: filters are never pooled, standard errors are no scores, groups agree."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from simtrack.errors import DataError, InputError
from simtrack.logs import read_log, read_logs
from simtrack.logs.lm_eval import group_mean
from simtrack.records import account

#: Stated to ten decimals.
TEN_DECIMALS = 5e-11


def line(doc, chosen="none", metrics=("acc",), **scores):
    return {
        "doc_id": doc,
        "doc": {"question": "x" * 50},
        "target": "A",
        "arguments": {"gen_args_0": {}},
        "resps": [["text"]],
        "filtered_resps": ["text"],
        "filter": chosen,
        "metrics": list(metrics),
        "doc_hash": f"hash{doc}",
    } | scores


@pytest.fixture
def write(tmp_path):
    def made(rows, name="samples_gsm8k_2026-01-02T03-04-05.678.jsonl", end="\n"):
        path = tmp_path / "org__model" / name
        path.parent.mkdir(exist_ok=True)
        text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows)
        path.write_text(text + end, encoding="utf-8")
        return path

    return made


def stderr_of(records, metric):
    values = records.select(metric=metric).numbers["value"]
    return values.std(ddof=1) / math.sqrt(values.size)


def test_two_filters_are_two_metrics(write):
    """Case H21: strict 1, 0, 0 and flexible 1, 1, 0 on three documents."""
    strict, flexible = (1, 0, 0), (1, 1, 0)
    rows = [line(d, "strict", ("em",), em=strict[d]) for d in range(3)]
    rows += [line(d, "flexible", ("em",), em=flexible[d]) for d in range(3)]
    records = read_log(write(rows))
    assert records.factor("metric").levels == ("em,strict", "em,flexible")
    for metric, mean in (("em,strict", 1 / 3), ("em,flexible", 2 / 3)):
        chosen = records.select(metric=metric)
        assert len(chosen) == 3
        assert chosen.numbers["value"].mean() == pytest.approx(mean)
        assert stderr_of(records, metric) == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="metric must be selected"):
        records.counts()
    assert len(read_log(write(rows), metric="em,strict")) == 3
    with pytest.raises(InputError, match="metric must be one of em,strict, em,flexible"):
        read_log(write(rows), metric="em")


def test_a_document_that_stands_twice_under_a_filter_is_refused(write):
    """Case H21, second half."""
    rows = [line(0, acc=1.0), line(1, acc=0.0), line(0, acc=0.0)]
    with pytest.raises(DataError, match=r"document 0 .* filter none \(lines 1, 3; 1 such\)"):
        read_log(write(rows))


def test_a_torn_end_is_missing_and_a_broken_middle_refused(write):
    rows = [line(0, acc=1.0), line(1, acc=0.0), '{"doc_id": 2, "re']
    records = read_log(write(rows, end="\n\n"))
    assert (len(records), account(records).total("missing")) == (2, 1)
    with pytest.raises(DataError, match=r"line 3 is not valid JSON.*Mend or remove the line"):
        read_log(write([*rows, line(3, acc=1.0)]))


def test_unicode_separators_stand_within_a_line(write):
    rows = [json.dumps(line(k, acc=k) | {"target": "a\u2028b\x85"}, ensure_ascii=False)
            for k in (0, 1)]  # fmt: skip
    assert read_log(write(rows)).numbers["value"].tolist() == [0.0, 1.0]


def test_the_plan_and_the_model_come_from_the_results_beside(write):
    rows = [line(0, acc=1.0), line(1, acc=0.0)]
    path = write(rows)
    alone = read_log(path)
    assert alone.factor("model").levels == ("org/model",)
    assert alone.factor("task").levels == ("gsm8k",)
    assert any("taken from the name of the folder" in note for note in alone.notes)
    results = {
        "results": {"gsm8k": {"acc,none": 0.5}},
        "versions": {},
        "n-samples": {"gsm8k": {"original": 10, "effective": 5}},
        "model_name": "org/the-model",
    }
    write([json.dumps(results)], "results_2026-01-02T03-04-05.678.json")
    records = read_log(path)
    assert records.factor("model").levels == ("org/the-model",)
    table = account(records, ["metric"])
    assert (table.rows[0].planned, table.rows[0].n("missing")) == (5, 3)


def test_infinite_and_listed_items(write):
    rows = [
        line(0, metrics=("mae", "f1"), mae=math.inf, f1=[1, 0]),
        line(1, metrics=("mae", "f1"), mae=2.0, f1=[1, 1]),
    ]
    records = read_log(write(rows))
    assert records.factor("metric").levels == ("mae",)
    assert records.factor("status").values() == ["unscored", "scored"]
    assert any("left out (their items are lists): f1" in note for note in records.notes)
    with pytest.raises(DataError, match="no metric has a number for each document"):
        read_log(write([line(0, metrics=("f1",), f1=[1, 0])]))


def test_files_of_2024_do_not_list_their_metrics(write):
    rows = [line(k, acc=k, acc_norm=1.0) for k in (0, 1)]
    for row in rows:
        del row["filter"], row["metrics"]
    records = read_log(write(rows, "samples_x_2024-06-01T00-00-00.json"))
    assert records.factor("metric").levels == ("acc", "acc_norm")
    assert records.factor("doc_hash").levels == ("hash0", "hash1")


def test_a_stderr_is_no_score(write):
    """Case H38."""
    task = {"acc": 0.8, "acc_stderr": 0.04, "acc_norm": 0.7, "acc_norm_stderr": "N/A"}
    path = write([json.dumps({"results": {"t": task}, "versions": {}, "config": {}})], "r.json")
    records = read_log(path)
    assert records.factor("metric").levels == ("acc", "acc_norm")
    assert records.numbers["value"].tolist() == [0.8, 0.7]
    np.testing.assert_array_equal(records.numbers["stderr"], [0.04, math.nan])
    newer = {"alias": "t", "acc,none": 0.8, "acc_stderr,none": [], "acc,x": 0.5}
    path = write([json.dumps({"results": {"t": newer}, "versions": {}})], "r.json")
    records = read_log(path)
    assert records.factor("metric").levels == ("acc", "acc,x")
    assert "stderr" not in records.numbers
    assert records.kind == "aggregate"


def test_a_stderr_of_zero_within_the_bounds_is_flagged(write):
    """Case H03: 13 of 20."""
    entry = {"acc,none": 0.65, "acc_stderr,none": 0.0, "em,none": 0.0, "em_stderr,none": 0.0}
    content = {"results": {"t": entry}, "versions": {}, "n-samples": {"t": {"effective": 20}}}
    records = read_log(write([json.dumps(content)], "r.json"))
    assert records.factor("flag").values() == [
        "stderr is 0 although the score is within (0, 1)",
        None,
    ]
    np.testing.assert_array_equal(records.numbers["stderr"], [math.nan, 0.0])
    checked = records.numbers["stderr_checked"]
    assert checked[0] == pytest.approx(0.1094243310, abs=TEN_DECIMALS)
    assert any("t acc" in n and "is not used" in n for n in records.notes)


MEANS, ERRORS, SIZES = [0.8, 0.5], [0.04, 0.025], [100, 400]


def test_a_group_mean_has_the_standard_error_of_itself():
    """Case H20."""
    equal = group_mean(MEANS, ERRORS, SIZES)
    assert equal.mean == pytest.approx(0.65)
    assert equal.standard_error == pytest.approx(0.0235849528, abs=TEN_DECIMALS)
    sized = group_mean(MEANS, ERRORS, SIZES, "size")
    assert sized.mean == pytest.approx(0.56)
    assert sized.standard_error == pytest.approx(0.0215406592, abs=TEN_DECIMALS)
    with pytest.raises(InputError, match="means, stderrs and sizes must be of one length"):
        group_mean([], [], [])


@pytest.mark.parametrize(
    ("mean", "stderr", "flag", "right"),
    [
        (0.65, 0.0235849528, None, math.nan),
        (0.56, 0.0215406592, None, math.nan),
        (0.65, 0.0215406592, "stderr is not that of its mean (equal weights)", 0.0235849528),
        (0.60, 0.0215406592, "mean is neither the equal nor the size-weighted one", math.nan),
    ],
)
def test_a_group_row_that_mixes_two_means_is_flagged(write, mean, stderr, flag, right):
    results = {
        "g": {"acc,none": mean, "acc_stderr,none": stderr},
        "a": {"acc,none": 0.8, "acc_stderr,none": 0.04},
        "b": {"acc,none": 0.5, "acc_stderr,none": 0.025},
    }
    content = {
        "results": results,
        "groups": {"g": results["g"]},
        "group_subtasks": {"g": ["a", "b"], "a": [], "b": []},
        "versions": {},
        "n-samples": {"a": {"effective": 100}, "b": {"effective": 400}},
    }
    records = read_log(write([json.dumps(content)], "r.json"))
    assert records.factor("level").values() == ["group", "task", "task"]
    if flag is None:
        assert "flag" not in records.factors
    else:
        assert records.factor("flag").values()[0].startswith(flag)
        assert math.isnan(records.numbers["stderr"][0])
    if not math.isnan(right):
        assert records.numbers["stderr_checked"][0] == pytest.approx(right, abs=TEN_DECIMALS)


@pytest.mark.shared
def test_published_files_of_two_vintages(shared):
    old = read_log(next((shared / "logs").rglob("opt-125m.json")))
    assert old.factor("model").levels == ("facebook/opt-125m",)
    assert set(old.factor("metric").levels) == {"ppl", "acc", "acc_norm"}
    assert old.numbers["stderr"].min() > 0
    new = read_log(next((shared / "logs").rglob("results_2026-01-21T03-44-18.458309.json")))
    assert new.numbers["value"].tolist() == [0.0, 0.0004]
    assert new.numbers["n"].tolist() == [5000, 5000]
    #: The file's own stderr, (n - 1) form: the flagged formula gives the same on sound rows.
    assert math.sqrt(0.0004 * 0.9996 / 4999) == pytest.approx(new.numbers["stderr"][1], rel=1e-12)
    samples = read_log(next((shared / "logs").rglob("samples_math_perturbed_full_*.jsonl")))
    assert account(samples).planned == 5000


def test_aggregates_are_left_out_beside_trials(write):
    """An output folder of the harness holds both; a mean is no trial."""
    path = write([line(0, acc=1.0), line(1, acc=0.0), line(2, acc=0.0)])
    content = {"results": {"gsm8k": {"acc,none": 0.9, "acc_stderr,none": 0.1}}, "versions": {}}
    results = write([json.dumps(content)], "results_2026-01-02T03-04-05.678.json")
    records = read_logs([path.parent])
    assert records.numbers["value"].tolist() == [1.0, 0.0, 0.0]
    told = [n for n in records.notes if "1 file holds aggregates, left out" in n]
    assert results.name in told[0]
    assert read_logs([results]).kind == "aggregate"
