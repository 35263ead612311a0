"""A table exported as Inspect's log and read back has every class, reason and loss it had."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simtrack.counts import Loss, Losses
from simtrack.logs import read_log, write_inspect
from simtrack.options import Status
from simtrack.records import Records, account

STATUSES = get_args(Status)
#: One trial a class, with what made it so.
REASONS = {
    "scored": None,
    "unscored": "the judge gave no verdict",
    "errored": "RuntimeError('upstream 502') in a message of more than a hundred and twenty "
    "characters, which is where a log's own errors are cut, and this is longer",
    "limited": "halted by the max_steps limit",
    "infrastructure": "no answer from the host",
    "early-stopped": "stopped by rule P",
    "invalidated": "the scenario was wrong",
    "missing": "the disk was full",
}


def one_of_each():
    return Records.from_columns(
        {
            "unit": [f"q{k}" for k in range(len(STATUSES))],
            "repetition": ["1"] * len(STATUSES),
            "metric": ["m"] * len(STATUSES),
            "status": STATUSES,
            "reason": [REASONS[s] for s in STATUSES],
            "limit": ["max_steps" if s in {"limited", "unscored"} else None for s in STATUSES],
            "value": [0.5 if s == "scored" else None for s in STATUSES],
        }
    )


def rows(records):
    """Give every trial with its class, reason, limit and value, those left without a row too."""
    names = ("unit", "repetition", "metric", "status", "reason", "limit")
    count = len(records)
    labels = [
        records.factors[n].values() if n in records.factors else [None] * count for n in names
    ]
    values = [None if math.isnan(v) else v for v in records.numbers["value"].tolist()]
    return sorted(map(repr, zip(*labels, values, strict=True)))


def lost(records):
    """Count the losses: rows of trials that a log has no sample of, and those without a row."""
    found = Counter()
    left = {"missing", "early-stopped"}
    metrics = records.factors["metric"].values()
    for status, reason, metric in zip(
        records.factors["status"].values(), records.factors["reason"].values(), metrics, strict=True
    ):
        if status in left:
            found[status, reason or "", metric] += 1
    for loss in records.losses.entries:
        found[loss.kind, loss.reason, dict(loss.where).get("metric")] += loss.n
    return found


def sampled(records):
    """Leave out the trials that no metric has a sample of."""
    trials = list(
        zip(records.factors["unit"].values(), records.factors["repetition"].values(), strict=True)
    )
    left: dict[object, set[str]] = {}
    for trial, status in zip(trials, records.factors["status"].values(), strict=True):
        left.setdefault(trial, set()).add(status)
    gone = {t for t, found in left.items() if found in ({"missing"}, {"early-stopped"})}
    return records.take(np.array([t not in gone for t in trials]))


def rewritten_by_inspect(path, name):
    """Let Inspect read a log and write it anew."""
    log_module = pytest.importorskip("inspect_ai.log")
    log_module.write_eval_log(log_module.read_eval_log(str(path)), str(path.with_name(name)))
    return path.with_name(name)


def test_every_class_and_reason_is_read_back(tmp_path):
    wanted = one_of_each()
    assert write_inspect(wanted, tmp_path / "log.json") == ()
    found = read_log(tmp_path / "log.json")
    assert rows(found) == rows(sampled(wanted))
    assert lost(found) == lost(wanted)
    assert account(found, by=["metric"]).rows == account(wanted, by=["metric"]).rows


@pytest.mark.parametrize("name", ["anew.json", "anew.eval"])
def test_every_class_and_reason_outlives_inspect(tmp_path, name):
    wanted = one_of_each()
    write_inspect(wanted, tmp_path / "log.json")
    found = read_log(rewritten_by_inspect(tmp_path / "log.json", name))
    assert rows(found) == rows(sampled(wanted))
    assert lost(found) == lost(wanted)


def test_inspect_itself_sees_the_nearest_that_it_knows(tmp_path):
    log_module = pytest.importorskip("inspect_ai.log")
    write_inspect(one_of_each(), tmp_path / "log.json")
    log = log_module.read_eval_log(str(tmp_path / "log.json"))
    by_unit = dict(zip([f"q{k}" for k in range(len(STATUSES))], STATUSES, strict=True))
    found = {by_unit[s.id]: s for s in log.samples}
    assert found["infrastructure"].error.message == "infrastructure: no answer from the host"
    assert found["errored"].error.message == REASONS["errored"]
    assert found["limited"].limit.type == "custom"
    assert found["invalidated"].invalidation.reason == REASONS["invalidated"]
    assert found["scored"].scores["m"].value == 0.5
    assert [s.id for s in log.results.early_stopping.early_stops] == [
        f"q{STATUSES.index('early-stopped')}"
    ]
    assert log.results.total_samples == len(STATUSES)


@st.composite
def tables(draw):
    """Draw trials on two metrics that may meet different fates, with losses without a row."""
    statuses = st.sampled_from(STATUSES)
    texts = st.sampled_from([None, "why", "a\nb", "é", "halted by the token limit", "x" * 300])
    made = []
    for unit in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)):
        limit = draw(st.sampled_from([None, "token", "max_steps", "custom"]))
        for metric in ("m", "n.k"):
            status = draw(statuses)
            value = draw(st.sampled_from([0.0, 1.0, 0.25])) if status == "scored" else None
            made.append((unit, "1", metric, status, draw(texts), limit, value))
    names = ("unit", "repetition", "metric", "status", "reason", "limit", "value")
    columns = dict(zip(names, zip(*made, strict=True), strict=True))
    records = Records.from_columns(columns, levels={"metric": ["m", "n.k"]})
    kinds = st.sampled_from([s for s in STATUSES if s != "scored"])
    entries = [
        Loss(draw(kinds), draw(st.integers(0, 3)), draw(st.sampled_from(["cut", ""])),
             (("metric", metric),))
        for metric in ("m", "n.k")
    ]  # fmt: skip
    return Records(records.factors, records.numbers, Losses.of(entries))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wanted=tables())
def test_any_classes_and_reasons_are_read_back(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("c") / "log.json"
    assert write_inspect(wanted, path) == ()
    found = read_log(path)
    kept = sampled(wanted)
    assert rows(found) == rows(kept)
    assert account(found, by=["metric"]).rows == account(wanted, by=["metric"]).rows
    assert lost(found) == lost(wanted)
    assert write_inspect(found, path) == ()
    assert rows(read_log(path)) == rows(kept)


def test_losses_of_two_metrics_without_a_row_are_read_back(tmp_path):
    entries = [Loss("infrastructure", 20, "host", (("metric", m),)) for m in ("m", "n")]
    write_inspect(Records({}, {"value": np.empty(0)}, Losses.of(entries)), tmp_path / "log.json")
    found = account(read_log(tmp_path / "log.json"), by=["metric"])
    assert [(r.labels, r.planned, r.n("infrastructure")) for r in found.rows] == [
        (("m",), 20, 20), (("n",), 20, 20)
    ]  # fmt: skip


def changed(path, change):
    log = json.loads(path.read_text("utf-8"))
    change(log)
    path.write_text(json.dumps(log), "utf-8")
    found = read_log(path)
    units, states = found.factors["unit"].values(), found.factors["status"].values()
    return dict(zip(units, states, strict=True)), found


def test_what_inspect_says_since_counts_more_than_what_was_carried(tmp_path):
    write_inspect(one_of_each(), tmp_path / "log.json")

    def rescore(log):
        for sample in log["samples"]:
            sample["error"] = sample["limit"] = sample["invalidation"] = None
            sample["scores"] = {"m": {"value": 1.0}}

    states, _ = changed(tmp_path / "log.json", rescore)
    assert set(states.values()) == {"scored"}


def test_a_log_that_grew_counts_its_own_losses(tmp_path):
    write_inspect(one_of_each(), tmp_path / "log.json")

    def run_the_missing_one(log):
        log["samples"].append({"id": f"q{STATUSES.index('missing')}", "epoch": 1,
                               "scores": {"m": {"value": 1}}})  # fmt: skip

    _, found = changed(tmp_path / "log.json", run_the_missing_one)
    table = account(found)
    assert (table.planned, table.total("missing"), table.total("scored")) == (8, 0, 2)


BLOCKS = [None, [], "x", {"metrics": []}, {"metrics": {"m": "scored"}}, {"limit": 3},
          {"metrics": {"m": ["scored", None, "errored"], "z": ["errored", "", "scored"]}},
          {"metrics": {"m": ["won", None, "scored"]}}, {"metrics": {"m": [[], {}, 1]}}]  # fmt: skip


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_a_block_that_says_nonsense_is_passed_over(tmp_path, block):
    write_inspect(one_of_each(), tmp_path / "log.json")

    def spoil(log):
        for sample in log["samples"]:
            sample["metadata"]["simtrack_fates"] = block
        log["eval"]["metadata"]["simtrack_losses"] = block

    states, found = changed(tmp_path / "log.json", spoil)
    assert Counter(states.values()) == {
        "scored": 1, "limited": 2, "errored": 2, "invalidated": 1
    }  # fmt: skip
    assert account(found).planned == len(STATUSES)


LOSSES = [3, [1], [{"kind": "won", "n": 1, "reason": "", "where": {}, "examples": []}],
          [{"kind": "missing", "n": -1, "reason": "", "where": {}, "examples": []}],
          [{"kind": "missing", "n": 1, "reason": "", "where": {"a": 1}, "examples": []}],
          [{"kind": "missing", "n": True, "reason": "", "where": {}, "examples": []}],
          [{"kind": "missing", "n": 10**40, "reason": "", "where": {}, "examples": []}],
          [{"kind": [], "n": 1, "reason": "", "where": {}, "examples": []}]]  # fmt: skip


@pytest.mark.parametrize("losses", LOSSES, ids=str)
def test_losses_that_say_nonsense_are_passed_over(tmp_path, losses):
    write_inspect(one_of_each(), tmp_path / "log.json")

    def spoil(log):
        log["eval"]["metadata"]["simtrack_losses"]["losses"] = losses

    _, found = changed(tmp_path / "log.json", spoil)
    assert account(found).planned == len(STATUSES)
