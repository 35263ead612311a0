"""Clusters whose rates are Beta: population mean, ICC and each cluster's rate by quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.beta_binomial import UNIFORM, beta_prior
from simtrack.inference.bayes.hierarchical import (
    Hierarchical,
    Under,
    cluster_counts,
    differing_clusters,
    few_clusters,
)
from simtrack.inference.bayes.hierarchical_grid import (
    ClusterAverage,
    HyperGrid,
    LogPosterior,
    hyper_grid,
    law_of_cluster,
    log_expit,
)
from simtrack.inference.bayes.posterior import describe
from simtrack.inference.bayes.posterior_law import PanelLaw
from simtrack.validate import confidence_level

__all__ = ["IccPrior", "hierarchical_beta"]

Floats = NDArray[np.float64]
#: A Beta law of the ICC, or the hyperprior of the rat tumours in Gelman et al., (a + b)^(-5/2).
IccPrior = tuple[float, float] | Literal["gelman"]
#: On the logit scale, with density u^a: what lies beyond weighs less than e^-42.
_EDGE = 90.0
_GELMAN = (0.5, -0.5)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_SHIFT = 12
_MOST_TRIALS = 20_000


def hierarchical_beta(
    totals: Totals,
    *,
    condition: int = 0,
    prior: tuple[float, float] = UNIFORM,
    icc_prior: IccPrior = (1.0, 1.0),
    other_icc_prior: IccPrior | None = (1.0, 9.0),
    level: float = 0.95,
) -> Hierarchical:
    """Which mean rates, ICCs and cluster rates are credible, if cluster rates are Beta?

    A cluster's rate is Beta(a, b) with mean m = a / (a + b) and ICC r = 1 / (a + b + 1); given it,
    its trials are independent. (m, r) are integrated on panels of (logit m, logit r).

    Parameters
    ----------
    totals : Totals
        Successes and trials by cluster.
    condition : int
        Column.
    prior : pair of float
        Beta law of the mean rate m; uniform by default.
    icc_prior : pair of float or "gelman"
        Beta law of r. Uniform by default: clusters that are alike and clusters that are all or
        nothing are equally thinkable, which is wide for few clusters. It draws extreme rates to the
        middle: of a rate of .98, 6 clusters of 20 trials and an ICC of .1, the 95 % interval covers
        about .9, all misses below it, and that of the ICC about .6. "gelman" is
        p(a, b) ~ (a + b)^(-5/2), improper, so it has no Bayes factors, and refused unless some
        cluster has both outcomes.
    other_icc_prior : pair of float, "gelman" or None
        What the results are shown under as well; Beta(1, 9), an ICC of about .1, by default.
    level : float

    Raises
    ------
    InputError
        Scores that are no counts; the improper prior without a mixed cluster.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., section 5.3.

    Examples
    --------
    >>> found = hierarchical_beta(Totals.from_arrays([9, 5, 10, 7, 8, 2], [10] * 6))
    >>> found.rate, found.spread
    (Posterior(rate: mean 0.6510, 95%: 0.4158 to 0.8399), Posterior(ICC: mean 0.3164, 95%: ...))
    """
    labels, hits, size = cluster_counts(totals, condition)
    location = beta_prior("prior", prior)
    confidence_level("level", level)
    if size.max() > _MOST_TRIALS:
        raise InputError("trials of a cluster", f"at most {_MOST_TRIALS}", float(size.max()))
    spread = _icc_prior("icc_prior", icc_prior, hits, size)
    grid = hyper_grid(_Likelihood.of(hits, size).log_posterior(location, spread), _box())
    fit = _BetaFit(grid, hits, size)
    words = f"mean Beta({location[0]:g}, {location[1]:g}), {_words(icc_prior)}"
    rate_law, icc_law = grid.u_law("logit"), grid.v_law("logit", (0.0, 1.0))
    others: tuple[Under, ...] = ()
    if other_icc_prior is not None and _proper(other_icc_prior, hits, size):
        second = _icc_prior("other_icc_prior", other_icc_prior, hits, size)
        again = hyper_grid(_Likelihood.of(hits, size).log_posterior(location, second), _box())
        others = (
            Under.of(_words(other_icc_prior), again.u_law("logit"), again.v_law("logit", (0, 1)),
                     level),
        )  # fmt: skip
    rate = describe(totals.name, rate_law, level, words)
    notes = few_clusters(hits, size, "ICC", rate, others)
    mean, sd = fit.cluster_moments()
    evidence = None if icc_prior == "gelman" else grid.log_evidence
    factor = None
    if evidence is not None:
        factor = differing_clusters(evidence, hits, size, location, words)
    return Hierarchical(
        "beta-binomial", rate, describe("ICC", icc_law, level, words), labels, hits, size,
        mean, sd, evidence, factor, others, level, fit, notes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Likelihood:
    """How many clusters have more than j successes, failures and trials, for j = 0, 1, ..."""

    passed: Floats
    failed: Floats
    trials: Floats

    @classmethod
    def of(cls, hits: Floats, size: Floats) -> _Likelihood:
        def above(counts: Floats) -> Floats:
            found = (counts > np.arange(size.max())[:, None]).sum(axis=1)
            return np.asarray(found, dtype=np.float64)

        return cls(above(hits), above(size - hits), above(size))

    def log_posterior(
        self, location: tuple[float, float], spread: tuple[float, float]
    ) -> LogPosterior:
        """Give the log posterior as a function of (logit m, logit r); proper priors normalised."""
        a, b = location
        c, d = spread
        known = _log_beta(a, b) + (_log_beta(c, d) if min(c, d) > 0.0 else 0.0)

        def found(u: Floats, v: Floats) -> Floats:
            log_m, log_rest = log_expit(u)[:, None], log_expit(-u)[:, None]
            log_r, log_own = log_expit(v), log_expit(-v)
            prior = a * log_m + b * log_rest + c * log_r + d * log_own
            return prior - known + self.log_likelihood(u, v)

        return found

    def log_likelihood(self, u: Floats, v: Floats) -> Floats:
        """Sum the log probabilities of the sequences, shape (*u.shape, *v.shape) if both 1-D.

        With m = a/(a+b) and r the ICC, a cluster's is the product over j of (m(1-r) + jr) for its
        successes and ((1-m)(1-r) + jr) for its failures over (1-r + jr) for its trials: nothing
        cancels as r goes to 0.
        """
        return rising(self.passed, self.failed, self.trials, u[:, None], v)


def rising(passed: Floats, failed: Floats, trials: Floats, u: Floats, v: Floats) -> Floats:
    """Sum logs of m(1-r)+jr, (1-m)(1-r)+jr and 1-r+jr with the given multiplicities of j."""
    own, r = np.exp(log_expit(-v)), np.exp(log_expit(v))
    up, down = np.exp(log_expit(u)) * own, np.exp(log_expit(-u)) * own
    total = passed[0] * log_expit(u) + failed[0] * log_expit(-u)
    total = total + (passed[0] + failed[0] - trials[0]) * log_expit(-v)
    for j in range(1, trials.size):
        if passed[j]:
            total += passed[j] * np.log(up + j * r)
        if failed[j]:
            total += failed[j] * np.log(down + j * r)
        if trials[j]:
            total -= trials[j] * np.log(own + j * r)
    found: Floats = total
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _BetaFit:
    """What each cluster's rate is, given the posterior of (m, r)."""

    grid: HyperGrid
    hits: Floats
    size: Floats

    def cluster_moments(self) -> tuple[Floats, Floats]:
        """Average the means and second moments of Beta(a + y, b + n - y)."""
        m = np.exp(log_expit(self.grid.u.nodes.ravel()))[:, None]
        r, own = (np.exp(log_expit(s * self.grid.v.nodes.ravel())) for s in (1.0, -1.0))
        mean, square = np.empty(self.hits.size), np.empty(self.hits.size)
        for i, (y, n) in enumerate(zip(self.hits, self.size, strict=True)):
            below = own + n * r
            first = (m * own + y * r) / below
            mean[i] = (self.grid.mass * first).sum()
            square[i] = (self.grid.mass * first * (m * own + (y + 1.0) * r) / (below + r)).sum()
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))

    def cluster_law(self, i: int) -> PanelLaw:
        """Integrate the law of the cluster's logit rate over (m, r)."""
        y, n = float(self.hits[i]), float(self.size[i])
        counts = _Likelihood.of(self.hits[i : i + 1], self.size[i : i + 1])

        def log_own(u: Floats, v: Floats) -> Floats:
            return rising(counts.passed, counts.failed, counts.trials, u, v)

        def log_kernel(phi: Floats, u: Floats, v: float) -> Floats:
            if u.ndim == 1:
                return _log_beta_wide(phi, u, v, log_own(u, np.array(v)))
            return _log_beta_near(phi, u, v) - log_own(u, np.array(v))

        def width(phi: Floats, v: float) -> Floats:
            return np.exp(-0.5 * (log_expit(phi) + log_expit(-phi) - v))

        average = ClusterAverage.over(self.grid)

        def density(phi: Floats) -> Floats:
            own = y * log_expit(phi) + (n - y) * log_expit(-phi)
            return average.of(phi, own, log_kernel, width)

        return law_of_cluster(density, self.grid, float(self.cluster_moments()[0][i]))

    def draw(self, shares: Floats) -> dict[str, Floats]:
        """Draw mean, ICC and cluster rates jointly; SciPy's quantiles of Beta laws."""
        from scipy.special import betaincinv

        u, v = self.grid.draw(shares[:, :2])
        m, rest, k = np.exp(log_expit(u)), np.exp(log_expit(-u)), np.exp(-v)
        a, b = (k * m)[:, None] + self.hits, (k * rest)[:, None] + (self.size - self.hits)
        return {
            "rate": m,
            "icc": np.exp(log_expit(v)),
            "cluster_rate": np.asarray(betaincinv(a, b, shares[:, 2:])),
        }


