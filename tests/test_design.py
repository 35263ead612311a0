"""Designs: cells, trials, factors between clusters, plain data there and back."""

from __future__ import annotations

import pytest

from simtrack.design import Design
from simtrack.errors import InputError


def test_cells_are_crossed_and_counted():
    design = Design(12, 20, {"stage": ("a", "b", "c"), "arm": ("x", "y")})
    assert len(design.cells) == 6
    assert design.cells[1] == {"stage": "a", "arm": "y"}
    assert design.trials == 12 * 20 * 6
    assert Design(7).trials == 7


def test_factors_between_clusters_take_turns():
    design = Design(5, 2, {"arm": ("x", "y"), "stage": ("a", "b")}, between=("arm",))
    runs = [[design.runs(g, c) for c in design.cells] for g in range(5)]
    assert runs[0] == [True, True, False, False]
    assert runs[1] == [False, False, True, True]
    assert design.trials == 5 * 2 * 2


def test_plain_data_there_and_back():
    design = Design(6, 3, {"arm": ("x", "y")}, between=["arm"], cluster_name="task")
    assert Design.from_dict(design.to_dict()) == design
    assert hash(design) == hash(Design.from_dict(design.to_dict()))
    assert design.with_(clusters=9).clusters == 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Design(0), "clusters must be an integer >= 1"),
        (lambda: Design(2, 0), "repetitions must be an integer >= 1"),
        (lambda: Design(2, 1, {"a": ()}), "distinct levels"),
        (lambda: Design(2, 1, {"a": ("x", "x")}), "distinct levels"),
        (lambda: Design(2, 1, {"a": ("x",)}, between=["b"]), "among the conditions"),
        (lambda: Design.from_dict({"clusters": 2, "reps": 3}), "key must be one of clusters"),
    ],
)
def test_impossible_designs_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
