"""Agents of one rate and of two arms from a pilot's totals, cluster variance included."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.clustered.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.agents.heterogeneity import logit_normal_moments
from simtrack.agents.pilot import FittedAgent
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.clustered import clustered_rates
from simtrack.options import Computation, Guarantee, choice
from simtrack.rng import Stream
from simtrack.validate import integer, real

__all__ = ["FitMethod", "fit_clustered", "fit_paired"]


FitMethod = Literal["posterior", "bootstrap"]
Floats = NDArray[np.float64]
_RATE_NODES, _ICC_NODES = 240, 80
_LARGEST_ICC = 0.99
_LARGEST_LOGIT_NORMAL_ICC = 0.6


def fit_clustered(
    totals: Totals,
    *,
    method: FitMethod = "posterior",
    law: ClusterLaw = "beta",
    rate_prior: tuple[float, float] = (1.0, 1.0),
    icc_prior: tuple[float, float] = (1.0, 1.0),
    n_resamples: int = 2000,
    seed: int = 0,
) -> FittedAgent:
    """Which agents of one rate could have made this pilot?

    Parameters
    ----------
    totals : Totals
        One condition: successes and trials by cluster, two clusters or more. For two arms over
        the same clusters see `fit_paired`.
    method : "posterior" or "bootstrap"
        "posterior": the exact posterior of rate and ICC under Beta-Binomial counts, on a grid.
        "bootstrap": the ICC by analysis of variance with its sampling spread by parametric
        bootstrap, and for each ICC a Beta law of the rate on the effective number of trials.
    law : "beta" or "logit-normal"
        Of the clusters of the agents that are made; the fit itself is Beta-Binomial.
    rate_prior, icc_prior : (a, b)
        Beta priors; (1, 1) is flat.
    n_resamples, seed : int
        For "bootstrap".

    Returns
    -------
    FittedAgent
        Parameters rate and icc.

    Raises
    ------
    InputError
        Fewer than two clusters with trials, several conditions, or scores that are not 0 or 1.

    Notes
    -----
    The bootstrap takes the estimated ICC for the true one: where it is 0, all but a few of its
    draws are too, however few the clusters are. Few clusters say little about the ICC, and the
    posterior says so.

    References
    ----------
    Donner and Koval (1980), Biometrics 36, 19-25 (ICC by analysis of variance). Skellam (1948),
    J. R. Stat. Soc. B 10, 257-261 (Beta-Binomial likelihood).

    Examples
    --------
    >>> pilot = Totals.from_arrays([18, 20, 11, 19, 20, 15], [20] * 6)
    >>> fit = fit_clustered(pilot)
    >>> round(fit.mean("rate"), 2), 0 < fit.draw(seed=7, index=0).rate < 1
    (0.8, True)
    """
    choice("method", method, FitMethod)
    choice("law", law, ClusterLaw)
    passes, trials = pilot_counts(totals)
    for name, pair in (("rate_prior", rate_prior), ("icc_prior", icc_prior)):
        for part in pair:
            real(name, part, 1e-3, 1e6)
    if method == "posterior":
        atoms, weights = _posterior(passes[:, 0], trials[:, 0], rate_prior, icc_prior)
        notes = (f"flat or Beta priors: rate {rate_prior}, ICC {icc_prior}",)
        return _fitted(atoms, weights, law, "quadrature", "bayesian", notes)
    resamples = integer("n_resamples", n_resamples, 10, 1_000_000)
    atoms, note = _bootstrap(totals, passes[:, 0], trials[:, 0], rate_prior, resamples, seed)
    weights = np.full(len(atoms), 1.0 / len(atoms))
    return _fitted(atoms, weights, law, "monte-carlo", "asymptotic", note, resamples, int(seed))


def pilot_counts(totals: Totals, conditions: int = 1) -> tuple[Floats, Floats]:
    """Check a pilot and give its successes and trials: (clusters, conditions), all with trials."""
    if len(totals.conditions) != conditions:
        rule = f"of {conditions} condition{'s' if conditions > 1 else ''}"
        cure = "Select or stack them first."
        raise InputError("totals", rule, len(totals.conditions), cure=cure)
    passes, trials = totals.numerator, totals.denominator
    if (passes != totals.square).any() or (passes % 1 != 0).any() or (trials % 1 != 0).any():
        raise InputError("totals", "of scores that are 0 or 1", "others")
    here = trials.sum(axis=1) > 0
    if here.sum() < 2:
        raise InputError("totals", "of at least two clusters with trials", int(here.sum()))
    return passes[here], trials[here]


def _fitted(
    atoms: Floats,
    weights: Floats,
    law: ClusterLaw,
    computation: Computation,
    guarantee: Guarantee,
    notes: tuple[str, ...],
    n: int | None = None,
    seed: int | None = None,
) -> FittedAgent:
    if law == "logit-normal":  # an SD of 20 gives no more
        atoms = np.minimum(atoms, [1.0, _LARGEST_LOGIT_NORMAL_ICC])
    rate, icc = (float((weights * atoms[:, k]).sum()) for k in (0, 1))
    agent = ClusteredAgent(rate, icc, law)
    make = partial(_clustered, law=law)
    return FittedAgent(
        agent, "clustered", ("rate", "icc"), atoms, weights, make, computation, guarantee, notes,
        n, seed,
    )  # fmt: skip


def _clustered(values: Mapping[str, float], law: ClusterLaw) -> ClusteredAgent:
    return ClusteredAgent(values["rate"], values["icc"], law)


def _posterior(
    passes: Floats, trials: Floats, rate_prior: tuple[float, float], icc_prior: tuple[float, float]
) -> tuple[Floats, Floats]:
    """The posterior on a product grid; nodes crowd towards rates 0 and 1 and towards ICC 0."""
    from scipy.special import betaln, xlog1py, xlogy

    t = (np.arange(_RATE_NODES) + 0.5) / _RATE_NODES
    rate = np.sin(0.5 * math.pi * t) ** 2
    root = (np.arange(_ICC_NODES) + 0.5) / _ICC_NODES
    icc = _LARGEST_ICC * root * root
    log = np.log(np.sin(math.pi * t))[:, None] + np.log(root)[None]  # of the two maps
    log = log + (xlogy(rate_prior[0] - 1, rate) + xlog1py(rate_prior[1] - 1, -rate))[:, None]
    log += (xlogy(icc_prior[0] - 1, icc) + xlog1py(icc_prior[1] - 1, -icc))[None]
    size = 1.0 / icc - 1.0
    a, b = rate[:, None] * size, (1.0 - rate)[:, None] * size
    prior = betaln(a, b)
    pairs, times = np.unique(np.stack([passes, trials], axis=1), axis=0, return_counts=True)
    for (k, n), m in zip(pairs.tolist(), times.tolist(), strict=True):
        log += m * (betaln(a + k, b + n - k) - prior)
    weights = np.exp(log - log.max()).ravel()
    atoms = np.stack([np.repeat(rate, _ICC_NODES), np.tile(icc, _RATE_NODES)], axis=1)
    keep = weights > 1e-12
    return atoms[keep], weights[keep] / weights[keep].sum()


def _bootstrap(
    totals: Totals,
    passes: Floats,
    trials: Floats,
    prior: tuple[float, float],
    n_resamples: int,
    seed: int,
) -> tuple[Floats, tuple[str, ...]]:
    from scipy.special import betaincinv

    estimate = float(clustered_rates(totals).icc[0])
    total, n = float(passes.sum()), float(trials.sum())
    mean_size = float((trials * trials).sum() / n)
    rate = (total + prior[0]) / (n + prior[0] + prior[1])
    icc = min(max(estimate if math.isfinite(estimate) else 0.0, 0.0), _LARGEST_ICC)
    drawn = ClusteredAgent(rate, icc).totals(trials.astype(np.int64).tolist(), n_resamples, seed)
    found = np.clip(np.nan_to_num(clustered_rates(drawn).icc), 0.0, _LARGEST_ICC)
    effect = 1.0 + (mean_size - 1.0) * found
    uniform = Stream(seed, "fit-clustered-rate").uniform(replicates=n_resamples, clusters=1)
    shape = (prior[0] + total / effect, prior[1] + (n - total) / effect)
    rates = np.clip(betaincinv(*shape, uniform[:, 0, 0]), 1e-9, 1.0 - 1e-9)
    notes: tuple[str, ...] = (
        f"ICC by analysis of variance {icc:.3g}; its spread by parametric bootstrap",
    )
    if icc == 0.0:
        notes += ("the pilot's clusters differ no more than chance: the ICC's spread is too small",)
    return np.stack([rates, found], axis=1), notes


# An agent in two arms from a pilot's totals: level, effect, and how both vary by cluster.
_SD_NODES, _LOGIT_NODES = 10, 21
_DEVIATES = np.arange(-16, 17) * 0.25
_REACH = 4.5  # posterior SDs to each side
_PRIOR_LOGIT_SD = 5.0  # of each arm's median logit: all but flat on the probability
_SDS = 3.0  # prior scales over which SDs are spread


def fit_paired(totals: Totals, *, sd_prior: float = 1.0, factor: str = "arm") -> FittedAgent:
    """Which agents in two arms over shared clusters could have made this pilot?

    The exact posterior, on a grid, of mean, effect, level SD and slope SD of `PairedAgent`, whose
    likelihood is integrated over each cluster's two deviates.

    Parameters
    ----------
    totals : Totals
        Two conditions, first and second arm; a cluster that lacks an arm informs by the other.
    sd_prior : float
        Scale of the half-normal prior of both SDs, on the logit scale, 0.01 to 3.
    factor : str
        What the drawn agents call the arms' condition.

    Returns
    -------
    FittedAgent
        Parameters mean, sd, effect, slope_sd, all on the logit scale.

    Notes
    -----
    Trapezium over 33 deviates out to ±4 in each direction, 10 values of each SD and 21 logits of
    each arm out to 4.5 standard errors; an SD above three prior scales is given no weight.

    Examples
    --------
    >>> arms = Totals.from_arrays([[18, 14], [20, 19], [15, 9], [19, 18], [17, 13]], [[20, 20]] * 5)
    >>> fit = fit_paired(arms)
    >>> 0 < fit.mean("effect") < 2.5
    True
    """
    passes, trials = pilot_counts(totals, conditions=2)
    scale = real("sd_prior", sd_prior, 0.01, 3.0)
    root = (np.arange(_SD_NODES) + 0.5) / _SD_NODES
    sds = _SDS * scale * root * root
    log_prior = np.log(root) - 0.5 * (sds / scale) ** 2
    atoms, logs = [], []
    for (i, sd), (j, slope) in itertools.product(enumerate(sds.tolist()), repeat=2):
        first, second, log = _given_sds(passes, trials, sd, slope)
        mean, effect = 0.5 * (first[:, None] + second), first[:, None] - second
        rest = np.full(mean.size, sd), np.full(mean.size, slope)
        atoms.append(np.stack([mean.ravel(), rest[0], effect.ravel(), rest[1]], axis=1))
        logs.append(log.ravel() + log_prior[i] + log_prior[j])
    table, log = np.concatenate(atoms), np.concatenate(logs)
    weights = np.exp(log - log.max())
    keep = weights > 1e-10
    table, weights = table[keep], weights[keep] / weights[keep].sum()
    centre = [float((weights * table[:, k]).sum()) for k in range(4)]
    rate, icc = logit_normal_moments(centre[0], centre[1])
    agent = PairedAgent(rate, icc, centre[2], centre[3], factor)
    notes = (f"half-normal priors of scale {scale:g} on both SDs; all but flat on both arms",)
    names = ("mean", "sd", "effect", "slope_sd")
    make = partial(_paired, factor=factor)
    return FittedAgent(
        agent, "paired", names, table, weights, make, "quadrature", "bayesian", notes
    )


def _paired(values: Mapping[str, float], factor: str) -> PairedAgent:
    rate, icc = logit_normal_moments(values["mean"], values["sd"])
    return PairedAgent(rate, icc, values["effect"], values["slope_sd"], factor)


def _given_sds(
    passes: Floats, trials: Floats, sd: float, slope: float
) -> tuple[Floats, Floats, Floats]:
    """Logits of both arms and the log posterior on their grid, for given SDs."""
    nodes, weight = _deviates()
    grids = [_logits(passes[:, k], trials[:, k], sd, slope) for k in (0, 1)]
    likelihoods, scale = [], 0.0
    for arm, sign in enumerate((0.5, -0.5)):
        logit = grids[arm][:, None] + (sd * nodes[0] + sign * slope * nodes[1])[None]
        k, n = passes[:, arm, None, None], trials[:, arm, None, None]
        log = -k * np.logaddexp(0.0, -logit) - (n - k) * np.logaddexp(0.0, logit)
        most = log.max(axis=(1, 2), keepdims=True)  # divided out, lest small numbers vanish
        likelihoods.append(np.exp(log - most))
        scale += float(most.sum())
    joint = np.einsum("gad,gbd,d->gab", *likelihoods, weight, optimize=False)
    log = np.log(np.maximum(joint, 1e-300)).sum(axis=0) + scale
    for axis, grid in enumerate(grids):
        density = -0.5 * (grid / _PRIOR_LOGIT_SD) ** 2 + math.log(grid[1] - grid[0])
        log += density[:, None] if axis == 0 else density[None]
    return grids[0], grids[1], log


def _deviates() -> tuple[Floats, Floats]:
    """Nodes (2, d) and weights (d,) of two standard normal deviates."""
    density = np.exp(-0.5 * _DEVIATES**2)
    density /= density.sum()
    u, v = np.meshgrid(_DEVIATES, _DEVIATES, indexing="ij")
    weight = np.multiply.outer(density, density).ravel()
    keep = weight > 1e-9
    return np.stack([u.ravel(), v.ravel()])[:, keep], weight[keep] / weight[keep].sum()


def _logits(k: Floats, n: Floats, sd: float, slope: float) -> Floats:
    """A grid that covers an arm's median logit, for given SDs."""
    total, size = float(k.sum()), float(n.sum())
    rate = (total + 0.5) / (size + 1.0)
    variance = sd * sd + 0.25 * slope * slope
    stretch = math.sqrt(1.0 + 0.346 * variance)
    error = math.sqrt(1.0 / (size * rate * (1.0 - rate)) + variance / (n > 0).sum())
    centre, reach = math.log(rate / (1.0 - rate)) * stretch, _REACH * error * stretch
    return np.linspace(centre - reach, centre + reach, _LOGIT_NODES)
