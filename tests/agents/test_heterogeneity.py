"""Conversions between SD, ICC and design effect; simulated agents against their exact moments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from simtrack.agents import (
    ClusteredAgent,
    PairedAgent,
    beta_parameters,
    design_effect,
    logit_normal_moments,
    logit_normal_parameters,
)
from simtrack.errors import InputError

PRINTED = 5.1e-11  # the reference values are printed to ten digits


@pytest.mark.parametrize(
    ("mean", "sd", "rate", "icc"),
    [
        (0.0, 1.0, 0.5, 0.1735161434),
        (1.0, 1.0, 0.6967346701, 0.1578457383),
        (math.log(4), 1.0, 0.7612562437, 0.1445540161),
        (math.log(4), 0.5, 0.7886657272, 0.0397968807),
        (2.0, 2.0, 0.7752002454, 0.3550053641),
    ],
)
def test_logit_normal_moments_are_those_of_another_quadrature(mean, sd, rate, icc):
    assert logit_normal_moments(mean, sd) == pytest.approx((rate, icc), abs=PRINTED, rel=0)


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.2), (-6.0, 3.0), (4.0, 8.0), (10.0, 20.0)])
def test_wide_and_lopsided_laws_agree_with_scipy(mean, sd):
    def moment(power):
        def density(z):
            return expit(mean + sd * z) ** power * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        return quad(density, -12, 12, limit=800, epsabs=1e-14, points=[-mean / sd])[0]

    rate = moment(1)
    icc = (moment(2) - rate**2) / (rate * (1 - rate))
    assert logit_normal_moments(mean, sd) == pytest.approx((rate, icc), abs=1e-11, rel=0)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("icc", [0.0, 0.01, 0.1, 0.3, 0.6])
def test_conversions_go_there_and_back(rate, icc):
    assert logit_normal_moments(*logit_normal_parameters(rate, icc)) == pytest.approx(
        (rate, icc), abs=1e-11, rel=0
    )
    if icc:
        a, b = beta_parameters(rate, icc)
        assert a / (a + b) == pytest.approx(rate, rel=1e-14)
        assert 1 / (a + b + 1) == pytest.approx(icc, rel=1e-14)


def test_design_effect_by_hand():
    assert design_effect(0.05, 150) == pytest.approx(8.45)  # Donner and Klar


@pytest.mark.parametrize(("law", "icc"), [("beta", 0.0), ("beta", 0.3), ("logit-normal", 0.2)])
def test_drawn_counts_have_the_rate_and_the_icc(law, icc):
    # 40,000 clusters of 10; six-sigma bounds: a false alarm once in 5e8 runs, and the seed is fixed
    size, replicates, clusters = 10, 4000, 10
    drawn = ClusteredAgent(0.8, icc, law).successes([size] * clusters, replicates, seed=3)
    shares = drawn.ravel() / size
    spread = 0.16 * (1 + (size - 1) * icc) / size
    assert abs(shares.mean() - 0.8) < 6 * math.sqrt(spread / shares.size)
    assert shares.var() == pytest.approx(spread, rel=0.06)


def test_paired_arms_have_their_exact_rates_and_share_clusters():
    agent = PairedAgent(0.7, icc=0.2, effect=1.0, slope_sd=0.5)
    first, second = agent.successes([12] * 10, 4000, seed=5)
    for drawn, rate in zip((first, second), agent.rates(), strict=True):
        # SD of a cluster's share is at most .5
        assert abs(drawn.mean() / 12 - rate) < 6 * 0.5 / math.sqrt(drawn.size)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.4
    assert PairedAgent(0.7, icc=0.2, slope_sd=1.0).rates()[0] == pytest.approx(
        PairedAgent(0.7, icc=0.2, slope_sd=1.0).rates()[1], abs=1e-15
    )


def test_more_clusters_and_replicates_leave_old_draws():
    few = PairedAgent(0.7, 0.1, slope_sd=0.5).successes([12] * 4, 3, seed=5)
    many = PairedAgent(0.7, 0.1, slope_sd=0.5).successes([12] * 9, 7, seed=5)
    for a, b in zip(few, many, strict=True):
        np.testing.assert_array_equal(a, b[:3, :4])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ClusteredAgent(1.0), "rate must be strictly between 0 and 1"),
        (lambda: ClusteredAgent(0.5, 0.1, "gamma"), "law must be one of beta, logit-normal"),
        (lambda: ClusteredAgent(0.5).successes([], 1, 1), "one number of trials for each cluster"),
        (lambda: logit_normal_parameters(0.5, 0.99), "one that a logit SD of at most 20 gives"),
        (lambda: PairedAgent(0.5, slope_sd=-1), "slope_sd must be a finite number from 0"),
    ],
)
def test_impossible_agents_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
