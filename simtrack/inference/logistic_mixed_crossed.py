"""Laplace's approximation for two crossed sets of random intercepts, such as scenario and model.

Legend of dims: b = point of the parameters, g = cluster, k = pattern, m = level of the crossed
factor.

η = x_k·β + σ_u z_g + σ_v w_m(k). The joint second derivatives have two diagonal blocks; the larger
one is eliminated, so the largest matrix is of the size of the smaller factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.logistic_mixed_likelihood import softplus, unique_rows
from simtrack.inference.model_algebra import cholesky, log_det, solve
from simtrack.inference.model_table import ModelTable

__all__ = ["minus_log_likelihood_crossed"]

Floats = NDArray[np.float64]
Array = NDArray[Any]
_MOST, _HALVINGS, _STILL = 200, 40, 1e-9
_CELLS = 1 << 21


def minus_log_likelihood_crossed(
    table: ModelTable, codes: NDArray[np.int64], levels: int
) -> Callable[[Array], Array]:
    """Give the function from (β, σ_u, σ_v), shape (points, columns + 2), to -log L of trials.

    Parameters
    ----------
    codes : int64 array, shape (patterns,)
        The level of the second factor of each pattern.

    References
    ----------
    Breslow and Clayton (1993), JASA 88, 9-25, eq. 5 (without dropping a term); Bates et al. (2015).
    """
    p = len(table.names)
    member = _Levels(codes, levels)
    at_once = max(1, _CELLS // (table.n.size + levels * levels))

    def one(parameters: Array) -> Array:
        eta = np.einsum("kj,bj->bk", table.design, parameters[:, :p])
        sizes = parameters[:, p:]
        real, place = unique_rows(np.real(parameters))
        top = _top(table, member, np.real(eta)[real], np.real(sizes)[real])
        z, w = top.z[place], top.w[place]
        if np.iscomplexobj(parameters):
            start = _Joint(table, member, eta, sizes, z, w)
            dz, dw = top.newton(start.slope_z, start.slope_w, place)
            z, w = z + dz, w + dw
        last = _Joint(table, member, eta, sizes, z, w)
        return np.asarray(-(last.value() - 0.5 * last.log_det()))

    def function(parameters: Array) -> Array:
        parts = range(0, len(parameters), at_once)
        return np.concatenate([one(parameters[k : k + at_once]) for k in parts])

    return function


class _Levels:
    """Which level of the second factor each pattern has, and sums by level over the last axis."""

    def __init__(self, codes: NDArray[np.int64], levels: int) -> None:
        self.codes, self.levels = codes, levels
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], np.arange(levels))

    def add(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values[..., self._order], self._starts, axis=-1))


class _Joint:
    """The log integrand at z, shape (b, g), and w, shape (b, m), with its derivatives."""

    def __init__(
        self, table: ModelTable, member: _Levels, eta: Array, sizes: Array, z: Array, w: Array
    ) -> None:
        su, sv = sizes[:, 0], sizes[:, 1]
        self.table, self.z, self.w = table, z, w
        self.full = (
            eta[:, None] + (su[:, None] * z)[:, :, None] + (sv[:, None] * w)[:, None, member.codes]
        )
        up = np.real(self.full) > 0.0
        small = np.exp(np.where(up, -self.full, self.full))
        left = table.totals - table.n * (np.where(up, 1.0, small) / (1.0 + small))
        self.slope_z = su[:, None] * left.sum(axis=2) - z
        self.slope_w = sv[:, None] * member.add(left.sum(axis=1)) - w
        self.small, self.sizes, self.member = small, sizes, member
        self._curve: tuple[Array, Array, Array] | None = None

    def curve(self) -> tuple[Array, Array, Array]:
        """The diagonal of the eliminated block, the cross block, and the rest's Cholesky factor."""
        if self._curve is None:
            su, sv = self.sizes[:, 0], self.sizes[:, 1]
            weight = self.table.n * self.small / (1.0 + self.small) ** 2
            cross = self.member.add(weight)
            one = 1.0 + su[:, None] ** 2 * weight.sum(axis=2)
            two = 1.0 + sv[:, None] ** 2 * cross.sum(axis=1)
            cross = (su * sv)[:, None, None] * cross
            if self.swap:
                one, two, cross = two, one, np.swapaxes(cross, 1, 2)
            inner = np.einsum("bga,bgc->bac", cross / one[:, :, None], cross)
            self._curve = one, cross, cholesky(np.eye(two.shape[1]) * two[:, None, :] - inner)
        return self._curve

    @property
    def swap(self) -> bool:
        """Whether the second factor is the one eliminated."""
        return self.member.levels > len(self.table.clusters)

    def value(self) -> Array:
        table = self.table
        logs = (table.totals * self.full - table.n * softplus(self.full)).sum(axis=(1, 2))
        return np.asarray(logs - 0.5 * ((self.z**2).sum(axis=1) + (self.w**2).sum(axis=1)))

    def log_det(self) -> Array:
        one, _, lower = self.curve()
        return np.asarray(np.log(one).sum(axis=1) + log_det(lower))

    def newton(
        self, slope_z: Array, slope_w: Array, place: NDArray[np.intp] | slice = slice(None)
    ) -> tuple[Array, Array]:
        """Give the Newton step for these slopes; `place` says at which of my points."""
        one, cross, lower = (part[place] for part in self.curve())
        a, c = (slope_w, slope_z) if self.swap else (slope_z, slope_w)
        second = solve(lower, c - (cross * (a / one)[:, :, None]).sum(axis=1))
        first = (a - (cross * second[:, None]).sum(axis=2)) / one
        return (second, first) if self.swap else (first, second)


def _top(table: ModelTable, member: _Levels, eta: Floats, sizes: Floats) -> _Joint:
    """Newton's method in all effects at once, steps halved until the integrand does not fall."""
    z = np.zeros((len(eta), len(table.clusters)))
    w = np.zeros((len(eta), member.levels))
    at = _Joint(table, member, eta, sizes, z, w)
    value = at.value()
    for _ in range(_MOST):
        dz, dw = at.newton(at.slope_z, at.slope_w)
        for _ in range(_HALVINGS):
            moved = _Joint(table, member, eta, sizes, at.z + dz, at.w + dw)
            next_value = moved.value()
            fell = next_value < value - 1e-12 * (1.0 + np.abs(value))
            if not fell.any():
                break
            half = np.where(fell, 0.5, 1.0)[:, None]
            dz, dw = half * dz, half * dw
        at, value = moved, next_value
        if max(float(np.abs(dz).max()), float(np.abs(dw).max())) < _STILL:
            break
    return at
