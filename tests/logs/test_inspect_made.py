"""Hand-made Inspect logs: scores of every kind, plans, metadata, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from simtrack.errors import DataError
from simtrack.logs import read_log
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


def test_unknown_scores_are_listed_never_zero(make_log, log_parts):
    _, sample = log_parts
    path = make_log([sample("a", "D"), sample("b", "D"), sample("c", "C"), sample("d", "N/A")])
    with pytest.raises(DataError) as caught:
        read_log(path)
    assert str(caught.value) == (
        "made.eval: scores that stand for no number: 'D' ×2 in match, 'N/A' ×1 in match. "
        "Say what each stands for: --score 'D=NUMBER' or 'D=unscored' "
        "(in Python scores={'D': NUMBER or None}), "
        "or choose a metric (metric=...) of match."
    )
    records = read_log(path, scores={"D": 0.25, "N/A": None})
    assert rows(records, "unit", "status") == [
        ("a", "scored"),
        ("b", "scored"),
        ("c", "scored"),
        ("d", "unscored"),
    ]
    assert records.numbers["value"][:3].tolist() == [0.25, 0.25, 1.0]


def test_a_list_score_is_refused(make_log, log_parts):
    _, sample = log_parts
    with pytest.raises(DataError, match=r"a list of 2 ×1 in match. Such a score has no one number"):
        read_log(make_log([sample("a", [1, 0])]))


def test_the_other_metrics_may_hold_anything(make_log, log_parts):
    _, sample = log_parts
    both = sample("a", "Z")
    both["scores"]["good"] = {"value": 1}
    records = read_log(make_log([both]), metric="good")
    assert records.numbers["value"].tolist() == [1.0]


def test_nan_infinity_null_and_big_numbers(make_log, log_parts):
    """Case H30 within Inspect's own form."""
    _, sample = log_parts
    path = make_log(
        [
            sample("a", math.nan),
            sample("b", 1),
            sample("c", -math.inf),
            sample("d", None),
            sample("e", 10**400),
            sample(9007199254740993, True),
            sample(9007199254740992, False),
        ]
    )
    records = read_log(path)
    assert rows(records, "unit", "status", "reason") == [
        ("a", "unscored", "score is NaN"),
        ("b", "scored", None),
        ("c", "unscored", "score is not finite (-inf)"),
        ("d", "unscored", "score is null"),
        ("e", "unscored", "score is not finite (beyond a float)"),
        ("9007199254740993", "scored", None),
        ("9007199254740992", "scored", None),
    ]
    assert np.nansum(records.numbers["value"]) == 2.0
    assert "2 scores are not finite and count as unscored" in " ".join(records.notes)
    assert "sample ids are partly numbers and partly text" in " ".join(records.notes)


def test_null_within_objects_of_old_logs_is_flagged(make_log, log_parts):
    header, sample = log_parts
    samples = [sample("a", {"x": None, "y": 1}), sample("b", {"x": 1, "y": 1})]
    new = read_log(make_log(samples))
    assert new.notes == ()
    spec = header()["eval"] | {"packages": {"inspect_ai": "0.3.252"}}
    old = read_log(make_log(samples, eval=spec))
    assert "1 null scores within objects may have been NaN" in " ".join(old.notes)
    assert rows(old, "unit", "metric", "status")[0] == ("a", "match.x", "unscored")


def test_a_lone_surrogate_is_written_out(make_log, log_parts):
    """Case H32."""
    _, sample = log_parts
    path = make_log([sample("a", 1, metadata={"text": "ok \ud83d end"}), sample("b", 0)])
    records = read_log(path)
    text = records.factor("text").values()[0]
    assert text == "ok \\ud83d end"
    assert text.encode("utf-8")
    assert records.notes == ("made.eval: 1 halves of surrogate pairs are written out, as \\udXXX",)


def test_metadata_never_takes_the_name_of_another_column(make_log, log_parts):
    _, sample = log_parts
    metadata = {"model": "m", "outcome": "x", "value": 3, "arg.k": True, "long": "x" * 300}
    path = make_log([sample("a", 1, metadata=metadata), sample("b", 1)])
    records = read_log(path)
    one = records.select(unit="a")
    names = ("model", "metadata.model", "metadata.outcome", "metadata.value", "metadata.arg.k")
    assert rows(one, *names) == [("mockllm/model", "m", "x", "3", "true")]
    assert records.numbers["value"].tolist() == [1.0, 1.0]
    assert records.factor("metadata.model").values() == ["m", None]
    assert records.notes == ("made.eval: metadata left out (long text): long",)


