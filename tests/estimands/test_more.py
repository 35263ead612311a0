"""The estimands of StateTrack and ReBIND on tables small enough to add up by hand."""

from __future__ import annotations

import csv

import pytest

from simtrack.counts import Counts
from simtrack.estimands import CATALOGUE, Contrast, Estimand, Unavailable
from simtrack.taxonomy import CLAUSE, LEDGER, RECALL, RECOVERY, RELAPSE, Taxonomy


def table(taxonomy: Taxonomy, rows: list[tuple[dict[str, str], dict[str, int]]]) -> Counts:
    return Counts.from_cells(
        [[n.get(code, 0) for code in taxonomy.codes] for _, n in rows],
        outcomes=taxonomy.codes,
        cluster=["a"] * len(rows),
        conditions={name: [labels[name] for labels, _ in rows] for name in rows[0][0]},
    )


# 20 probes at depth 12, 10 at depth 3, and one that never answered
PROBES = table(
    RECALL,
    [
        (
            {"task": "1", "joint": "1", "depth": "12", "c1": "1", "c2": "1"},
            {"R1B1": 9, "R0B1": 2, "TRANSPORT": 1},
        ),
        (
            {"task": "1", "joint": "0", "depth": "12", "c1": "1", "c2": "0"},
            {"R1B0": 3, "R0B0": 1},
        ),
        (
            {"task": "0", "joint": "0", "depth": "12", "c1": "0", "c2": "1"},
            {"R1B1": 2, "R1B0": 1, "R0B1": 1, "R0B0": 1},
        ),
        ({"task": "1", "joint": "1", "depth": "3", "c1": "1", "c2": "1"}, {"R1B1": 9}),
        ({"task": "1", "joint": "0", "depth": "3", "c1": "0", "c2": "0"}, {"R1B0": 1}),
    ],
)
EPISODES = table(
    RELAPSE,
    [
        (
            {"condition": "delayed", "load": "8", "arm": "bare", "depth": "8"},
            {
                "TRUE_RELAPSE": 4, "CLAUSE_MISS": 1, "LEGIT_REFERENCE": 1, "NO_TRACE": 4,
                "UNPARSEABLE": 2, "EMPTY": 1, "TRANSPORT": 1,
            },
        ),
        (
            {"condition": "delayed", "load": "2", "arm": "bare", "depth": "0"},
            {"TRUE_RELAPSE": 1, "NO_TRACE": 9},
        ),
        ({"condition": "control", "load": "8", "arm": "bare", "depth": "8"}, {"NO_TRACE": 10}),
    ],
)  # fmt: skip
CLAUSES = table(
    CLAUSE,
    [
        ({"spec": "full"}, {"PASS": 8, "FAIL": 1, "UNPARSEABLE": 1, "TRANSPORT": 2}),
        ({"spec": "ablated"}, {"PASS": 1, "FAIL": 9}),
    ],
)
MENDED = table(RECOVERY, [({}, {"FULL": 25, "PARTIAL": 13, "NONE": 9})])
RULES = table(LEDGER, [({}, {"STALE": 26, "UPDATED_CLEAN": 7, "OTHER": 2})])


@pytest.mark.parametrize(
    ("name", "counts", "top", "bottom"),
    [
        ("strict_retention", PROBES, 11 + 9, 30),
        ("dissociation", PROBES, 2 + 3 + 1 + 1 + 1, 30),
        ("behavioural_drift", PROBES, 3 + 1 + 1, 30),
        ("joint_drift", PROBES, 3 + 2 + 1 + 1, 30),
        ("declarative_fade", PROBES, 2 + 1, 30),
        ("integrity_failure_share", PROBES, 3 + 2 + 1 + 1, 10),
        ("memory_failure_share", PROBES, 1 + 1 + 1, 10),
        ("immediate_task", PROBES, 11 + 4 + 9 + 1, 30),
        ("constraint_compliance", PROBES, 11 + 3 + 9, 30),
        ("recall_rate", PROBES, 9 + 3 + 3 + 9 + 1, 30),
        ("first_constraint", PROBES, 11 + 4 + 9, 30),
        ("second_constraint", PROBES, 11 + 5 + 9, 30),
        ("two_constraints", PROBES, 11 + 9, 30),
        ("two_constraint_drift", PROBES, 3 + 3 + 1, 30),
        ("full_recovery", MENDED, 25, 47),
        ("partial_recovery", MENDED, 38, 47),
        ("no_recovery", MENDED, 9, 47),
        ("stale_enforcement", RULES, 26, 35),
        ("updated_or_clean", RULES, 7, 35),
        ("clause_adherence", CLAUSES, 8, 10),
        ("in_force_compliance", CLAUSES, 9, 20),
        ("relapse", EPISODES, 5, 30),
        ("relapse_after_revocation", EPISODES, 5, 20),
        ("relapse_prevalence", EPISODES, 5, 30),
        ("worst_case_relapse", EPISODES, 8, 33),
        ("final_pass_rate", EPISODES, 5 + 9 + 10, 33),
        ("parse_failure", EPISODES, 2, 33),
        ("empty_share", EPISODES, 1, 34),
    ],
)
def test_ratios_are_those_added_up_by_hand(name, counts, top, bottom):
    what = CATALOGUE[name]
    assert isinstance(what, Estimand)
    totals = what.totals(counts)
    assert (totals.numerator.sum(), totals.denominator.sum()) == (top, bottom)


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        ("early_to_late_decay", PROBES, 9 / 10 - 11 / 20),
        ("incremental_effect", CLAUSES, 0.8 - 0.1),
        ("load_contrast", EPISODES, 4 / 10 - 1 / 10),
        ("deepest_minus_shallowest", EPISODES, 4 / 20 - 1 / 10),
    ],
)
def test_contrasts_are_those_added_up_by_hand(name, counts, expected):
    what = CATALOGUE[name]
    assert isinstance(what, Contrast)
    assert what.value(counts) == pytest.approx(expected, abs=1e-15)


