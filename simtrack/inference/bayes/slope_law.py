"""Laws of marginal rates and their difference under a random slope."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.bayes.hierarchical_grid import log_expit
from simtrack.inference.bayes.posterior_law import PanelLaw
from simtrack.inference.bayes.slope_grid import SlopeGrid
from simtrack.inference.numerics.panels import ORDER, Panels, legendre_values, settled_panels

__all__ = ["Patterns", "log_mean_rate", "marginal_difference"]


Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-10
_SPREADS = 3
_SETTLED, _TINY = 1e-8, 1e-290
_NEWTON_STEPS, _NEAR = 40, 1e-8
_ROWS_AT_ONCE = 256


def marginal_difference(grid: SlopeGrid) -> tuple[PanelLaw, float, float]:
    """Give the law of the difference of mean rates, and the means of both rates.

    Given m and the sd s of a logit, s² = t² + o²/4, the difference of the mean rates over
    Normal(m ± d/2, s²) rises with d: its density at x is that of d over the slope, at the d where
    it is x.
    """
    m = grid.panels[0].nodes.ravel()
    contrast = Panels.between(_halved(_halved(grid.panels[2].edges)))
    spread, weighed = _by_spread(grid, contrast)
    d, shape = contrast.nodes.ravel(), weighed.shape
    difference, slope, means = np.empty(shape), np.empty(shape), np.zeros(2)
    for j, sd in enumerate(spread.tolist()):
        rates, change = [], np.zeros((m.size, d.size))
        for side, half in enumerate((0.5 * d, -0.5 * d)):
            log_rate, log_rest, by_m = log_mean_rate(m[:, None] + half, sd)
            rates.append(np.exp(log_rate))
            change += 0.5 * by_m * np.exp(log_rate + log_rest)
            means[side] += (weighed[:, j] * rates[side] * contrast.weights.ravel()).sum()
        difference[:, j], slope[:, j] = rates[0] - rates[1], change
    means /= (weighed * contrast.weights.ravel()).sum()
    kept = np.abs(weighed).max(axis=2) > _NEGLIGIBLE * weighed.max()
    table = _Rows(contrast, difference[kept], slope[kept], weighed[kept])
    low, high = float(difference[kept].min()), float(difference[kept].max())
    panels, values = settled_panels(table.density, np.linspace(low, high, 7), _SETTLED)
    return PanelLaw(panels, values, "identity", (-1.0, 1.0)), float(means[0]), float(means[1])


def _by_spread(grid: SlopeGrid, contrast: Panels) -> tuple[Floats, Floats]:
    """Carry the density of d from the nodes of (t, o) over to a few values of s, for each m.

    A sum over (t, o) of anything smooth in s is a sum over nodes of s, with the weights of its
    interpolation there.

    Returns
    -------
    spread : float64 array, shape (s nodes,)
    weighed : float64 array, shape (m nodes, s nodes, contrast nodes)
        Densities of d times the weights of m, t and o.
    """
    m, t, d, o = grid.panels
    log_density = np.log(np.maximum(grid.density, _TINY))
    panel, basis = d.interpolation(contrast.nodes.ravel())
    shaped = log_density.reshape(log_density.shape[0], *d.nodes.shape, -1)
    finer = np.empty((log_density.shape[0], panel.size, o.nodes.size))
    for at, (p, own) in enumerate(zip(panel.tolist(), basis, strict=True)):
        finer[:, at] = np.exp(np.einsum("rko,k->ro", shaped[:, p], own))
    by_m, by_t, by_o = (part.weights.ravel() for part in (m, t, o))
    of_m, of_t = grid.pairs.T
    finer *= (by_m[of_m] * by_t[of_t])[:, None, None] * by_o
    s = np.sqrt(t.nodes.ravel()[:, None] ** 2 + 0.25 * o.nodes.ravel() ** 2)
    spread = Panels.even(float(s.min()), float(s.max()), _SPREADS)
    place, share = spread.interpolation(s)
    weighed = np.zeros((by_m.size, spread.nodes.size, panel.size))
    for j in np.unique(of_t).tolist():
        rows = np.flatnonzero(of_t == j)
        for k in range(by_o.size):
            some = slice(place[j, k] * ORDER, (place[j, k] + 1) * ORDER)
            weighed[of_m[rows], some] += share[j, k][:, None] * finer[rows, :, k][:, None, :]
    return spread.nodes.ravel(), weighed


def _halved(edges: Floats) -> Floats:
    return np.sort(np.concatenate([edges, 0.5 * (edges[1:] + edges[:-1])]))


class _Rows:
    """Difference, its slope and the density of d as series in d, for each (m, s)."""

    def __init__(self, panels: Panels, difference: Floats, slope: Floats, density: Floats) -> None:
        shape = (-1, *panels.nodes.shape)
        self.width = np.diff(panels.edges)
        self.difference = panels.coefficients(difference.reshape(shape))
        self.slope = panels.coefficients(slope.reshape(shape))
        self.height = panels.coefficients(density.reshape(shape))
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
        height = (np.moveaxis(self.height[some][rows, panel], -1, 0) * basis).sum(axis=0)
        found = height / np.maximum((slope * basis).sum(axis=0), 1e-300)
        return np.asarray(np.where(inside, found, 0.0).sum(axis=0))


# Integrals over normal laws of logits: of a cluster's likelihood, and of the rate itself.
#: The trapezoidal rule errs by e^(-2 pi² (sd/step)²) on a normal law, e^(-2 pi² / step) on expit.
_STEP_Z, _REACH_Z = 0.25, 9.0
_STEP_SDS, _STEP_MOST = 0.4, 0.25
#: Further out a likelihood is nothing, whatever a small spread makes of it.
_NATS = 300.0
_UNDERFLOW = 1e-280
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """What do clusters of y successes in n trials contribute, for each different (y, n)?

    Attributes
    ----------
    y, n, times : float64 arrays, shape (patterns,)
        Successes, trials, and how many clusters have them.
    of_cluster : int64 array, shape (clusters,)
    step : float
        Of an even grid of logits that resolves every likelihood.
    """

    y: Floats
    n: Floats
    times: Floats
    of_cluster: NDArray[np.int64]
    step: float

    @classmethod
    def of(cls, hits: Floats, size: Floats) -> Patterns:
        """Find the different ones."""
        rows, place, times = np.unique(
            np.stack([hits, size], axis=1), axis=0, return_inverse=True, return_counts=True
        )
        y, n = rows[:, 0], rows[:, 1]
        sharpest = math.sqrt(max(float((y * (n - y) / n).max()), 1.0))
        step = min(_STEP_MOST, _STEP_SDS / sharpest)
        return cls(y, n, times.astype(np.float64), place.ravel().astype(np.int64), step)

    def log_top(self) -> Floats:
        """Give the largest log likelihood of each pattern, shape (patterns,)."""
        share = self.y / self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.y * np.log(share) + (self.n - self.y) * np.log1p(-share)
        return np.where((share > 0.0) & (share < 1.0), found, 0.0)

    def log_marginal(self, m: Floats, tau: float, moment: int = 0) -> Floats:
        """Integrate likelihood times rate^moment over Normal(m, tau²), shape (patterns, *m.shape).

        On an even grid of logits, or of deviates where tau is less than its step.
        """
        flat = m.ravel()
        if tau < 2.5 * self.step:
            z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
            log_weight = -0.5 * z * z - _LOG_ROOT_2PI + math.log(_STEP_Z)
            value = self._log_likelihood(flat[:, None] + tau * z, moment) + log_weight
            found = _log_sum(value)
        else:
            low, high = flat.min() - _REACH_Z * tau, flat.max() + _REACH_Z * tau
            left, right = self._window()
            low, high = max(low, left), min(high, right)
            count = max(math.ceil((high - low) / self.step), 1)
            eta = low + self.step * np.arange(count + 1)
            log_kernel = -0.5 * ((eta - flat[:, None]) / tau) ** 2
            log_own = self._log_likelihood(eta, moment)
            total = np.einsum("pk,mk->pm", np.exp(log_own), np.exp(log_kernel))
            with np.errstate(divide="ignore"):
                found = np.log(total)
            lost = np.nonzero(total < _UNDERFLOW)
            if lost[0].size:
                found[lost] = _log_sum(log_own[lost[0]] + log_kernel[lost[1]])
            found += math.log(self.step / tau) - _LOG_ROOT_2PI
        return np.asarray((found + self.log_top()[:, None]).reshape(-1, *m.shape))

    def _log_likelihood(self, eta: Floats, moment: int) -> Floats:
        """Give logs of likelihoods over their tops, times rate^moment, (patterns, *eta.shape)."""
        shape = (-1, *[1] * eta.ndim)
        up, down = log_expit(eta), log_expit(-eta)
        value = (self.y + moment).reshape(shape) * up + (self.n - self.y).reshape(shape) * down
        found: Floats = value - self.log_top().reshape(shape)
        return found

    def _window(self) -> tuple[float, float]:
        """Between which logits is any likelihood above e^-300 of its top?"""
        left, right = math.inf, -math.inf
        for y, n, top in zip(self.y, self.n, self.log_top(), strict=True):
            left = min(left, -math.inf if y == 0.0 else (top - _NATS) / y)
            right = max(right, math.inf if y == n else (_NATS - top) / (n - y))
        return left, right


def _log_sum(value: Floats) -> Floats:
    top = value.max(axis=-1)
    found: Floats = top + np.log(np.exp(value - top[..., None]).sum(axis=-1))
    return found


def log_mean_rate(m: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
    """Give the logs of the mean of expit over Normal(m, tau²) and of its rest, and the slope.

    Returns
    -------
    log_rate, log_rest : float64 arrays, shape of m
    slope : float64 array
        Derivative of logit(rate) by m.
    """
    step = min(_STEP_Z, 0.75 / max(tau, 1e-9))
    z = np.arange(-_REACH_Z, _REACH_Z + step / 2, step)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    place = m[..., None] + tau * z
    small = np.exp(-np.abs(place))
    share, other, positive = 1.0 / (1.0 + small), small / (1.0 + small), place >= 0.0
    up, down = np.where(positive, share, other), np.where(positive, other, share)
    rate, rest = np.einsum("...z,z->...", up, weight), np.einsum("...z,z->...", down, weight)
    slope = np.einsum("...z,...z,z->...", up, down, weight) / (rate * rest)
    return np.log(rate), np.log(rest), slope
