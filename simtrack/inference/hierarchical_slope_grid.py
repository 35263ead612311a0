"""The posterior of four hyperparameters of a paired contrast, by products of two small tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.hierarchical_cluster import log_expit
from simtrack.inference.posterior_panels import Panels

__all__ = ["PairedPatterns", "SlopeGrid", "SlopePriors", "slope_grid"]

Floats = NDArray[np.float64]
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_STEP_Z, _REACH_Z = 0.25, 9.0
_STEP_SDS, _STEP_MOST, _PANEL_SDS, _PANEL_MOST = 0.4, 0.25, 3.0, 2.0
_NARROW, _TINY = 0.25, 1e-280
_NATS, _LOOK, _ZOOMS = 30.0, 9, 30
_SETTLED, _ROUNDS, _POINTS_MAX = 1e-9, 6, 3_000_000
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
    density, mass : float64 arrays, shape (m, t, d, o nodes)
    log_evidence : float
    """

    panels: tuple[Panels, Panels, Panels, Panels]
    density: Floats
    mass: Floats
    log_evidence: float

    def marginal(self, axis: int) -> Floats:
        """Give the density of one of the four at its nodes, shape (panels, ORDER)."""
        others = tuple(k for k in range(4) if k != axis)
        each = self.mass.sum(axis=others) / self.panels[axis].weights.ravel()
        return np.asarray(each.reshape(self.panels[axis].nodes.shape))


