"""How much clusters differ in adherence, from a pilot: the posterior of level SD and slope SD."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.fit_stage_cells import PilotCell
from simtrack.agents.heterogeneity import logit_normal_moments
from simtrack.agents.stage_effects import logit_mean

__all__ = ["SpreadPosterior", "spread_posterior"]

Floats = NDArray[np.float64]
_LEVELS, _SLOPES = 16, 10
_SDS = 3.0
_DEVIATES = np.arange(-16, 17) * 0.25


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPosterior:
    """Grid nodes (n,) of both SDs, their weights, and the design effect (n, cells) at each."""

    sd: Floats
    slope_sd: Floats
    weights: Floats
    design_effect: Floats
    slope_on: tuple[str, str] | None
    notes: tuple[str, ...]


def spread_posterior(
    cells: Sequence[PilotCell], slope_on: tuple[str, str] | None, scale: float
) -> SpreadPosterior:
    """Integrate each cluster's two deviates out, at each cell's pooled adherence.

    The likelihood of (sd, slope_sd) is the product over clusters of
    ∬ Π_c Binomial(clean | valid, expit(m_c + sd·u + slope_sd·v·[c on slope])) φ(u) φ(v) du dv,
    m_c such that the cell's mean is its pooled rate, half a trial added to either side.
    """
    on = [slope_on is not None and c.labels.get(slope_on[0]) == slope_on[1] for c in cells]
    has_slope = any(on) and not all(on)
    root = (np.arange(_LEVELS) + 0.5) / _LEVELS
    sds, prior = _SDS * scale * root * root, np.log(root) - 0.5 * (_SDS * root * root) ** 2
    steps = (np.arange(_SLOPES) + 0.5) / _SLOPES
    slopes = _SDS * scale * steps * steps if has_slope else np.zeros(1)
    slope_prior = np.log(steps) - 0.5 * (_SDS * steps * steps) ** 2 if has_slope else np.zeros(1)
    logs = np.empty((sds.size, slopes.size))
    effects = np.ones((sds.size, slopes.size, len(cells)))
    for i, sd in enumerate(sds.tolist()):
        for j, slope in enumerate(slopes.tolist()):
            spreads = [math.hypot(sd, slope) if here else sd for here in on]
            means = [logit_mean(_rate(c), s) for c, s in zip(cells, spreads, strict=True)]
            logs[i, j] = prior[i] + slope_prior[j] + _log_likelihood(cells, means, on, sd, slope)
            for k, cell in enumerate(cells):
                icc = logit_normal_moments(means[k], spreads[k])[1]
                n = cell.valid_by.astype(np.float64)
                size = float((n * n).sum() / n.sum())
                effects[i, j, k] = 1.0 + icc * max(0.0, size - 1.0)
    weights = np.exp(logs - logs.max()).ravel()
    grid = np.meshgrid(sds, slopes, indexing="ij")
    note = f"half-normal priors of scale {scale:g} on the cluster SDs of adherence"
    if not has_slope and slope_on is not None:
        note += f"; no slope, since the pilot is not on both sides of {'='.join(slope_on)}"
    return SpreadPosterior(
        grid[0].ravel(), grid[1].ravel(), weights / weights.sum(),
        effects.reshape(-1, len(cells)), slope_on if has_slope else None, (note,),
    )  # fmt: skip


def _rate(cell: PilotCell) -> float:
    return (cell.clean + 0.5) / (cell.valid + 1.0)


def _log_likelihood(
    cells: Sequence[PilotCell], means: Sequence[float], on: Sequence[bool], sd: float, slope: float
) -> float:
    """Sum over clusters, the two deviates integrated by trapezium."""
    density = np.exp(-0.5 * _DEVIATES**2)
    density /= density.sum()
    across = _DEVIATES if slope > 0.0 else np.zeros(1)
    along = density if slope > 0.0 else np.ones(1)
    shape = (cells[0].clean_by.size if cells else 1, _DEVIATES.size, across.size)
    log = np.zeros(shape)
    for cell, mean, here in zip(cells, means, on, strict=True):
        logit = mean + sd * _DEVIATES[:, None] + (slope * across[None, :] if here else 0.0)
        k = cell.clean_by[:, None, None]
        n = cell.valid_by[:, None, None]
        log = log - k * np.logaddexp(0.0, -logit) - (n - k) * np.logaddexp(0.0, logit)
    most = log.max(axis=(1, 2))
    inside = np.exp(log - most[:, None, None]) * density[:, None] * along[None, :]
    return float((np.log(inside.sum(axis=(1, 2))) + most).sum())
