"""Estimates of every kind of table, and published logs."""

from __future__ import annotations

import csv
import json

import pytest

from simtrack.analysis import estimate
from simtrack.counts import Counts, Totals
from simtrack.errors import DataError, InputError
from simtrack.estimands import RATE
from simtrack.records import Records

#: Golden values are stated to four digits after the point (rates, errors) or two (design effects).
FOUR, TWO = 5e-5, 5e-3

UNITS = ["q1", "q1", "q2", "q2", "q3", "q3"]


def small(**more) -> Records:
    return Records.from_columns({"unit": UNITS, "value": [1, 1, 0, 1, 0, 0], **more})


def test_records_counts_and_totals_give_the_same_row():
    records = small()
    row = estimate(records).rows[0]
    assert estimate(records.counts()).rows[0] == row
    assert estimate(records.counts(), RATE).rows[0] == row
    assert estimate(records.counts(), "rate").rows[0] == row
    assert estimate(Totals.from_arrays([2, 1, 0], [2, 2, 2])).rows[0] == row
    assert estimate(records.sums()).rows[0] == row
    assert (row.n, row.clusters, row.rate) == (6, 3, 0.5)


def test_groups_come_in_the_order_of_their_levels():
    found = estimate(small(model=["b", "a"] * 3), by="model")
    assert [row.labels for row in found.rows] == [("a",), ("b",)]
    assert [row.rate for row in found.rows] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert found.by == ("model",)


def test_h18_rows_without_a_cluster_are_refused_or_stand_alone():
    records = Records.from_columns(
        {
            "unit": [f"u{k}" for k in range(8)],
            "cluster": ["a", "a", "b", "b", None, None, None, None],
            "value": [1, 1, 0, 0, 1, 1, 1, 1],
        }
    )
    with pytest.raises(DataError, match="4 scored rows have no cluster label"):
        estimate(records)
    own = estimate(records, missing_cluster="own").rows[0]
    assert own.clusters == 6
    assert own.clustered_se == pytest.approx(0.2072890494 * (6 / 5) ** 0.5, rel=1e-9)


def test_scores_outside_zero_and_one_get_the_cluster_t_interval():
    records = Records.from_columns({"unit": UNITS, "value": [3.0, 5.0, 1.0, 0.5, 2.0, 2.5]})
    for table in (records, records.sums(), records.sums().totals()):
        row = estimate(table).rows[0]
        assert row.method == "cluster t(G-1)"
        assert "outside [0, 1]" in row.notes[0]


def test_squares_betray_scores_above_one():
    totals = Totals.from_arrays([1.5, 1.0, 0.0], [2, 2, 2], square=[2.25, 1.0, 0.0])
    assert estimate(totals).rows[0].method == "cluster t(G-1)"


def test_sums_of_partial_scores_say_how_their_range_is_known():
    records = Records.from_columns({"unit": UNITS, "value": [1, 1, 0, 0.5, 0, 0]})
    known = "scores lie in [0, 1] as far as their sums and squares can tell"
    assert known not in estimate(records).rows[0].notes
    row = estimate(records.sums()).rows[0]
    assert row.method.startswith("bounded mean")
    assert known in row.notes


def test_partial_scores_are_rates_still():
    row = estimate(Records.from_columns({"unit": UNITS, "value": [1, 0.5, 0, 1, 0.5, 0]})).rows[0]
    assert row.method.startswith("bounded mean")
    assert row.notes[0].code == "default-interval"
    assert row.rate == 0.5
    assert row.naive_se == pytest.approx((1 / 5 / 6 * 1.0) ** 0.5)  # Σ(x-.5)² = 1, over 5, over 6


def test_one_cluster_has_no_interval_and_says_why():
    row = estimate(Records.from_columns({"unit": ["a"] * 4, "value": [1, 1, 0, 1]})).rows[0]
    assert (row.low, row.high, row.clustered_se, row.design_effect) == (None,) * 4
    assert row.naive_se == pytest.approx(0.25)
    assert any("one cluster" in note for note in row.notes)


