"""A posterior of two hyperparameters, location u and spread v, on panels fitted to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.posterior_law import PanelLaw, Scale
from simtrack.inference.posterior_panels import Panels

__all__ = ["NATS", "Box", "HyperGrid", "hyper_grid", "moved_side", "posterior_box"]

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
