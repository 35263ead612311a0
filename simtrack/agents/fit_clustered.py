"""Agents of one rate and of two arms from a pilot's totals, cluster variance included."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.clustered import ClusteredAgent, ClusterLaw
from simtrack.agents.fit import FittedAgent
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.clustered import clustered_rates
from simtrack.options import choice
from simtrack.rng import Stream
from simtrack.validate import integer, real

__all__ = ["FitMethod", "fit_clustered"]

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
        return _fitted(atoms, weights, law, ("quadrature", "bayesian", notes))
    resamples = integer("n_resamples", n_resamples, 10, 1_000_000)
    atoms, note = _bootstrap(totals, passes[:, 0], trials[:, 0], rate_prior, resamples, seed)
    weights = np.full(len(atoms), 1.0 / len(atoms))
    return _fitted(atoms, weights, law, ("monte-carlo", "asymptotic", note, resamples, int(seed)))


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


def _fitted(atoms: Floats, weights: Floats, law: ClusterLaw, how: Any) -> FittedAgent:
    if law == "logit-normal":  # an SD of 20 gives no more
        atoms = np.minimum(atoms, [1.0, _LARGEST_LOGIT_NORMAL_ICC])
    rate, icc = (float((weights * atoms[:, k]).sum()) for k in (0, 1))
    agent = ClusteredAgent(rate, icc, law)
    return FittedAgent(agent, "clustered", ("rate", "icc"), atoms, weights, {"law": law}, *how)


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