def test_arguments_of_the_task_are_arms(make_log, log_parts):
    header, sample = log_parts
    spec = header()["eval"] | {"task_args": {"shots": 5, "tools": ["a"]}, "solver": "react"}
    records = read_log(make_log([sample("a", 1)], eval=spec))
    assert rows(records, "arg.shots", "solver") == [("5", "react")]
    assert "arg.tools" not in records.factors
    # The missing sample b is attributed to its arm.
    assert account(records, by=["arg.shots", "metric"]).rows[0].n("missing") == 1
    assert account(records, by=["arg.shots", "metric"]).unplaced == ()


def test_missing_cells_are_named_and_add_up(make_log, log_parts):
    header, sample = log_parts
    spec = header()["eval"] | {"config": {"epochs": 3}}
    path = make_log([sample("a", 1), sample("b", 0, 2)], eval=spec)
    records = read_log(path)
    assert tally(records, metric="match") == {"scored": 2, "missing": 4}
    assert records.losses.entries[0].examples[:2] == ("b epoch 1", "a epoch 2")


@pytest.mark.parametrize(
    ("dataset", "config", "planned"),
    [
        ({"samples": 100}, {"limit": 4}, 4),
        ({"samples": 100}, {"limit": [10, 14], "epochs": 2}, 8),
        ({"samples": 100, "sample_ids": ["a", "z"]}, {"limit": 4}, 2),
        ({"samples": 3}, {}, 3),
        ({}, {}, 1),
    ],
)
def test_the_plan_follows_ids_then_limit_then_samples(
    make_log, log_parts, dataset, config, planned
):
    header, sample = log_parts
    spec = header()["eval"] | {"dataset": dataset, "config": config}
    records = read_log(make_log([sample("a", 1)], eval=spec))
    assert account(records).planned == planned


def test_a_header_that_states_more_than_its_ids_is_believed_with_a_note(make_log, log_parts):
    _, sample = log_parts
    records = read_log(make_log([sample("a", 1)], results={"total_samples": 40, "scores": []}))
    assert account(records).planned == 40
    assert "the header states 40 samples, its ids × epochs give 2" in " ".join(records.notes)


def test_a_task_without_a_scorer_still_adds_up(make_log):
    records = read_log(make_log([{"id": "a", "epoch": 1, "scores": {}}]))
    assert rows(records, "unit", "metric", "status", "reason") == [
        ("a", None, "unscored", "the task has no scorer")
    ]
    table = account(records, by=["metric"])
    assert [(row.labels, row.planned) for row in table.rows] == [(("(none)",), 2)]


def test_a_scorer_that_no_sample_shows_is_taken_from_the_header(make_log, log_parts):
    header, _ = log_parts
    errors = [{"id": i, "epoch": 1, "error": {"message": "boom\nline 2"}} for i in ("a", "b")]
    spec = header()["eval"] | {
        "scorers": [{"name": "stage", "metrics": {"clean": [], "emitted": []}}, {"name": "match"}]
    }
    records = read_log(make_log(errors, eval=spec))
    assert records.factor("metric").levels == ("stage.clean", "stage.emitted", "match")
    assert set(rows(records, "status", "reason")) == {("errored", "boom")}


def test_single_scores_of_old_logs_take_the_scorer_of_the_header(tmp_path):
    log = {
        "version": 1,
        "status": "success",
        "eval": {"task": "t", "model": "m", "run_id": "r", "task_id": "t", "dataset": {},
                 "config": {}},
        "plan": {},
        "results": {"total_samples": 1, "scores": [{"name": "match", "scorer": "match"}]},
        "samples": [{"id": 1, "epoch": 1, "score": {"value": "C"}}],
    }  # fmt: skip
    path = tmp_path / "no pattern in this name"
    path.write_text(json.dumps(log))
    records = read_log(path)
    assert rows(records, "unit", "metric", "value", "run") == [("1", "match", 1.0, "r/t")]


def test_a_later_reading_of_a_cell_counts(make_log, log_parts):
    _, sample = log_parts
    other = sample("a", 0)
    path = make_log([sample("a", 1), other])
    records = read_log(path)
    assert records.numbers["value"].tolist() == [0.0]
    assert records.notes == ("made.eval: 1 members occur more than once; the last one counts",)


def write_json(tmp_path, log):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    return path


