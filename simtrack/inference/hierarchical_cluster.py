"""The law of one cluster's rate: an average over hyperparameters, however narrow its kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.hierarchical_grid import NATS, HyperGrid
from simtrack.inference.posterior_law import PanelLaw
from simtrack.inference.posterior_panels import Panels, settled_panels

__all__ = ["ClusterAverage", "law_of_cluster", "log_expit"]

Floats = NDArray[np.float64]
#: A kernel is summed at the nodes if its width is at least this share of the widest panel.
_WIDE = 0.25
#: Kernels this share of 0.4 wide are near enough to normal ones for twelve sds to hold them.
_NARROW_PANEL = 0.4
_STEP = 0.5
_T = np.arange(-24, 25) * _STEP
_NEGLIGIBLE, _LOG_NEGLIGIBLE = 1e-13, -32.0
#: Values come from sums of two kinds, which agree to about 1e-12.
_SETTLED = 1e-11
_LOST = 1e-10


def log_expit(x: Floats) -> Floats:
    """Give log(1 / (1 + exp(-x))).

    Examples
    --------
    >>> log_expit(np.array([0.0, -800.0])).round(6).tolist()
    [-0.693147, -800.0]
    """
    found: Floats = np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class ClusterAverage:
    """How is something of one cluster averaged over the posterior of (u, v)?

    As a function of u its kernel has a peak near phi, of some width. It is summed at the nodes of
    u where that is no narrower than the panels; at the nodes of panels that are all made as narrow
    as the narrowest, with the posterior between its nodes from its series; or, narrower still, on
    an even grid about phi.

    Attributes
    ----------
    grid : HyperGrid
    nodes : float64 array, shape (n,)
        Of u, on narrow panels.
    log_mass : float64 array, shape (n, v nodes)
        Log density of (u, v) there, times both weights.
    widest, narrowest : float
        Widths of the panels of u.
    """

    grid: HyperGrid
    nodes: Floats
    log_mass: Floats
    widest: float
    narrowest: float

    @classmethod
    def over(cls, grid: HyperGrid) -> ClusterAverage:
        """Prepare the narrow panels."""
        widths = np.diff(grid.u.edges)
        least = min(float(widths.min()), _NARROW_PANEL)
        edges = [grid.u.edges[:1]]
        for left, right in pairwise(grid.u.edges.tolist()):
            parts = max(round((right - left) / least), 1)
            edges.append(left + (right - left) * np.arange(1, parts + 1) / parts)
        fine = Panels.between(np.concatenate(edges))
        panel, basis = grid.u.interpolation(fine.nodes.ravel())
        shaped = grid.log_density.reshape(*grid.u.nodes.shape, -1)
        log_mass = np.einsum("nk,nkv->nv", basis, shaped[panel])
        log_mass += np.log(fine.weights.ravel())[:, None] + np.log(grid.v.weights.ravel())
        return cls(grid, fine.nodes.ravel(), log_mass, float(widths.max()), least)

    def of(
        self,
        phi: Floats,
        log_own: Floats,
        log_kernel: Callable[[Floats, Floats, float], Floats],
        width: Callable[[Floats, float], Floats],
    ) -> Floats:
        """Average exp(log_kernel(phi, u, v) + log_own(phi)), shape (places,).

        Parameters
        ----------
        phi, log_own : float64 arrays, shape (places,)
        log_kernel : function of phi and u, of shapes that broadcast, and one v
        width : function of phi and one v
        """
        u, total = self.grid.u.nodes.ravel(), np.zeros(phi.shape)
        column = self.grid.mass.sum(axis=0)
        with np.errstate(divide="ignore"):
            log_mass = np.log(self.grid.mass)
        for k in np.flatnonzero(column > _NEGLIGIBLE).tolist():
            v, spread = float(self.grid.v.nodes.ravel()[k]), width(phi, self.grid.v.nodes.flat[k])
            wide = spread >= _WIDE * self.widest
            narrow = spread < _WIDE * self.narrowest
            for some, place, log_weight in (
                (wide, u, log_mass[:, k]),
                (~wide & ~narrow, self.nodes, self.log_mass[:, k]),
            ):
                kept = log_weight > log_weight.max() + _LOG_NEGLIGIBLE
                if some.any():
                    value = log_kernel(phi[some][:, None], place[kept], v) + log_weight[kept]
                    total[some] += np.exp(value + log_own[some][:, None]).sum(axis=1)
            if narrow.any():
                place = phi[narrow][:, None] + spread[narrow][:, None] * _T
                value = log_kernel(phi[narrow][:, None], place, v) + self._between(place, k)
                each = np.exp(value + log_own[narrow][:, None]).sum(axis=1)
                total[narrow] += each * spread[narrow] * _STEP
        return total

    def _between(self, place: Floats, k: int) -> Floats:
        """Give the log density of u times the weight of v at node k, anywhere."""
        u = self.grid.u
        panel, basis = u.interpolation(place)
        series = self.grid.log_density[:, k].reshape(u.nodes.shape)
        found = (basis * series[panel]).sum(axis=-1) + math.log(self.grid.v.weights.flat[k])
        found[(place < u.edges[0]) | (place > u.edges[-1])] = -np.inf
        return np.asarray(found)


def law_of_cluster(density: Callable[[Floats], Floats], grid: HyperGrid, mean: float) -> PanelLaw:
    """Make the law of a logit rate from its density, on panels where there is any.

    Where rates may be all or nothing, some of the law lies beyond any finite logit: what the
    density lacks is put at the end, 0 or 1, that agrees with the known `mean`.
    """
    low, high = float(grid.u.edges[0]), float(grid.u.edges[-1])
    x = np.linspace(min(low, 0.0) - NATS, max(high, 0.0) + NATS, 81)
    for _ in range(6):
        with np.errstate(divide="ignore"):
            height = np.log(density(x))
        kept = np.flatnonzero(height > height.max() - NATS)
        new = float(x[max(kept[0] - 1, 0)]), float(x[min(kept[-1] + 1, x.size - 1)])
        shrunk = (new[1] - new[0]) / (x[-1] - x[0])
        x = np.linspace(*new, 41)
        if shrunk > 0.7:
            break
    panels, values = settled_panels(density, np.linspace(x[0], x[-1], 7), _SETTLED)
    lost = 1.0 - float((panels.weights * values).sum())
    if lost < _LOST:
        return PanelLaw(panels, values, "logit")
    inside = float((panels.weights * values * np.exp(log_expit(panels.nodes))).sum())
    return PanelLaw(
        panels, values, "logit", ends=(lost, 0.0) if mean - inside < 0.5 * lost else (0.0, lost)
    )
