"""Draws follow their laws: fixed seeds, laws by SciPy or by published quadrature.

Odds of a false alarm, had the seed not been fixed: 1 in 10,000 for each chi-square or
Kolmogorov-Smirnov test, 1 in 147,000 for each |z| < 4.5; about 3 in 1,000 for the file.
"""

import numpy as np
import pytest
from scipy import stats

from simtrack import _jit
from simtrack.rng import Stream

N = 200_000 if _jit.enabled() else 4_000
P_LOWEST = 1e-4
Z_HIGHEST = 4.5


def assert_law(counts, mass):
    """Chi-square of counts against a mass on 0, 1, ...: neighbours pooled until 10 are expected."""
    expected = mass * counts.size
    groups = np.minimum(np.cumsum(expected) // 10, expected.sum() // 10 - 1).astype(int)
    observed = np.bincount(counts.ravel(), minlength=mass.size)
    assert observed.size == mass.size
    pooled = [np.bincount(groups, weights=found) for found in (observed, expected)]
    kept = pooled[1] > 0
    assert kept.sum() > 1
    assert stats.chisquare(pooled[0][kept], pooled[1][kept], sum_check=False).pvalue > P_LOWEST


def assert_mean(values, expected):
    """|z| of a mean against its known value."""
    standard_error = values.std(ddof=1) / np.sqrt(values.size)
    assert abs(values.mean() - expected) < Z_HIGHEST * standard_error


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (20, 0.9), (67, 0.05), (1000, 0.4), (3, 0.5)])
def test_binomial(n, p):
    law = stats.binom.pmf(np.arange(n + 1), n, p)
    stream = Stream(101, "law of binomial", n=n)
    assert_law(stream.binomial(n, p, replicates=N // 2, clusters=2), law)
    assert_law(stream.binomial(np.full((1, 2), n), p, replicates=N // 2, clusters=1), law)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (20, 0.9), (67, 0.05)])
def test_trial_counts(n, p):
    law = stats.binom.pmf(np.arange(n + 1), n, p)
    stream = Stream(102, "law of trials", n=n)
    assert_law(stream.trial_counts(n, p, replicates=N // 4, clusters=2), law)


def test_trials_of_one_cluster_are_independent():
    # All 2^5 patterns of five trials (two blocks of words) against the product law.
    trials = Stream(103, "patterns").bernoulli(0.3, 5, replicates=N // 4, clusters=1)[:, 0]
    pattern = trials @ (1 << np.arange(5))
    ones = np.array([k.bit_count() for k in range(32)])
    assert_law(pattern, 0.3**ones * 0.7 ** (5 - ones))


@pytest.mark.parametrize(
    ("n", "a", "b"), [(20, 9.0, 1.0), (12, 0.4, 0.3), (30, 0.5, 6.0), (200, 20.0, 30.0)]
)
def test_beta_binomial(n, a, b):
    law = stats.betabinom.pmf(np.arange(n + 1), n, a, b)
    stream = Stream(104, "law of beta-binomial", n=n)
    assert_law(stream.beta_binomial(n, a, b, replicates=N, clusters=1), law)


def test_normal():
    found = Stream(105, "normal").normal(replicates=N // 2, clusters=2)
    assert stats.kstest(found.ravel(), "norm").pvalue > P_LOWEST
    assert_mean(found**4, 3.0)


def test_neighbouring_streams_clusters_replicates_and_draws_are_unrelated():
    stream = Stream(106, "normal", arm="a")
    found = stream.normal(replicates=N // 4, clusters=2, draws_each=2)
    base = found[:, 0, 0]
    other = stream.normal(replicates=range(1, N // 4 + 1), clusters=1)[:, 0, 0]
    arm = Stream(106, "normal", arm="b").normal(replicates=N // 4, clusters=1)[:, 0, 0]
    seed = Stream(107, "normal", arm="a").normal(replicates=N // 4, clusters=1)[:, 0, 0]
    for neighbour in (found[:, 1, 0], found[:, 0, 1], found[:, 1, 1], other, arm, seed):
        assert_mean(base * neighbour, 0.0)


# E[expit(mu + sigma Z)] and the ICC Var(P) / (m (1 - m)), by quadrature elsewhere: (mu, sigma, m,
# ICC); 1.3862943611198906 is ln 4.
MARGINALS = [
    (0.0, 1.0, 0.5, 0.1735161434),
    (1.0, 1.0, 0.6967346701, 0.1578457383),
    (1.3862943611198906, 1.0, 0.7612562437, 0.1445540161),
    (1.3862943611198906, 0.5, 0.7886657272, 0.0397968807),
    (2.0, 2.0, 0.7752002454, 0.3550053641),
]


@pytest.mark.parametrize(("mu", "sigma", "mean", "icc"), MARGINALS)
def test_logit_normal_shares_have_the_published_moments(mu, sigma, mean, icc):
    stream = Stream(108, "shares", case=f"{mu} {sigma}")
    share = stream.logit_normal(mu, sigma, replicates=N, clusters=1)
    assert_mean(share, mean)
    assert_mean((share - mean) ** 2, icc * mean * (1 - mean))


@pytest.mark.parametrize(("mu", "sigma", "mean", "icc"), MARGINALS)
def test_logit_normal_counts_have_the_published_moments(mu, sigma, mean, icc):
    # E[K] = n m and E[K (K - 1)] = n (n - 1) E[P^2]: the second sees the cluster, not the mean.
    n = 10
    stream = Stream(109, "counts", case=f"{mu} {sigma}")
    counts = stream.logit_normal_binomial(n, mu, sigma, replicates=N // 2, clusters=1)
    assert_mean(counts, n * mean)
    second = mean**2 + icc * mean * (1 - mean)
    assert_mean(counts * (counts - 1), n * (n - 1) * second)
