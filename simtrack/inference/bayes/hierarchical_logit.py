"""Clusters whose logits are normal: population mean, sd and each cluster's rate by quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
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
from simtrack.inference.bayes.slope_law import Patterns, log_mean_rate
from simtrack.inference.numerics.panels import settled_panels
from simtrack.validate import confidence_level, real

__all__ = ["hierarchical_logit"]

Floats = NDArray[np.float64]
_EDGE, _SCALES = 90.0, 10.0
_SETTLED = 1e-11
_NEWTON_STEPS = 30
_NEGLIGIBLE = 1e-15
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_DRAW_NODES, _DRAW_SDS, _DRAWS_AT_ONCE = 400, 7.0, 1000


def hierarchical_logit(
    totals: Totals,
    *,
    condition: int = 0,
    prior: tuple[float, float] = UNIFORM,
    sd_scale: float = 1.0,
    other_sd_scale: float | None = 2.5,
    level: float = 0.95,
) -> Hierarchical:
    """Which mean rates, spreads and cluster rates are credible, if cluster logits are normal?

    A cluster's logit is Normal(m, t²); given it, its trials are independent. (m, t) are integrated
    on panels, each cluster's likelihood over its logit by the trapezoidal rule.

    Parameters
    ----------
    totals : Totals
        Successes and trials by cluster.
    condition : int
        Column.
    prior : pair of float
        Beta law of expit(m), the rate of the median cluster; uniform by default.
    sd_scale : float
        t is half-normal with this scale. At t = 1 the odds of 95 % of clusters lie within a factor
        of 7 of the median cluster's; 1 makes that the expected order, and t above 2 improbable.
        It rules little out, yet keeps few clusters from suggesting that all are 0 or 1.
    other_sd_scale : float or None
        What the results are shown under as well; 2.5 hardly restrains t.
    level : float

    Notes
    -----
    `rate` is the mean of expit(m + t z) over clusters, not expit(m).

    References
    ----------
    Gelman (2006), Bayesian Analysis 1, 515-534 (half-normal and half-t priors of spreads).

    Examples
    --------
    >>> found = hierarchical_logit(Totals.from_arrays([9, 5, 10, 7, 8, 2], [10] * 6))
    >>> found.rate
    Posterior(rate: mean 0.6527, 95%: 0.4462 to 0.8236)
    """
    labels, hits, size = cluster_counts(totals, condition)
    location = beta_prior("prior", prior)
    confidence_level("level", level)
    scale = real("sd_scale", sd_scale, 1e-2, 20.0)
    patterns = Patterns.of(hits, size)
    grid = _grid(patterns, location, scale)
    fit = _LogitFit(grid, hits, size, patterns)
    words = f"median Beta({location[0]:g}, {location[1]:g}), sd half-normal({scale:g})"
    others: tuple[Under, ...] = ()
    if other_sd_scale is not None:
        second = real("other_sd_scale", other_sd_scale, 1e-2, 20.0)
        again = _grid(patterns, location, second)
        spread = again.v_law("identity", (0.0, math.inf))
        name = f"sd half-normal({second:g})"
        others = (Under.of(name, mean_rate_law(again), spread, level),)
    rate = describe(totals.name, mean_rate_law(grid), level, words)
    spread_law = grid.v_law("identity", (0.0, math.inf))
    mean, sd = fit.cluster_moments()
    return Hierarchical(
        "logit-normal", rate, describe("sd of logits", spread_law, level, words), labels, hits,
        size, mean, sd, grid.log_evidence,
        differing_clusters(grid.log_evidence, hits, size, location, words), others, level, fit,
        few_clusters(hits, size, "sd", rate, others),
    )  # fmt: skip


def mean_rate_law(grid: HyperGrid) -> PanelLaw:
    """Give the law of the mean of expit(m + t z) over z, from that of (m, t).

    On the logit scale, w: the sum over t of the density of (m, t) at the m that has this mean,
    over the derivative of w by m.
    """
    t, weight = grid.v.nodes.ravel(), grid.v.weights.ravel()
    shaped = grid.log_density.reshape(*grid.u.nodes.shape, -1)
    column = grid.mass.sum(axis=0)
    used = np.flatnonzero(column > _NEGLIGIBLE).tolist()

    def density(w: Floats) -> Floats:
        total, m = np.zeros(w.shape), w
        for k in used:  # from one spread to the next the place hardly moves
            m, slope = _location(w, float(t[k]), m)
            inside = (m >= grid.u.edges[0]) & (m <= grid.u.edges[-1])
            panel, basis = grid.u.interpolation(m)
            log_density = (basis * shaped[panel, :, k]).sum(axis=-1)
            total += np.where(inside, np.exp(log_density) / slope * weight[k], 0.0)
        return total

    ends = grid.u.edges
    edges = np.linspace(float(ends[0]), float(ends[-1]), 7)
    panels, values = settled_panels(density, edges, _SETTLED)
    return PanelLaw(panels, values, "logit")


def _location(w: Floats, tau: float, m: Floats) -> tuple[Floats, Floats]:
    """Find the m whose mean rate has logit w, from a guess, and the derivative of w by m there."""
    slope = np.ones(w.shape)
    for _ in range(_NEWTON_STEPS):
        log_rate, log_rest, slope = log_mean_rate(m, tau)
        step = (log_rate - log_rest - w) / slope
        m = m - step
        if (np.abs(step) <= 1e-12 * np.maximum(1.0, np.abs(m))).all():
            break
    return m, slope


def _grid(patterns: Patterns, location: tuple[float, float], scale: float) -> HyperGrid:
    box = (-_EDGE, _EDGE, 0.0, _SCALES * scale)
    return hyper_grid(_log_posterior(patterns, location, scale), box, 0.0)


def _log_posterior(patterns: Patterns, location: tuple[float, float], scale: float) -> LogPosterior:
    a, b = location
    known = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    known += math.log(0.5 * scale) + _LOG_ROOT_2PI

    def found(m: Floats, t: Floats) -> Floats:
        out = np.empty((m.size, t.size))
        for k, tau in enumerate(t.tolist()):
            out[:, k] = np.einsum("pm,p->m", patterns.log_marginal(m, tau), patterns.times)
        prior = a * log_expit(m) + b * log_expit(-m)
        return out + prior[:, None] - 0.5 * (t / scale) ** 2 - known

    return found


@dataclass(frozen=True, slots=True, eq=False)
class _LogitFit:
    """What each cluster's rate is, given the posterior of (m, t)."""

    grid: HyperGrid
    hits: Floats
    size: Floats
    patterns: Patterns

    def cluster_moments(self) -> tuple[Floats, Floats]:
        """Average the means and second moments of the rates given (m, t)."""
        m, moments = self.grid.u.nodes.ravel(), np.zeros((2, self.patterns.y.size))
        for k, tau in enumerate(self.grid.v.nodes.ravel().tolist()):
            plain = self.patterns.log_marginal(m, tau)
            for power in (1, 2):
                ratio = np.exp(self.patterns.log_marginal(m, tau, power) - plain)
                moments[power - 1] += np.einsum("pm,m->p", ratio, self.grid.mass[:, k])
        mean, square = moments[:, self.patterns.of_cluster]
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))

    def cluster_law(self, i: int) -> PanelLaw:
        """Integrate the law of the cluster's logit rate over (m, t)."""
        y, n = float(self.hits[i]), float(self.size[i])
        own = Patterns.of(self.hits[i : i + 1], self.size[i : i + 1])
        average = ClusterAverage.over(self.grid)

        def log_kernel(phi: Floats, m: Floats, tau: float) -> Floats:
            normal = -0.5 * ((phi - m) / tau) ** 2 - math.log(tau) - _LOG_ROOT_2PI
            found: Floats = normal - own.log_marginal(m, tau)[0]
            return found

        def width(phi: Floats, tau: float) -> Floats:
            return np.full(phi.shape, tau)

        def density(phi: Floats) -> Floats:
            log_own = y * log_expit(phi) + (n - y) * log_expit(-phi)
            return average.of(phi, log_own, log_kernel, width)

        return law_of_cluster(density, self.grid, float(self.cluster_moments()[0][i]))

    def draw(self, shares: Floats) -> dict[str, Floats]:
        """Draw rate, sd and cluster rates jointly; logits by a running sum of 400 places."""
        m, t = self.grid.draw(shares[:, :2])
        eta = np.empty((m.size, self.hits.size))
        for start in range(0, m.size, _DRAWS_AT_ONCE):
            some = slice(start, start + _DRAWS_AT_ONCE)
            for i, (y, n) in enumerate(zip(self.hits.tolist(), self.size.tolist(), strict=True)):
                eta[some, i] = _logit_quantile(y, n, m[some], t[some], shares[some, 2 + i])
        rate = np.empty(m.size)
        for at, (place, tau) in enumerate(zip(m.tolist(), t.tolist(), strict=True)):
            rate[at] = math.exp(float(log_mean_rate(np.array(place), tau)[0]))
        return {"rate": rate, "sd": t, "cluster_rate": np.exp(log_expit(eta))}


