"""How clusters may differ, as a grid, and what each cluster says of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.bayes.posterior_law import PanelLaw, Scale
from simtrack.inference.numerics.panels import Panels, settled_panels

__all__ = [
    "NATS",
    "Box",
    "ClusterAverage",
    "HyperGrid",
    "hyper_grid",
    "law_of_cluster",
    "log_expit",
    "moved_side",
    "posterior_box",
]


Floats = NDArray[np.float64]
#: Where the density has fallen by e^-NATS from its peak, nothing is left to integrate.
NATS = 42.0
_LOOK, _ZOOMS = 41, 60
_SAME, _GROW = 0.9, 0.5
_SETTLED, _ROUNDS, _PANELS_MAX = 1e-11, 8, 60
_FIRST_PANELS = 5
_DRAWS_AT_ONCE = 500
Box = tuple[float, float, float, float]
LogPosterior = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class HyperGrid:
    """The posterior of (u, v) at the nodes of panels.

    Attributes
    ----------
    u, v : Panels
        Location and spread.
    log_density : float64 array, shape (u nodes, v nodes)
        Normalised.
    mass : float64 array, shape (u nodes, v nodes)
        Density times both weights; the sum is 1.
    log_evidence : float
        Logarithm of the integral of the unnormalised posterior.
    """

    u: Panels
    v: Panels
    log_density: Floats
    mass: Floats
    log_evidence: float

    def u_law(self, scale: Scale) -> PanelLaw:
        """Give the marginal law of the location."""
        density = np.einsum("uv,v->u", np.exp(self.log_density), self.v.weights.ravel())
        return PanelLaw(self.u, density.reshape(self.u.nodes.shape), scale)

    def v_law(self, scale: Scale, support: tuple[float, float]) -> PanelLaw:
        """Give the marginal law of the spread."""
        density = np.einsum("uv,u->v", np.exp(self.log_density), self.u.weights.ravel())
        return PanelLaw(self.v, density.reshape(self.v.nodes.shape), scale, support)

    def draw(self, shares: Floats) -> tuple[Floats, Floats]:
        """Turn uniforms, shape (draws, 2), into v and, given it, u: each by its quantile."""
        v = self.v_law("identity", (-math.inf, math.inf)).quantile(shares[:, 0])
        panel, basis = self.v.interpolation(v)
        shaped = self.log_density.reshape(self.log_density.shape[0], *self.v.nodes.shape)
        u = np.empty(v.shape)
        for start in range(0, v.size, _DRAWS_AT_ONCE):
            some = slice(start, start + _DRAWS_AT_ONCE)
            log_density = np.einsum("unk,nk->nu", shaped[:, panel[some]], basis[some])
            height = np.exp(log_density - log_density.max(axis=1, keepdims=True))
            u[some] = self.u.quantiles(height.reshape(-1, *self.u.nodes.shape), shares[some, 1])
        return u, v


def hyper_grid(log_posterior: LogPosterior, box: Box, floor: float = -math.inf) -> HyperGrid:
    """Put panels over a posterior, and halve them until its integral does not need it.

    Parameters
    ----------
    log_posterior : function of u (n,) and v (m,)
        Gives values of shape (n, m), up to a constant.
    box : (u low, u high, v low, v high)
        Holds all of it.
    floor : float
        The spread cannot be below it.
    """
    box = posterior_box(log_posterior, box, floor)
    u = Panels.even(box[0], box[1], _FIRST_PANELS)
    v = Panels.even(box[2], box[3], _FIRST_PANELS)
    for _ in range(_ROUNDS):
        log_density = log_posterior(u.nodes.ravel(), v.nodes.ravel())
        top = float(log_density.max())
        height = np.exp(log_density - top)
        both = (u.weights.ravel(), v.weights.ravel())
        total = float(np.einsum("uv,u,v->", height, *both))
        wide_u = _unsettled(u, height.T, both[1], total)
        wide_v = _unsettled(v, height, both[0], total)
        if not wide_u.any() and not wide_v.any():
            log_density -= top + math.log(total)
            mass = np.exp(log_density) * both[0][:, None] * both[1]
            return HyperGrid(u, v, log_density, mass, top + math.log(total))
        u, v = _halved(u, wide_u), _halved(v, wide_v)
        if max(u.edges.size, v.edges.size) > _PANELS_MAX:
            break
    raise InputError("prior", "one whose posterior can be integrated", "one that does not settle")


def posterior_box(log_posterior: LogPosterior, box: Box, floor: float = -math.inf) -> Box:
    """Shrink a box to where the posterior is within e^-NATS of its peak.

    A coarse look may leave a narrow peak outside: then an edge is not low, and the box grows there.
    """
    outer = (box[0], box[1], max(box[2], floor), box[3])
    sides = [(outer[0], outer[1]), (outer[2], outer[3])]
    limits = list(sides)
    for _ in range(_ZOOMS):
        u, v = (low + (high - low) * np.arange(_LOOK) / (_LOOK - 1) for low, high in sides)
        found = log_posterior(u, v)
        kept = found > found.max() - NATS
        new = [
            moved_side(np.flatnonzero(kept.any(axis=1 - k)), axis, limits[k])
            for k, axis in enumerate((u, v))
        ]
        shares = [(b - a) / (d - c) for (a, b), (c, d) in zip(new, sides, strict=True)]
        sides = new
        if all(_SAME < share <= 1.0 for share in shares):
            break
    return (*sides[0], *sides[1])


def moved_side(
    kept: NDArray[np.int64], axis: Floats, limits: tuple[float, float]
) -> tuple[float, float]:
    """Give the new ends of one side: a cell beyond what counts, or further where it is cut off."""
    low, high, last = float(axis[0]), float(axis[-1]), axis.size - 1
    cut_low = kept[0] == 0 and low > limits[0]
    cut_high = kept[-1] == last and high < limits[1]
    grow = _GROW * (high - low)
    bottom = max(low - grow, limits[0]) if cut_low else float(axis[max(kept[0] - 1, 0)])
    top = min(high + grow, limits[1]) if cut_high else float(axis[min(kept[-1] + 1, last)])
    return bottom, top


def _unsettled(panels: Panels, height: Floats, weights: Floats, total: float) -> NDArray[np.bool_]:
    """Which panels of one variable are too wide; `height` has shape (other nodes, nodes)."""
    series = panels.coefficients(height.reshape(-1, *panels.nodes.shape))
    tail = np.einsum("op,o->p", np.abs(series[..., -2:]).sum(axis=-1), weights)
    wide: NDArray[np.bool_] = tail * np.diff(panels.edges) > _SETTLED * total
    return wide


def _halved(panels: Panels, wide: NDArray[np.bool_]) -> Panels:
    middle = 0.5 * (panels.edges[1:] + panels.edges[:-1])
    return Panels.between(np.sort(np.concatenate([panels.edges, middle[wide]])))


# The law of one cluster's rate: an average over hyperparameters, however narrow its kernel.
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
