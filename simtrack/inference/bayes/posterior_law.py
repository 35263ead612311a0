"""Posterior laws of one quantity: Beta in closed form, or a density on panels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.numerics.incomplete_beta import beta_cdf, beta_quantile
from simtrack.inference.numerics.panels import Panels, legendre_integrals, legendre_values
from simtrack.options import Computation

__all__ = ["BetaLaw", "Law", "PanelLaw", "Scale"]

Floats = NDArray[np.float64]
#: How the variable of the panels gives the quantity: itself, or its logistic function.
Scale = Literal["identity", "logit"]
_NEWTON_STEPS = 80
_NEAR, _TINY = 1e-15, 1e-17


class Law(Protocol):
    """What a posterior can be asked: its mean and sd, cdf, density and quantiles."""

    @property
    def computation(self) -> Computation:
        """How its numbers are computed."""

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest value that there can be."""

    @property
    def mean(self) -> float:
        """The expected value."""

    @property
    def sd(self) -> float:
        """The standard deviation."""

    def cdf(self, x: Floats) -> Floats:
        """Give P(X <= x)."""

    def density(self, x: Floats) -> Floats:
        """Give the density at x."""

    def quantile(self, p: Floats) -> Floats:
        """Give the x with P(X <= x) = p."""


@dataclass(frozen=True, slots=True)
class BetaLaw:
    """A Beta(a, b) law."""

    a: float
    b: float
    computation: Computation = "closed-form"
    support: tuple[float, float] = (0.0, 1.0)

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.a / (self.a + self.b)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        total = self.a + self.b
        return math.sqrt(self.a / total * (self.b / total) / (total + 1.0))

    def cdf(self, x: Floats) -> Floats:
        """Give P(X <= x)."""
        return _each(lambda v: beta_cdf(min(max(v, 0.0), 1.0), self.a, self.b), x)

    def density(self, x: Floats) -> Floats:
        """Give the density at x; infinite at an end that draws all near it."""
        return _each(self._density, x)

    def quantile(self, p: Floats) -> Floats:
        """Give the x with P(X <= x) = p."""
        return _each(lambda q: beta_quantile(q, self.a, self.b), p)

    def _density(self, x: float) -> float:
        if not 0.0 < x < 1.0:
            power = self.a if x == 0.0 else self.b
            if not 0.0 <= x <= 1.0 or power > 1.0:
                return 0.0
            return math.inf if power < 1.0 else self.a + self.b - 1.0
        whole = math.lgamma(self.a + self.b) - math.lgamma(self.a) - math.lgamma(self.b)
        return math.exp(whole + (self.a - 1.0) * math.log(x) + (self.b - 1.0) * math.log1p(-x))


