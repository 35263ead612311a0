"""The hierarchical logit-normal posterior against an integration of another kind."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import special, stats

from simtrack.counts import Totals
from simtrack.inference.bayes.beta_binomial import posterior_difference
from simtrack.inference.bayes.hierarchical_logit import hierarchical_logit
from simtrack.inference.bayes.slope_law import Patterns, log_mean_rate

CLOSE = 1e-8
HITS, SIZE = [9, 5, 10, 7, 8, 2], [10] * 6


def gauss(low, high, nodes):
    x, w = np.polynomial.legendre.leggauss(nodes)
    return low + 0.5 * (high - low) * (x + 1.0), 0.5 * (high - low) * w


def plane(hits, size, scale, nodes=(160, 120), m_box=(-14.0, 16.0), t_box=None):
    """Integrate over (m, t) by Gauss-Legendre, each cluster by 150 Gauss-Hermite nodes."""
    m, wm = gauss(*m_box, nodes[0])
    t, wt = gauss(*(t_box or (0.0, 7.5 * scale)), nodes[1])
    z, wz = np.polynomial.hermite_e.hermegauss(150)
    wz = wz / wz.sum()
    place = m[:, None, None] + t[:, None] * z
    p = special.expit(place)
    log_density = stats.logistic.logpdf(m)[:, None] + stats.halfnorm(scale=scale).logpdf(t)
    likelihoods = {}
    for y, n in set(zip(hits, size, strict=True)):
        likelihoods[y, n] = np.exp(
            y * special.log_expit(place) + (n - y) * special.log_expit(-place)
        )
    for y, n in zip(hits, size, strict=True):
        log_density = log_density + np.log((likelihoods[y, n] * wz).sum(axis=-1))
    top = log_density.max()
    density = np.exp(log_density - top) * wm[:, None] * wt
    rate = (p * wz).sum(axis=-1)
    own = likelihoods[hits[-1], size[-1]]
    last = (own * p * wz).sum(axis=-1) / (own * wz).sum(axis=-1)
    return density, t, rate, last, top


def test_six_clusters_by_gauss_rules():
    density, t, rate, last, top = plane(HITS, SIZE, 1.0)
    total = density.sum()
    found = hierarchical_logit(Totals.from_arrays(HITS, SIZE), other_sd_scale=None)
    assert found.log_evidence == pytest.approx(math.log(total) + top, abs=CLOSE)
    assert found.rate.mean == pytest.approx((density * rate).sum() / total, abs=CLOSE)
    square = (density * (rate - found.rate.mean) ** 2).sum() / total
    assert found.rate.sd == pytest.approx(math.sqrt(square), abs=CLOSE)
    assert found.spread.mean == pytest.approx((density * t).sum() / total, abs=CLOSE)
    assert found.cluster_mean[-1] == pytest.approx((density * last).sum() / total, abs=CLOSE)
    cluster = found.cluster(5)
    assert cluster.mean == pytest.approx(found.cluster_mean[-1], abs=CLOSE)
    assert cluster.sd == pytest.approx(found.cluster_sd[-1], abs=CLOSE)


def test_unequal_clusters_by_gauss_rules():
    hits, size = [3, 1, 6], [4, 2, 9]
    density, t, rate, last, top = plane(hits, size, 0.5)
    total = density.sum()
    found = hierarchical_logit(Totals.from_arrays(hits, size), sd_scale=0.5, other_sd_scale=None)
    assert found.log_evidence == pytest.approx(math.log(total) + top, abs=CLOSE)
    assert found.rate.mean == pytest.approx((density * rate).sum() / total, abs=CLOSE)
    assert found.spread.mean == pytest.approx((density * t).sum() / total, abs=CLOSE)
    assert found.cluster_mean[-1] == pytest.approx((density * last).sum() / total, abs=CLOSE)


def test_a_narrow_peak_is_not_missed():
    """300 clusters: on the first coarse look the posterior lies between the places looked at."""
    hits = np.repeat([0, 1, 2, 3, 4, 5], [10, 15, 25, 40, 80, 130]).tolist()
    size = [5] * 300
    density, t, rate, _, top = plane(hits, size, 1.0, (80, 80), (0.3, 3.3), (0.2, 3.0))
    total = density.sum()
    found = hierarchical_logit(Totals.from_arrays(hits, size), other_sd_scale=None)
    assert found.log_evidence == pytest.approx(math.log(total) + top, abs=CLOSE)
    assert found.rate.mean == pytest.approx((density * rate).sum() / total, abs=CLOSE)
    assert found.spread.mean == pytest.approx((density * t).sum() / total, abs=CLOSE)


def test_no_spread_is_the_conjugate_posterior():
    found = hierarchical_logit(
        Totals.from_arrays([7, 6, 8], [10] * 3), sd_scale=0.01, other_sd_scale=None
    )
    law = stats.beta(22, 10)
    assert (found.rate.low, found.rate.high) == pytest.approx(law.ppf([0.025, 0.975]), abs=1e-4)
    assert found.cluster_mean == pytest.approx([law.mean()] * 3, abs=1e-4)
    # The Bayes factor of clusters that hardly differ against clusters that do not.
    assert found.bayes_factor.log_bf10 == pytest.approx(0.0, abs=1e-3)


def test_counts_of_all_or_nothing_have_a_proper_law():
    found = hierarchical_logit(Totals.from_arrays([0, 0, 0], [5] * 3))
    assert found.rate.low < 0.01
    assert found.rate.hpd()[0] == pytest.approx(0.0, abs=1e-6)
    assert found.rate.cdf(found.rate.high) == pytest.approx(0.975, abs=CLOSE)
    assert "under sd half-normal(2.5) instead" in " ".join(found.notes)


def test_two_independent_arms():
    one = hierarchical_logit(Totals.from_arrays([9, 8, 10], [10] * 3), other_sd_scale=None)
    two = hierarchical_logit(Totals.from_arrays([4, 5, 3], [10] * 3), other_sd_scale=None)
    found = posterior_difference(one.rate, two.rate)
    assert found.mean == pytest.approx(one.rate.mean - two.rate.mean, abs=CLOSE)
    assert found.sd**2 == pytest.approx(one.rate.sd**2 + two.rate.sd**2, abs=CLOSE)
    assert found.probability(low=0.0) > 0.95


@pytest.mark.parametrize("tau", [0.0, 0.3, 2.0, 6.0])
def test_mean_rates_against_scipys_quad(tau):
    from scipy import integrate

    for m in (-3.0, 0.4):
        exact = integrate.quad(
            lambda z, m=m: special.expit(m + tau * z) * stats.norm.pdf(z), -12, 12, epsabs=1e-13
        )[0]
        log_rate, log_rest, _ = log_mean_rate(np.array(m), tau)
        assert math.exp(float(log_rate)) == pytest.approx(exact, abs=1e-11)
        assert math.exp(float(log_rest)) == pytest.approx(1.0 - exact, abs=1e-11)


@pytest.mark.parametrize(("y", "n"), [(0, 20), (20, 20), (3, 20), (40, 200)])
@pytest.mark.parametrize("tau", [0.02, 0.5, 3.0])
def test_marginal_likelihoods_against_scipys_quad(y, n, tau):
    from scipy import integrate

    m = np.array([-1.5, 0.8])
    found = Patterns.of(np.array([float(y)]), np.array([float(n)])).log_marginal(m, tau)[0]
    for value, centre in zip(found, m.tolist(), strict=True):
        edges = np.linspace(centre - 11 * tau, centre + 11 * tau, 41)
        exact = sum(
            integrate.quad(
                lambda x, c=centre: math.exp(
                    y * special.log_expit(x) + (n - y) * special.log_expit(-x)
                )
                * stats.norm.pdf(x, c, tau),
                left, right, epsabs=0, epsrel=1e-11,
            )[0]
            for left, right in pairwise(edges)
        )  # fmt: skip
        assert value == pytest.approx(math.log(exact), abs=1e-9)
