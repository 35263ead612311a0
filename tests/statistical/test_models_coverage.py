"""What the models' docstrings say of their coverage with twelve clusters, simulated again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from simtrack.counts import Totals
from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta
from simtrack.inference.models.many import gee_many, linear_mixed_many

REPLICATES = 4000
#: Three standard errors of a share near .9 over so many studies, and that of the share told.
CHANCE = 0.02
DESIGN = np.array([[1.0, 0.0], [1.0, 1.0]])
COVARIANCES = ("kauermann-carroll", "mancl-derouen", "sandwich")
SIZES = (4, 4, 6, 8, 10, 12, 16, 20, 24, 30, 40, 60)


def _marginal(sd: float, slope: float) -> float:
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    spread = np.sqrt([sd**2, sd**2 + slope**2])
    rate = (expit(np.array([-0.2, 0.3])[:, None] + spread[:, None] * x) * weight).sum(axis=1)
    logit = np.log(rate / (1.0 - rate))
    return float(logit[1] - logit[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "slope", "told"),
    [
        ([[20, 20]] * 12, 0.5, (0.946, 0.954, 0.937)),
        ([[20, 0]] * 6 + [[0, 20]] * 6, 0.0, (0.950, 0.968, 0.930)),
        ([[k, k] for k in SIZES], 0.5, (0.924, 0.942, None)),
        ([[k, 0] if g % 2 else [0, k] for g, k in enumerate(SIZES)], 0.0, (0.931, 0.954, None)),
        ([[200, 200]] + [[10, 10]] * 11, 0.5, (0.80, 0.90, None)),
        ([[20, 0]] * 2 + [[0, 20]] * 10, 0.0, (0.85, None, None)),
    ],
)
def test_estimating_equations(n, slope, told) -> None:
    rng = np.random.default_rng(20261130)
    shape = (REPLICATES, len(n))
    level, effect = rng.normal(0.0, 1.0, shape), rng.normal(0.0, slope, shape)
    eta = np.array([-0.2, 0.3]) + level[:, :, None] + effect[:, :, None] * DESIGN[:, 1]
    total = rng.binomial(np.array(n)[None], expit(eta)).astype(float)
    truth = _marginal(1.0, slope)
    for covariance, share in zip(COVARIANCES, told, strict=True):
        if share is None:
            continue
        fits = gee_many(n, total, DESIGN, covariance=covariance)
        _, _, low, high, _ = fits.contrast([0.0, 1.0])
        covers = ((low <= truth) & (truth <= high))[fits.answered]
        assert covers.mean() == pytest.approx(share, abs=CHANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "told"), [(0.0, 0.95), (0.1, 0.90), (0.2, 0.77), (0.3, 0.63)])
def test_a_random_intercept_is_no_slope(spread, told) -> None:
    rng = np.random.default_rng(20261130)
    shape = (REPLICATES, 12)
    level, effect = rng.normal(0.5, 0.15, shape), 0.1 + rng.normal(0.0, spread, shape)
    rates = np.clip(np.stack([level - 0.5 * effect, level + 0.5 * effect], axis=2), 0.0, 1.0)
    n = np.full((12, 2), 20)
    fits = linear_mixed_many(n, rng.binomial(n[None], rates).astype(float), DESIGN)
    _, _, low, high, _ = fits.contrast([0.0, 1.0])
    truth = float((rates[:, :, 1] - rates[:, :, 0]).mean())
    covers = (low <= truth) & (truth <= high)
    assert covers[fits.answered].mean() == pytest.approx(told, abs=CHANCE)


@pytest.mark.slow
def test_a_uniform_prior_on_the_icc_draws_extreme_rates_to_the_middle() -> None:
    rng, rate, icc, runs = np.random.default_rng(20261130), 0.98, 0.1, 200
    inside = {"rate": 0, "icc": 0, "missed above": 0}
    for _ in range(runs):
        p = rng.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), 6)
        totals = Totals.from_arrays(rng.binomial(20, p), [20] * 6)
        found = hierarchical_beta(totals, other_icc_prior=None)
        inside["rate"] += found.rate.low <= rate <= found.rate.high
        inside["icc"] += found.spread.low <= icc <= found.spread.high
        inside["missed above"] += rate < found.rate.low
    # Three standard errors of 200 runs are .07 and .10.
    assert inside["rate"] / runs == pytest.approx(0.9, abs=0.07)
    assert inside["icc"] / runs == pytest.approx(0.6, abs=0.10)
    assert inside["missed above"] == 0