def test_a_header_alone_is_a_plan_without_rows(log_parts, tmp_path):
    header, _ = log_parts
    stated = [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": 1}}}]
    log = header(results={"total_samples": 2, "completed_samples": 2, "scores": stated})
    records = read_log(write_json(tmp_path, log))
    assert len(records) == 0
    assert tally(records, model="mockllm/model", metric="match") == {"missing": 2}
    assert records.notes == ("log.json: the file holds no samples, only the header",)


def test_the_last_reading_of_a_cell_in_one_object_counts(log_parts, tmp_path):
    header, sample = log_parts
    log = header(samples=[sample("a", 1), sample("b", 1), sample("a", 0)])
    records = read_log(write_json(tmp_path, log))
    assert rows(records, "unit", "value") == [("a", 0.0), ("b", 1.0)]
    assert records.notes == ("log.json: 1 older readings of a sample were superseded",)


def test_a_log_without_sample_members_falls_back_on_its_summaries(zips, log_parts, tmp_path):
    entry, write = zips
    header, sample = log_parts
    brief = [sample("a", "C"), sample("b", "I", error="boom", limit="token")]
    members = {"header.json": header(), "summaries.json": brief}
    path = tmp_path / "x.eval"
    path.write_bytes(write([entry(n, json.dumps(d).encode()) for n, d in members.items()]))
    records = read_log(path)
    assert rows(records, "unit", "status", "limit") == [
        ("a", "scored", None),
        ("b", "errored", "token"),
    ]
    assert "2 samples are known from the summaries alone" in records.notes[0]


def test_journal_summaries_are_read_in_the_order_of_their_numbers(zips, log_parts, tmp_path):
    entry, write = zips
    header, sample = log_parts
    start = {name: value for name, value in header().items() if name in ("version", "eval")}
    members = {
        "_journal/start.json": start,
        "_journal/summaries/10.json": [sample("a", 0)],
        "_journal/summaries/9.json": [sample("a", 1), sample("b", 1)],
    }
    path = tmp_path / "x.eval"
    path.write_bytes(write([entry(n, json.dumps(d).encode()) for n, d in members.items()]))
    records = read_log(path, detail="summaries")
    assert rows(records, "unit", "value") == [("a", 0.0), ("b", 1.0)]
    assert "run status is started: 2 of 2 planned samples left a row" in " ".join(records.notes)


def test_a_newer_version_and_invalidated_summaries_are_told(make_log, log_parts):
    _, sample = log_parts
    records = read_log(make_log([sample("a", 1)], version=9))
    assert "log version 9 is newer than this reader knows (2)" in records.notes[0]


def test_limits_that_the_scorer_survived_are_kept_apart(make_log, log_parts):
    _, sample = log_parts
    halted = {"type": "token", "limit": 100}
    path = make_log([sample("a", 1, limit=halted), sample("b", None, limit=halted)])
    records = read_log(path)
    assert rows(records, "unit", "status", "limit", "reason") == [
        ("a", "scored", "token", None),
        ("b", "limited", "token", "halted by the token limit; score is null"),
    ]


def test_usage_adds_up_over_models_and_no_price_is_no_zero(make_log, log_parts):
    _, sample = log_parts
    usage = {
        "m1": {"input_tokens": 10, "output_tokens": 2, "total_cost": 0.5},
        "m2": {"input_tokens": 1, "output_tokens": 3, "total_cost": None},
    }
    free = {"m1": {"input_tokens": 5, "output_tokens": 1, "total_cost": None}}
    path = make_log(
        [sample("a", 1, model_usage=usage, total_time=2.5), sample("b", 1, model_usage=free)]
    )
    records = read_log(path)
    assert rows(records, "tokens_in", "tokens_out") == [(11.0, 5.0), (5.0, 1.0)]
    assert records.numbers["cost_usd"][0] == 0.5
    assert np.isnan(records.numbers["cost_usd"][1])
    assert records.numbers["duration_s"][0] == 2.5


BROKEN = {
    "not a log": ({"a.txt": b"x"}, "a zip archive, but not an Inspect log: it holds a.txt and no"),
    "nothing": ({}, "it holds nothing and no header.json"),
    "header": ({"header.json": b'{"eval": {'}, r"header.json is not valid JSON"),
    "no model": ({"header.json": b'{"eval": {"task": "t"}}'}, "missing required field `model`"),
    "deep": ({"header.json": b"[" * 10**5}, "nested too deeply"),
    "latin": ({"header.json": b'{"eval": "\xff"}'}, r"not UTF-8 text \(byte 10\)"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_archive_is_refused_in_one_line(zips, tmp_path, case):
    entry, write = zips
    members, words = BROKEN[case]
    path = tmp_path / "x.eval"
    path.write_bytes(write([entry(n, d) for n, d in members.items()]))
    with pytest.raises(DataError, match=words) as caught:
        read_log(path)
    assert str(caught.value).startswith("x.eval")
    assert "\n" not in str(caught.value)
