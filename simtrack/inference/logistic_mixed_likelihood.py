"""The likelihood of a logistic mixed model: modes of the cluster effects, then quadrature there.

Legend of dims: b = point of the parameters, g = cluster, k = pattern, q = effect, n = node.

With standard normal effects z and a factor L of their covariance, pattern k of cluster g has
η = x_k·β + (w_k L)·z. The log integrand f(z) = Σ s η - n log(1 + e^η) - z·z/2 is concave. Its mode
m is found by Newton's method, and nodes stand at m + √2 H^-½ t with H = -f'' there. One node is
Laplace's approximation.

Parameters may be complex: derivatives by complex steps go through the mode too, since one step with
the real second derivatives moves it by its exact first derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.model_algebra import backward, cholesky, gauss_hermite, log_det, solve
from simtrack.inference.model_table import ModelTable

__all__ = ["minus_log_likelihood", "softplus", "spread_factor", "unique_rows"]

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
