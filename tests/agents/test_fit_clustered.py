"""Fits to a pilot: posteriors against SciPy's integrals, limits, and draws for assurance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad

from simtrack.agents.clustered.fit import fit_clustered, fit_paired
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.counts import Totals
from simtrack.errors import InputError

GRID = 2e-4  # the grid's rule against adaptive quadrature, in units of the parameter

PILOT = Totals.from_arrays([18, 20, 11, 19, 20, 15], [20] * 6)


def test_posterior_is_the_integral_of_the_beta_binomial_likelihood():
    passes, trials = [3, 9, 6], [10, 12, 8]

    def likelihood(icc, rate):
        size = 1 / icc - 1
        pmf = stats.betabinom.pmf(passes, trials, rate * size, (1 - rate) * size)
        return float(pmf.prod())

    def integral(of):
        return dblquad(lambda i, r: of(i, r) * likelihood(i, r), 0, 1, 1e-9, 0.99, epsabs=1e-8)[0]

    whole = integral(lambda i, r: 1.0)
    fit = fit_clustered(Totals.from_arrays(passes, trials))
    assert fit.mean("rate") == pytest.approx(integral(lambda i, r: r) / whole, abs=GRID)
    assert fit.mean("icc") == pytest.approx(integral(lambda i, r: i) / whole, abs=GRID)
    square = integral(lambda i, r: i * i) / whole
    assert fit.sd("icc") == pytest.approx(math.sqrt(square - fit.mean("icc") ** 2), abs=GRID)


def test_without_cluster_variance_the_rate_has_its_beta_posterior():
    fit = fit_clustered(PILOT, icc_prior=(1.0, 1e6), rate_prior=(2.0, 3.0))
    law = stats.beta(2 + 103, 3 + 17)
    assert fit.mean("rate") == pytest.approx(law.mean(), abs=GRID)
    assert fit.sd("rate") == pytest.approx(law.std(), abs=GRID)
    # quantiles are nodes of the grid: 240 over the whole range, half a degree of sin² apart
    assert fit.interval("rate", 0.9) == pytest.approx(law.interval(0.9), abs=0.006)


def test_bootstrap_icc_is_the_analysis_of_variance_by_hand():
    # MSB = 20 Σ(p_g - p)²/5, MSW = Σ 20 p_g(1-p_g)/114, ICC = (MSB - MSW)/(MSB + 19 MSW)
    p = np.array([18, 20, 11, 19, 20, 15]) / 20
    between = 20 * ((p - p.mean()) ** 2).sum() / 5
    within = (20 * p * (1 - p)).sum() / 114
    expected = (between - within) / (between + 19 * within)
    fit = fit_clustered(PILOT, method="bootstrap", n_resamples=500, seed=1)
    assert f"{expected:.3g}" in fit.notes[0]
    assert (fit.n, fit.seed, fit.computation) == (500, 1, "monte-carlo")
    # the spread of the rate: about sqrt(p(1-p)/n · deff); the ICC's own spread makes it no smaller
    naive = math.sqrt(fit.mean("rate") * (1 - fit.mean("rate")) / 120)
    assert 1.3 * naive < fit.sd("rate") < 3 * naive


def test_few_clusters_say_little_about_the_icc():
    same = Totals.from_arrays([16, 16, 16], [20] * 3)
    posterior = fit_clustered(same)
    bootstrap = fit_clustered(same, method="bootstrap", n_resamples=400)
    assert posterior.interval("icc")[1] > 0.3
    assert bootstrap.mean("icc") < 0.05
    assert any("too small" in note for note in bootstrap.notes)


def test_posterior_intervals_cover_as_often_as_they_say():
    # Rates and ICCs drawn from the prior: 95 % intervals then cover 95 % exactly. 120 pilots:
    # fewer than 105 covers has probability 2e-4, for either parameter; the seed is fixed.
    generator = np.random.default_rng(12)
    covered = np.zeros(2)
    for _ in range(120):
        rate, icc = generator.uniform(0.0, 1.0), generator.uniform(0.0, 0.99)
        size = 1 / icc - 1
        shares = generator.beta(rate * size, (1 - rate) * size, 8)
        fit = fit_clustered(Totals.from_arrays(generator.binomial(15, shares), [15] * 8))
        for k, (name, truth) in enumerate((("rate", rate), ("icc", icc))):
            low, high = fit.interval(name)
            covered[k] += low <= truth <= high
    assert (covered >= 105).all()


def test_drawn_agents_have_the_fitted_law_and_keep_their_place():
    fit = fit_clustered(PILOT)
    drawn = [fit.draw(3, k) for k in range(400)]
    rates = np.array([agent.rate for agent in drawn])
    assert abs(rates.mean() - fit.mean("rate")) < 5 * fit.sd("rate") / 20
    assert rates.std() == pytest.approx(fit.sd("rate"), rel=0.25)
    assert fit.draw(3, 250) == drawn[250]
    assert drawn[0] != drawn[1]
    assert fit.to_dict()["schema"] == "simtrack.fitted-agent/1"


def test_paired_posterior_agrees_with_importance_sampling():
    passes = np.array([[18, 14], [20, 19], [15, 9], [19, 18], [17, 13], [12, 11]])
    fit = fit_paired(Totals.from_arrays(passes, [[20, 20]] * 6))
    generator = np.random.default_rng(5)
    draws, points = 8_000, 30
    sd, slope = np.abs(generator.normal(size=(2, draws)))
    a, b = generator.normal(size=(2, draws))  # proposal: mean N(1.5, .8²), effect N(.95, .65²)
    mean, effect = 1.5 + 0.8 * a, 0.95 + 0.65 * b
    first, second = mean + 0.5 * effect, mean - 0.5 * effect
    x, w = np.polynomial.hermite_e.hermegauss(points)
    w = w / w.sum()
    u, v = (a.ravel() for a in np.meshgrid(x, x, indexing="ij"))
    weight = np.multiply.outer(w, w).ravel()
    u, v, weight = (x[weight > 1e-9] for x in (u, v, weight))
    log = np.zeros(draws)
    for k1, k2 in passes:
        inner = 0.0
        for du, dv, dw in zip(u, v, weight, strict=True):
            p1 = 1 / (1 + np.exp(-(first + sd * du + 0.5 * slope * dv)))
            p2 = 1 / (1 + np.exp(-(second + sd * du - 0.5 * slope * dv)))
            inner = inner + dw * p1**k1 * (1 - p1) ** (20 - k1) * p2**k2 * (1 - p2) ** (20 - k2)
        log += np.log(inner)
    log += 0.5 * (a**2 + b**2) - 0.5 * (first**2 + second**2) / 25
    importance = np.exp(log - log.max())
    importance /= importance.sum()
    size = 1 / (importance**2).sum()
    assert size > 1000
    values = {"mean": mean, "effect": effect, "sd": sd, "slope_sd": slope}
    for name, value in values.items():
        centre = (importance * value).sum()
        spread = math.sqrt((importance * (value - centre) ** 2).sum())
        # five Monte Carlo errors, and 2 % of the spread for the grid: a false alarm once in 1e6
        bound = spread * (5 / math.sqrt(size) + 0.02)
        assert abs(fit.mean(name) - centre) < bound, name
        assert fit.sd(name) == pytest.approx(spread, rel=0.15), name
    drawn = fit.draw(1, 0)
    assert isinstance(drawn, PairedAgent)
    assert drawn == fit.draw(1, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_clustered(Totals.from_arrays([3], [5])), "at least two clusters with trials"),
        (lambda: fit_clustered(Totals.from_arrays([[1, 1], [2, 2]], [[4, 4]] * 2)),
         "totals must be of 1 condition, got 2"),
        (lambda: fit_paired(PILOT), "totals must be of 2 conditions, got 1"),
        (lambda: fit_clustered(PILOT, method="exact"), "method must be one of posterior"),
        (lambda: fit_clustered(Totals.from_arrays([0.5, 1], [2, 2], square=[0.25, 1])),
         "scores that are 0 or 1"),
        (lambda: fit_clustered(PILOT).mean("speed"), "parameter must be one of rate, icc"),
    ],
)  # fmt: skip
def test_pilots_that_cannot_be_fitted_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
