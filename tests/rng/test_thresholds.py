"""The laws behind inversion: against exact integers, and against SciPy where n is too large."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simtrack.rng.thresholds import beta_binomial_thresholds, binomial_thresholds

# Relative error of a cumulative probability: a few roundings a step, at most n steps of which
# those far from the mode weigh next to nothing. Absolute: the 2^-64 of rounding down.
EXACT = 2e-14
# SciPy's own tail sums at n = 10^5 are good to about this.
SCIPY = 1e-11
STEP = 2.0**-64


def cdf(law, n):
    """P(K <= k) for k = 0 .. n as the draws have it: Fractions."""
    values = [Fraction(int(value), 2**64) for value in law.values]
    above = n + 1 - law.lowest - len(values)
    return [Fraction(0)] * law.lowest + values + [Fraction(1)] * above


def assert_near(found, weights):
    """Both tails, each to its relative accuracy."""
    total, head = sum(weights), 0
    for value, weight in zip(found, weights, strict=True):
        head += weight
        exact = Fraction(head, total)
        assert abs(value - exact) <= EXACT * min(exact, 1 - exact) + STEP


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40, 400])
@pytest.mark.parametrize("p", [1e-9, 0.1, 0.5, 0.8, 0.983, 1 - 2**-40])
def test_binomial_against_exact_integers(n, p):
    hit, scale = Fraction(p).as_integer_ratio()
    weights = [math.comb(n, k) * hit**k * (scale - hit) ** (n - k) for k in range(n + 1)]
    assert_near(cdf(binomial_thresholds(n, p), n), weights)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.5, 0.5), (1e-6, 2), (9, 1), (1, 9), (0.3, 4), (4, 0.3), (50.5, 3.25)]
)
def test_beta_binomial_against_exact_fractions(n, a, b):
    def rising(x, k):
        return math.prod((Fraction(x) + i for i in range(k)), start=Fraction(1))

    weights = [math.comb(n, k) * rising(a, k) * rising(b, n - k) for k in range(n + 1)]
    assert_near(cdf(beta_binomial_thresholds(n, float(a), float(b)), n), weights)


@pytest.mark.parametrize("p", [1e-4, 0.3, 0.999])
def test_large_binomial_against_scipy(p):
    n = 100_000
    law = binomial_thresholds(n, p)
    k = law.lowest + np.arange(law.values.size)
    expected = stats.binom.cdf(k, n, p)
    assert np.allclose(law.values / 2.0**64, expected, rtol=SCIPY, atol=SCIPY)
    # Nothing that has a chance of 2^-64 is cut off.
    assert stats.binom.cdf(law.lowest - 1, n, p) < 2 * STEP
    assert stats.binom.sf(law.lowest + law.values.size, n, p) < 2 * STEP


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.3), (30.0, 5.0), (1e5, 1e5)])
def test_large_beta_binomial_against_scipy(a, b):
    n = 5000
    law = beta_binomial_thresholds(n, a, b)
    k = np.arange(n + 1)
    # SciPy takes the mass from log gammas of 10^5 and loses four digits: sum it here.
    expected = np.cumsum(stats.betabinom.pmf(k, n, a, b))
    found = np.array([float(value) for value in cdf(law, n)])
    assert np.allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n", [0, 5])
def test_certain_counts(n):
    assert (binomial_thresholds(n, 0.0).lowest, binomial_thresholds(n, 0.0).values.size) == (0, 0)
    assert (binomial_thresholds(n, 1.0).lowest, binomial_thresholds(n, 1.0).values.size) == (n, 0)


def test_thresholds_never_decrease():
    for law in (
        beta_binomial_thresholds(2000, 1e-6, 1e-6),
        beta_binomial_thresholds(300, 0.01, 0.02),
        binomial_thresholds(100_000, 0.5),
    ):
        assert np.all(law.values[1:] >= law.values[:-1])


def test_golden_thresholds():
    # Frozen with scheme simtrack/1.
    law = binomial_thresholds(20, 0.9)
    assert (law.lowest, law.values.size) == (1, 19)
    assert law.values[-4:].tolist() == [
        2452555931142308352,
        5959648541745626112,
        11220287457650606080,
        16204050641139533568,
    ]
    law = beta_binomial_thresholds(4, 0.5, 0.25)
    assert law.values.tolist() == [
        3114385363093820416,
        5030930201920786432,
        6947475040747753472,
        9502868159183709184,
    ]
