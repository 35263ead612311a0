"""The contingency table: canonical form, selection, pooling and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.counts import Counts, Factor, Loss, Losses, Sums, Totals, natural_order
from simtrack.errors import InputError


def table(order: list[int]) -> Counts:
    cells = [[3, 1], [2, 2], [0, 4], [1, 0]]
    cluster, stage = ["b", "a", "a", "b"], ["x", "x", "y", "y"]
    return Counts.from_cells(
        [cells[i] for i in order],
        outcomes=("PASS", "FAIL"),
        cluster=[cluster[i] for i in order],
        conditions={"stage": [stage[i] for i in order]},
    )


@given(st.permutations(range(4)))
def test_row_order_never_changes_the_table(order):
    assert table(list(order)).fingerprint == table([0, 1, 2, 3]).fingerprint
    assert table(list(order)).cells.tolist() == [[2, 2], [0, 4], [3, 1], [1, 0]]


def test_fingerprint_sees_every_part():
    base = table([0, 1, 2, 3])
    other_outcome = Counts(base.cells, ("PASS", "MISS"), base.cluster, base.conditions)
    other_cell = Counts(base.cells + 1, base.outcomes, base.cluster, base.conditions)
    other_name = Counts(base.cells, base.outcomes, base.cluster, {"arm": base.conditions["stage"]})
    prints = {c.fingerprint for c in (base, other_outcome, other_cell, other_name)}
    assert len(prints) == 4
    # Frozen: the byte form is part of the promise.
    assert base.fingerprint[:16] == FROZEN


FROZEN = "0e580dcab2df1875"


def test_equal_labels_are_added_up():
    counts = Counts.from_cells([[1, 0], [2, 5]], outcomes=("P", "F"), cluster=["a", "a"])
    assert counts.cells.tolist() == [[3, 5]]
    assert counts.n == 8


def test_select_and_pool():
    counts = table([0, 1, 2, 3])
    assert counts.select(stage="x").cells.tolist() == [[2, 2], [3, 1]]
    assert counts.select(cluster=["b"]).n == 5
    assert counts.pool("stage").cells.tolist() == [[2, 6], [4, 1]]
    with pytest.raises(InputError, match="stage must be one of x, y, got 'z'"):
        counts.select(stage="z")
    with pytest.raises(InputError, match="condition must be one of stage, got 'arm'"):
        counts.pool("arm")


@pytest.mark.parametrize("name", ["metric", "score", "filter", "view", "scorer"])
def test_readings_of_one_trial_are_never_added(name):
    counts = Counts.from_cells(
        [[1, 0], [0, 1]],
        outcomes=("P", "F"),
        cluster=["a", "a"],
        conditions={name: ["strict", "lenient"]},
    )
    with pytest.raises(InputError, match="readings of the same trials"):
        counts.pool(name)
    assert counts.select(**{name: "strict"}).pool(name).n == 1


@pytest.mark.parametrize(
    ("cells", "message"),
    [([[1.5, 0]], "integer counts"), ([[-1, 0]], "integer counts"), ([[1]], "of shape")],
)
def test_impossible_cells_are_refused(cells, message):
    with pytest.raises(InputError, match=message):
        Counts.from_cells(cells, outcomes=("P", "F"), cluster=["a"])


def test_a_row_without_a_cluster_is_refused():
    with pytest.raises(InputError, match="cluster must be labelled in every row"):
        Counts(np.array([[1, 2]]), ("P", "F"), Factor(("a",), np.array([-1], dtype=np.int32)))


def test_views_agree_with_the_cells():
    counts = table([0, 1, 2, 3])
    frame = counts.to_pandas()
    assert frame["PASS"].sum() == 6
    cube = counts.to_xarray()
    assert cube.sel(cluster="b", stage="x", outcome="PASS").item() == 3
    assert int(cube.sum()) == counts.n


def test_sums_do_not_depend_on_row_order():
    rng = np.random.default_rng(3)
    values = rng.random(200) * 10.0 ** rng.integers(-8, 8, 200)
    cluster = Factor.from_values([str(i % 7) for i in range(200)])
    order = rng.permutation(200)
    first = Sums.from_rows(values, cluster, {})
    second = Sums.from_rows(values[order], cluster.take(order), {})
    assert first.total.tobytes() == second.total.tobytes()
    assert first.total_sq.tobytes() == second.total_sq.tobytes()
    assert first.totals().denominator.sum() == 200


def test_sums_refuse_what_is_not_finite():
    with pytest.raises(InputError, match="score must be finite"):
        Sums.from_rows(np.array([1.0, np.nan]), Factor.from_values(["a", "b"]), {})


def test_factor_levels_and_order():
    assert natural_order(["q10", "q2", "Q1", "q02"]) == ["Q1", "q02", "q2", "q10"]
    factor = Factor.from_values(["b", None, "a"], levels=("b", "a"))
    assert factor.codes.tolist() == [0, -1, 1]
    with pytest.raises(InputError, match="label must be one of b, a, got 'c'"):
        Factor.from_values(["c"], levels=("b", "a"))
    both = Factor.concatenate([factor, Factor.from_values(["c", None])])
    assert both.values() == ["b", None, "a", "c", None]
    assert both.take(np.array([0, 3])).compact().levels == ("b", "c")
    with pytest.raises(InputError, match="levels must be distinct"):
        Factor(("a", "a"), np.zeros(1, dtype=np.int32))


def test_ids_above_2_to_53_stay_apart():
    # Case H29: these two integers are one float64.
    factor = Factor.from_values(["9007199254740993", "9007199254740992"])
    assert len(factor.levels) == 2


def test_losses_add_up():
    lost = Losses.of([Loss("errored", 2, "x", (("model", "a"),)), Loss("missing", 0, "none")])
    assert lost.by_kind() == {"errored": 2}
    assert lost.within({"model": "a"}).total() == 2
    assert not lost.within({"model": "b"})


@pytest.mark.parametrize(
    ("numerator", "denominator", "message"),
    [([3], [2], "between 0 and its denominator"), ([0.5, 1], [1], "shape"), ([1], [0], "between")],
)
def test_totals_refuse_impossible_ratios(numerator, denominator, message):
    with pytest.raises(InputError, match=message):
        Totals.from_arrays(numerator, denominator)


def test_totals_drop_empty_clusters_by_column():
    totals = Totals.from_arrays([[1, 0], [2, 3]], [[2, 0], [4, 3]])
    assert totals.column(1).clusters == ("1",)
    assert totals.rates().tolist() == [0.5, 1.0]
    assert np.isnan(Totals.from_arrays([0], [0]).rates()[0])


def test_digits_of_any_length_are_ordered_as_numbers():
    long = "9" * 5000
    labels = [f"q1{long}", f"q{long}", "q007", "q7", "q10"]
    assert natural_order(labels) == ["q007", "q7", "q10", f"q{long}", f"q1{long}"]


def test_scores_whose_sums_would_overflow_are_refused():
    with pytest.raises(InputError, match=r"score must be between -1e\+60 and 1e\+60, got 1e\+308"):
        Sums.from_rows(np.array([1e308, 1.0]), Factor.from_values(["a", "b"]), {})


def test_a_table_of_almost_nothing_but_empty_cells_is_refused():
    ids = [f"q{k}" for k in range(8_000)]
    models = Factor.from_values([f"m{k % 4_000}" for k in range(8_000)])
    sums = Sums.from_rows(np.ones(8_000), Factor.from_values(ids), {"model": models})
    with pytest.raises(InputError, match=r"got 8000 clusters by 4000 groups. Group by a coarser"):
        sums.totals(["model"])
    few = Factor.from_values([f"m{k % 4}" for k in range(8_000)])
    assert Sums.from_rows(np.ones(8_000), few, {"model": models}).totals(["model"]).shape == (
        4,
        4_000,
    )
