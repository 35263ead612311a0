"""The law of a difference of mean rates, from that of the logit model's hyperparameters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.hierarchical_slope_grid import SlopeGrid
from simtrack.inference.hierarchical_smooth import log_mean_rate
from simtrack.inference.posterior_law import PanelLaw
from simtrack.inference.posterior_panels import ORDER, legendre_values, settled_panels

__all__ = ["marginal_difference"]

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-8
_SETTLED, _TINY = 1e-7, 1e-290
_NEWTON_STEPS, _NEAR = 40, 1e-8
_ROWS_AT_ONCE = 256


def marginal_difference(grid: SlopeGrid) -> tuple[PanelLaw, float, float]:
    """Give the law of the difference of mean rates, and the means of both rates.

    Given (m, t, o), the difference rises with d: its density at x is that of d over the slope, at
    the d where it is x. Mean rates are over Normal(m ± d/2, t² + o²/4).
    """
    m, t, d, o = (p.nodes.ravel() for p in grid.panels)
    rows = grid.mass.sum(axis=1)
    kept = np.argwhere(rows > _NEGLIGIBLE)
    of_m, of_t, of_o = grid.pairs[kept[:, 0], 0], grid.pairs[kept[:, 0], 1], kept[:, 1]
    difference, slope = np.empty((len(kept), d.size)), np.empty((len(kept), d.size))
    means = np.zeros(2)
    mass = grid.mass[kept[:, 0], :, of_o]
    for j, k in np.unique(np.stack([of_t, of_o], axis=1), axis=0).tolist():
        sd = math.sqrt(t[j] ** 2 + 0.25 * o[k] ** 2)
        at = np.flatnonzero((of_t == j) & (of_o == k))
        rates = []
        change = np.zeros((at.size, d.size))
        for side, half in enumerate((0.5 * d, -0.5 * d)):
            log_rate, log_rest, by_m = log_mean_rate(m[of_m[at]][:, None] + half, sd)
            rates.append(np.exp(log_rate))
            change += 0.5 * by_m * np.exp(log_rate + log_rest)
            means[side] += (mass[at] * rates[side]).sum()
        difference[at], slope[at] = rates[0] - rates[1], change
    conditional = grid.density[kept[:, 0], :, of_o]
    by_m, by_t, by_o = (grid.panels[p].weights.ravel() for p in (0, 1, 3))
    weight = by_m[of_m] * by_t[of_t] * by_o[of_o]
    table = _Rows(grid, difference, slope, conditional * weight[:, None])
    low, high = float(difference.min()), float(difference.max())
    panels, values = settled_panels(table.density, np.linspace(low, high, 7), _SETTLED)
    means /= float(mass.sum())
    return PanelLaw(panels, values, "identity", (-1.0, 1.0)), float(means[0]), float(means[1])


class _Rows:
    """Difference, its slope and the density of d as series in d, for each (m, t, o)."""

    def __init__(self, grid: SlopeGrid, difference: Floats, slope: Floats, density: Floats) -> None:
        panels = grid.panels[2]
        shape = (-1, *panels.nodes.shape)
        self.width = np.diff(panels.edges)
        self.difference = panels.coefficients(difference.reshape(shape))
        self.slope = panels.coefficients(slope.reshape(shape))
        self.log_height = panels.coefficients(np.log(np.maximum(density, _TINY)).reshape(shape))
        sign = (-1.0) ** np.arange(ORDER)
        left = (self.difference * sign).sum(axis=-1)
        right = self.difference[:, -1:].sum(axis=-1)
        self.edges = np.concatenate([left, right], axis=1)

    def density(self, x: Floats) -> Floats:
        """Sum the densities of the difference at x over all rows."""
        total = np.zeros(x.shape)
        for start in range(0, self.edges.shape[0], _ROWS_AT_ONCE):
            total += self._some(x, slice(start, start + _ROWS_AT_ONCE))
        return total

    def _some(self, x: Floats, some: slice) -> Floats:
        edges = self.edges[some]
        panel = (edges[:, None, :] <= x[None, :, None]).sum(axis=-1) - 1
        inside = (panel >= 0) & (panel < self.width.size)
        panel = np.clip(panel, 0, self.width.size - 1)
        rows = np.arange(edges.shape[0])[:, None]
        value = np.moveaxis(self.difference[some][rows, panel], -1, 0)
        slope = np.moveaxis(self.slope[some][rows, panel], -1, 0)
        half = 0.5 * self.width[panel]
        left, right = edges[rows, panel], edges[rows, panel + 1]
        low, high = -np.ones(panel.shape), np.ones(panel.shape)
        place = np.clip(2.0 * (x - left) / np.maximum(right - left, 1e-300) - 1.0, -1.0, 1.0)
        for _ in range(_NEWTON_STEPS):
            basis = legendre_values(place)
            gap = (value * basis).sum(axis=0) - x
            rise = np.maximum((slope * basis).sum(axis=0) * half, 1e-300)
            low, high = np.where(gap < 0.0, place, low), np.where(gap < 0.0, high, place)
            moved = place - gap / rise
            moved = np.where((moved >= low) & (moved <= high), moved, 0.5 * (low + high))
            done = np.abs(moved - place)[inside].max(initial=0.0) <= _NEAR
            place = moved
            if done:
                break
        basis = legendre_values(place)
        log_height = (np.moveaxis(self.log_height[some][rows, panel], -1, 0) * basis).sum(axis=0)
        found = np.exp(log_height) / np.maximum((slope * basis).sum(axis=0), 1e-300)
        return np.asarray(np.where(inside, found, 0.0).sum(axis=0))