def test_all_passed_is_no_certainty():
    row = estimate(Records.from_columns({"unit": UNITS, "value": [1] * 6})).rows[0]
    assert row.high == 1.0
    assert row.low == pytest.approx(0.025 ** (1 / 3))  # three clusters, whatever their size
    assert any("all scores are equal" in note for note in row.notes)


def test_what_was_left_out_is_shown():
    records = Records.from_columns(
        {"unit": UNITS, "value": [1, 1, 0, 1, 0, None], "status": ["scored"] * 5 + ["errored"]}
    )
    assert estimate(records).to_dict()["left_out"] == {"errored": 1}


def test_readings_of_the_same_trials_are_not_added_up():
    with pytest.raises(InputError, match="metric"):
        estimate(small(metric=["x", "y"] * 3))
    assert len(estimate(small(metric=["x", "y"] * 3), by="metric").rows) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate(small().counts(), cluster="family"), "cluster must be unit"),
        (lambda: estimate(small().sums(), RATE), "estimand must be left out"),
        (lambda: estimate([1, 0]), "table must be Counts, Sums, Totals or Records, got list"),
        (lambda: estimate(small(), by="arm"), "column must be one of"),
        (lambda: estimate(small(), level=95), "level must be strictly between 0 and 1"),
        (lambda: estimate(Totals.from_arrays([1], [2]), by="arm"), "the conditions of these"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_estimand_brings_its_own_selection():
    counts = Counts.from_cells(
        [[3, 1], [2, 2], [0, 4]],
        outcomes=("CLEAN", "APP_MISS"),
        cluster=["s1", "s2", "s1"],
        conditions={"duty": ["1", "1", "0"], "stage": ["READY", "READY", "READY"]},
    )
    row = estimate(counts, "adherence").rows[0]
    assert (row.n, row.rate) == (8, 5 / 8)


def test_json_and_frame_hold_the_same():
    found = estimate(small(model=["b", "a"] * 3), by="model")
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["schema"] == "simtrack.estimate/2"
    assert plain["rows"][0]["labels"] == {"model": "a"}
    frame = found.to_frame()
    assert list(frame["model"]) == ["a", "b"]
    assert frame["rate"].tolist() == [row.rate for row in found.rows]
    assert repr(found.rows[0]).startswith("Estimate(a: 0.6667")


@pytest.mark.shared
def test_tau_bench_airline(shared):
    """Published runs of gpt-4o: 50 tasks, 4 trials. The factor C/(C-1) is in: without it .0517."""
    path = shared / "logs/public/sierra-research__tau-bench/gpt-4o-airline.json"
    trials = json.loads(path.read_text())
    records = Records.from_columns(
        {
            "unit": [str(trial["task_id"]) for trial in trials],
            "value": [float(trial["reward"]) for trial in trials],
        }
    )
    row = estimate(records).rows[0]
    assert (row.n, row.clusters) == (200, 50)
    assert row.rate == pytest.approx(0.42, abs=FOUR)
    assert row.naive_se == pytest.approx(0.0350, abs=FOUR)
    assert row.clustered_se == pytest.approx(0.0522, abs=FOUR)
    assert row.design_effect == pytest.approx(2.23, abs=TWO)


@pytest.mark.shared
def test_gpqa_two_models(shared):
    path = shared / "logs/public/stephlinds__evalconfidence/gpqa_diamond_scores.csv"
    rows = list(csv.DictReader(path.read_text().split("\n")))
    records = Records.from_columns(
        {
            "unit": [row["item_id"] for row in rows],
            "model": [row["model_id"] for row in rows],
            "value": [float(row["score"]) for row in rows],
        }
    )
    found = estimate(records, by="model").rows
    assert [row.rate for row in found] == pytest.approx([0.6758, 0.6172], abs=FOUR)
    assert [row.naive_se for row in found] == pytest.approx([0.0149, 0.0155], abs=FOUR)
    assert [row.clustered_se for row in found] == pytest.approx([0.0276, 0.0296], abs=FOUR)
    assert [row.design_effect for row in found] == pytest.approx([3.44, 3.67], abs=TWO)
