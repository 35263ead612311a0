"""Models asked of many studies say what they say of each one, and hold their size."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from simtrack.analysis import METHODS, analyses
from simtrack.inference.models.gee import gee
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.table import ModelTable
from simtrack.method import Ask
from simtrack.results import OK, REASONS

#: Kernels and single fits share equations, not the order of their sums.
SAME = 1e-6
WEIGHTS = np.array([1.0, -1.0])


def _studies(rng, drop, count):
    n = rng.integers(6, 12, (count, 10, 2)).astype(float)
    level = rng.normal(0.5, 0.6, (count, 10, 1)) + np.array([drop, 0.0])
    return n, rng.binomial(n.astype(int), 1 / (1 + np.exp(-level))).astype(float)


@pytest.mark.parametrize(
    ("name", "single"),
    [
        ("linear-mixed", lambda t: linear_mixed(t(np.eye(2))).coefficients.contrast(WEIGHTS)),
        ("gee", lambda t: gee(t(np.array([[1, 1], [0, 1]]))).coefficients),
        (
            "logistic-mixed",
            lambda t: logistic_mixed(t(np.eye(2)), nodes=7).coefficients.contrast(WEIGHTS),
        ),
    ],
)
def test_each_study_is_answered_as_the_single_fit_answers_it(name, single) -> None:
    n, passed = _studies(np.random.default_rng(3), 0.8, 6)
    found = METHODS[name].studies(passed, n, WEIGHTS, Ask(0.9))
    for r in range(6):
        contrast = single(partial(ModelTable.from_arrays, n[r], passed[r]))
        assert found.status[r] == OK
        assert found.pvalue[r] == pytest.approx(contrast.pvalue[0], rel=1e-4, abs=SAME)
        if name == "linear-mixed":
            assert found.estimate[r] == pytest.approx(contrast.estimate[0], abs=SAME)
        else:
            rates = passed[r].sum(axis=0) / n[r].sum(axis=0)
            assert found.estimate[r] == pytest.approx(rates[0] - rates[1], abs=1e-12)
            assert np.isnan(found.low[r])


def test_one_sided_p_values_are_halves_on_their_side() -> None:
    n, passed = _studies(np.random.default_rng(4), 0.7, 4)
    for name in ("linear-mixed", "gee", "logistic-mixed"):
        run = METHODS[name].studies
        both = run(passed, n, WEIGHTS, Ask()).pvalue
        more = run(passed, n, WEIGHTS, Ask(alternative="greater")).pvalue
        less = run(passed, n, WEIGHTS, Ask(alternative="less")).pvalue
        assert np.allclose(more + less, 1.0)
        assert np.allclose(2 * np.minimum(more, less), both)


def test_separated_studies_are_refused_not_numbered() -> None:
    n = np.full((1, 4, 2), 5.0)
    passed = n.copy()
    passed[0, :, 1] = [1, 2, 0, 3]
    for name in ("gee", "logistic-mixed"):
        found = METHODS[name].studies(passed, n, WEIGHTS, Ask())
        assert found.status[0] != OK
        assert REASONS[found.reason[0]] == "the method refused"
        assert np.isnan(found.pvalue[0])


def test_analyses_name_them() -> None:
    for make, name in ((analyses.linear_mixed, "linear-mixed"), (analyses.gee, "gee"),
                       (analyses.logistic_mixed, "logistic-mixed")):  # fmt: skip
        assert make("stage_gap").name == name
    assert analyses.gee("stage_gap", covariance="sandwich").options == (("covariance", "sandwich"),)


@pytest.mark.slow
def test_size_of_the_corrected_equations_where_nothing_differs() -> None:
    # 4,000 studies: the standard error of a size of .05 is .0034, five of them .017.
    n, passed = _studies(np.random.default_rng(5), 0.0, 4000)
    gee_size = (METHODS["gee"].studies(passed, n, WEIGHTS, Ask()).pvalue < 0.05).mean()
    assert gee_size < 0.05 + 0.017
    plain = METHODS["gee"].studies(passed, n, WEIGHTS, Ask(options={"covariance": "sandwich"}))
    assert (plain.pvalue < 0.05).mean() > gee_size


@pytest.mark.parametrize("passed", [(3.0, 8.0), (7.0, 9.0), (5.0, 5.0)])
@pytest.mark.parametrize("clusters", [3, 7, 11])
def test_clusters_that_do_not_differ_are_no_evidence(passed, clusters) -> None:
    n = np.full((1, clusters, 2), 10.0)
    found = METHODS["gee"].studies(np.array([[passed] * clusters]), n, WEIGHTS, Ask())
    assert np.isnan(found.pvalue[0])
    assert REASONS[found.reason[0]] == "no spread between clusters"


def test_effects_that_do_not_differ_are_no_evidence_either() -> None:
    # Odds of 1 and 4 in half of the clusters, of 1/4 and 1 in the others: one odds ratio.
    passed = np.array([[(5.0, 8.0), (2.0, 5.0)] * 5])
    n = np.full((1, 10, 2), 10.0)
    independent = Ask(options={"correlation": "independence"})
    found = METHODS["gee"].studies(passed, n, WEIGHTS, independent)
    table = ModelTable.from_arrays(n[0], passed[0], np.eye(2))
    contrast = gee(table, correlation="independence").coefficients.contrast(WEIGHTS)
    assert np.isnan(found.pvalue[0]) == np.isnan(contrast.pvalue[0])
