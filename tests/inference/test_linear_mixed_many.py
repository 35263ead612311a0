"""Many linear mixed models at once: the one-by-one fit, the plain Python twin, and the edges."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.inference.models.degrees import between_within
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.many import ManyFits, linear_mixed_many
from simtrack.inference.models.table import ModelTable
from simtrack.kernels.linear_mixed import fit_linear_mixed

#: Two searches for one root.
SAME = 1e-9
#: Compiled and plain arithmetic may differ in the last bits (fused multiply-adds).
TWIN = 1e-11


def studies(count=40, seed=1, spread=0.7):
    rng = np.random.default_rng(seed)
    design = np.array([[1, a, b] for a in (0, 1) for b in (0, 1)], float)
    eta = (design * [0.4, -0.3, 0.5]).sum(axis=1) + spread * rng.normal(size=(count, 9, 1))
    n = rng.integers(0, 15, (count, 9, 4))
    return n, rng.binomial(n, 1 / (1 + np.exp(-eta))), design


@pytest.mark.parametrize("criterion", ["REML", "ML"])
@pytest.mark.parametrize("spread", [0.7, 0.05])
def test_each_study_alone(criterion, spread):
    n, total, design = studies(spread=spread)
    many = linear_mixed_many(n, total, design, criterion=criterion)
    assert many.answered.all()
    seen = set()
    for r in range(len(total)):
        one = linear_mixed(ModelTable.from_arrays(n[r], total[r], design), criterion=criterion)
        assert many.status(r) == one.status
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, abs=SAME)
        assert many.covariance[r] == pytest.approx(one.coefficients.covariance, abs=SAME)
        assert many.df[r] == pytest.approx(one.coefficients.df, rel=1e-6)
        assert many.log_likelihood[r] == pytest.approx(one.log_likelihood, abs=1e-7)
        assert many.spread[r] == pytest.approx(one.variance_ratio, abs=SAME)
        seen.add(one.status)
    if spread < 0.1:
        assert seen == {"converged", "singular"}


def test_the_plain_python_twin():
    n, total, design = (np.asarray(a, float) for a in studies(6))
    outs = []
    for run in (fit_linear_mixed, fit_linear_mixed.py_func):
        out = [np.empty((6, 3)), np.empty((6, 3, 3)), np.empty((6, 2)), np.empty(6),
               np.empty((6, 3)), np.empty(6, np.int64)]  # fmt: skip
        run(n, total, total, design, True, True, between_within(n, design), *out)
        outs.append(out)
    for compiled, plain in zip(*outs, strict=True):
        assert compiled == pytest.approx(plain, rel=TWIN)


def test_scores_far_from_zero_and_one_n_for_all():
    rng = np.random.default_rng(3)
    n = np.full((8, 2), 6.0)
    y = 1e5 + rng.normal(size=(5, 8, 2, 6)) + rng.normal(size=(5, 8, 1, 1))
    total, square = y.sum(axis=3), (y * y).sum(axis=3)
    design = [[1, 0], [1, 1]]
    many = linear_mixed_many(n, total, design, squares=square)
    for r in range(5):
        one = linear_mixed(ModelTable.from_arrays(n, total[r], design, squares=square[r]))
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, rel=1e-9)
        assert many.spread[r] == pytest.approx(one.variance_ratio, rel=1e-4)


def test_what_cannot_be_estimated_is_nan_and_said():
    n = np.array([[[5, 5], [0, 0]], [[5, 0], [5, 0]], [[2, 2], [2, 2]], [[1, 0], [0, 1]]])
    total = np.array([[[2, 3], [0, 0]], [[2, 0], [3, 0]], [[2, 2], [2, 2]], [[1, 0], [0, 0]]])
    many = linear_mixed_many(n, total, [[1, 0], [1, 1]])
    assert [many.status(r) for r in range(4)] == ["not-estimable"] * 4
    assert np.isnan(many.estimate).all()
    assert all(np.isnan(a).all() for a in many.contrast([0, 1]))


def test_intervals_are_those_of_one_by_one():
    n, total, design = studies(5)
    value, error, low, high, pvalue = linear_mixed_many(n, total, design).contrast([0, 1, 0])
    for r in range(5):
        c = linear_mixed(ModelTable.from_arrays(n[r], total[r], design)).coefficients
        wanted = [c.estimate[1], c.standard_error[1], c.low[1], c.high[1], c.pvalue[1]]
        assert [value[r], error[r], low[r], high[r], pvalue[r]] == pytest.approx(wanted, abs=1e-8)


def test_bad_shapes_are_refused():
    n, total, design = studies(3)
    with pytest.raises(InputError, match="n must be of shape"):
        linear_mixed_many(n[:2], total, design)
    with pytest.raises(InputError, match="total must be of shape"):
        linear_mixed_many(n, total[0], design)
    with pytest.raises(InputError, match="total must be between 0 and n"):
        linear_mixed_many(n, total + 20, design)
    with pytest.raises(InputError, match="weights must be 3 numbers"):
        linear_mixed_many(n, total, design).contrast([1, 0])
    assert isinstance(linear_mixed_many(n, total, design), ManyFits)
