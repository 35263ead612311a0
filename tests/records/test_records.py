"""The trial table: reductions, pairing by id, and an account of every row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.counts import Loss, Losses
from simtrack.errors import DataError, InputError
from simtrack.records import Records, account


def pair_records() -> Records:
    # Case H08: model B is in another order and lacks q7.
    a = {"q1": 1, "q2": 1, "q3": 0, "q4": 1, "q5": 1, "q6": 1, "q7": 0, "q8": 1}
    b = {"q8": 0, "q3": 0, "q1": 0, "q6": 0, "q2": 0, "q5": 0, "q4": 1}
    return Records.from_columns(
        {
            "unit": [*a, *b],
            "model": ["A"] * len(a) + ["B"] * len(b),
            "value": [*a.values(), *b.values()],
        }
    )


def test_pairs_are_joined_by_id_and_the_odd_one_is_reported():
    counts = pair_records().counts(cluster="unit", pair="model", on=("unit",))
    total = dict(zip(counts.outcomes, counts.cells.sum(axis=0).tolist(), strict=True))
    assert total == {"FAIL|FAIL": 1, "FAIL|PASS": 0, "PASS|FAIL": 5, "PASS|PASS": 1}
    assert counts.losses.by_kind() == {"unpaired": 1}
    assert counts.losses.entries[0].examples == ("q7",)


@given(st.permutations(range(15)))
def test_pairing_never_looks_at_row_order(order):
    records = pair_records()
    shuffled = records.take(np.array(order, dtype=np.intp))
    assert (
        shuffled.counts(pair="model", on=("unit",)).fingerprint
        == records.counts(pair="model", on=("unit",)).fingerprint
    )


def test_trials_that_share_their_id_cannot_be_paired():
    records = Records.from_columns(
        {"unit": ["a", "a", "a"], "model": ["A", "A", "B"], "value": [1, 0, 1]}
    )
    with pytest.raises(DataError, match="2 trials of A share unit=a"):
        records.counts(pair="model", on=("unit",))


def test_missing_cluster_labels_are_refused_or_made_their_own():
    # Case H18.
    records = Records.from_columns(
        {"task": ["a", "a", "b", "b", None, None, None, None], "value": [1, 1, 0, 0, 1, 1, 1, 1]}
    )
    with pytest.raises(DataError, match=r"4 scored rows have no task label \(first: row 5\)"):
        records.counts(cluster="task")
    counts = records.counts(cluster="task", missing_cluster="own")
    assert len(counts.cluster.levels) == 6
    assert counts.n == 8


def test_rows_without_a_score_are_counted_by_kind():
    # Case H37: 10 samples, 4 right, 2 wrong, 1 without a score, 3 errored.
    records = Records.from_columns(
        {
            "unit": [f"s{i}" for i in range(10)],
            "value": [1, 1, 1, 1, 0, 0, None, None, None, None],
            "status": ["scored"] * 6 + ["unscored"] + ["errored"] * 3,
        }
    )
    counts = records.counts()
    assert counts.cells.sum(axis=0).tolist() == [2, 4]
    assert counts.losses.by_kind() == {"errored": 3, "unscored": 1}
    table = account(records)
    assert (table.planned, table.total("scored"), table.total("errored")) == (10, 6, 3)


def test_rowless_losses_are_placed_where_they_are_known():
    records = Records.from_columns({"model": ["a", "b"], "value": [1, 0]})
    records = Records(
        records.factors,
        records.numbers,
        Losses((Loss("missing", 4, "cut", (("model", "a"),)), Loss("errored", 2, "?"))),
    )
    table = account(records, ["model"])
    assert [(r.labels, r.planned, r.n("missing")) for r in table.rows] == [
        (("a",), 5, 4),
        (("b",), 1, 0),
    ]
    assert [loss.n for loss in table.unplaced] == [2]
    assert table.planned == 8


def test_scores_that_are_no_categories_are_not_counted():
    records = Records.from_columns({"unit": ["a", "b"], "value": [0.5, 1]})
    with pytest.raises(DataError, match=r"1 scores are neither 0 nor 1 \(first: 0.5\)"):
        records.counts()
    assert records.sums().totals().rates().tolist() == [0.75]


def test_readings_of_one_trial_must_be_selected():
    records = Records.from_columns(
        {"unit": ["a", "a"], "metric": ["strict", "lenient"], "value": [0, 1]}
    )
    with pytest.raises(InputError, match="readings of the same trials, got lenient, strict"):
        records.counts()
    assert records.select(metric="strict").counts().n == 1
    assert records.counts(by=["metric"]).n == 2


def test_a_row_without_a_condition_label_is_a_group_of_its_own():
    records = Records.from_columns({"unit": ["a", "b"], "stage": ["x", None], "value": [1, 1]})
    counts = records.counts(by=["stage"])
    assert counts.conditions["stage"].levels == ("x", "(none)")
    assert (counts.n, counts.losses.total()) == (2, 0)
    assert [row.labels for row in account(records, ["stage"]).rows] == [("x",), ("(none)",)]


def test_concatenated_tables_keep_their_rows_apart():
    first = Records.from_columns({"unit": ["a"], "value": [1]})
    second = Records.from_columns({"unit": ["b"], "arm": ["x"], "value": [0]})
    both = Records.concatenate([first, second])
    assert both.factors["arm"].values() == [None, "x"]
    assert both.counts(by=["arm"]).conditions["arm"].levels == ("x", "(none)")


def test_unknown_columns_are_named():
    with pytest.raises(InputError, match="column must be one of unit, got 'task'"):
        Records.from_columns({"unit": ["a"], "value": [1]}).counts(cluster="task")


@given(st.data())
def test_every_row_is_counted_or_lost(data):
    rows = data.draw(st.integers(1, 40))
    draw = lambda *options: data.draw(  # noqa: E731
        st.lists(st.sampled_from(options), min_size=rows, max_size=rows)
    )
    status = draw("scored", "errored", "unscored", "limited")
    records = Records.from_columns(
        {
            "unit": draw("a", "b", "c"),
            "stage": draw("x", "y", None),
            "status": status,
            "value": draw(0, 1, None),
        }
    )
    counts = records.counts(by=["stage"])
    assert counts.n + counts.losses.total() == rows
    assert account(records, ["stage"]).planned == rows
