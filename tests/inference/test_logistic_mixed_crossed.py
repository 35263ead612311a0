"""Crossed random intercepts by Laplace: the salamanders, one factor alone, a dense second look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from simtrack.errors import InputError
from simtrack.inference.models.logistic_mixed import logistic_mixed
from simtrack.inference.models.logistic_mixed_likelihood import minus_log_likelihood_crossed
from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import gradient

# Salamanders of two populations (McCullagh and Nelder 1989, 14.5; lme4): which six males each of 20
# females met, and who mated, in three experiments with other animals of the same plan.
MALES = """
1 14 5 11 4 15/5 15 3 13 1 12/2 11 1 14 3 13/4 12 2 15 5 14/3 13 4 12 2 11
19 9 20 7 16 8/18 8 19 9 17 6/16 6 17 10 20 9/20 7 18 6 19 10/17 10 16 8 18 7
9 19 7 20 10 18/7 16 9 17 6 20/8 17 6 19 7 16/10 20 8 18 9 19/6 18 10 16 8 17
15 2 13 4 12 1/14 1 15 2 11 5/11 4 12 5 15 3/13 3 11 1 14 4/12 5 14 3 13 2
"""
MATED = """
111011 111111 101111 111011 111111 111011 000100 010011 001111 001010
011101 000100 000001 011101 010000 001000 111011 101010 111110 100110
101010 111001 011111 100000 101000 111000 110101 100010 111101 001110
010001 010001 010101 001101 000000 101111 101000 000000 111111 101110
111011 000100 111011 101100 011010 011111 010000 111110 001011 011111
000101 010101 101001 111000 011101 001000 101000 001010 100010 001010
"""


def salamanders():
    """Females are clusters; a pattern is a male and the population of the female."""
    met = [
        [int(m) for m in f.split()] for line in MALES.split("\n") if line for f in line.split("/")
    ]
    n, total = np.zeros((2, 60, 120))
    for female, bits in enumerate(MATED.split()):
        experiment, place = divmod(female, 20)
        for male, bit in zip(met[place], bits, strict=True):
            k = 2 * (20 * experiment + male - 1) + int(place >= 10)
            n[female, k] += 1
            total[female, k] += int(bit)
    cells = [(m, int(m % 20 >= 10), f) for m in range(60) for f in (0, 1)]
    design = [[1, f, w, f * w] for _, w, f in cells]
    patterns = [(str(m), "RW"[w], "RW"[f]) for m, w, f in cells]
    names = ["intercept", "female W", "male W", "both W"]
    return ModelTable.from_arrays(
        n, total, design, names=names, patterns=patterns, by=["male", "male type", "female type"]
    )


def test_salamanders_as_print_has_them():
    """spaMM's test holds Laplace's log likelihood of this model at -209.2766."""
    fit = logistic_mixed(salamanders(), crossed="male")
    assert fit.status == "converged"
    assert fit.log_likelihood_trials == pytest.approx(-209.2766, abs=6e-5)
    assert fit.log_likelihood == pytest.approx(fit.log_likelihood_trials, abs=1e-9)
    # glmer prints 1.01, -2.90, -0.70, 3.59 with variances 1.17 (female) and 1.04 (male).
    assert fit.coefficients.estimate == pytest.approx([1.01, -2.90, -0.70, 3.59], abs=6e-3)
    assert np.diag(fit.random_covariance) == pytest.approx([1.17, 1.04], abs=6e-3)


def small(seed=4):
    rng = np.random.default_rng(seed)
    design = np.array([[1, a, b] for _ in range(4) for a in (0, 1) for b in (0, 1)], float)
    patterns = [(f"m{m}", str(a), str(b)) for m in range(4) for a in (0, 1) for b in (0, 1)]
    eta = (design * [0.3, -0.8, 0.5]).sum(axis=1) + np.repeat(rng.normal(0, 0.9, 4), 4)
    eta = eta + rng.normal(0, 1.0, 10)[:, None]
    n = rng.integers(0, 6, (10, 16))
    total = rng.binomial(n, 1 / (1 + np.exp(-eta)))
    return ModelTable.from_arrays(n, total, design, patterns=patterns, by=["model", "a", "b"])


def by_hand(table, point):
    """The same approximation with one matrix of all effects, and a mode by SciPy."""
    codes, levels = table.codes("model")
    groups, m = len(table.clusters), len(levels)
    beta, su, sv = point[:3], point[3], point[4]
    z = np.zeros((groups, len(codes), groups + m))
    for g in range(groups):
        z[g, :, g] = su
        z[g, np.arange(len(codes)), groups + codes] = sv

    def lost(u):
        eta = table.design @ beta + z @ u
        return -(table.totals * eta - table.n * np.logaddexp(0, eta)).sum() + 0.5 * u @ u

    best = optimize.minimize(lost, np.zeros(groups + m), method="BFGS", options={"gtol": 1e-10})
    eta = table.design @ beta + z @ best.x
    mu = 1 / (1 + np.exp(-eta))
    weight = table.n * mu * (1 - mu)
    h = np.eye(groups + m) + np.einsum("gk,gka,gkb->ab", weight, z, z)
    return lost(best.x) + 0.5 * np.linalg.slogdet(h)[1]


def test_the_approximation_with_one_matrix_of_all_effects():
    table = small()
    function = minus_log_likelihood_crossed(table, *_codes(table))
    for point in ([0.2, -0.5, 0.4, 0.8, 0.6], [1.0, 0.3, -0.2, 0.1, 1.7]):
        at = np.array(point)
        assert function(at[None])[0] == pytest.approx(by_hand(table, at), abs=1e-7)


def _codes(table):
    codes, levels = table.codes("model")
    return codes, len(levels)


def test_derivatives_go_through_the_mode():
    table = small()
    function = minus_log_likelihood_crossed(table, *_codes(table))
    at, h = np.array([0.2, -0.5, 0.4, 0.8, 0.6]), 1e-5
    numeric = [(function((at + h * e)[None]) - function((at - h * e)[None]))[0] / (2 * h)
               for e in np.eye(5)]  # fmt: skip
    assert gradient(function, at) == pytest.approx(numeric, abs=1e-7)


def test_without_a_second_spread_it_is_the_one_factor_model():
    """A crossed factor whose levels do not differ leaves Laplace's fit of the clusters alone."""
    table = small()
    both = ModelTable(
        np.tile(table.n[:, :4], (1, 2)), np.tile(table.totals[:, :4], (1, 2)),
        np.tile(table.squares[:, :4], (1, 2)), np.tile(table.design[:4], (2, 1)), table.names,
        table.clusters, tuple((m, *p[1:]) for m in "xy" for p in table.patterns[:4]), table.by,
    )  # fmt: skip
    crossed, alone = logistic_mixed(both, crossed="model"), logistic_mixed(both, nodes=1)
    assert crossed.status == "singular"
    assert crossed.coefficients.estimate == pytest.approx(alone.coefficients.estimate, abs=1e-6)
    assert crossed.random_covariance[0, 0] == pytest.approx(alone.random_covariance[0, 0], abs=1e-6)
    assert math.isnan(crossed.random_sd_error[1])
    assert any("singular" in note for note in crossed.notes)


