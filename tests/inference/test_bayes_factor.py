"""Bayes factors against print, fractions and densities."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from simtrack.errors import InputError
from simtrack.inference.bayes.bayes_factor import (
    bayes_factor_difference,
    bayes_factor_rate,
    bayes_factor_sensitivity,
    log_beta,
)

ROUNDING = 1e-12


def beta(a: int, b: int) -> Fraction:
    return Fraction(math.factorial(a - 1) * math.factorial(b - 1), math.factorial(a + b - 1))


def test_115_of_200_as_printed():
    """The textbook coin: P(115 | 1/2) = .005956, P(115 | uniform) = 1/201, ratio 1.2."""
    found = bayes_factor_rate(115, 200, 0.5)
    assert found.bf01 == pytest.approx(stats.binom.pmf(115, 200, 0.5) * 201, rel=1e-10)
    assert round(found.bf01, 1) == 1.2


def test_lindleys_births_as_printed():
    """49,581 boys of 98,451 births: the null of one half keeps probability .95."""
    found = bayes_factor_rate(49_581, 98_451, 0.5)
    assert round(found.null_probability(), 2) == 0.95
    exact = stats.binom.logpmf(49_581, 98_451, 0.5) + math.log(98_452)
    assert -found.log_bf10 == pytest.approx(exact, abs=1e-9)


def test_a_rate_in_fractions():
    exact = beta(2 + 8, 3 + 2) / beta(2, 3) * Fraction(10, 3) ** 8 * Fraction(10, 7) ** 2
    found = bayes_factor_rate(8, 10, 0.3, prior=(2, 3))
    assert found.bf10 == pytest.approx(float(exact), rel=ROUNDING)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_by_integrating_the_half_prior(alternative):
    low, high = (0.6, 1.0) if alternative == "greater" else (0.0, 0.6)
    prior = stats.beta(2, 2)
    share = prior.cdf(high) - prior.cdf(low)
    marginal = integrate.quad(lambda p: prior.pdf(p) / share * p**8 * (1 - p) ** 4, low, high)[0]
    found = bayes_factor_rate(8, 12, 0.6, prior=(2, 2), alternative=alternative)
    assert found.bf10 == pytest.approx(marginal / (0.6**8 * 0.4**4), rel=1e-9)


def test_savage_and_dickeys_density_ratio():
    found = bayes_factor_rate(14, 20, 0.5, prior=(3, 3))
    ratio = stats.beta(17, 9).pdf(0.5) / stats.beta(3, 3).pdf(0.5)
    assert found.bf01 == pytest.approx(ratio, rel=1e-11)


def test_two_rates_in_fractions():
    exact = beta(7, 5) * beta(1, 11) / beta(7, 15)
    assert bayes_factor_difference((6, 0), (10, 10)).bf10 == pytest.approx(
        float(exact), rel=ROUNDING
    )
    wide = beta(8, 6) * beta(2, 12) / beta(2, 2) ** 2 / (beta(7, 15) / beta(1, 1))
    found = bayes_factor_difference((6, 0), (10, 10), prior=(2, 2), prior_common=(1, 1))
    assert found.bf10 == pytest.approx(float(wide), rel=ROUNDING)


def test_one_sided_difference_by_double_integration():
    def likelihood(q: float, p: float) -> float:
        return 2.0 * p**7 * (1 - p) ** 3 * q**4 * (1 - q) ** 6

    above = integrate.dblquad(likelihood, 0, 1, 0, lambda p: p, epsabs=1e-14)[0]
    found = bayes_factor_difference((7, 4), (10, 10), alternative="greater")
    assert found.bf10 == pytest.approx(above / float(beta(12, 10)), rel=1e-8)
    both = bayes_factor_difference((7, 4), (10, 10))
    less = bayes_factor_difference((7, 4), (10, 10), alternative="less")
    assert both.bf10 == pytest.approx(0.5 * (found.bf10 + less.bf10), rel=1e-10)
    assert found.computation == "quadrature"


def test_the_curve_over_widths_in_fractions():
    sizes = (2, 4, 20)
    curve = bayes_factor_sensitivity(9, 10, 0.5, concentrations=sizes)
    exact = [beta(c // 2 + 9, c // 2 + 1) / beta(c // 2, c // 2) * 2**10 for c in sizes]
    assert np.exp(curve.log_bf10) == pytest.approx([float(e) for e in exact], rel=ROUNDING)
    assert curve.prior_sd == pytest.approx([stats.beta(c / 2, c / 2).std() for c in sizes])


def test_a_prior_that_is_the_null_decides_nothing():
    curve = bayes_factor_sensitivity(60, 100, 0.5, concentrations=(1e6,))
    assert abs(curve.log_bf10[0]) < 1e-3
    pair = bayes_factor_sensitivity((6, 0), (10, 10), concentrations=(2, 1e6))
    assert pair.log_bf10[0] == bayes_factor_difference((6, 0), (10, 10)).log_bf10
    assert abs(pair.log_bf10[1]) < 1e-3


def test_a_curve_that_crosses_is_said():
    curve = bayes_factor_sensitivity(115, 200, 0.5)
    assert "prior decides" in curve.notes[0]
    assert curve.to_dict()["schema"] == "simtrack.bayes-factor-curve/1"


@pytest.mark.parametrize(("a", "b"), [(3, 100_000), (7, 9), (200, 1)])
def test_log_beta_in_fractions(a, b):
    inverse = b * math.comb(a + b - 1, a - 1)
    assert log_beta(a, b) == pytest.approx(-math.log(inverse), rel=1e-14)


def test_log_beta_of_small_arguments_against_scipy():
    from scipy.special import betaln

    for a, b in [(0.5, 0.5), (0.01, 7.0), (1e-3, 1e-3)]:
        assert log_beta(a, b) == pytest.approx(betaln(a, b), rel=1e-12, abs=1e-13)


def test_refusals():
    with pytest.raises(InputError, match="null must be strictly between 0 and 1"):
        bayes_factor_rate(1, 2, 1.0)
    with pytest.raises(InputError, match="one rate with a null, or a pair of counts without"):
        bayes_factor_sensitivity((1, 2), (3, 4), 0.5)


def test_one_sided_factors_hold_where_the_side_is_next_to_impossible() -> None:
    # 2 * integral over (1/2, 1) of (1 - p)^n, over 2^-n: 1 / (n + 1).
    for n in (10, 1000, 5000):
        found = bayes_factor_rate(0, n, 0.5, alternative="greater")
        assert found.log_bf10 == pytest.approx(-math.log(n + 1), abs=1e-9)
        again = bayes_factor_rate(n, n, 0.5, alternative="less")
        assert again.log_bf10 == pytest.approx(-math.log(n + 1), abs=1e-9)


@pytest.mark.parametrize("n", [6, 40, 500])
def test_one_sided_factors_of_two_rates_hold_there_too(n) -> None:
    # All fail against all pass: P(first > second) = 1 / C(2n + 2, n + 1), exactly.
    share = Fraction(1, math.comb(2 * n + 2, n + 1))
    own = Fraction(1, (n + 1) ** 2)
    common = Fraction(1, (2 * n + 1) * math.comb(2 * n, n))
    wanted = own * share * 2 / common
    found = bayes_factor_difference((0, n), (n, n), alternative="greater")
    told = math.log(wanted.numerator) - math.log(wanted.denominator)
    assert found.log_bf10 == pytest.approx(told, abs=1e-8)
    assert math.isfinite(found.log_bf10)
