"""What a rate is under each policy for missing scores, by hand."""

from __future__ import annotations

import json

import pytest

from simtrack.analysis.estimate import estimate
from simtrack.analysis.missing import totals_under_policy
from simtrack.analysis.sensitivity import sensitivity
from simtrack.counts import Loss, Losses, Totals
from simtrack.errors import InputError
from simtrack.estimands import estimand
from simtrack.records import Records

POLICIES = ("drop", "as-failure", "as-success", "bounds")


def rates(row):
    return [(r.rate_low, r.rate_high) for r in (row.rate(p) for p in POLICIES)]


def with_losses(records, *losses):
    return Records(records.factors, records.numbers, Losses(losses))


def test_h23_infrastructure_losses_are_bounded_on_planned_trials():
    lost = "infrastructure"
    records = Records.from_columns(
        {
            "unit": ["T1", "T1", "T2", "T2", "T3", "T3"],
            "value": [1, None, 0, 1, None, None],
            "status": ["scored", lost, "scored", "scored", lost, lost],
        }
    )
    row = sensitivity(records).rows[0]
    assert (row.planned, row.scored, row.imputed) == (6, 3, {"infrastructure": 3})
    assert (row.clusters_planned, row.clusters_scored) == (3, 2)
    assert rates(row) == [(2 / 3, 2 / 3), (1 / 3, 1 / 3), (5 / 6, 5 / 6), (1 / 3, 5 / 6)]
    assert row.rate("as-failure").n == 6


def test_h37_errored_and_unscored_samples_stay_in_the_denominator():
    records = Records.from_columns(
        {
            "unit": [f"s{k}" for k in range(10)],
            "value": [1.0] * 4 + [0.0] * 2 + [float("nan")] * 4,
            "status": ["scored"] * 7 + ["errored"] * 3,
        }
    )
    row = sensitivity(records).rows[0]
    assert (row.planned, row.scored) == (10, 6)
    assert row.imputed == {"errored": 3, "unscored": 1}
    assert rates(row) == [(4 / 6, 4 / 6), (0.4, 0.4), (0.8, 0.8), (0.4, 0.8)]


def test_a_lost_row_counts_in_its_own_cluster():
    records = Records.from_columns(
        {"unit": ["a", "a", "b", "b", "c", "c"], "value": [1, None, 1, 0, 1, 1],
         "status": ["scored", "errored", *["scored"] * 4]}
    )  # fmt: skip
    failed = sensitivity(records).rows[0].rate("as-failure")
    right = estimate(Totals.from_arrays([1, 1, 2], [2, 2, 2])).rows[0]
    assert (failed.low, failed.high) == (right.low, right.high)
    passed = sensitivity(records).rows[0].rate("as-success")
    right = estimate(Totals.from_arrays([2, 1, 2], [2, 2, 2])).rows[0]
    assert (passed.low, passed.high) == (right.low, right.high)
    bounds = sensitivity(records).rows[0].rate("bounds")
    assert (bounds.low, bounds.high) == (failed.low, passed.high)


def test_losses_without_a_row_are_planned_too_and_share_one_cluster():
    records = Records.from_columns({"unit": ["a", "b", "c"], "value": [1, 0, 1]})
    row = sensitivity(with_losses(records, Loss("missing", 3, "run cut"))).rows[0]
    assert (row.planned, row.clusters_planned) == (6, 4)
    assert rates(row)[3] == (2 / 6, 5 / 6)
    assert row.notes == ("3 lost trials of unknown cluster are taken as one cluster",)
    named = with_losses(records, Loss("missing", 3, "run cut", (("unit", "b"),)))
    assert (sensitivity(named).rows[0].clusters_planned, sensitivity(named).rows[0].notes) == (
        3,
        (),
    )


def test_what_is_missing_by_design_is_stated_and_left_alone():
    records = Records.from_columns(
        {"unit": list("abcd"), "value": [1, 0, None, None],
         "status": ["scored", "scored", "early-stopped", "invalidated"]}
    )  # fmt: skip
    row = sensitivity(records).rows[0]
    assert (row.planned, row.scored, row.imputed) == (4, 2, {})
    assert row.by_design == {"early-stopped": 1, "invalidated": 1}
    assert rates(row)[3] == (0.5, 0.5)
    assert row.notes == ("not imputed: 1 early-stopped, 1 invalidated",)
    asked = sensitivity(records, imputed=("early-stopped",)).rows[0]
    assert rates(asked)[3] == (1 / 3, 2 / 3)


