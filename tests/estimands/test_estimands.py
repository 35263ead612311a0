"""Estimands as data, on a table small enough to add up by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simtrack.analysis import estimate
from simtrack.counts import Counts
from simtrack.errors import DataError, InputError
from simtrack.estimands import (
    CATALOGUE,
    RATE,
    Contrast,
    Estimand,
    Unavailable,
    equal_weight,
    estimand,
    factorial_effect,
)
from simtrack.records import Records
from simtrack.taxonomy import STAGEIF, STAGES

OUTCOMES = STAGEIF.codes


def rows(*entries: tuple[str, str, str, str, str, str, int]) -> Counts:
    """Make a table from (cluster, duty, gold, reported, emitted, outcome, n)."""
    cells = [[n if outcome == o else 0 for o in OUTCOMES] for *_, outcome, n in entries]
    column = lambda k: [entry[k] for entry in entries]  # noqa: E731
    return Counts.from_cells(
        cells,
        outcomes=OUTCOMES,
        cluster=column(0),
        conditions={
            "duty": column(1),
            "stage": column(2),
            "gold": column(2),
            "reported": column(3),
            "emitted": column(4),
        },
    )


TABLE = rows(
    ("s1", "1", "READY", "READY", "1", "CLEAN", 6),
    ("s1", "1", "READY", "NEEDS_INFO", "1", "STATE_WRONG", 2),
    ("s1", "1", "READY", "none", "0", "APP_MISS", 1),
    ("s1", "1", "READY", "none", "0", "TRANSPORT", 1),
    ("s1", "1", "POST_OBS", "COMPLETED", "1", "STATE_WRONG", 3),
    ("s1", "1", "POST_OBS", "COMPLETED", "1", "APP_DIVERGENCE", 1),
    ("s1", "1", "POST_OBS", "none", "0", "APP_DIVERGENCE", 4),
    ("s1", "1", "POST_OBS", "POST_OBS", "1", "CLEAN", 2),
    ("s2", "1", "COMPLETED", "COMPLETED", "1", "CLEAN", 9),
    ("s2", "1", "COMPLETED", "READY", "1", "STATE_WRONG", 1),
    ("s2", "1", "COMPLETED", "none", "1", "MALFORMED", 2),
    ("s2", "0", "READY", "none", "0", "CLEAN", 7),
    ("s2", "0", "READY", "READY", "1", "APP_FALSE_ALARM", 3),
)


@pytest.mark.parametrize(
    ("name", "top", "bottom"),
    [
        # due and valid: READY 6+2+1, POST_OBS 3+1+4+2, COMPLETED 9+1+2 = 31
        ("adherence", 6 + 2 + 9, 31),
        ("intermediate_adherence", 6 + 2, 19),
        ("terminal_adherence", 9, 12),
        # without the five tool calls
        ("report_validity", 17, 26),
        ("withholding", 7, 10),
        ("false_alarm", 3, 10),
        # a tool call may carry a report: 6+2 + 3+1+2 + 9+1+2
        ("emission", 26, 31),
        ("speech", 26, 31),
        ("omission_share", 1, 31),
        ("divergence_share", 5, 31),
        ("malformed_share", 2, 31),
        ("wrong_value_share", 6, 31),
        # NEEDS_INFO at READY (2) and READY at COMPLETED (1) are stages already left
        ("stale_share", 3, 6),
        ("premature_share", 3, 5),
        # COMPLETED at POST_OBS: 3 wrong values and 1 on a tool call, over 31 + 10 valid rows
        ("false_completion", 4, 41),
        ("false_completion_reported", 4, 26 + 3),
        ("broad_adherence", 17 + 7, 41),
        ("position_adherence", 2, 10),
        ("completion_adherence", 9, 12),
    ],
)
def test_by_hand(name, top, bottom):
    totals = CATALOGUE[name].totals(TABLE)
    assert (totals.numerator.sum(), totals.denominator.sum()) == (top, bottom)


def test_false_completion_needs_a_report_that_was_emitted():
    # COMPLETED read off 5 replies that carry no report is no false completion; 2 reports are
    table = rows(
        ("s1", "1", "READY", "COMPLETED", "0", "APP_MISS", 5),
        ("s1", "1", "READY", "COMPLETED", "1", "STATE_WRONG", 2),
        ("s1", "1", "READY", "READY", "1", "CLEAN", 3),
    )
    totals = estimand("false_completion").totals(table)
    assert (totals.numerator.sum(), totals.denominator.sum()) == (2, 10)
    among_reports = estimand("false_completion_reported").totals(table)
    assert (among_reports.numerator.sum(), among_reports.denominator.sum()) == (2, 5)


def test_cells_go_to_their_cluster_and_condition():
    totals = estimand("adherence").totals(TABLE, by="stage")
    assert totals.conditions == (("COMPLETED",), ("POST_OBS",), ("READY",))
    assert totals.clusters == ("s1", "s2")
    assert totals.numerator.tolist() == [[0, 2, 6], [9, 0, 0]]
    assert totals.denominator.tolist() == [[0, 10, 9], [12, 0, 0]]


def test_stage_gap_is_a_difference_of_two_pooled_ratios():
    gap = estimand("stage_gap")
    assert gap.value(TABLE) == pytest.approx(8 / 19 - 9 / 12, rel=1e-15)
    first, second = gap.totals(TABLE)
    assert first.clusters == second.clusters


def test_a_contrast_is_weights_over_columns():
    gap = estimand("stage_gap")
    totals, weights = gap.stacked(TABLE)
    assert totals.clusters == ("s1", "s2")
    assert totals.numerator.tolist() == [[8, 0], [0, 9]]
    assert weights.tolist() == [1, -1]
    assert float((weights * totals.rates()).sum()) == pytest.approx(gap.value(TABLE), rel=1e-15)


def test_undefined_stays_undefined():
    only = TABLE.select(stage="COMPLETED")
    assert np.isnan(estimand("intermediate_adherence").totals(only).rates()[0])
    assert np.isnan(estimand("stage_gap").value(only))


def test_a_mean_of_ratios_is_not_a_pooled_ratio():
    mean = equal_weight(estimand("adherence"), "stage", ("READY", "POST_OBS"))
    assert mean.value(TABLE) == pytest.approx((6 / 9 + 2 / 10) / 2, rel=1e-15)


def test_factorial_effect_weighs_cells_equally():
    # cells (O, X): 00 1/2, 10 3/4, 01 2/2, 11 1/8 -> O: ((3/4-1/2) + (1/8-1)) / 2
    counts = Counts.from_cells(
        [[1, 1], [1, 3], [0, 2], [7, 1]],
        outcomes=("FAIL", "PASS"),
        cluster=["a"] * 4,
        conditions={"O": ["0", "1", "0", "1"], "X": ["0", "0", "1", "1"]},
    )
    effect = factorial_effect(RATE, {"O": ("0", "1"), "X": ("0", "1")}, "O")
    assert effect.value(counts) == pytest.approx(0.5 * (0.25 - 0.875), rel=1e-15)
    assert sum(w for w, _ in effect.terms) == Fraction(0)


def test_an_estimand_asks_for_the_factor_it_is_defined_on():
    plain = Counts.from_cells([[1] * len(OUTCOMES)], outcomes=OUTCOMES, cluster=["a"])
    with pytest.raises(InputError, match="grouped by duty, which adherence is defined on"):
        estimand("adherence").totals(plain)


def test_codes_of_another_scheme_are_refused():
    counts = Counts.from_cells([[1, 1]], outcomes=("FAIL", "PASS"), cluster=["a"])
    with pytest.raises(DataError, match="outcome FAIL, PASS is no code of stageif"):
        estimand("adherence").totals(counts)


def test_false_completion_keeps_silent_replies_in_its_denominator():
    # One cluster: 9 valid replies, of which 3 report (one says COMPLETED at READY, one says it at a
    # stage known only as a set), 4 are due and silent, 2 are not due. Nulls are null in the log.
    rows_ = [("COMPLETED", "READY", "1", "STATE_WRONG"), ("COMPLETED", "A|B", "1", "STATE_WRONG"),
             ("READY", "READY", "1", "CLEAN")]  # fmt: skip
    rows_ += [(None, "READY", None, "APP_MISS")] * 4 + [(None, None, None, "CLEAN")] * 2
    reported, gold, emitted, outcome = zip(*rows_, strict=True)
    records = Records.from_columns(
        {"unit": [str(k % 3) for k in range(9)], "reported": reported, "gold": gold,
         "emitted": emitted, "outcome": outcome}
    )  # fmt: skip
    assert estimate(records, "false_completion").rows[0].rate == pytest.approx(2 / 9)
    assert estimate(records, "false_completion_reported").rows[0].rate == pytest.approx(2 / 3)


def test_views_are_selected_before_they_are_scored():
    counts = Counts.from_cells(
        [[1, 1], [0, 2]],
        outcomes=("FAIL", "PASS"),
        cluster=["a", "a"],
        conditions={"view": ["strict", "stripped"]},
    )
    with pytest.raises(InputError, match="readings of the same trials"):
        RATE.totals(counts)
    assert RATE.totals(counts, by="view").rates().tolist() == [0.5, 1.0]


@pytest.mark.shared
def test_every_stageif_row_of_the_list_is_named_or_marked(shared):
    import csv

    text = (shared / "design" / "estimands.csv").read_text(encoding="utf-8")
    listed = [r["symbol"] for r in csv.DictReader(text.splitlines()) if r["paper"] == "StageIF"]
    assert len(listed) == len(set(listed))
    missing = [symbol for symbol in listed if LISTED.get(symbol) not in CATALOGUE]
    assert missing == []


# The symbols of the study's list of estimands -> our names.
LISTED = {
    "theta_z": "adherence",
    "theta_int": "intermediate_adherence",
    "phi_z": "report_validity",
    "omega": "withholding",
    "1-omega": "false_alarm",
    "E": "emission",
    "M": "speech",
    "miss": "omission_share",
    "div": "divergence_share",
    "malf": "malformed_share",
    "wrong": "wrong_value_share",
    "stale": "stale_share",
    "premature": "premature_share",
    "conf": "confusion",
    "W": "false_completion_event",
    "mu_t": "false_completion",
    "nu_t": "false_completion_reported",
    "Delta": "stage_gap",
    "Delta_E^B": "bundle_effect_on_emission",
    "Delta_mu^B": "bundle_effect_on_false_completion",
    "delta_d,J(j)": "factor_effect",
    "interaction": "interaction",
    "E1,E2": "injected_minus_baseline",
    "E3": "stage_gap",
    "five-arm": "five_arm_contrast",
    "O1,O2,O3": "obligation_adherence",
    "mean_d": "deployment_mean",
    "strict/stripped": "strict_and_stripped",
    "report_rate": "emission",
    "theta_bin": "position_adherence",
    "theta_pos": "adherence",
    "C/U": "completion_adherence",
    "all_wrong": "all_wrong",
    "all_right": "all_right",
    "K": "task_success",
    "gate_mix": "stall_share",
    "Delta_K^{B2-B1}": "gate_contrast",
    "replay": "gate_replay",
    "proxy1": "omitted_despite_success",
    "proxy2": "clean_despite_failure",
    "repair": "repair_rate",
    "seed": "seed_validity",
    "sign by endpoint": "sign_by_endpoint",
    "LMM": "mixed_model",
    "GEE": "gee",
    "LOCO": "leave_one_out",
    "reasoning": "reasoning_tokens",
    "survey": "framework_survey",
}


def test_the_catalogue_is_consistent():
    assert STAGES == ("NEEDS_INFO", "READY", "POST_OBS", "COMPLETED")
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert entry.source or name == "rate"
        if isinstance(entry, Estimand | Contrast):
            assert entry.interpretation
            assert estimand(name) is entry
        else:
            assert isinstance(entry, Unavailable)
            with pytest.raises(InputError, match="ratio of counts"):
                estimand(name)
