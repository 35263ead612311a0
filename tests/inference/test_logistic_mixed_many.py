"""Many logistic mixed models at once: the one-by-one fit, the plain twin, statuses."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.many import logistic_mixed_many
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import gauss_hermite
from simtrack.kernels.logistic_mixed import fit_logistic_mixed

#: Two searches for one maximum.
SAME = 1e-7
#: Forward differences of a gradient, and central ones to fourth order.
DIFFERENCES = 1e-4
TWIN = 1e-8


def studies(count=12, seed=1, spread=0.8, most=15):
    rng = np.random.default_rng(seed)
    design = np.array([[1, a, b] for a in (0, 1) for b in (0, 1)], float)
    eta = (design * [0.4, -0.3, 0.5]).sum(axis=1) + spread * rng.normal(size=(count, 9, 1))
    n = rng.integers(1, most, (count, 9, 4))
    return n, rng.binomial(n, 1 / (1 + np.exp(-eta))), design


@pytest.mark.parametrize("nodes", [7, 21])
@pytest.mark.parametrize(("spread", "most"), [(0.8, 15), (0.1, 15), (2.5, 6)])
def test_each_study_alone(nodes, spread, most):
    n, total, design = studies(6, spread=spread, most=most)
    many = logistic_mixed_many(n, total, design, nodes=nodes)
    for r in range(6):
        one = logistic_mixed(ModelTable.from_arrays(n[r], total[r], design), nodes=nodes)
        assert many.status(r) == one.status
        assert many.log_likelihood[r] == pytest.approx(one.log_likelihood_trials, abs=1e-9)
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, abs=SAME)
        assert many.spread[r] == pytest.approx(one.random_sd[0], abs=1e-5)
        errors = np.sqrt(np.diag(many.covariance[r]))
        assert errors == pytest.approx(one.coefficients.standard_error, rel=DIFFERENCES)
        assert many.df[r].tolist() == one.coefficients.df.tolist()


def test_equal_and_unequal_numbers_of_trials_share_no_mistake():
    """The sum of logarithms is taken together for patterns of one size."""
    n, total, design = studies(4)
    n = np.full_like(n, 15)
    many = logistic_mixed_many(n, total, design)
    for r in range(4):
        one = logistic_mixed(ModelTable.from_arrays(n[r], total[r], design), nodes=7)
        assert many.log_likelihood[r] == pytest.approx(one.log_likelihood_trials, abs=1e-9)
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, abs=SAME)


def test_the_plain_python_twin():
    n, total, design = (np.asarray(a, float) for a in studies(2))
    outs = []
    for run in (fit_logistic_mixed, fit_logistic_mixed.py_func):
        out = [np.empty((2, 3)), np.empty((2, 3, 3)), np.empty(2), np.empty(2),
               np.zeros(2, np.int64)]  # fmt: skip
        run(n, total, design, *gauss_hermite(5), *out)
        outs.append(out)
    for compiled, plain in zip(*outs, strict=True):
        assert compiled == pytest.approx(plain, rel=TWIN)


def test_h34_and_other_nonsense_have_their_status():
    n = np.full((4, 4, 2), 40)
    total = np.array([
        [[0, 20], [0, 10], [0, 30], [0, 20]],
        [[40, 40], [0, 0], [40, 40], [0, 0]],
        [[40, 40], [0, 0], [40, 40], [1, 0]],
        [[20, 25], [22, 30], [18, 24], [30, 33]],
    ])  # fmt: skip
    many = logistic_mixed_many(n, total, [[1, 0], [1, 1]])
    found = [many.status(r) for r in range(4)]
    assert found == ["separated", "separated", "implausible", "converged"]
    assert np.isnan(many.estimate[:3]).all()
    assert np.isnan(many.spread[:3]).all()
    assert np.isfinite(many.estimate[3]).all()
    one = logistic_mixed_many([[1, 0], [0, 1]], [[[1, 0], [0, 0]]], [[1, 0], [1, 1]])
    assert one.status(0) in {"separated", "not-estimable"}


def test_few_nodes_are_refused():
    n, total, design = studies(2)
    with pytest.raises(InputError, match="nodes must be an integer from 5 to 61, got 1"):
        logistic_mixed_many(n, total, design, nodes=1)