def _logit_quantile(y: float, n: float, m: Floats, t: Floats, share: Floats) -> Floats:
    """Give quantiles of the logit of a cluster given (m, t): normal times likelihood."""
    z = np.linspace(-_DRAW_SDS, _DRAW_SDS, _DRAW_NODES)
    centre, sd = m.copy(), t
    for _ in range(60):  # Newton's steps to the mode, kept short
        p = np.exp(log_expit(centre))
        slope = y - n * p - (centre - m) / t**2
        centre = centre + np.clip(slope / (n * p * (1.0 - p) + 1.0 / t**2), -1.0, 1.0)
    p = np.exp(log_expit(centre))
    sd = 1.0 / np.sqrt(n * p * (1.0 - p) + 1.0 / t**2)
    # Where the likelihood is flat the normal law decides: as wide as that on either side.
    wide = np.maximum(sd, np.minimum(t, 4.0 * sd))
    place = centre[:, None] + wide[:, None] * z
    log_height = y * log_expit(place) + (n - y) * log_expit(-place)
    log_height -= 0.5 * ((place - m[:, None]) / t[:, None]) ** 2
    height = np.exp(log_height - log_height.max(axis=1, keepdims=True))
    running = np.cumsum(0.5 * (height[:, 1:] + height[:, :-1]), axis=1)
    running = np.concatenate([np.zeros((m.size, 1)), running], axis=1)
    target = share * running[:, -1]
    at = np.clip((running <= target[:, None]).sum(axis=1) - 1, 0, _DRAW_NODES - 2)
    rows = np.arange(m.size)
    part = (target - running[rows, at]) / (running[rows, at + 1] - running[rows, at])
    found: Floats = place[rows, at] + part * (place[rows, at + 1] - place[rows, at])
    return found
