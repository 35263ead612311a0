"""Comparisons are joined by cluster, refuse what they cannot say, and match published numbers."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import pytest

from simtrack.analysis import compare
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.records import Records

H08_A = {"q1": 1, "q2": 1, "q3": 0, "q4": 1, "q5": 1, "q6": 1, "q7": 0, "q8": 1}
H08_B = {"q8": 0, "q3": 0, "q1": 0, "q6": 0, "q2": 0, "q5": 0, "q4": 1}


def two(first: dict[str, float], second: dict[str, float], **more) -> Records:
    size = len(first) + len(second)
    return Records.from_columns(
        {
            "unit": [*first, *second],
            "model": ["A"] * len(first) + ["B"] * len(second),
            "value": [*first.values(), *second.values()],
            **{name: [level] * size for name, level in more.items()},
        }
    )


def test_h08_pairs_are_joined_by_id_and_not_by_row():
    found = compare(two(H08_A, H08_B), "A", "B", factor="model", level=0.9)
    assert found.paired.test.exact == Fraction(1, 16)  # by position it would be 7/32
    assert found.pvalue == 0.0625
    assert (found.paired.clusters, found.paired.only_first) == (7, 1)
    assert found.paired.difference == pytest.approx(5 / 7)
    assert found.notes[0] == "unpaired clusters left out: 1 (1 only in A, 0 only in B)"


def test_a_test_that_cannot_reach_alpha_is_refused_with_the_reason():
    found = compare(two(H08_A, H08_B), "A", "B", factor="model")
    assert found.pvalue is None
    assert found.notes[-1] == (
        "sign-flip test refused: the smallest two-sided p of 5 differences that are not 0 "
        "is 2/32 = 0.0625, above 0.05"
    )


def test_two_files_of_two_models_are_stacked_and_compared():
    one = {f"q{k}": float(k % 3 > 0) for k in range(12)}
    other = {f"q{11 - k}": float(k % 4 == 0) for k in range(12)}
    apart = [two(one, {}), two({}, other)]
    stacked = compare(Records.concatenate(apart), "A", "B", factor="model")
    assert stacked.pvalue == compare(two(one, other), "A", "B", factor="model").pvalue
    assert stacked.paired.clusters == 12


def test_totals_with_the_factor_as_their_condition():
    totals = Totals.from_arrays(
        [[3, 1]] * 5 + [[2, 3]] * 2, [[4, 4]] * 7, conditions=[("x",), ("y",)], by=["arm"]
    )
    found = compare(totals, "y", "x", factor="arm")
    assert found.paired.difference == pytest.approx((-0.5 * 5 + 0.25 * 2) / 7)


def test_a_stage_is_not_assigned_at_random():
    records = Records.from_columns(
        {
            "unit": [f"s{k}" for k in range(8)] * 2,
            "stage": ["READY"] * 8 + ["COMPLETED"] * 8,
            "value": [1] * 8 + [0] * 7 + [1],
        }
    )
    found = compare(records, "READY", "COMPLETED", factor="stage")
    assert found.pvalue == 2 / 2**7
    assert "stage is not assigned at random" in found.notes[-1]


def test_a_difference_of_rates_is_cut_off_at_one():
    first, second = {"q1": 1.0, "q2": 1.0, "q3": 0.0}, {"q1": 0.0, "q2": 0.0, "q3": 0.0}
    found = compare(two(first, second), "A", "B", factor="model")
    assert found.paired.high == 1.0
    assert any("cut off" in note for note in found.notes)


def test_equal_everywhere_is_stated():
    found = compare(two(H08_A, H08_A), "A", "B", factor="model")
    assert (found.paired.difference, found.paired.low, found.pvalue) == (0.0, None, None)
    assert any("width would be 0" in note for note in found.notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: compare(r, "A", "C", factor="model"), "level of model must be one of A, B"),
        (lambda r: compare(r, "A", "A", factor="model"), "another condition"),
        (lambda r: compare(r, "A", "B", factor="arm"), "column must be one of"),
        (lambda r: compare(r, "A", "B", factor="model", level=0), "level must be strictly"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call(two(H08_A, H08_B))


def test_json_and_frame():
    found = compare(two(H08_A, H08_B), "A", "B", factor="model", level=0.9)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["schema"] == "simtrack.compare/1"
    assert (plain["only_a"], plain["only_b"], plain["rate_b"]) == (1, 0, pytest.approx(1 / 7))
    assert plain["test"]["pvalue_exact"] == "1/16"
    frame = found.to_frame()
    assert frame["difference"][0] == plain["difference"]
    assert frame["test_pvalue_exact"][0] == "1/16"
    assert repr(found).startswith("Comparison(A - B: PairedDifference(+0.7143")


@pytest.mark.shared
def test_gpqa_paired_and_unpaired_errors(shared):
    path = shared / "logs/public/stephlinds__evalconfidence/gpqa_diamond_scores.csv"
    rows = list(csv.DictReader(path.read_text().split("\n")))
    records = Records.from_columns(
        {
            "unit": [row["item_id"] for row in rows],
            "model": [row["model_id"].split("/")[1] for row in rows],
            "value": [float(row["score"]) for row in rows],
        }
    )
    found = compare(records, "gpt-5-nano-2025-08-07", "gpt-5.4-mini-2026-03-17", factor="model")
    assert found.paired.difference == pytest.approx(0.0586, abs=5e-5)
    assert found.paired.se == pytest.approx(0.02779, abs=5e-6)
    assert found.paired.unpaired_se == pytest.approx(0.0405, abs=5e-5)
    assert found.paired.t_pvalue == pytest.approx(0.036, abs=5e-4)


@pytest.mark.shared
def test_tau2_telecom_base_and_tuned(shared):
    """40 tasks each once: discordant 2 and 16, so p = 2 P(X ≤ 2 | 18, 1/2) = .001312."""
    folder = shared / "logs/public/sierra-research__tau2-bench"
    names = (
        "ft_gpt-4.1-2025-04-14_sierra_tau2-full-sft_BzrYdMNm_telecom_no-user_gpt-4.1_1trials.json",
        "gpt-4.1_telecom_no-user_gpt-4.1_1trials.json",
    )
    tuned, base = (
        {s["task_id"]: s["reward_info"]["reward"] for s in json.loads((folder / n).read_text())[
            "simulations"
        ]}
        for n in names
    )  # fmt: skip
    found = compare(two(tuned, base), "A", "B", factor="model")
    assert (found.paired.rate_first, found.paired.rate_second) == (0.85, 0.5)
    assert found.pvalue == pytest.approx(0.001312, abs=5e-7)
