"""Comparisons are joined by cluster, refuse what they cannot say, and match published numbers."""

from __future__ import annotations

import csv
import json
from fractions import Fraction

import pytest

from simtrack.analysis import compare
from simtrack.counts import Totals
from simtrack.errors import SimtrackError
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
    assert found.answer.exact == Fraction(1, 16)  # by position it would be 7/32
    assert found.answer.pvalue == 0.0625
    assert (found.rows[0].clusters, found.answer.extra["only_a"]) == (7, 1)
    assert found.answer.estimate == pytest.approx(5 / 7)
    assert found.answer.notes[0] == "unpaired clusters left out: 1 (1 only in A, 0 only in B)"


def test_a_design_that_cannot_reach_alpha_is_refused_with_the_reason():
    few = {q: v for q, v in H08_A.items() if q <= "q5"}
    found = compare(two(few, {q: 1 - v for q, v in few.items()}), "A", "B", factor="model")
    assert found.answer.pvalue is None
    assert found.answer.refused == "5 clusters can give no p below 0.0625, above 0.05"


def test_two_files_of_two_models_are_stacked_and_compared():
    one = {f"q{k}": float(k % 3 > 0) for k in range(12)}
    other = {f"q{11 - k}": float(k % 4 == 0) for k in range(12)}
    apart = [two(one, {}), two({}, other)]
    stacked = compare(Records.concatenate(apart), "A", "B", factor="model")
    assert stacked.answer.pvalue == compare(two(one, other), "A", "B").answer.pvalue
    assert stacked.rows[0].clusters == 12


def test_totals_with_the_factor_as_their_condition():
    totals = Totals.from_arrays(
        [[3, 1]] * 5 + [[2, 3]] * 2, [[4, 4]] * 7, conditions=[("x",), ("y",)], by=["arm"]
    )
    found = compare(totals, "y", "x", factor="arm")
    assert found.answer.estimate == pytest.approx((-0.5 * 5 + 0.25 * 2) / 7)


def test_a_stage_is_not_assigned_at_random():
    records = Records.from_columns(
        {
            "unit": [f"s{k}" for k in range(8)] * 2,
            "stage": ["READY"] * 8 + ["COMPLETED"] * 8,
            "value": [1] * 8 + [0] * 7 + [1],
        }
    )
    found = compare(records, "READY", "COMPLETED", factor="stage")
    assert found.answer.pvalue == 2 / 2**7
    assert "stage is not assigned at random" in found.answer.notes[-1]


def test_a_difference_of_rates_is_cut_off_at_one():
    first, second = {"q1": 1.0, "q2": 1.0, "q3": 0.0}, {"q1": 0.0, "q2": 0.0, "q3": 0.0}
    found = compare(two(first, second), "A", "B", factor="model")
    assert found.answer.extra["t_high"] == 1.0


def test_equal_everywhere_is_stated():
    found = compare(two(H08_A, H08_A), "A", "B", factor="model")
    assert (found.answer.estimate, found.answer.extra["t_low"], found.answer.pvalue) == (0, None, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r: compare(r, "A", "C", factor="model"),
            "no scored trial of C; there are some of A, B",
        ),
        (lambda r: compare(r, "A", "A", factor="model"), "two different ones, got A twice"),
        (lambda r: compare(r, "A", "B", factor="arm"), "column must be one of"),
        (lambda r: compare(r, "A", "B", factor="model", level=0), "level must be strictly"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(SimtrackError, match=message):
        call(two(H08_A, H08_B))


def test_json_and_frame():
    found = compare(two(H08_A, H08_B), "A", "B", factor="model", level=0.9)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["schema"] == "simtrack.test/2"
    (plain,) = plain["rows"]
    assert (plain["only_a"], plain["only_b"], plain["rate_b"]) == (1, 0, pytest.approx(1 / 7))
    assert plain["pvalue_exact"] == "1/16"
    frame = found.to_frame()
    assert frame["difference"][0] == plain["difference"]
    assert frame["pvalue_exact"][0] == "1/16"
    assert repr(found).startswith("TestFamily(A - B by sign-flip: 1 hypotheses")


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
    assert found.answer.estimate == pytest.approx(0.0586, abs=5e-5)
    assert found.answer.extra["se"] == pytest.approx(0.02779, abs=5e-6)
    assert found.answer.extra["unpaired_se"] == pytest.approx(0.0405, abs=5e-5)


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
    assert (found.answer.extra["rate_a"], found.answer.extra["rate_b"]) == (0.85, 0.5)
    assert found.answer.pvalue == pytest.approx(0.001312, abs=5e-7)


def test_units_that_one_arm_lost_do_not_make_a_difference():
    # Two identical models on 8 documents of one easy (always passed) and one hard (always failed)
    # question; x lost its hard question in six documents.
    rows = [
        (f"d{d}", f"d{d}{q}", model, 1 if q == "easy" else 0)
        for d in range(8)
        for q in ("easy", "hard")
        for model in ("x", "y")
        if not (model == "x" and q == "hard" and d < 6)
    ]
    document, unit, model, value = zip(*rows, strict=True)
    records = Records.from_columns(
        {"cluster": document, "unit": unit, "model": model, "value": value}
    )
    found = compare(records, "x", "y", factor="model")
    assert found.answer.estimate == 0.0
    assert found.to_dict()["left_out"] == {"unpaired": 6}


def table(a, b, m=None, n=None):
    m, n = m or [1] * len(a), n or [1] * len(a)
    return Totals.from_arrays(
        list(zip(a, b, strict=True)), list(zip(m, n, strict=True)),
        conditions=[("x",), ("y",)], by=("model",),
    )  # fmt: skip


def test_sparse_discordance_shows_its_p_and_an_interval_that_agrees():
    # 5 of 67 questions differ, all one way: exact p = 2/32, though the t interval excludes 0
    found = compare(table([1] * 67, [0] * 5 + [1] * 62), "x", "y", factor="model")
    assert found.answer.pvalue == 2 / 32
    assert found.answer.extra["t_low"] > 0
    assert found.answer.low <= 0
    assert "5 of 67 clusters differ at all" in " ".join(found.answer.notes)


def test_too_few_clusters_are_refused_by_design_not_by_data():
    few = compare(table([1] * 5, [0] * 5), "x", "y", factor="model")
    assert few.answer.pvalue is None
    assert "5 clusters can give no p below 0.0625" in few.answer.refused


def test_arms_of_unequal_size_are_told_or_refused():
    some = compare(table([4, 5, 3, 4, 5, 4], [3, 2, 3, 1, 2, 3], [5] * 6, [5, 4, 5, 4, 5, 5]),
                   "x", "y", factor="model")  # fmt: skip
    assert some.answer.guarantee == "asymptotic"
    assert any("p is approximate" in note for note in some.answer.notes)
    wide = compare(table([18] * 10, [1] * 10, [20] * 10, [2] * 10), "x", "y", factor="model")
    assert wide.answer.pvalue is None
    assert "very different numbers of trials" in wide.answer.refused
    even = compare(table([4, 5, 3, 4, 5, 4], [3, 2, 3, 1, 2, 3], [5] * 6, [5] * 6),
                   "x", "y", factor="model")  # fmt: skip
    assert even.answer.guarantee == "finite-sample"