def test_more_levels_than_clusters_is_the_same_model_turned():
    table = small()
    codes, levels = table.codes("model")
    turned_n = np.zeros((len(levels), 10 * 4))
    turned_total = np.zeros_like(turned_n)
    patterns = [(f"c{g}", str(j)) for g in range(10) for j in range(4)]
    for g in range(10):
        for k, m in enumerate(codes):
            turned_n[m, 4 * g + k % 4] = table.n[g, k]
            turned_total[m, 4 * g + k % 4] = table.totals[g, k]
    turned = ModelTable.from_arrays(
        turned_n, turned_total, np.tile(table.design[:4], (10, 1)), patterns=patterns,
        by=["model", "cell"],
    )  # fmt: skip
    a, b = logistic_mixed(table, crossed="model"), logistic_mixed(turned, crossed="model")
    assert b.log_likelihood_trials == pytest.approx(a.log_likelihood_trials, abs=1e-9)
    assert b.coefficients.estimate == pytest.approx(a.coefficients.estimate, abs=1e-6)
    assert np.diag(b.random_covariance)[::-1] == pytest.approx(np.diag(a.random_covariance))


def test_a_slope_or_nodes_beside_it_are_refused():
    with pytest.raises(InputError, match="crossed must be without slope and nodes"):
        logistic_mixed(small(), crossed="model", nodes=7)
    with pytest.raises(InputError, match="factor must be one of model, a, b"):
        logistic_mixed(small(), crossed="scenario")
