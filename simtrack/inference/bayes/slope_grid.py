"""The posterior of four hyperparameters of a paired contrast, by products of two small tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.bayes.hierarchical_grid import log_expit, moved_side
from simtrack.inference.bayes.posterior_law import PanelLaw
from simtrack.inference.numerics.panels import Panels, settled_panels

__all__ = ["PairedPatterns", "SlopeGrid", "SlopePriors", "slope_grid"]

Floats = NDArray[np.float64]
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_STEP_Z, _REACH_Z = 0.25, 7.0
_STEP_SDS, _STEP_MOST, _PANEL_SDS, _PANEL_MOST = 0.4, 0.25, 3.0, 2.0
_NARROW, _GROWTH, _TINY, _UNUSED = 0.25, 0.4, 1e-280, 1e-13
_NATS, _LOOK, _ZOOMS, _SAME = 16.0, 9, 40, 0.95
#: Pairs this far below the best are left out; a profile at o = 0 finds them, with room to spare.
_LEFT_OUT, _BEST = 20.0, 48
_FIRST = (3, 2, 2, 2)
#: Last terms of marginal densities: integrals err by about the square, laws go by logarithms.
_SETTLED = 1e-3
_LAW_SETTLED = 1e-10
_ROUNDS, _POINTS_MAX = 8, 16_000_000
_EDGE, _SCALES = 60.0, 8.0


@dataclass(frozen=True, slots=True)
class SlopePriors:
    """What is assumed of m, t (spread), d (contrast) and o (its spread)?"""

    location: tuple[float, float]
    sd_scale: float
    contrast_sd: float
    slope_scale: float

    def words(self) -> str:
        """Say it."""
        a, b = self.location
        return (
            f"middle Beta({a:g}, {b:g}), sd half-normal({self.sd_scale:g}), "
            f"contrast normal(0, {self.contrast_sd:g}), its sd half-normal({self.slope_scale:g})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PairedPatterns:
    """Different (successes, trials) of first and second condition, with how often they occur.

    Attributes
    ----------
    y, n : float64 arrays, shape (patterns, 2)
    times : float64 array, shape (patterns,)
    """

    y: Floats
    n: Floats
    times: Floats

    @classmethod
    def of(cls, hits: Floats, size: Floats) -> PairedPatterns:
        """Find the different ones among arrays of shape (clusters, 2)."""
        rows, times = np.unique(np.concatenate([hits, size], axis=1), axis=0, return_counts=True)
        return cls(rows[:, :2], rows[:, 2:], times.astype(np.float64))

    def log_likelihood(self, a: Floats, d: Floats) -> Floats:
        """Give log likelihoods over their tops at logits a ± d/2, (patterns, *a.shape)."""
        shape = (-1, *[1] * np.broadcast(a, d).ndim)
        total: Floats = np.zeros(1)
        for side, eta in enumerate((a + 0.5 * d, a - 0.5 * d)):
            y, n = self.y[:, side], self.n[:, side]
            up = y.reshape(shape) * log_expit(eta) + (n - y).reshape(shape) * log_expit(-eta)
            total = total + up - _log_top(y, n).reshape(shape)
        return total

    def log_tops(self) -> Floats:
        """Give the largest log likelihoods, shape (patterns,)."""
        return _log_top(self.y[:, 0], self.n[:, 0]) + _log_top(self.y[:, 1], self.n[:, 1])

    def sharpness(self) -> float:
        """Give the largest information on one logit, at least 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(self.n > 0.0, self.y * (self.n - self.y) / self.n, 0.0)
        return math.sqrt(max(float(each.sum(axis=1).max()), 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class SlopeGrid:
    """The posterior at the nodes of panels of m, t, d and o.

    Attributes
    ----------
    panels : tuple of four Panels
        Of m (middle logit), t (its sd), d (contrast) and o (its sd).
    pairs : int64 array, shape (pairs, 2)
        The nodes of (m, t) that weigh anything.
    density, mass : float64 arrays, shape (pairs, d nodes, o nodes)
    log_evidence : float
    """

    panels: tuple[Panels, Panels, Panels, Panels]
    pairs: NDArray[np.int64]
    density: Floats
    mass: Floats
    log_evidence: float

    def marginal(self, axis: int) -> Floats:
        """Give the density of one of the four at its nodes, shape (panels, ORDER)."""
        panels = self.panels[axis]
        if axis < 2:
            sums = self.mass.sum(axis=(1, 2))
            each = np.bincount(self.pairs[:, axis], sums, minlength=panels.nodes.size)
        else:
            each = self.mass.sum(axis=(0, 4 - axis))
        return np.asarray((each / panels.weights.ravel()).reshape(panels.nodes.shape))

    def law(self, axis: int, support: tuple[float, float] = (-math.inf, math.inf)) -> PanelLaw:
        """Give the marginal law of one of the four.

        Between nodes the logarithm of the density goes by its series; on panels with nodes that
        were left out, the density itself.
        """
        panels, plain = self.panels[axis], self.marginal(axis)
        whole = np.asarray((plain > 0.0).all(axis=1))
        known = np.where(whole[:, None], np.log(np.maximum(plain, _TINY)), plain)

        def density(x: Floats) -> Floats:
            panel, basis = panels.interpolation(x)
            value = (basis * known[panel]).sum(axis=-1)
            found = np.where(whole[panel], np.exp(value), np.maximum(value, 0.0))
            return np.asarray(found, dtype=np.float64)

        finer, values = settled_panels(density, panels.edges, _LAW_SETTLED)
        return PanelLaw(finer, values, support=support)


def slope_grid(patterns: PairedPatterns, priors: SlopePriors) -> SlopeGrid:
    """Find where the posterior is, and integrate it there until more panels change nothing."""
    box = _box(patterns, priors)
    panels = [Panels.even(*box[k], _FIRST[k]) for k in range(4)]
    for _ in range(_ROUNDS):
        axes = [p.nodes.ravel() for p in panels]
        rows, log_density = _log_posterior(patterns, priors, axes, True)
        pairs = np.stack(np.divmod(rows, axes[1].size), axis=1)
        top = float(log_density.max())
        by_m, by_t, by_d, by_o = (p.weights.ravel() for p in panels)
        density = np.exp(log_density - top).reshape(rows.size, by_d.size, by_o.size)
        mass = density * (by_m[pairs[:, 0]] * by_t[pairs[:, 1]])[:, None, None]
        mass *= by_d[:, None] * by_o
        total = float(mass.sum())
        m, t, d, o = panels
        evidence = top + math.log(total)
        grid = SlopeGrid((m, t, d, o), pairs, density / total, mass / total, evidence)
        wide = [_unsettled(grid, axis) for axis in range(4)]
        if not any(some.any() for some in wide):
            return grid
        panels = [_halved(p, some) for p, some in zip(panels, wide, strict=True)]
        if rows.size * panels[2].nodes.size * panels[3].nodes.size > _POINTS_MAX:
            break
    raise InputError("prior", "one whose posterior can be integrated", "one that does not settle")


def _unsettled(grid: SlopeGrid, axis: int) -> NDArray[np.bool_]:
    """Which panels of one variable are too wide for its marginal law?"""
    panels = grid.panels[axis]
    series = panels.coefficients(grid.marginal(axis))
    tail = np.abs(series[:, -2:]).sum(axis=-1) * np.diff(panels.edges)
    wide: NDArray[np.bool_] = tail > _SETTLED
    return wide


def _halved(panels: Panels, wide: NDArray[np.bool_]) -> Panels:
    middle = 0.5 * (panels.edges[1:] + panels.edges[:-1])
    return Panels.between(np.sort(np.concatenate([panels.edges, middle[wide]])))


def _box(patterns: PairedPatterns, priors: SlopePriors) -> list[tuple[float, float]]:
    """Shrink a box to where the posterior is within e^-16 of its peak."""
    box = [
        (-_EDGE, _EDGE),
        (0.0, _SCALES * priors.sd_scale),
        (-_SCALES * priors.contrast_sd, _SCALES * priors.contrast_sd),
        (0.0, _SCALES * priors.slope_scale),
    ]
    limits = list(box)
    for _ in range(_ZOOMS):
        axes = [low + (high - low) * np.arange(_LOOK) / (_LOOK - 1) for low, high in box]
        _, flat = _log_posterior(patterns, priors, axes)
        found = flat.reshape(_LOOK, _LOOK, _LOOK, _LOOK)
        kept = found > found.max() - _NATS
        new = []
        for k, axis in enumerate(axes):
            at = np.flatnonzero(kept.any(axis=tuple(j for j in range(4) if j != k)))
            new.append(moved_side(at, axis, limits[k]))
        shares = [(b - a) / (d - c) for (a, b), (c, d) in zip(new, box, strict=True)]
        box = new
        if all(_SAME < share <= 1.0 for share in shares):
            break
    return box


def _log_posterior(
    patterns: PairedPatterns, priors: SlopePriors, axes: list[Floats], prune: bool = False
) -> tuple[NDArray[np.int64], Floats]:
    """Give pairs (m, t) and the log posterior, shape (pairs, d × o), normalised priors included.

    The integral over a cluster's contrast and level is taken in two steps: over the level, for each
    (m, t) and each node of the contrast; then over the contrast, for each (d, o). With `prune`,
    pairs (m, t) that weigh nothing are left out, and o that weigh nothing are -inf.
    """
    m, t, d, o = axes
    a, b = priors.location
    log_m = a * log_expit(m) + b * log_expit(-m)
    log_m -= math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    prior_mt = (log_m[:, None] + _half_normal(t, priors.sd_scale)).ravel()
    log_d = _half_normal(d, priors.contrast_sd) - math.log(2.0)
    prior_do = (log_d[:, None] + _half_normal(o, priors.slope_scale)).ravel()
    pair_m, pair_t = np.repeat(m, t.size), np.tile(t, m.size)
    rows = np.arange(pair_m.size)
    if prune:
        some = np.linspace(d.min(), d.max(), _LOOK)
        each = np.log(np.maximum(_level_integrals(patterns, pair_m, pair_t, some), _TINY))
        profile = np.einsum("pad,p->ad", each, patterns.times).max(axis=1) + prior_mt
        rows = np.flatnonzero(profile > profile.max() - _LEFT_OUT)
        rows = rows[np.argsort(-profile[rows], kind="stable")]
    contrast = _contrast_panels(patterns, d, float(o.max()))
    second = _contrast_weights(contrast, d, o)
    first = _level_integrals(patterns, pair_m[rows], pair_t[rows], contrast.nodes.ravel())
    columns = np.arange(second.shape[0])
    if prune:
        best = _summed(patterns, first[:, :_BEST], second) + prior_mt[rows[:_BEST], None]
        profile = best.max(axis=0) + prior_do
        some_d = (profile > profile.max() - _LEFT_OUT).reshape(d.size, o.size)
        columns = np.flatnonzero(np.tile(some_d.any(axis=0), d.size))
    found = np.full((rows.size, prior_do.size), -np.inf)
    inner = _summed(patterns, first, second[columns])
    inner += prior_mt[rows, None] + prior_do[columns]
    found[:, columns] = inner + float((patterns.log_tops() * patterns.times).sum())
    return rows, found


def _summed(patterns: PairedPatterns, first: Floats, second: Floats) -> Floats:
    """Sum the log likelihoods of all clusters over pairs (m, t) and (d, o)."""
    used = np.flatnonzero(second.max(axis=0) > _UNUSED * second.max())
    total = np.zeros((first.shape[1], second.shape[0]))
    weights = np.ascontiguousarray(second[:, used])
    for p, times in enumerate(patterns.times.tolist()):
        each = np.einsum("ak,bk->ab", np.ascontiguousarray(first[p][:, used]), weights)
        total += times * np.log(np.maximum(each, _TINY))
    return total


def _level_integrals(patterns: PairedPatterns, m: Floats, t: Floats, d: Floats) -> Floats:
    """Integrate over a cluster's level given its contrast: (patterns, pairs (m, t), contrasts)."""
    step = min(_STEP_MOST, _STEP_SDS / patterns.sharpness())
    out = np.empty((patterns.times.size, m.size, d.size))
    z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
    normal = np.exp(-0.5 * z * z - _LOG_ROOT_2PI) * _STEP_Z
    for tau in np.unique(t).tolist():
        here = np.flatnonzero(t == tau)
        place = m[here]
        if tau < 2.5 * step:
            both = place[:, None, None] + tau * z
            own = np.exp(patterns.log_likelihood(both, d[:, None]))
            out[:, here] = np.einsum("pmdz,z->pmd", own, normal)
            continue
        low, high = place.min() - _REACH_Z * tau, place.max() + _REACH_Z * tau
        level = low + step * np.arange(0.0, math.ceil((high - low) / step) + 1)
        gap = (level - place[:, None]) / tau
        kernel = np.exp(-0.5 * gap * gap - _LOG_ROOT_2PI) * (step / tau)
        own = np.exp(patterns.log_likelihood(level, d[:, None]))
        for p in range(patterns.times.size):
            out[p, here] = np.einsum("mk,dk->md", kernel, own[p])
    return out


def _contrast_panels(patterns: PairedPatterns, d: Floats, widest: float) -> Panels:
    """Put narrow panels where d is, and ever wider ones where only a wide law of effects gets."""
    width = min(_PANEL_MOST, _PANEL_SDS * 2.0 / patterns.sharpness())
    low, high = float(d.min()), float(d.max())
    count = max(math.ceil((high - low) / width), 1)
    inner = low + (high - low) * np.arange(count + 1) / count
    outer, reach = [0.0], _REACH_Z * widest
    while outer[-1] < reach:
        outer.append(outer[-1] + max(width, _GROWTH * outer[-1]))
    steps = np.array(outer[1:])
    return Panels.between(np.concatenate([low - steps[::-1], inner, high + steps]))


def _contrast_weights(contrast: Panels, d: Floats, o: Floats) -> Floats:
    """Give weights of the nodes of the contrast under Normal(d, o²), shape (d × o, nodes)."""
    nodes, size = contrast.nodes.ravel(), contrast.nodes.shape[1]
    out = np.zeros((d.size, o.size, nodes.size))
    z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
    normal = np.exp(-0.5 * z * z - _LOG_ROOT_2PI) * _STEP_Z
    width = float(np.diff(contrast.edges).min())
    for k, sd in enumerate(o.tolist()):
        if sd >= _NARROW * width:
            gap = (nodes - d[:, None]) / sd
            kernel = np.exp(-0.5 * gap * gap - _LOG_ROOT_2PI)
            out[:, k] = kernel * contrast.weights.ravel() / sd
            continue
        panel, basis = contrast.interpolation(d[:, None] + sd * z)
        at = panel[..., None] * size + np.arange(size)
        rows = np.broadcast_to(np.arange(d.size)[:, None, None], at.shape)
        np.add.at(out[:, k], (rows, at), basis * normal[:, None])
    return out.reshape(d.size * o.size, nodes.size)


def _log_top(y: Floats, n: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = y / n
        found = y * np.log(share) + (n - y) * np.log1p(-share)
    return np.where((y > 0.0) & (y < n), found, 0.0)


def _half_normal(x: Floats, scale: float) -> Floats:
    found: Floats = -0.5 * (x / scale) ** 2 - math.log(0.5 * scale) - _LOG_ROOT_2PI
    return found
