"""Refits without each cluster: closed forms, the tables left over, and refits without an answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.inference.models.gee import gee
from simtrack.inference.models.leave_one_out import leave_one_out
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.table import ModelTable

TWO_ARMS = [[1, 0], [1, 1]]


def table():
    total = [[5, 7], [2, 4], [8, 9], [4, 8], [6, 5]]
    return ModelTable.from_arrays([[10, 10]] * 5, total, TWO_ARMS, names=["a", "b"])


def test_an_independence_fit_without_a_cluster_is_the_log_odds_ratio_of_the_rest():
    found = leave_one_out(table(), lambda t: gee(t, correlation="independence"))
    sums = np.array([25, 33]) - np.array([[5, 7], [2, 4], [8, 9], [4, 8], [6, 5]])
    wanted = [math.log(b / (40 - b) * (40 - a) / a) for a, b in sums.tolist()]
    assert found.estimate[:, 1] == pytest.approx(wanted, abs=1e-10)
    spread = np.array(wanted) - np.mean(wanted)
    assert found.jackknife_error[1] == pytest.approx(math.sqrt(0.8 * (spread**2).sum()))
    assert found.range("b") == pytest.approx((min(wanted), max(wanted)))
    assert found.most_influential("b") == "4"


@pytest.mark.parametrize("fit", [gee, linear_mixed, logistic_mixed])
def test_every_refit_is_the_fit_of_the_smaller_table(fit):
    whole = table()
    found = leave_one_out(whole, fit)
    for g in range(5):
        alone = fit(
            ModelTable.from_arrays(
                np.delete(whole.n, g, axis=0), np.delete(whole.totals, g, axis=0), TWO_ARMS
            )
        )
        assert found.estimate[g].tolist() == alone.coefficients.estimate.tolist()
        assert found.standard_error[g] == pytest.approx(alone.coefficients.standard_error)
        assert found.statuses[g] == alone.status
    assert found.full.names == ("a", "b")


def test_refits_without_an_answer_are_said():
    """Without x all others are separated; without y its arm has no trial at all."""
    n = [[5, 5, 0], [5, 5, 0], [5, 5, 0], [0, 0, 6]]
    total = [[2, 1], [3, 0], [1, 0], [0, 0]]
    whole = ModelTable.from_arrays(
        n, [[*row, 0] for row in total[:3]] + [[0, 0, 4]], [[1, 0, 0], [1, 1, 0], [1, 0, 1]],
        clusters=["x", "w", "v", "y"],
    )  # fmt: skip
    found = leave_one_out(whole, lambda t: gee(t, correlation="independence"))
    assert found.statuses == ("separated", "converged", "converged", "not-estimable")
    assert np.isnan(found.estimate[[0, 3]]).all()
    assert np.isfinite(found.estimate[[1, 2]]).all()
    assert found.notes[0].startswith("without x: quasi-complete separation")
    assert "without y: design must be" in found.notes[1]
    assert np.isnan(found.jackknife_error).all()
    assert found.most_influential("x1") == "x"
    assert found.to_dict()["without"][0]["estimate"] == [None, None, None]


def test_two_clusters_are_too_few():
    few = ModelTable.from_arrays([[5, 5]] * 2, [[1, 2], [2, 3]], TWO_ARMS)
    with pytest.raises(InputError, match="table must be of three clusters or more, got 2"):
        leave_one_out(few, gee)
