"""Panels of Gauss-Legendre nodes: integrals, running integrals and values between the nodes.

A smooth function on a panel is its Legendre series of sixteen terms; where the last terms do not
vanish the panel is halved. So an integral says by itself how exact it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError

__all__ = ["ORDER", "Panels", "legendre_integrals", "legendre_values", "settled_panels"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ORDER = 16
#: Last terms of a series, times the panel's width, over the whole integral.
SETTLED = 1e-14
_PANELS_MAX = 4000
_DEPTH_MAX = 60
_BISECTIONS = 52


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Where is a function of one variable evaluated, and with which weights is it integrated?

    Attributes
    ----------
    edges : float64 array, shape (panels + 1,)
    nodes, weights : float64 arrays, shape (panels, ORDER)
    """

    edges: Floats
    nodes: Floats
    weights: Floats

    @classmethod
    def between(cls, edges: Sequence[float] | Floats) -> Panels:
        """Make panels between neighbouring edges.

        Examples
        --------
        >>> panels = Panels.between([0.0, 1.0, 2.0])
        >>> round(float((panels.weights * panels.nodes**3).sum()), 12)
        4.0
        """
        ends = np.asarray(edges, dtype=np.float64)
        x, w, _ = _rule()
        half, middle = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
        return cls(ends, middle[:, None] + half[:, None] * x, half[:, None] * w)

    @classmethod
    def even(cls, low: float, high: float, count: int) -> Panels:
        """Make `count` panels of one width."""
        return cls.between(low + (high - low) * np.arange(count + 1) / count)

    def coefficients(self, values: Floats) -> Floats:
        """Give the Legendre coefficients on each panel, shape (..., panels, ORDER)."""
        found: Floats = np.einsum("jk,...k->...j", _rule()[2], values)
        return found

    def running(self, coefficients: Floats) -> Floats:
        """Give the integral up to each edge, shape (..., panels + 1)."""
        each = np.diff(self.edges) * coefficients[..., 0]
        whole = np.zeros((*each.shape[:-1], each.shape[-1] + 1))
        np.cumsum(each, axis=-1, out=whole[..., 1:])
        return whole

    def locate(self, x: Floats) -> tuple[Ints, Floats]:
        """Give the panel of each x and its place there from -1 to 1; outside, the nearest end."""
        last = self.edges.size - 2
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, last)
        left, right = self.edges[panel], self.edges[panel + 1]
        place = np.clip((2.0 * x - left - right) / (right - left), -1.0, 1.0)
        return panel.astype(np.int64), place

    def interpolation(self, x: Floats) -> tuple[Ints, Floats]:
        """Give the panel of each x and the weights of its nodes there, shape (*x.shape, ORDER)."""
        panel, place = self.locate(x)
        return panel, np.einsum("j...,jk->...k", legendre_values(place), _rule()[2])

    def quantiles(self, values: Floats, shares: Floats) -> Floats:
        """Give one quantile of each of several densities, shape (densities, panels, ORDER)."""
        series = self.coefficients(values)
        running = self.running(series)
        target = shares * running[:, -1]
        rows, last = np.arange(shares.size), self.edges.size - 2
        panel = np.clip((running <= target[:, None]).sum(axis=1) - 1, 0, last)
        own, rest = series[rows, panel].T, target - running[rows, panel]
        half = 0.5 * np.diff(self.edges)[panel]
        low, high = np.full(shares.size, -1.0), np.ones(shares.size)
        for _ in range(_BISECTIONS):
            place = 0.5 * (low + high)
            below = half * (own * legendre_integrals(place)).sum(axis=0) < rest
            low, high = np.where(below, place, low), np.where(below, high, place)
        found: Floats = self.edges[panel] + half * (1.0 + 0.5 * (low + high))
        return found

    def unsettled(self, values: Floats, settled: float) -> NDArray[np.bool_]:
        """Which panels are too wide for these values, shape (..., panels, ORDER)?"""
        tail = np.abs(self.coefficients(values)[..., -2:]).sum(axis=-1) * np.diff(self.edges)
        mass = np.abs(self.weights * values).sum(axis=(-1, -2))
        wide = (tail > settled * mass[..., None]).reshape(-1, self.edges.size - 1)
        found: NDArray[np.bool_] = wide.any(axis=0)
        return found


def settled_panels(
    function: Callable[[Floats], Floats],
    edges: Sequence[float] | Floats,
    settled: float = SETTLED,
) -> tuple[Panels, Floats]:
    """Halve panels until the function, values of shape (..., nodes), is resolved on all of them.

    Raises
    ------
    InputError
        It does not settle.

    Examples
    --------
    >>> panels, values = settled_panels(np.sqrt, [0.0, 1.0])
    >>> round(float((panels.weights * values).sum()), 12)
    0.666666666667
    """
    ends = np.asarray(edges, dtype=np.float64)
    known: dict[tuple[float, float], Floats] = {}
    for _ in range(_DEPTH_MAX):
        panels = Panels.between(ends)
        keys = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        new = [k for k, key in enumerate(keys) if key not in known]
        values = function(panels.nodes[new].ravel())
        shaped = values.reshape(*values.shape[:-1], len(new), ORDER)
        known |= {keys[k]: shaped[..., at, :] for at, k in enumerate(new)}
        table = np.stack([known[key] for key in keys], axis=-2)
        wide = panels.unsettled(table, settled)
        if not wide.any():
            return panels, table
        if ends.size > _PANELS_MAX:
            break
        ends = np.sort(np.concatenate([ends, 0.5 * (ends[1:] + ends[:-1])[wide]]))
    raise InputError("prior", "one whose posterior can be integrated", "one that does not settle")


def legendre_values(t: Floats, count: int = ORDER) -> Floats:
    """Give P_0(t) to P_{count-1}(t), shape (count, *t.shape)."""
    found = np.empty((count, *np.shape(t)))
    found[0] = 1.0
    if count > 1:
        found[1] = t
    for j in range(2, count):
        found[j] = ((2 * j - 1) * t * found[j - 1] - (j - 1) * found[j - 2]) / j
    return found


def legendre_integrals(t: Floats) -> Floats:
    """Give the integrals of P_0 to P_{ORDER-1} from -1 to t, shape (ORDER, *t.shape)."""
    p = legendre_values(t, ORDER + 1)
    found = np.empty((ORDER, *np.shape(t)))
    found[0] = t + 1.0
    degree = np.arange(1, ORDER).reshape(-1, *[1] * np.ndim(t))
    found[1:] = (p[2:] - p[:-2]) / (2.0 * degree + 1.0)
    return found


@cache
def _rule() -> tuple[Floats, Floats, Floats]:
    """Give nodes, weights, and the matrix from values to Legendre coefficients."""
    x = np.cos(math.pi * (np.arange(ORDER, 0, -1) - 0.25) / (ORDER + 0.5))
    slope = np.ones(ORDER)
    for _ in range(8):
        value = legendre_values(x, ORDER + 1)
        slope = ORDER * (x * value[ORDER] - value[ORDER - 1]) / (x * x - 1.0)
        x = x - value[ORDER] / slope
    value = legendre_values(x, ORDER + 1)
    slope = ORDER * (x * value[ORDER] - value[ORDER - 1]) / (x * x - 1.0)
    w = 2.0 / ((1.0 - x * x) * slope * slope)
    matrix = (np.arange(ORDER) + 0.5)[:, None] * value[:ORDER] * w
    return x, w, matrix