def slope_grid(patterns: PairedPatterns, priors: SlopePriors) -> SlopeGrid:
    """Find where the posterior is, and integrate it there until more panels change nothing."""
    box = _box(patterns, priors)
    counts = [2, 1, 2, 1]
    for _ in range(_ROUNDS):
        panels = tuple(Panels.even(*box[k], counts[k]) for k in range(4))
        log_density = _log_posterior(patterns, priors, [p.nodes.ravel() for p in panels])
        top = float(log_density.max())
        weights = [p.weights.ravel() for p in panels]
        density = np.exp(log_density - top)
        mass = np.einsum("abcd,a,b,c,d->abcd", density, *weights)
        total = float(mass.sum())
        grid = SlopeGrid(
            (panels[0], panels[1], panels[2], panels[3]),
            density / total, mass / total, top + math.log(total),
        )  # fmt: skip
        wide = [bool(_tail(grid, axis) > _SETTLED) for axis in range(4)]
        if not any(wide):
            return grid
        counts = [c + (1 + c // 2) * w for c, w in zip(counts, wide, strict=True)]
        if math.prod(16 * c for c in counts) > _POINTS_MAX:
            break
    raise InputError("prior", "one whose posterior can be integrated", "one that does not settle")


def _tail(grid: SlopeGrid, axis: int) -> float:
    panels = grid.panels[axis]
    series = panels.coefficients(grid.marginal(axis))
    return float((np.abs(series[:, -2:]).sum(axis=-1) * np.diff(panels.edges)).sum())


def _box(patterns: PairedPatterns, priors: SlopePriors) -> list[tuple[float, float]]:
    """Shrink a box to where the posterior is within e^-30 of its peak."""
    box = [
        (-_EDGE, _EDGE),
        (0.0, _SCALES * priors.sd_scale),
        (-_SCALES * priors.contrast_sd, _SCALES * priors.contrast_sd),
        (0.0, _SCALES * priors.slope_scale),
    ]
    for _ in range(_ZOOMS):
        axes = [low + (high - low) * np.arange(_LOOK) / (_LOOK - 1) for low, high in box]
        found = _log_posterior(patterns, priors, axes)
        kept = found > found.max() - _NATS
        new = []
        for axis, places in enumerate(axes):
            at = np.flatnonzero(kept.any(axis=tuple(k for k in range(4) if k != axis)))
            new.append(
                (float(places[max(at[0] - 1, 0)]), float(places[min(at[-1] + 1, _LOOK - 1)]))
            )
        shrunk = [(b[1] - b[0]) / (a[1] - a[0]) for a, b in zip(box, new, strict=True)]
        box = new
        if min(shrunk) > 0.95:
            break
    return box


def _log_posterior(patterns: PairedPatterns, priors: SlopePriors, axes: list[Floats]) -> Floats:
    """Give the log posterior on a product of four axes, normalised priors included.

    The integral over a cluster's contrast and level is taken in two steps: over the level, for each
    (m, t) and each node of the contrast; then over the contrast, for each (d, o).
    """
    m, t, d, o = axes
    reach = _REACH_Z * float(o.max())
    width = min(_PANEL_MOST, _PANEL_SDS * 2.0 / patterns.sharpness())
    low, high = float(d.min()) - reach, float(d.max()) + reach
    contrast = Panels.even(low, high, max(math.ceil((high - low) / width), 1))
    second = _contrast_weights(contrast, d, o)
    first = _level_integrals(patterns, m, t, contrast.nodes.ravel())
    total = np.zeros((m.size * t.size, d.size * o.size))
    for p, times in enumerate(patterns.times.tolist()):
        each = np.einsum("ak,bk->ab", first[p], second)
        total += times * np.log(np.maximum(each, _TINY))
    a, b = priors.location
    log_prior = a * log_expit(m) + b * log_expit(-m)
    log_prior -= math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    found = total.reshape(m.size, t.size, d.size, o.size)
    found = found + log_prior[:, None, None, None]
    found += _half_normal(t, priors.sd_scale)[:, None, None]
    found += (_half_normal(d, priors.contrast_sd) - math.log(2.0))[:, None]
    found += _half_normal(o, priors.slope_scale)
    return found + float((patterns.log_tops() * patterns.times).sum())


def _level_integrals(patterns: PairedPatterns, m: Floats, t: Floats, d: Floats) -> Floats:
    """Integrate over a cluster's level given its contrast: (patterns, m × t, contrasts)."""
    step = min(_STEP_MOST, _STEP_SDS / patterns.sharpness())
    out = np.empty((patterns.times.size, m.size, t.size, d.size))
    z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
    normal = np.exp(-0.5 * z * z - _LOG_ROOT_2PI) * _STEP_Z
    widest = float(t.max())
    low, high = float(m.min()) - _REACH_Z * widest, float(m.max()) + _REACH_Z * widest
    level = low + step * np.arange(math.ceil((high - low) / step) + 1)
    wide = t >= 2.5 * step
    if wide.any():
        gap = (level - m[:, None, None]) / t[wide][:, None]
        kernel = np.exp(-0.5 * gap * gap - _LOG_ROOT_2PI) * (step / t[wide][:, None])
        for p in range(patterns.times.size):
            own = np.exp(_one(patterns, p).log_likelihood(level, d[:, None])[0])
            out[p][:, wide] = np.einsum("mtk,dk->mtd", kernel, own)
    for k in np.flatnonzero(~wide).tolist():
        place = m[:, None, None] + t[k] * z
        own = np.exp(patterns.log_likelihood(place, d[:, None]))
        out[:, :, k] = np.einsum("pmdz,z->pmd", own, normal)
    return out.reshape(patterns.times.size, m.size * t.size, d.size)


def _contrast_weights(contrast: Panels, d: Floats, o: Floats) -> Floats:
    """Give weights of the nodes of the contrast under Normal(d, o²), shape (d × o, nodes)."""
    nodes, size = contrast.nodes.ravel(), contrast.nodes.shape[1]
    out = np.zeros((d.size, o.size, nodes.size))
    z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
    normal = np.exp(-0.5 * z * z - _LOG_ROOT_2PI) * _STEP_Z
    width = float(np.diff(contrast.edges).max())
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


def _one(patterns: PairedPatterns, p: int) -> PairedPatterns:
    some = slice(p, p + 1)
    return replace(patterns, y=patterns.y[some], n=patterns.n[some], times=patterns.times[some])


def _log_top(y: Floats, n: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        share = y / n
        found = y * np.log(share) + (n - y) * np.log1p(-share)
    return np.where((y > 0.0) & (y < n), found, 0.0)


def _half_normal(x: Floats, scale: float) -> Floats:
    found: Floats = -0.5 * (x / scale) ** 2 - math.log(0.5 * scale) - _LOG_ROOT_2PI
    return found
