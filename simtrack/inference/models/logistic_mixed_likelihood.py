"""Likelihoods of the logistic mixed model: by quadrature, crossed effects by Laplace."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.models.table import ModelTable
from simtrack.inference.numerics.algebra import backward, cholesky, gauss_hermite, log_det, solve

__all__ = [
    "minus_log_likelihood",
    "minus_log_likelihood_crossed",
    "softplus",
    "spread_factor",
    "unique_rows",
]


Floats = NDArray[np.float64]
Array = NDArray[Any]
_MOST, _HALVINGS, _STILL = 200, 40, 1e-9
_CELLS = 1 << 21


def minus_log_likelihood(
    table: ModelTable, effects: Floats, nodes: int
) -> Callable[[Array], Array]:
    """Give the function from parameters, shape (points, columns + q(q+1)/2), to -log L of trials.

    Parameters
    ----------
    effects : float64 array, shape (patterns, q)
        The columns w of the random effects; the first is 1.
    nodes : int
        Of the Gauss-Hermite rule, in each of the q directions; 1 is Laplace's approximation.

    References
    ----------
    Pinheiro and Bates (1995), J. Comp. Graph. Stat. 4, 12-35; Liu and Pierce (1994), Biometrika 81,
    624-629.
    """
    q, p = effects.shape[1], len(table.names)
    points, weights = _grid(nodes, q)
    at_once = max(1, _CELLS // (table.n.size * len(points)))

    def one(parameters: Array) -> Array:
        eta = np.einsum("kj,bj->bk", table.design, parameters[:, :p])
        loads = np.einsum("kc,bca->bka", effects, spread_factor(parameters[:, p:], q))
        real, place = unique_rows(np.real(parameters))
        eta_r, loads_r = np.real(eta)[real], np.real(loads)[real]
        mode, curve = _modes(table, eta_r, loads_r)
        mode, curve = mode[place], curve[place]
        if np.iscomplexobj(parameters):
            slope, _ = _derivatives(table, eta, loads, mode)
            mode = mode + solve(curve, slope)
            curve = cholesky(_derivatives(table, eta, loads, mode)[1])
        turned = backward(curve[:, :, None], np.broadcast_to(points, (1, 1, *points.shape)))
        z = mode[:, :, None] + np.sqrt(2.0) * turned
        value = _integrand(table, eta, loads, z) + weights
        top = np.real(value).max(axis=-1, keepdims=True)
        total = np.log(np.exp(value - top).sum(axis=-1)) + top[..., 0]
        return np.asarray(-(total - 0.5 * log_det(curve)).sum(axis=-1))

    def function(parameters: Array) -> Array:
        parts = range(0, len(parameters), at_once)
        return np.concatenate([one(parameters[k : k + at_once]) for k in parts])

    return function


def spread_factor(entries: Array, q: int) -> Array:
    """Put the entries of a lower triangle, row by row, in place: shape (points, q, q)."""
    out = np.zeros((len(entries), q, q), entries.dtype)
    rows, columns = np.tril_indices(q)
    out[:, rows, columns] = entries
    return out


def softplus(eta: Array) -> Array:
    """Give log(1 + e^η) without overflow; complex is allowed."""
    up = np.real(eta) > 0.0
    return np.asarray(np.log(1.0 + np.exp(np.where(up, -eta, eta))) + np.where(up, eta, 0.0))


def unique_rows(rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give the places of the distinct rows, and for each row which of them it is."""
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def _grid(nodes: int, q: int) -> tuple[Floats, Floats]:
    """Nodes, shape (n, q), and log weights with e^(t·t) and π^(-q/2) in them."""
    x, log_w = gauss_hermite(nodes)
    log_w = log_w + x * x - 0.5 * np.log(np.pi)
    chosen = list(product(range(nodes), repeat=q))
    return x[chosen], log_w[chosen].sum(axis=1)


def _integrand(table: ModelTable, eta: Array, loads: Array, z: Array) -> Array:
    """f at z, shape (b, g, n, q)."""
    full = eta[:, None, None] + np.einsum("bka,bgna->bgnk", loads, z)
    value = (table.totals[:, None] * full - table.n[:, None] * softplus(full)).sum(axis=-1)
    return np.asarray(value - 0.5 * (z * z).sum(axis=-1))


def _derivatives(table: ModelTable, eta: Array, loads: Array, z: Array) -> tuple[Array, Array]:
    """The first derivatives of f at z, shape (b, g, q), and minus the second ones."""
    full = eta[:, None] + np.einsum("bka,bga->bgk", loads, z)
    up = np.real(full) > 0.0
    small = np.exp(np.where(up, -full, full))
    mu = np.where(up, 1.0, small) / (1.0 + small)
    slope = np.einsum("bgk,bka->bga", table.totals - table.n * mu, loads) - z
    weight = table.n * small / (1.0 + small) ** 2
    second = np.einsum("bgk,bka,bkc->bgac", weight, loads, loads) + np.eye(loads.shape[-1])
    return np.asarray(slope), np.asarray(second)


def _modes(table: ModelTable, eta: Floats, loads: Floats) -> tuple[Floats, Floats]:
    """Newton's method in every cluster at once, its steps halved until f does not fall."""
    mode = np.zeros((len(eta), len(table.clusters), loads.shape[-1]))
    value = _integrand(table, eta, loads, mode[:, :, None])[..., 0]
    for _ in range(_MOST):
        slope, second = _derivatives(table, eta, loads, mode)
        step = solve(cholesky(second), slope)
        for _ in range(_HALVINGS):
            moved = _integrand(table, eta, loads, (mode + step)[:, :, None])[..., 0]
            fell = moved < value - 1e-12 * (1.0 + np.abs(value))
            if not fell.any():
                break
            step = np.where(fell[..., None], 0.5 * step, step)
        mode, value = mode + step, moved
        if float(np.abs(step).max()) < _STILL:
            break
    return mode, cholesky(_derivatives(table, eta, loads, mode)[1])


# Laplace's approximation for two crossed sets of random intercepts, such as scenario and model.
_MOST, _HALVINGS, _STILL = 200, 40, 1e-9


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