@dataclass(frozen=True, slots=True, init=False, eq=False)
class PanelLaw:
    """A law whose density is known on panels of a variable w, with quantity w or expit(w).

    Attributes
    ----------
    panels : Panels
    values : float64 array, shape (panels, nodes)
        Density of w, with integral 1.
    scale : "identity" or "logit"
    support : pair of float
        Of the quantity.
    ends : pair of float
        Probability below and above all panels (of a logit scale): of 0 and 1 to all digits.
    """

    panels: Panels
    values: Floats
    scale: Scale
    support: tuple[float, float]
    ends: tuple[float, float]
    mean: float
    sd: float
    computation: Computation
    _series: Floats
    _running: Floats

    def __init__(
        self,
        panels: Panels,
        values: Floats,
        scale: Scale = "identity",
        support: tuple[float, float] = (-math.inf, math.inf),
        ends: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        values = values / float((panels.weights * values).sum())
        body = 1.0 - ends[0] - ends[1]
        mass, x = body * panels.weights * values, _forward(panels.nodes, scale)
        mean = float((mass * x).sum()) + ends[1]
        square = float((mass * (x - mean) ** 2).sum())
        square += ends[0] * mean**2 + ends[1] * (1.0 - mean) ** 2
        series = panels.coefficients(values)
        fields = {
            "panels": panels,
            "values": values,
            "scale": scale,
            "support": (0.0, 1.0) if scale == "logit" else support,
            "mean": mean,
            "sd": math.sqrt(square),
            "ends": ends,
            "computation": "quadrature",
            "_series": series,
            "_running": panels.running(series),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def cdf(self, x: Floats) -> Floats:
        """Give P(X <= x)."""
        below, above = self.ends
        found = below + (1.0 - below - above) * self._below(self._variable(x))
        if self.scale == "logit":
            value = np.asarray(x, dtype=np.float64)
            found = np.where(value < 0.0, 0.0, np.where(value >= 1.0, 1.0, found))
        return np.asarray(found)

    def density(self, x: Floats) -> Floats:
        """Give the density of the quantity at x; 0 beyond the panels."""
        w = self._variable(x)
        found = (1.0 - sum(self.ends)) * np.maximum(self._height(w), 0.0)
        found[(w < self.panels.edges[0]) | (w > self.panels.edges[-1])] = 0.0
        if self.scale == "logit":
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = _forward(w, "logit") * _forward(-w, "logit")
                found = np.where(spread > 0.0, found / spread, 0.0)
        return found

    def quantile(self, p: Floats) -> Floats:
        """Give the x with P(X <= x) = p: Newton's steps kept inside the panel of p."""
        share = np.asarray(p, dtype=np.float64)
        inner = np.clip((share - self.ends[0]) / (1.0 - sum(self.ends)), 0.0, 1.0)
        target = inner * self._running[-1]
        last = self.panels.edges.size - 2
        panel = np.clip(np.searchsorted(self._running, target, side="right") - 1, 0, last)
        low, high = self.panels.edges[panel].copy(), self.panels.edges[panel + 1].copy()
        w = 0.5 * (low + high)
        for _ in range(_NEWTON_STEPS):
            gap = self._below(w) - target
            high, low = np.where(gap > 0.0, w, high), np.where(gap > 0.0, low, w)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = w - gap / self._height(w)
            inside = (step > low) & (step < high)
            moved = np.where(inside, step, 0.5 * (low + high))
            done = np.abs(moved - w) <= _NEAR * np.maximum(high - low, np.abs(w)) + _TINY
            w = moved
            if done.all():
                break
        x = _forward(w, self.scale)
        bottom, top = self.support
        x = np.where(inner <= 0.0, bottom if math.isfinite(bottom) else x, x)
        return np.asarray(np.where(inner >= 1.0, top if math.isfinite(top) else x, x))

    def _variable(self, x: Floats) -> Floats:
        value = np.asarray(x, dtype=np.float64)
        if self.scale == "identity":
            return value
        inner = np.clip(value, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(inner) - np.log1p(-inner))

    def _below(self, w: Floats) -> Floats:
        panel, place = self.panels.locate(w)
        series = np.moveaxis(self._series[panel], -1, 0)
        part = (series * legendre_integrals(place)).sum(axis=0)
        half = 0.5 * np.diff(self.panels.edges)[panel]
        found: Floats = np.clip((self._running[panel] + half * part) / self._running[-1], 0.0, 1.0)
        return found

    def _height(self, w: Floats) -> Floats:
        panel, place = self.panels.locate(w)
        series = np.moveaxis(self._series[panel], -1, 0)
        found: Floats = (series * legendre_values(place)).sum(axis=0)
        return found


def _forward(w: Floats, scale: Scale) -> Floats:
    if scale == "identity":
        return w
    found: Floats = np.where(w < 0.0, 1.0, 1.0 / (1.0 + np.exp(-np.abs(w))))
    small = np.exp(-np.abs(w))
    return np.where(w < 0.0, small / (1.0 + small), found)


def _each(function: Callable[[float], float], x: Floats) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    return np.array([function(v) for v in values.ravel().tolist()]).reshape(values.shape)
