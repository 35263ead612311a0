"""Many estimating equations at once: the one-by-one fit, the plain twin, separation, statuses."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from simtrack.inference.models.gee import gee
from simtrack.inference.models.many import gee_many
from simtrack.inference.models.separation import separated_studies, separation
from simtrack.inference.models.table import ModelTable
from simtrack.kernels.gee import fit_gee
from simtrack.options import GeeCovariance

#: Two solvers at one root.
SAME = 1e-9
TWIN = 1e-10


def studies(count=25, seed=1, shift=0.0):
    rng = np.random.default_rng(seed)
    design = np.array([[1, a, b] for a in (0, 1) for b in (0, 1)], float)
    eta = shift + (design * [0.4, -0.3, 0.5]).sum(axis=1) + 0.7 * rng.normal(size=(count, 9, 1))
    n = rng.integers(0, 15, (count, 9, 4))
    return n, rng.binomial(n, 1 / (1 + np.exp(-eta))), design


@pytest.mark.parametrize("covariance", get_args(GeeCovariance))
@pytest.mark.parametrize("correlation", ["exchangeable", "independence"])
def test_each_study_alone(covariance, correlation):
    n, total, design = studies()
    how = {"covariance": covariance, "correlation": correlation}
    many = gee_many(n, total, design, **how)
    for r in range(len(total)):
        one = gee(ModelTable.from_arrays(n[r], total[r], design), **how)
        assert many.status(r) == one.status
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, abs=SAME)
        assert many.covariance[r] == pytest.approx(one.coefficients.covariance, abs=SAME)
        assert many.df[r] == pytest.approx(one.coefficients.df, rel=SAME)
        if correlation == "exchangeable":
            assert many.spread[r] == pytest.approx(one.alpha, abs=SAME)
    assert many.answered.any()


@pytest.mark.parametrize("kind", range(5))
def test_the_plain_python_twin(kind):
    n, total, design = (np.asarray(a, float) for a in studies(3))
    outs = []
    for run in (fit_gee, fit_gee.py_func):
        out = [np.empty((3, 3)), np.empty((3, 3, 3)), np.empty((3, 3)), np.empty(3),
               np.zeros(3, np.int64)]  # fmt: skip
        run(n, total, design, True, kind, *out)
        outs.append(out)
    for compiled, plain in zip(*outs, strict=True):
        assert compiled == pytest.approx(plain, rel=TWIN)


def test_h34_separated_studies_are_found_among_the_others():
    n, total, design = studies(60, shift=3.2)
    many = gee_many(n, total, design)
    apart = separated_studies(n * 1.0, total * 1.0, design)
    assert 5 < apart.sum() < 55
    for r in range(60):
        try:
            table = ModelTable.from_arrays(n[r], total[r], design)
        except ValueError:
            continue
        assert separation(table).found == apart[r]
        assert (many.status(r) == "separated") == apart[r]
        assert np.isnan(many.estimate[r]).all() == (not many.answered[r])
        assert gee(table).status == many.status(r)


def test_clusters_without_trials_do_not_count():
    n, total, design = studies(4)
    n[:, 3] = total[:, 3] = 0
    many = gee_many(n, total, design)
    for r in range(4):
        keep = np.arange(9) != 3
        one = gee(ModelTable.from_arrays(n[r][keep], total[r][keep], design))
        assert many.estimate[r] == pytest.approx(one.coefficients.estimate, abs=SAME)
        assert many.df[r] == pytest.approx(one.coefficients.df, rel=SAME)


def test_one_cluster_is_not_estimable():
    many = gee_many([[5, 5], [0, 0]], [[[2, 3], [0, 0]]], [[1, 0], [1, 1]])
    assert many.status(0) == "not-estimable"
    assert np.isnan(many.covariance).all()


def test_one_column_and_a_pattern_of_one_cluster():
    """The correction of a single mean; and none where one cluster alone has a pattern."""
    k = np.array([[1, 4, 3, 2, 5, 3]])
    for name, power in (("sandwich", 0), ("kauermann-carroll", 1), ("mancl-derouen", 2)):
        many = gee_many([[6]] * 6, k[:, :, None], [[1]], covariance=name)
        p = k.sum() / 36
        wanted = ((k - 6 * p) ** 2).sum() / (36 * p * (1 - p)) ** 2 * (6 / 5) ** power
        assert many.covariance[0, 0, 0] == pytest.approx(wanted)
    n, total = [[5, 0], [5, 0], [5, 5]], [[[2, 0], [3, 0], [1, 2]]]
    for name in get_args(GeeCovariance):
        how = {"covariance": name, "correlation": "independence"}
        many = gee_many(n, total, [[1, 0], [1, 1]], **how)
        one = gee(ModelTable.from_arrays(n, total[0], [[1, 0], [1, 1]]), **how)
        assert many.status(0) == one.status == "converged"
        assert np.isnan(many.covariance).any() == np.isnan(one.coefficients.covariance).any()
