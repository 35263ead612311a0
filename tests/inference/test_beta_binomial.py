"""Conjugate posteriors of a rate and of a difference."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.beta_binomial import (
    beta_difference,
    beta_posterior,
    beta_rate,
    beta_rates,
    difference_law,
    posterior_difference,
)
from simtrack.inference.bayes.posterior_law import BetaLaw
from simtrack.inference.rates.binomial import jeffreys

#: Quadrature of smooth densities keeps more digits than this; SciPy's quad about as many.
CLOSE = 1e-10
PRINTED_10 = 5e-11  # ten printed digits


def test_placenta_previa_as_printed():
    """Gelman et al., section 2.4: 437 girls of 980 births, uniform prior."""
    found = beta_posterior(437, 980)
    assert round(found.mean, 3) == 0.446
    assert round(found.sd, 3) == 0.016
    assert round(found.median, 3) == 0.446
    assert [round(end, 3) for end in (found.low, found.high)] == [0.415, 0.477]
    assert (found.computation, found.guarantee) == ("closed-form", "bayesian")


def test_laplaces_births_as_printed():
    """Gelman et al., section 2.4: 241,945 girls, 251,527 boys; P(girls >= 1/2) about 1.15e-42."""
    boys = beta_posterior(251_527, 251_527 + 241_945)
    assert f"{boys.cdf(0.5):.2e}" == "1.15e-42"


def test_scipy_agrees_on_a_posterior_with_few_trials():
    found, law = beta_posterior(2, 7, prior=(0.5, 0.5), level=0.9), stats.beta(2.5, 5.5)
    assert found.mean == pytest.approx(law.mean(), abs=1e-14)
    assert found.sd == pytest.approx(law.std(), abs=1e-14)
    assert (found.low, found.high) == pytest.approx(law.ppf([0.05, 0.95]), abs=1e-12)
    assert found.density(0.3) == pytest.approx(law.pdf(0.3), rel=1e-12)
    zones = found.rope(0.2, 0.4)
    assert (zones.below, zones.above) == pytest.approx((law.cdf(0.2), law.sf(0.4)), abs=1e-12)
    assert zones.below + zones.inside + zones.above == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(("a", "b"), [(9, 3), (2.5, 5.5), (30, 2), (1, 11), (5, 1)])
def test_the_hpd_interval_is_the_shortest(a, b):
    found, law = beta_posterior(0, 0, prior=(a, b)), stats.beta(a, b)
    low, high = found.hpd()
    assert law.cdf(high) - law.cdf(low) == pytest.approx(0.95, abs=1e-12)
    width = optimize.minimize_scalar(
        lambda p: law.ppf(p + 0.95) - law.ppf(p), bounds=(0, 0.05), method="bounded",
        options={"xatol": 1e-10},
    ).fun  # fmt: skip
    assert high - low <= width + 1e-9
    if a > 1 and b > 1:
        assert law.pdf(low) == pytest.approx(law.pdf(high), rel=1e-8)


def test_jeffreys_prior_gives_jeffreys_interval():
    totals = Totals.from_arrays([[13, 3]], [[16, 16]])
    found = beta_rates(totals, prior=(0.5, 0.5))
    low, high = jeffreys([13, 3], 16)
    assert found.low == pytest.approx(low, abs=1e-14)
    assert found.high == pytest.approx(high, abs=1e-14)
    assert found.guarantee == "bayesian"


def test_zones_of_uniform_priors_are_exact():
    law = difference_law(BetaLaw(1.0, 1.0), BetaLaw(1.0, 1.0))
    below, through = law.cdf(np.array([-0.2, 0.2]))
    assert (below, through - below) == pytest.approx((0.32, 0.36), abs=1e-14)


@pytest.mark.parametrize(
    ("first", "second", "zones"),
    [
        ((9, 3), (9, 3), (0.1185617359, 0.7628765281, 0.1185617359)),
        ((13, 3), (7, 9), (2.541491e-4, 0.1299659998, 0.8697798511)),
        ((25, 7), (15, 17), (8.130828e-6, 0.1603334849, 0.8396583842)),
    ],
)
def test_zones_of_the_probe(first, second, zones):
    """Found by adaptive quadrature to 1e-13 when the design of the probe was studied."""
    law = difference_law(BetaLaw(*map(float, first)), BetaLaw(*map(float, second)))
    below, through = law.cdf(np.array([-0.2, 0.2]))
    assert (below, through - below, 1 - through) == pytest.approx(zones, abs=6e-11)


def exceeds(a: int, b: int, c: int, d: int) -> Fraction:
    """P(Beta(a, b) > Beta(c, d)) for integers: fewer than a of a+b-1 uniforms lie below Y."""
    total, n = Fraction(0), a + b - 1
    for j in range(a):  # j of the n uniforms below Y, averaged over Y: Beta-binomial
        total += Fraction(
            comb(n, j) * comb(c + d - 1, c) * c * 1,
            comb(n + c + d - 1, c + j) * (c + j),
        )
    return total


def test_exceedance_in_fractions():
    assert exceeds(2, 1, 1, 2) == Fraction(5, 6)
    for a, b, c, d in [(2, 1, 1, 2), (6, 4, 3, 5), (12, 30, 9, 40)]:
        law = difference_law(BetaLaw(float(a), float(b)), BetaLaw(float(c), float(d)))
        exact = float(exceeds(a, b, c, d))
        assert 1.0 - law.cdf(np.array([0.0]))[0] == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize(
    ("a", "b", "c", "d"), [(0.5, 0.5, 0.5, 0.5), (0.5, 10.5, 1.5, 20.5), (300, 20, 290, 40)]
)
def test_the_difference_against_scipys_quad(a, b, c, d):
    law, (one, two) = (
        difference_law(BetaLaw(a, b), BetaLaw(c, d)),
        (stats.beta(a, b), stats.beta(c, d)),
    )
    for x in (-0.05, 0.02, 0.1):
        # P(first <= second + x) with second by its quantiles: no singular density.
        exact = integrate.quad(
            lambda q, x=x: one.cdf(two.ppf(q) + x), 0, 1, epsabs=1e-11, limit=500
        )[0]  # fmt: skip
        assert law.cdf(np.array([x]))[0] == pytest.approx(exact, abs=2e-9)
    assert law.mean == pytest.approx(one.mean() - two.mean(), abs=1e-12)
    assert law.sd**2 == pytest.approx(one.var() + two.var(), rel=1e-11)


@settings(max_examples=15, deadline=None)
@given(*[st.integers(0, 30)] * 4)
def test_the_difference_turned_round_is_its_mirror(s, f, u, g):
    one, two = beta_posterior(s, s + f), beta_posterior(u, u + g)
    there, back = posterior_difference(one, two), posterior_difference(two, one)
    assert there.low == pytest.approx(-back.high, abs=CLOSE)
    assert there.mean == pytest.approx(one.mean - two.mean, abs=CLOSE)


def test_pooling_is_said():
    totals = Totals.from_arrays([[3, 1], [2, 2]], [[4, 4], [4, 4]])
    assert "treats trials as independent" in beta_rate(totals).notes[0]
    notes = " ".join(beta_difference(totals).notes)
    assert "2 clusters have both" in notes
    assert "no trial" in beta_posterior(0, 0).notes[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: beta_posterior(5, 4), "successes must be between 0 and n, got 5."),
        (lambda: beta_posterior(1, 4, prior=(0, 1)), "prior a must be a finite number from 0.001"),
        (lambda: beta_posterior(1, 4, prior=3), "prior must be a pair of positive numbers"),
        (lambda: beta_posterior(1, 4).rope(0.5, 0.5), "low must be below high"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        call()
