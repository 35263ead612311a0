"""An agent in two arms from a pilot's totals: level, effect, and how both vary by cluster."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.fit import FittedAgent
from simtrack.agents.fit_clustered import pilot_counts
from simtrack.agents.heterogeneity import logit_normal_moments
from simtrack.agents.paired import PairedAgent
from simtrack.counts import Totals
from simtrack.validate import real

__all__ = ["fit_paired"]

Floats = NDArray[np.float64]
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
    fixed = {"factor": factor}
    return FittedAgent(
        agent, "paired", names, table, weights, fixed, "quadrature", "bayesian", notes
    )


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