def test_the_published_recoveries_of_gemini_are_those_of_table_7():
    # 53.2, 80.9 and 19.1 percent of 47
    for name, printed in (
        ("full_recovery", 53.2),
        ("partial_recovery", 80.9),
        ("no_recovery", 19.1),
    ):
        what = CATALOGUE[name]
        assert isinstance(what, Estimand)
        assert round(100 * float(what.totals(MENDED).rates()[0]), 1) == printed


LISTED = {
    "R_m": "retention_mean", "R_cell": "strict_retention", "Delta_m": "early_to_late_decay",
    "SIC": "dissociation", "SIC+": "behavioural_drift", "SIC+_J": "joint_drift",
    "SIC-": "declarative_fade", "IF share": "integrity_failure_share",
    "MF share": "memory_failure_share", "task": "immediate_task",
    "constraint": "constraint_compliance", "recall": "recall_rate", "full": "full_recovery",
    "partial": "partial_recovery", "none": "no_recovery", "SSA gain": "anchoring_gain",
    "SSA shares": "anchoring_shares", "stale": "stale_enforcement",
    "updated/clean": "updated_or_clean", "C1,C2,joint": "two_constraints", "kappa": "cohen_kappa",
    "Fleiss": "fleiss_kappa", "agreement": "percent_agreement", "self-pref": "self_preference",
    "tau": "kendall_tau", "d": "effect_size", "paired boot": "paired_model_difference",
    "Jaccard": "distractor_similarity", "cost": "anchoring_cost",
    "A_C": "clause_adherence", "B_C": "incremental_effect", "relapse": "relapse",
    "relapse_worst": "worst_case_relapse", "contrast": "paired_arm_contrast",
    "restoration": "restoration_contrast", "load": "load_contrast",
    "prevalence_h": "relapse_prevalence", "h_1/2": "first_crossing",
    "deep-shallow": "deepest_minus_shallowest", "strata": "risk_strata", "AUROC_h": "auroc",
    "compliance": "in_force_compliance", "score": "task_score", "pass@1": "pass_at_1",
    "pass rate": "final_pass_rate", "parse-fail": "parse_failure", "empty": "empty_share",
    "detector": "detector_audit", "diag agreement": "diagnosis_agreement",
    "OC": "probe_characteristics", "placebo": "placebo_quantile", "zero": "zero_count_bound",
    "pass^k, pass@k": "pass_k",
}  # fmt: skip
REBIND_ONLY = {"agreement": "checker_agreement", "cost": "delivery_cost"}


@pytest.mark.shared
def test_every_statetrack_and_rebind_row_of_the_list_is_named_or_marked(shared):
    text = (shared / "design" / "estimands.csv").read_text(encoding="utf-8")
    listed = [(r["paper"], r["symbol"]) for r in csv.DictReader(text.splitlines())]
    mine = [(paper, symbol) for paper, symbol in listed if paper != "StageIF"]
    named = [
        (REBIND_ONLY if paper == "ReBIND" else {}).get(symbol, LISTED.get(symbol))
        for paper, symbol in mine
    ]
    assert [m for m, name in zip(mine, named, strict=True) if name not in CATALOGUE] == []
    assert len(mine) == 55


def test_what_is_no_ratio_says_what_it_needs():
    entry = CATALOGUE["paired_arm_contrast"]
    assert isinstance(entry, Unavailable)
    assert "paired over arms" in entry.needs
