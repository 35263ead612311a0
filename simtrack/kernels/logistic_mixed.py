"""Random-intercept logistic models of many studies, by Newton's method on adaptive quadrature.

Legend of dims: r = study, g = cluster, k = pattern, j = column, q = node. Parameters are (β, σ).
With η = x·β + σz the log integrand of a cluster is f(z) = Σ s η - n log(1 + e^η) - z²/2, m its mode
and h = -f''(m); nodes stand at m + √2 t/√h.

The gradient is that of the approximated likelihood, the movement of the nodes included. Newton's
second derivatives are those of the exact one, E[f''] + Var[f'] over the nodes (Louis 1982); they
lead to the same place. The covariance at the end comes from differences of the gradient.
Status: 0 converged, 1 singular, 3 not converged, 4 not estimable, 5 implausible (places in
`options.ModelStatus`); a study whose status is set on entry is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.gee import pooled_start
from simtrack.kernels.logistic_cluster import (
    add_bends,
    add_slopes,
    at_node,
    curvature,
    find_mode,
)
from simtrack.kernels.small_matrices import back, factorise, front, invert

__all__ = ["fit_logistic_mixed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST, _LONGEST = 60, 2.0
_PROMISE, _STEP = 1e-18, 1e-5
_ZERO_SD, _ABSURD_SD, _ABSURD, _ABSURD_ERROR = 1e-3, 10.0, 15.0, 10.0
_SMALL_SD, _LARGE_SD = 0.05, 1.5
_SINGULAR, _NOT_CONVERGED, _NOT_ESTIMABLE, _IMPLAUSIBLE = 1, 3, 4, 5


@kernel
def fit_logistic_mixed(
    n: Floats, total: Floats, design: Floats, nodes: Floats, log_weights: Floats, beta: Floats,
    covariance: Floats, sd: Floats, likelihood: Floats, status: Ints,
) -> None:  # fmt: skip
    """Fit every study with status 0.

    n (1 or r, g, k), total (r, g, k), design (k, j), nodes and log_weights (q,) for e^-t², 3 or
    more. Fills beta (r, j), covariance (r, j, j), sd (r,), likelihood (r,) of trials, status (r,).
    """
    groups, columns = total.shape[1], design.shape[1]
    size = columns + 1
    at, moved, step = np.empty(size), np.empty(size), np.empty(size)
    aside, pooled = np.empty(size), np.empty(columns)
    slope, other = np.empty(size), np.empty(size)
    h, hold = np.empty((size, size)), np.empty((size, size))
    lower, inverse = np.zeros((size, size)), np.empty((size, size))
    mode, eta = np.zeros(groups), np.empty(design.shape[0])
    whole, small = np.empty((columns, columns)), np.zeros((columns, columns))
    weights = np.empty(log_weights.size)
    for q in range(nodes.size):
        weights[q] = log_weights[q] + nodes[q] * nodes[q] - 0.5 * np.log(np.pi)
    for r in range(total.shape[0]):
        own = r if n.shape[0] > 1 else 0
        beta[r], covariance[r], sd[r], likelihood[r] = np.nan, np.nan, np.nan, np.nan
        if status[r] != 0:
            continue
        right, ahead = slope[:columns], step[:columns]
        if not pooled_start(n[own], total[r], design, 6, eta, whole, small, right, ahead, pooled):
            status[r] = _NOT_ESTIMABLE
            continue
        value, done = _climb(n[own], total[r], design, nodes, weights, pooled,
                             _first_sd(n[own], total[r], eta), at, moved, step, eta, mode, slope,
                             other, h, hold, lower)  # fmt: skip
        if done and abs(at[columns]) < _SMALL_SD:
            # There may be a higher top further out.
            again, found = _climb(n[own], total[r], design, nodes, weights, pooled, _LARGE_SD,
                                  aside, moved, step, eta, mode, slope, other, h, hold,
                                  lower)  # fmt: skip
            if found and again > value + 1e-9:
                at[:], value = aside, again
            _likelihood(n[own], total[r], design, nodes, weights, at, eta, mode, slope, h, True)
        if done:
            _inform(n[own], total[r], design, nodes, weights, at, moved, eta, mode, slope, other,
                    hold, h)  # fmt: skip
        status[r] = _judge(at, done, h, lower, inverse)
        if status[r] <= _SINGULAR:
            sd[r], likelihood[r] = abs(at[columns]), value
            beta[r], covariance[r] = at[:columns], inverse[:columns, :columns]


@kernel
def _judge(at: Floats, done: Any, h: Floats, lower: Floats, inverse: Floats) -> int:
    """Fill the inverse information and give the status."""
    columns = at.size - 1
    if abs(at[columns]) > _ABSURD_SD:
        return _IMPLAUSIBLE
    if not done or not factorise(h, lower):
        return _NOT_CONVERGED
    invert(lower, inverse)
    for j in range(columns):
        if abs(at[j]) > _ABSURD or np.sqrt(inverse[j, j]) > _ABSURD_ERROR:
            return _IMPLAUSIBLE
    return _SINGULAR if abs(at[columns]) < _ZERO_SD else 0


@kernel
def _climb(
    n: Floats, total: Floats, design: Floats, nodes: Floats, weights: Floats, pooled: Floats,
    sd: Any, at: Floats, moved: Floats, step: Floats, eta: Floats, mode: Floats, slope: Floats,
    other: Floats, h: Floats, hold: Floats, lower: Floats,
) -> tuple[float, bool]:  # fmt: skip
    """Newton's steps from the pooled fit and a spread, halved until the likelihood rises.

    Fills at, slope and h; says how high it came and whether to a top.
    """
    size = at.size
    for j in range(size - 1):
        at[j] = pooled[j] * np.sqrt(1.0 + 0.346 * sd * sd)
    at[size - 1] = sd
    mode[:] = 0.0
    value = _likelihood(n, total, design, nodes, weights, at, eta, mode, slope, h, True)
    for _ in range(_MOST):
        promise = _newton(h, slope, lower, hold, step)
        if promise <= _PROMISE:
            return float(value), True
        t, risen, next_value = 1.0, False, value
        for _ in range(40):
            for j in range(size):
                moved[j] = at[j] + t * step[j]
            next_value = _likelihood(n, total, design, nodes, weights, moved, eta, mode, other,
                                     hold, True)  # fmt: skip
            if next_value >= value + 1e-4 * t * promise - 1e-12 * (1.0 + abs(value)):
                risen = True
                break
            t *= 0.5
        if not risen:
            break
        value = next_value
        for j in range(size):
            at[j], slope[j] = moved[j], other[j]
            for i in range(size):
                h[i, j] = hold[i, j]
    return float(value), False


@kernel
def _inform(
    n: Floats, total: Floats, design: Floats, nodes: Floats, weights: Floats, at: Floats,
    moved: Floats, eta: Floats, mode: Floats, slope: Floats, other: Floats, hold: Floats,
    h: Floats,
) -> None:  # fmt: skip
    """Fill h with the observed information: forward differences of the gradient `slope`."""
    size = at.size
    for j in range(size):
        step = _STEP * max(1.0, abs(at[j]))
        moved[:] = at
        moved[j] = at[j] + step
        _likelihood(n, total, design, nodes, weights, moved, eta, mode, other, hold, False)
        for i in range(size):
            h[i, j] = (slope[i] - other[i]) / step
    for i in range(size):
        for j in range(i):
            h[i, j] = 0.5 * (h[i, j] + h[j, i])
            h[j, i] = h[i, j]


@kernel
def _first_sd(n: Floats, total: Floats, mu: Floats) -> float:
    """A start for σ: what cluster sums vary more than trials explain, by moments."""
    over, scale = 0.0, 0.0
    for g in range(n.shape[0]):
        left, spread = 0.0, 0.0
        for k in range(n.shape[1]):
            left += total[g, k] - n[g, k] * mu[k]
            spread += n[g, k] * mu[k] * (1.0 - mu[k])
        over += left * left - spread
        scale += spread * spread
    found = np.sqrt(over / scale) if over > 0.0 and scale > 0.0 else 0.0
    return float(min(max(found, 0.1), 2.0))


@kernel
def _newton(h: Floats, slope: Floats, lower: Floats, ridged: Floats, step: Floats) -> float:
    """Fill the uphill step (at most 2 long) for -second derivatives h; give half its promise."""
    size = slope.size
    ridge = 0.0
    for i in range(size):
        for j in range(size):
            ridged[i, j] = h[i, j]
    for _ in range(60):
        if factorise(ridged, lower):
            break
        largest = 1e-3
        for i in range(size):
            largest = max(largest, abs(h[i, i]))
        ridge = 1e-3 * largest if ridge == 0.0 else 4.0 * ridge
        for i in range(size):
            ridged[i, i] = h[i, i] + ridge
    front(lower, slope, step)
    back(lower, step, step)
    promise, length = 0.0, 0.0
    for i in range(size):
        promise += 0.5 * step[i] * slope[i]
        length += step[i] * step[i]
    shrink = min(1.0, _LONGEST / max(np.sqrt(length), 1e-300))
    for i in range(size):
        step[i] *= shrink
    return float(promise)


@kernel
def _likelihood(
    n: Floats, total: Floats, design: Floats, nodes: Floats, weights: Floats, at: Floats,
    eta: Floats, mode: Floats, slope: Floats, h: Floats, bends: Any,
) -> float:  # fmt: skip
    """Give log L; fill its gradient and, if asked, minus its second derivatives.

    `mode` is used as a start.
    """
    patterns, size = design.shape[0], at.size
    columns, sigma = size - 1, at[size - 1]
    for k in range(patterns):
        eta[k] = 0.0
        for j in range(columns):
            eta[k] += design[k, j] * at[j]
    slope[:], h[:] = 0.0, 0.0
    logs, first = np.empty(nodes.size), np.empty((nodes.size, size))
    pull, mean = np.empty(nodes.size), np.empty(size)
    bend = np.empty((nodes.size, patterns))
    dmode, dcurve = np.empty(size), np.empty(size)
    value = 0.0
    for g in range(n.shape[0]):
        s_all, n_all = 0.0, 0.0
        for k in range(patterns):
            s_all += total[g, k]
            n_all += n[g, k]
        if n_all == 0.0:
            continue
        z = find_mode(n[g], s_all, n_all, eta, sigma, mode[g])
        mode[g] = z
        curve = curvature(n[g], total[g], design, eta, sigma, z, dmode, dcurve)
        reach = np.sqrt(2.0 / curve)
        top = -np.inf
        for q in range(nodes.size):
            node = z + nodes[q] * reach
            logs[q] = weights[q] + at_node(n[g], total[g], design, eta, sigma, node, s_all,
                                         first[q], bend[q], pull[q : q + 1])  # fmt: skip
            top = max(top, logs[q])
        mass = 0.0
        for q in range(nodes.size):
            logs[q] = np.exp(logs[q] - top)
            mass += logs[q]
        value += top + np.log(mass) - 0.5 * np.log(curve)
        add_slopes(logs, mass, nodes, reach, curve, first, pull, dmode, dcurve, mean, slope)
        if bends:
            add_bends(logs, mass, nodes, reach, z, first, bend, mean, design, h)
    for i in range(size):
        for j in range(i):
            h[j, i] = h[i, j]
    return float(value)
