"""Posterior masses against SciPy's quadrature and special functions, and against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from simtrack.errors import InputError
from simtrack.probe.beta import beta_survival, posterior_blocks
from simtrack.probe.decisions import exact_difference, exact_high
from simtrack.probe.parameters import Beta
from simtrack.probe.posterior import (
    _exceedance,
    _settled_nodes,
    difference_masses,
    high_masses,
)
from simtrack.probe.quadrature import gauss_legendre, plain_nodes, smooth_nodes

#: What issue 2 asks of the posterior masses.
POSTERIOR = 1e-12
#: SciPy's incomplete beta function and ours, both good to some units in the last place.
LAST_PLACES = 1e-13
BAND = Fraction(1, 5)


def masses(full: Beta, ablated: Beta, k_max: int, band: Fraction = BAND):
    return list(difference_masses(full, ablated, band, k_max))


def quadrature_mass(full, ablated, band):
    """P(F - S > band) by QUADPACK, the algebraic ends of the integrand as its weight."""
    (a, b), (c, d) = full, ablated
    width = 1.0 - band
    left, right = c % 1.0 or 1.0, b % 1.0 or 1.0
    log_beta = special.betaln(c, d)

    def smooth(s):
        y = width - s
        if y <= 0.0 or s <= 0.0:
            s, y = max(s, 1e-300), max(y, 1e-300)
        density = math.exp((c - left) * math.log(s) + (d - 1) * math.log1p(-s) - log_beta)
        return density * special.betainc(b, a, y) / y**right

    value, error = integrate.quad(
        smooth,
        0.0,
        width,
        weight="alg",
        wvar=(left - 1.0, right),
        epsabs=2e-14,
        epsrel=1e-13,
        limit=400,
    )
    assert error < POSTERIOR / 2
    return value


@pytest.mark.parametrize(
    ("prior", "k_max"),
    [
        (("0.5", "0.5"), 30),
        (("0.5", "0.5"), 200),
        (("0.3", "0.7"), 30),
        (("0.3", "0.7"), 200),
        (("2.5", "0.6"), 30),
        (("0.1", "0.1"), 30),
    ],
)
def test_real_priors_agree_with_an_independent_quadrature(prior, k_max):
    prior = Beta(*prior)
    alpha, beta = float(prior.alpha), float(prior.beta)
    found = {m.k: m for m in difference_masses(prior, prior, BAND, k_max)}
    shares = (0.0, 0.3, 0.6, 0.8, 1.0)
    for k in (1, 2, k_max // 2, k_max):
        for i in sorted({round(share * k) for share in shares}):
            for j in sorted({round(share * k) for share in shares}):
                full, ablated = (alpha + i, beta + k - i), (alpha + j, beta + k - j)
                up = quadrature_mass(full, ablated, 0.2)
                down = quadrature_mass(ablated, full, 0.2)
                assert abs(found[k].positive[i, j] - up) < POSTERIOR
                assert abs(found[k].negative[i, j] - down) < POSTERIOR
                assert abs(found[k].zero[i, j] - (1 - up - down)) < 2 * POSTERIOR


def test_two_different_real_priors_agree_with_an_independent_quadrature():
    full, ablated = Beta("0.3", "0.7"), Beta(2, "1.5")
    last = masses(full, ablated, 12)[-1]
    for i, j in ((0, 0), (12, 0), (0, 12), (9, 4), (12, 12)):
        one, other = (0.3 + i, 12.7 - i), (2.0 + j, 13.5 - j)
        assert abs(last.positive[i, j] - quadrature_mass(one, other, 0.2)) < POSTERIOR
        assert abs(last.negative[i, j] - quadrature_mass(other, one, 0.2)) < POSTERIOR


@pytest.mark.parametrize("k_max", [1, 7, 30])
def test_whole_number_priors_agree_with_exact_fractions(k_max):
    full, ablated = Beta(1, 1), Beta(2, 3)
    last = masses(full, ablated, k_max)[-1]
    for i in range(0, k_max + 1, max(1, k_max // 5)):
        for j in range(0, k_max + 1, max(1, k_max // 5)):
            one, other = (1 + i, 1 + k_max - i), (2 + j, 3 + k_max - j)
            assert abs(last.positive[i, j] - exact_difference(one, other, BAND)) < LAST_PLACES
            assert abs(last.negative[i, j] - exact_difference(other, one, BAND)) < LAST_PLACES


def test_exact_mass_at_two_hundred_rounds():
    last = masses(Beta(1, 1), Beta(1, 1), 200)[-1]
    for i, j in ((120, 100), (200, 150), (199, 200)):
        exact = exact_difference((1 + i, 201 - i), (1 + j, 201 - j), BAND)
        assert abs(last.positive[i, j] - exact) < LAST_PLACES


@pytest.mark.parametrize(
    ("full", "ablated", "positive", "zero", "negative"),
    [
        # collected reference values (quadrature to 1e-13; the first is exact by hand: .8^2 / 2)
        ((1, 1), (1, 1), 0.32, 0.36, 0.32),
        ((9, 3), (9, 3), 0.1185617359, 0.7628765281, 0.1185617359),
        ((13, 3), (7, 9), 0.8697798511, 0.1299659998, 2.541491e-4),
        ((25, 7), (15, 17), 0.8396583842, 0.1603334849, 8.130828e-6),
    ],
)
def test_published_zone_probabilities(full, ablated, positive, zero, negative):
    found = masses(Beta(*full), Beta(*ablated), 1)[0]
    assert found.positive[0, 0] == pytest.approx(positive, abs=5e-11)
    assert found.zero[0, 0] == pytest.approx(zero, abs=5e-11)
    assert found.negative[0, 0] == pytest.approx(negative, abs=5e-11)
    up = exact_difference(full, ablated, BAND)
    assert float(up) == pytest.approx(positive, abs=5e-11)


def test_published_probabilities_that_one_rate_is_the_larger():
    # a band of 0: P(Be(6, 4) > Be(3, 5)) and P(Be(2, 1) > Be(1, 2)) = 5/6
    larger = exact_difference((6, 4), (3, 5), Fraction(0))
    assert float(larger) == pytest.approx(0.8426573427, abs=5e-11)
    assert exact_difference((2, 1), (1, 2), Fraction(0)) == Fraction(5, 6)


def naive_exact(full, ablated, band):
    """P(F - S > band) by another road: the binomial sum of F in powers of s, term by term."""
    (a, b), (c, d) = full, ablated
    n = a + b - 1
    total = Fraction(0)
    for r in range(a):  # (s + z)^r (1 - z - s)^(n - r) s^(c-1) (1-s)^(d-1), expanded in s
        poly = [Fraction(math.comb(n, r))]
        for root in [(band, 1)] * r + [(1 - band, -1)] * (n - r) + [(0, 1)] * (c - 1):
            poly = times(poly, root)
        for root in [(1, -1)] * (d - 1):
            poly = times(poly, root)
        total += sum(term * (1 - band) ** (m + 1) / (m + 1) for m, term in enumerate(poly))
    return total * c * math.comb(c + d - 1, c)


def times(poly, root):
    constant, slope = root
    out = [Fraction(0)] * (len(poly) + 1)
    for power, term in enumerate(poly):
        out[power] += term * constant
        out[power + 1] += term * slope
    return out


@given(
    st.tuples(*[st.integers(1, 6)] * 4),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
@settings(max_examples=40, deadline=None)
def test_exact_difference_equals_a_term_by_term_integral(parameters, band):
    a, b, c, d = parameters
    assert exact_difference((a, b), (c, d), band) == naive_exact((a, b), (c, d), band)


@given(
    st.integers(1, 30),
    st.integers(1, 30),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50),
)
def test_exact_high_equals_scipy(alpha, beta, threshold):
    expected = stats.beta.sf(float(threshold), alpha, beta)
    assert float(exact_high(alpha, beta, threshold)) == pytest.approx(expected, abs=LAST_PLACES)


@given(
    st.floats(0.01, 1000),
    st.floats(0.01, 1000),
    st.floats(1e-6, 1 - 1e-6),
)
@settings(deadline=None)
def test_survival_function_equals_scipy(alpha, beta, point):
    prior = Beta(round(alpha, 6), round(beta, 6))
    x = np.array([point])
    found = beta_survival(prior, x, 1.0 - x)[0]
    expected = special.betaincc(float(prior.alpha), float(prior.beta), point)
    # exponents of about 2000 nats cost some hundred units in the last place
    assert found == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("prior", [(1, 1), ("0.5", "0.5"), ("0.01", 3), (40, "2.5")])
def test_recurrences_equal_scipy_at_every_record(prior):
    prior = Beta(*prior)
    alpha, beta = float(prior.alpha), float(prior.beta)
    x = np.array([1e-4, 0.2, 0.5, 0.8, 0.9999])
    seen = []
    for block in posterior_blocks(prior, x, 1.0 - x, 60):
        for at, k in enumerate(block.rounds.tolist()):
            seen.append(k)
            i = np.arange(k + 1)[:, None]
            a, b = alpha + i, beta + k - i
            expected = special.betaincc(a, b, x)
            assert np.abs(block.survival[at, : k + 1] - expected).max() < LAST_PLACES
            density = block.term[at, : k + 1] * a / x
            assert np.allclose(density, stats.beta.pdf(x, a, b), rtol=1e-11, atol=1e-290)
            assert not block.term[at, k + 1 :].any()
    assert seen == list(range(61))


def test_high_masses_equal_scipy_and_impossible_cells_are_empty():
    found = high_masses(Beta("0.5", 2), Fraction(7, 10), 40)
    for k in (0, 1, 13, 40):
        i = np.arange(k + 1)
        assert np.abs(found[k, : k + 1] - stats.beta.sf(0.7, 0.5 + i, 2 + k - i)).max() < 1e-13
        assert np.isnan(found[k, k + 1 :]).all()


def test_swapping_the_forms_swaps_the_signs():
    one, other = Beta("0.4", 1), Beta(3, "0.9")
    for there, back in zip(masses(one, other, 9), masses(other, one, 9), strict=True):
        assert np.abs(there.positive - back.negative.T).max() < 3e-13


def test_exchanging_pass_and_fail_swaps_the_signs():
    one, other = Beta("0.4", "1.7"), Beta("1.7", "0.4")
    for there, back in zip(masses(one, one, 9), masses(other, other, 9), strict=True):
        assert np.abs(there.positive - back.negative[::-1, ::-1]).max() < 3e-13


@pytest.mark.parametrize("n", [1, 2, 5, 31, 64, 201])
def test_gauss_legendre_equals_numpy(n):
    x, weight = gauss_legendre(n)
    expected_x, expected_weight = np.polynomial.legendre.leggauss(n)
    assert np.abs(x - (expected_x + 1) / 2).max() < 5e-16
    assert np.abs(weight - expected_weight / 2).max() < 5e-15
    assert np.array_equal(x, 1.0 - x[::-1]) or np.abs(x + x[::-1] - 1).max() < 3e-16


def test_nodes_keep_small_distances_to_both_ends():
    for nodes in (plain_nodes(20, 0.8), smooth_nodes(20, 0.8)):
        assert np.array_equal(nodes.x, nodes.y[::-1])
        assert np.abs(nodes.x + nodes.y - 0.8).max() < 3e-16
        assert nodes.weight.sum() == pytest.approx(0.8, abs=1e-15)
        # the integral of x^2 y over [0, w] is w^4 / 12
        assert (nodes.weight * nodes.x**2 * nodes.y).sum() == pytest.approx(0.8**4 / 12, rel=1e-13)


def test_priors_of_any_kind_in_range_settle():
    for prior in (Beta("0.01", "0.01"), Beta("0.01", "1000"), Beta("999.5", "0.02")):
        last = masses(prior, prior, 20)[-1]
        assert last.positive.min() > -LAST_PLACES
        assert (last.positive + last.negative).max() < 1 + 1e-12


#: Our masses at parameters near 1000; logarithms of gamma functions alone were off by 7e-13, too
#: near to the 1e-12 within which a decision table calls a mass a tie.
LARGE = 2e-14


@pytest.mark.parametrize(
    ("prior", "threshold", "k", "i", "expected"),
    [
        # by symmetry
        (("900.5", "900.5"), "0.5", 30, 15, 0.5),
        (("999.5", "999.5"), "0.5", 200, 100, 0.5),
        # by mpmath with 40 digits
        (("900.5", "900.5"), "0.5", 30, 0, 0.24156707299377809076),
        (("900.5", "900.5"), "0.49", 30, 5, 0.65108094441210797691),
        (("999.5", "1000"), "0.49", 30, 0, 0.58852848222166123046),
        (("0.5", "999.5"), "0.001", 30, 0, 0.15125681385764010822),
        (("999.5", "0.5"), "0.999", 30, 30, 0.84874318614235989178),
        (("500.25", "999"), "0.3", 200, 0, 0.3042027889522509113),
        (("60.25", "20.5"), "0.7", 20, 10, 0.4876308746285579983),
    ],
)
def test_levels_of_large_priors_keep_their_digits(prior, threshold, k, i, expected):
    found = high_masses(Beta(*prior), Fraction(threshold), k)[k, i]
    assert found == pytest.approx(expected, abs=LARGE)


@pytest.mark.parametrize(
    ("full", "ablated", "band", "i", "j", "expected"),
    [
        # posteriors after 30 rounds, by mpmath's quadrature with 22 digits
        (("900.5", "900.5"), ("900.5", "900.5"), "0.01", 15, 0, 0.456473895250863163),
        (("900.5", "900.5"), ("900.5", "900.5"), "0.02", 25, 10, 0.237429289024568167),
        (("115.25", "45.5"), ("105.5", "55.75"), "0.05", 15, 15, 0.523356738450763736),
        # by the exact fraction of Beta(915, 915) and Beta(900, 930)
        ((900, 900), (900, 900), "0.01", 15, 0, 0.45659318917565955),
    ],
)
def test_effects_of_large_priors_keep_their_digits(full, ablated, band, i, j, expected):
    *_, last = masses(Beta(*full), Beta(*ablated), 30, Fraction(band))
    assert last.positive[i, j] == pytest.approx(expected, abs=LARGE)


@pytest.mark.parametrize(
    ("full", "ablated", "band", "k_max"),
    [
        (("0.5", "0.5"), ("0.5", "0.5"), "0.2", 60),
        (("0.01", "1000"), ("1000", "0.01"), "0.2", 20),
        (("0.3", "0.7"), ("0.7", "0.3"), "0.01", 30),
        (("1.1", "0.9"), ("2.5", "0.01"), "0.5", 60),
        (("0.5", "0.5"), ("900.5", "900.5"), "0.2", 12),
        (("0.02", "900.5"), ("0.5", "0.5"), "0.001", 20),
    ],
)
def test_nodes_that_two_rounds_confirm_serve_every_round(full, ablated, band, k_max):
    # the first and the last round confirm the nodes; three times as many change no round by more
    full, ablated, width = Beta(*full), Beta(*ablated), Fraction(1) - Fraction(band)
    nodes = _settled_nodes(full, ablated, Fraction(band), k_max)
    finer = smooth_nodes(3 * nodes.x.size, float(width))
    for first, second in ((full, ablated), (ablated, full)):
        coarse, fine = (
            np.concatenate(
                [
                    mass[at, : k + 1, : k + 1].ravel()
                    for rounds, mass in _exceedance(first, second, float(band), some, k_max)
                    for at, k in enumerate(rounds.tolist())
                ]
            )
            for some in (nodes, finer)
        )
        assert np.abs(coarse - fine).max() < LARGE


def test_prior_limits_are_refused():
    with pytest.raises(InputError, match=r"prior beta must be from 0\.01 to 1000, got 1001"):
        Beta(1, 1001)