def test_a_group_that_lost_everything_keeps_its_row():
    records = Records.from_columns(
        {"unit": list("abcd"), "model": ["y", "y", "x", "x"], "value": [1, 0, None, None],
         "status": ["scored", "scored", "errored", "errored"]},
        levels={"model": ["y", "x"]},
    )  # fmt: skip
    found = sensitivity(records, by="model")
    assert [row.labels for row in found.rows] == [("y",), ("x",)]
    lost = found.rows[1]
    assert rates(lost) == [(None, None), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    assert lost.rate("drop").notes == ("no scored trial",)
    only = records.take([2, 3])
    assert [row.labels for row in sensitivity(only, by="model").rows] == [("x",)]


def test_losses_of_unknown_group_are_said_in_every_row():
    records = Records.from_columns(
        {"unit": list("ab"), "model": ["x", "y"], "value": [1, 0]}
    )  # fmt: skip
    found = sensitivity(with_losses(records, Loss("missing", 4, "?")), by="model")
    assert [row.planned for row in found.rows] == [1, 1]
    assert found.to_dict()["unplaced"] == 4
    assert all("4 lost trials belong to no known group" in row.notes[0] for row in found.rows)


def test_an_estimand_rules_out_losses_that_are_no_opportunity_of_it():
    records = Records.from_columns(
        {"unit": list("abcde"), "stage": ["READY"] * 5, "duty": ["1", "1", "0", "1", "0"],
         "outcome": ["CLEAN", "STATE_WRONG", "APP_MISS", None, None],
         "status": ["scored"] * 3 + ["errored"] * 2},
    )  # fmt: skip
    row = sensitivity(records, estimand("adherence")).rows[0]
    assert (row.planned, row.imputed) == (3, {"errored": 1})
    assert rates(row)[3] == (1 / 3, 2 / 3)


def test_counts_know_their_losses_by_group():
    records = Records.from_columns(
        {"unit": list("abcd"), "model": ["x", "x", "x", "y"], "value": [1, 0, None, 1],
         "status": ["scored", "scored", "errored", "scored"]}
    )  # fmt: skip
    by_rows = sensitivity(records, by="model")
    by_counts = sensitivity(records.counts(by=["model"]), by="model")
    assert [rates(r) for r in by_counts.rows] == [rates(r) for r in by_rows.rows]
    assert "unknown cluster" in by_counts.rows[0].notes[0]


def test_scores_outside_zero_and_one_need_their_ends():
    records = Records.from_columns(
        {"unit": list("abc"), "value": [5.0, 3.0, None], "status": ["scored"] * 2 + ["errored"]}
    )
    with pytest.raises(InputError, match="worst and best must be given"):
        sensitivity(records)
    row = sensitivity(records, worst=1, best=7).rows[0]
    assert rates(row) == [(4.0, 4.0), (3.0, 3.0), (5.0, 5.0), (3.0, 5.0)]


def test_statuses_and_policies_are_checked():
    records = Records.from_columns({"unit": ["a", "b"], "value": [1, 0]})
    with pytest.raises(InputError, match="imputed must be statuses other than scored"):
        sensitivity(records, imputed=("scored",))
    with pytest.raises(InputError, match="policy must be one of drop, as-failure"):
        sensitivity(records).rows[0].rate("ignore")


def test_frame_and_json_show_all_policies():
    records = Records.from_columns({"unit": ["a", "b"], "value": [1, 0]})
    found = sensitivity(records)
    assert found.to_frame()["policy"].tolist() == list(POLICIES)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["schema"] == "simtrack.sensitivity/2"
    assert set(plain["rows"][0]["rates"]) == set(POLICIES)


def test_one_policy_gives_totals_that_any_verb_takes():
    records = Records.from_columns(
        {"unit": ["a", "a", "b", "c"], "value": [1, None, 0, 1],
         "status": ["scored", "errored", "scored", "scored"]}
    )  # fmt: skip
    shown = sensitivity(records).rows[0]
    for policy in ("drop", "as-failure", "as-success"):
        found = estimate(totals_under_policy(records, policy)).rows[0]
        rate = shown.rate(policy)
        assert (found.rate, found.low, found.high) == (rate.rate_low, rate.low, rate.high)
    with pytest.raises(InputError, match=r"Use sensitivity\(\) for both bounds"):
        totals_under_policy(records, "bounds")