def _log_beta_wide(phi: Floats, u: Floats, v: float, less: Floats) -> Floats:
    """Give the log density of logit(x) at phi for x from Beta with mean expit(u), ICC expit(v)."""
    k = math.exp(-v)
    m, rest = np.exp(log_expit(u)), np.exp(log_expit(-u))
    norm = -_log_beta_near(u, u, v) + k * (m * log_expit(u) + rest * log_expit(-u))
    found: Floats = k * (m * log_expit(phi) + rest * log_expit(-phi)) - (norm + less)
    return found


def _log_beta_near(phi: Floats, u: Floats, v: float) -> Floats:
    """Give the same for u near phi, keeping its digits as the ICC goes to 0.

    By Stirling's errors and the divergence of the two means in u - phi.
    """
    k, gap = math.exp(-v), u - phi
    m, rest = np.exp(log_expit(u)), np.exp(log_expit(-u))
    apart = m * gap + np.log1p(m * np.expm1(-gap))
    a, b = k * m, k * rest
    errors = float(_stirling_error(np.array(k))) - _stirling_error(a) - _stirling_error(b)
    # a + b = k: sqrt(ab/k) = sqrt(k m (1 - m))
    size = 0.5 * (-v + log_expit(u) + log_expit(-u)) - _HALF_LOG_2PI
    found: Floats = errors + size - k * apart
    return found


