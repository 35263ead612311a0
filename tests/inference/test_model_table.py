"""Tables that models are fitted to: one table from every source, formulas, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.counts import Counts, Totals
from simtrack.errors import InputError
from simtrack.estimands import Estimand
from simtrack.inference.models.coefficients import Coefficients
from simtrack.inference.models.design import design_matrix, terms_of
from simtrack.inference.models.table import ModelTable, model_table
from simtrack.inference.numerics.algebra import cholesky, inverse, log_det, solve, symmetric_eigen
from simtrack.records import Records

ROWS = {
    "cluster": ["s1", "s1", "s1", "s1", "s2", "s2", "s2", "s10"],
    "arm": ["a", "a", "b", "b", "a", "b", "b", "a"],
    "stage": ["READY", "DONE", "READY", "READY", "DONE", "DONE", "READY", "READY"],
}
PASSED = [1, 0, 1, 0, 1, 1, 0, 1]


def records(values=PASSED):
    return Records.from_columns({**ROWS, "value": values})


def test_records_counts_and_totals_give_one_table():
    by_records = model_table(records(), "arm * stage")
    counts = records().counts(cluster="cluster", by=["arm", "stage"])
    by_counts = model_table(counts, "arm * stage")
    passed = Estimand("pass", frozenset({"PASS"}))
    by_totals = model_table(passed.totals(counts, ["arm", "stage"]), "arm * stage")
    for other in (by_counts, by_totals):
        for name in ("n", "totals", "squares", "design"):
            assert getattr(other, name).tolist() == getattr(by_records, name).tolist()
        assert other.names == by_records.names
    assert by_records.clusters == ("s1", "s2", "s10")
    assert by_records.names == ("intercept", "arm[b]", "stage[READY]", "arm[b]:stage[READY]")
    cells = {p: k for k, p in enumerate(by_records.patterns)}
    assert by_records.n[0, cells["b", "READY"]] == 2
    assert by_records.totals[0, cells["b", "READY"]] == 1
    assert by_records.design[cells["b", "DONE"]].tolist() == [1, 1, 0, 0]
    assert by_records.is_binary


def test_scores_are_added_up():
    table = model_table(records([0.5, 0.25, 1, 0, 1, 1, 0, 0.75]), "arm")
    assert not table.is_binary
    assert table.totals.tolist() == [[0.75, 1], [1, 1], [0.75, 0]]
    assert table.squares[0].tolist() == [0.3125, 1]
    assert table.size == 8


def test_conditions_beside_the_formula_are_kept_or_pooled():
    counts = records().counts(cluster="cluster", by=["arm", "stage"])
    pooled, kept = model_table(counts, "arm"), model_table(counts, "arm", keep=["stage"])
    assert pooled.n.shape == (3, 2)
    assert kept.n.shape == (3, 4)
    assert kept.by == ("arm", "stage")
    assert kept.n.sum() == pooled.n.sum() == 8
    codes, levels = kept.codes("stage")
    assert levels == ("DONE", "READY")
    assert len(codes) == 4


def test_outcomes_that_neither_succeed_nor_fail_are_left_out():
    counts = Counts.from_cells(
        [[3, 1, 5], [2, 2, 0]], outcomes=("CLEAN", "MISS", "TRANSPORT"), cluster=["x", "y"]
    )
    wide = model_table(counts, "1", success=["CLEAN"])
    narrow = model_table(counts, "1", success=["CLEAN"], failure=["MISS"])
    assert wide.n.tolist() == [[9], [4]]
    assert narrow.n.tolist() == [[4], [4]]
    with pytest.raises(InputError, match="success must be one of CLEAN, MISS, TRANSPORT"):
        model_table(counts, "1")


def test_references_and_numbers():
    labels = {"turn": ["1", "5", "10"], "arm": ["x", "y", "z"]}
    x, names = design_matrix("turn", labels, numeric=["turn"])
    assert x.tolist() == [[1, 1], [1, 5], [1, 10]]
    assert names == ("intercept", "turn")
    _, names = design_matrix("turn + arm", labels, reference={"arm": "y", "turn": "10"})
    assert names == ("intercept", "turn[1]", "turn[5]", "arm[x]", "arm[z]")
    x, names = design_matrix("turn:arm", labels, numeric=["turn"])
    assert names == ("intercept", "turn:arm[y]", "turn:arm[z]")
    assert x[:, 1].tolist() == [0, 5, 0]


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("1", ()),
        ("y ~ a", (("a",),)),
        ("a*b*c", (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"))),
        ("a + a:b + a", (("a",), ("a", "b"))),
    ],
)
def test_formulas(formula, terms):
    assert terms_of(formula) == terms


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("arm + (1 | scenario)", "Clusters and random effects are named by options"),
        ("arm - 1", "formula must be of names joined by"),
        ("arm +", "formula must be of different names"),
        ("arm:arm", "formula must be of different names"),
        ("model", r"formula must be of columns that there are \(arm, stage\)"),
    ],
)
def test_formulas_that_cannot_be_read(formula, message):
    labels = {"arm": ["a", "b"], "stage": ["x", "y"]}
    with pytest.raises(InputError, match=message):
        design_matrix(formula, labels)


def test_a_reference_that_is_no_level_and_a_factor_with_one():
    with pytest.raises(InputError, match="reference of arm must be one of a, b, got 'c'"):
        design_matrix("arm", {"arm": ["a", "b"]}, reference={"arm": "c"})
    with pytest.raises(InputError, match="two levels or more, as arm is not"):
        design_matrix("arm", {"arm": ["a", "a"]})
    with pytest.raises(InputError, match="numeric must be of columns of numbers, as arm is not"):
        design_matrix("arm", {"arm": ["a", "b"]}, numeric=["arm"])


def test_an_empty_cell_makes_a_column_a_combination_of_others():
    rows = {k: v[:3] for k, v in ROWS.items()}
    few = Records.from_columns({**rows, "value": PASSED[:3]})
    with pytest.raises(InputError, match=r"arm\[b\]:stage\[READY\], which is a combination"):
        model_table(few, "arm * stage")


def test_sums_that_cannot_be():
    with pytest.raises(InputError, match="totals must be between 0 and n"):
        ModelTable.from_arrays([[2]], [[3]], [[1]])
    with pytest.raises(InputError, match="n must be at least 0"):
        ModelTable.from_arrays([[0, 1]], [[2, 1]], [[1], [1]], squares=[[4, 1]])
    with pytest.raises(InputError, match="design must be of shape"):
        ModelTable.from_arrays([[2, 2]], [[1, 1]], [[1]])
    with pytest.raises(InputError, match="source must be a table with a trial in it"):
        model_table(Totals.from_arrays([0, 0], [0, 0]), "1")


@given(st.integers(1, 6), st.integers(0, 2**31))
def test_small_matrices_are_numpys(size, seed):
    a = np.random.default_rng(seed).normal(size=(size + 2, size))
    matrix = np.einsum("ki,kj->ij", a, a) + 0.1 * np.eye(size)
    lower = cholesky(matrix)
    right = a[0]
    assert lower == pytest.approx(np.linalg.cholesky(matrix), abs=1e-9)
    assert solve(lower, right) == pytest.approx(np.linalg.solve(matrix, right), abs=1e-7)
    assert inverse(lower) == pytest.approx(np.linalg.inv(matrix), abs=1e-7)
    assert float(log_det(lower)) == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-9)
    values, vectors = symmetric_eigen(matrix)
    assert np.sort(values) == pytest.approx(np.linalg.eigvalsh(matrix), abs=1e-9)
    again = np.einsum("ij,j,kj->ik", vectors, values, vectors)
    assert again == pytest.approx(matrix, abs=1e-9)


def test_coefficients_without_a_variance_have_no_test():
    found = Coefficients(("x", "y"), np.array([1.0, 2.0]), np.diag([0.0, 4.0]), np.full(2, 7.0))
    assert np.isnan(found.pvalue[0])
    assert found.rows()[0]["standard_error"] is None
    assert found.rows()[1]["statistic"] == 1.0
    both = found.contrast([1, -1], "x - y")
    assert both.estimate.tolist() == [-1.0]
    assert both.standard_error.tolist() == [2.0]
    with pytest.raises(InputError, match="coefficient must be one of x, y, got 'z'"):
        found.index("z")


@pytest.mark.parametrize(
    ("formula", "why"),
    [("a +", r"ends in \+"), ("+ a", r"begins with \+"), ("a + + b", "two signs"),
     ("a *", r"ends in \*"), ("y ~", "names none"), ("", "names none"), ("a:", "ends in :")],
)  # fmt: skip
def test_a_gap_in_a_formula_is_told_where_it_is(formula, why):
    with pytest.raises(InputError, match=why):
        terms_of(formula)
