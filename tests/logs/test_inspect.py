"""Logs that Inspect itself made, and hand-made ones: the table, the accounting, the refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.logs import read_log, read_logs
from simtrack.records import account


def rows(records, *names):
    """Give rows as tuples; "value" is a number, the others are labels."""
    columns = [
        records.numbers[n].tolist() if n in records.numbers else records.factor(n).values()
        for n in names
    ]
    return list(zip(*columns, strict=True))


def tally(records, **where):
    """Give the non-zero statuses of one group."""
    table = account(records, by=list(where))
    found = next(row for row in table.rows if row.labels == tuple(where.values()))
    names = ("scored", "unscored", "errored", "limited", "early-stopped", "invalidated", "missing")
    return {name: found.n(name) for name in names if found.n(name)}


def test_object_and_letter_scores_become_three_metrics(fixtures):
    records = read_log(fixtures / "stage_reports.eval")
    assert len(records) == 12 * 3
    assert records.factor("metric").levels == ("stage.clean", "stage.emitted", "letter")
    one = records.select(unit="sc0-ready", repetition="1")
    # The reply was "<ready>": clean and emitted are 1, the letter is C.
    assert rows(one, "metric", "value") == [
        ("stage.clean", 1.0),
        ("stage.emitted", 1.0),
        ("letter", 1.0),
    ]
    labels = {name: one.factor(name).values()[0] for name in ("task", "model", "source", "limit")}
    assert labels == {
        "task": "stage_reports",
        "model": "mockllm/model",
        "source": "stage_reports.eval",
        "limit": None,
    }
    assert rows(one, "scenario", "stage", "duty")[0] == ("sc0", "ready", "1")
    assert "nested" not in records.factors
    assert one.numbers["tokens_in"].tolist() == [11.0] * 3
    assert np.isnan(one.numbers["cost_usd"]).all()
    assert records.notes == ("stage_reports.eval: letter: 6 scores P (partial) count as 0.5",)


def test_means_are_those_of_the_header(fixtures):
    header = json.loads((fixtures / "stage_reports.json").read_text())
    records = read_log(fixtures / "stage_reports.json")
    for score in header["results"]["scores"]:
        plain = score["name"] == score["scorer"]
        metric = score["scorer"] if plain else f"{score['scorer']}.{score['name']}"
        values = records.select(metric=metric).numbers["value"]
        stated = {name: m["value"] for name, m in score["metrics"].items()}
        assert values.mean() == pytest.approx(stated.get("mean", stated.get("accuracy")), rel=1e-12)
        # Inspect's stderr is that of the means over epochs, with n - 1.
        means = values.reshape(-1, 6).mean(axis=0)
        assert means.std(ddof=1) / math.sqrt(6) == pytest.approx(stated["stderr"], rel=1e-12)


def test_the_archive_and_the_json_of_one_run_are_the_same_table(fixtures):
    names = ("unit", "repetition", "metric", "status", "value", "scenario", "tokens_out")
    archive = rows(read_log(fixtures / "stage_reports.eval"), *names)
    assert sorted(archive) == sorted(rows(read_log(fixtures / "stage_reports.json"), *names))


def test_summaries_agree_with_the_samples(fixtures):
    for name in ("stage_reports.eval", "left_out.eval", "failed.eval"):
        columns = ("unit", "repetition", "metric", "status", "reason")
        full = read_log(fixtures / name)
        brief = read_log(fixtures / name, detail="summaries")
        assert rows(full, *columns) == rows(brief, *columns)
        np.testing.assert_array_equal(full.numbers["value"], brief.numbers["value"])
        assert "read from the summaries" in " ".join(brief.notes)


def test_every_fate_has_its_status(fixtures):
    records = read_log(fixtures / "fates.eval")
    first = records.select(repetition="1")
    fates = {unit: rest for unit, *rest in map(list, rows(first, "unit", "status", "limit"))}
    assert {unit: tuple(rest) for unit, rest in fates.items()} == {
        "right-1": ("scored", None),
        "wrong-1": ("scored", None),
        "error-1": ("errored", None),
        "limit-1": ("scored", "custom"),
        "limit-unscored": ("limited", "custom"),
        "gone-1": ("invalidated", None),
        "nan-1": ("unscored", None),
        "right-unscored": ("unscored", None),
        "right-early": ("scored", None),
    }  # fmt: skip
    # 9 ids x 2 epochs were planned, and the header says so too.
    assert account(records).planned == 18
    assert tally(records, metric="scripted_score") == {
        "scored": 8,
        "unscored": 4,
        "errored": 2,
        "limited": 2,
        "early-stopped": 1,
        "invalidated": 1,
    }
    only_scored = np.array(records.factor("status").values()) == "scored"
    np.testing.assert_array_equal(~np.isnan(records.numbers["value"]), only_scored)
    reasons = dict(rows(first, "unit", "reason"))
    assert reasons["error-1"] == "RuntimeError('upstream 502')"
    assert reasons["nan-1"] == "score is NaN"
    assert records.losses.entries[0].examples == ("right-early epoch 2",)
    notes = " ".join(records.notes)
    assert "2 errored samples carry scores (score_on_error), which do not count" in notes


def test_what_left_the_denominator_is_counted(fixtures):
    """Case H37: 4 right, 2 wrong, 1 NaN, 3 errored: 4/6 on 6, bounds 4/10 and 8/10."""
    records = read_log(fixtures / "left_out.eval")
    assert tally(records, metric="scripted_score") == {"scored": 6, "unscored": 1, "errored": 3}
    values = records.numbers["value"]
    assert np.nanmean(values) == pytest.approx(4 / 6)
    low, high = np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)
    assert (low.mean(), high.mean()) == (0.4, 0.8)


def test_a_failed_run_says_what_never_started(fixtures):
    records = read_log(fixtures / "failed.eval")
    assert tally(records, model="mockllm/model") == {"scored": 2, "errored": 2, "missing": 2}
    assert records.notes == (
        "failed.eval: run status is error (RuntimeError('upstream 502')): "
        "4 of 6 planned samples left a row",
    )
    assert records.losses.entries[0].examples == ("right-4 epoch 1", "right-5 epoch 1")


def test_an_unfinished_run_is_read_from_its_journal(fixtures, zips, tmp_path):
    entry, write = zips
    from simtrack.logs.zips import Archive

    with (fixtures / "stage_reports.eval").open("rb") as file:
        archive = Archive(file, "x")
        late = ("header.json", "summaries.json", "reductions.json")
        kept = {n: archive.read(n) for n in archive.members if n not in late}
    gone = [n for n in kept if "sc2-ready" in n]
    summaries = json.loads(kept.pop("_journal/summaries/1.json"))
    kept = {n: d for n, d in kept.items() if n not in gone and "journal/summ" not in n}
    lone = [s for s in summaries if s["id"] == "sc2-ready" and s["epoch"] == 1][:1]
    kept["_journal/summaries/1.json"] = json.dumps(lone).encode()
    path = tmp_path / "running.eval"
    path.write_bytes(write([entry(n, d, 93) for n, d in kept.items()]))
    records = read_log(path, metric="letter")
    # 12 cells were planned; both epochs of sc2-ready lost their sample, one has a summary.
    assert len(records) == 10 + len(lone)
    assert tally(records, metric="letter") == {"scored": 10 + len(lone), "missing": 2 - len(lone)}
    notes = " ".join(records.notes)
    assert f"run status is started: {10 + len(lone)} of 12 planned samples left a row" in notes


def test_a_chosen_metric_or_its_refusal(fixtures):
    path = fixtures / "stage_reports.eval"
    assert set(read_log(path, metric="letter").factor("metric").values()) == {"letter"}
    two = read_log(path, metric=["letter", "stage.clean"])
    assert two.factor("metric").levels == ("letter", "stage.clean")
    with pytest.raises(InputError) as caught:
        read_log(path, metric="stage")
    assert str(caught.value) == (
        "metric must be one of stage.clean, stage.emitted, letter, "
        "got 'stage' (stage_reports.eval)."
    )


def test_a_log_read_twice_and_a_retry_are_noted(fixtures, tmp_path):
    both = [fixtures / "stage_reports.eval", fixtures / "stage_reports.json"]
    records = read_logs(both)
    assert len(records) == 72
    assert "is in 2 files (stage_reports.eval, stage_reports.json)" in records.notes[-2]
    assert records.notes[-1].startswith("36 trials repeat another in task, scenario, model, metric")
    log = json.loads(both[1].read_text())
    log["eval"]["eval_id"] = "another"
    (tmp_path / "retry.json").write_text(json.dumps(log))
    again = read_logs([both[0], tmp_path / "retry.json"])
    assert "was run 2 times (stage_reports.eval, retry.json)" in again.notes[-2]


def test_a_map_is_refused_for_a_log_with_columns_of_its_own(fixtures):
    with pytest.raises(InputError, match="map must be left out for a log whose columns"):
        read_log(fixtures / "failed.eval", map={"cluster": "scenario"})
    with pytest.raises(InputError, match="detail must be one of samples, summaries"):
        read_log(fixtures / "failed.eval", detail="all")


def test_counts_go_through_to_the_waist(fixtures):
    records = read_log(fixtures / "stage_reports.eval", metric="stage.emitted")
    counts = records.counts(cluster="scenario", by=["stage"])
    assert counts.n == 12
    assert counts.outcomes == ("FAIL", "PASS")
    assert len(counts.cluster.levels) == 3