def _stirling_error(x: Floats) -> Floats:
    """Give log Gamma(x) minus Stirling's formula, for arrays."""
    value = np.asarray(x, dtype=np.float64)
    total = np.zeros(value.shape)
    small = value < _SHIFT
    low = value[small]
    part = np.zeros(low.shape)
    for j in range(_SHIFT):
        part += (low + j + 0.5) * np.log1p(1.0 / (low + j)) - 1.0
    total[small] = part
    far = np.where(small, value + _SHIFT, value)
    power = 1.0 / far
    for factor in _STIRLING:
        total += factor * power
        power = power / far**2
    return total


def _box() -> tuple[float, float, float, float]:
    return -_EDGE, _EDGE, -_EDGE, _EDGE


def _icc_prior(name: str, prior: IccPrior, hits: Floats, size: Floats) -> tuple[float, float]:
    if isinstance(prior, str):
        if prior != "gelman":
            raise InputError(name, 'a pair of positive numbers or "gelman"', repr(prior))
        if not _proper(prior, hits, size):
            rule = "a proper prior where no cluster has both outcomes"
            raise InputError(name, rule, "gelman", cure="Use a pair, as (1, 1).")
        return _GELMAN
    return beta_prior(name, prior)


def _proper(prior: IccPrior, hits: Floats, size: Floats) -> bool:
    return prior != "gelman" or bool(((hits > 0.0) & (hits < size)).any())


def _words(prior: IccPrior) -> str:
    if isinstance(prior, str):
        return "p(a, b) ~ (a + b)^(-5/2)"
    return f"ICC Beta({prior[0]:g}, {prior[1]:g})"


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
