"""Random-intercept logistic models of many studies, by Newton's method on adaptive quadrature.

Legend of dims: r = study, g = cluster, k = pattern, j = column, q = node. Parameters are (β, σ).
With η = x·β + σz the log integrand of a cluster is f(z) = Σ s η - n log(1 + e^η) - z²/2, m its mode
and h = -f''(m); nodes stand at m + √2 t/√h.

The gradient is that of the approximated likelihood, the movement of the nodes included. The second
derivatives are those of the exact one, E[f''] + Var[f'] over the nodes (Louis 1982): equal to the
former as the rule is.
Status: 0 converged, 1 singular, 3 not converged, 4 not estimable, 5 implausible (places in
`options.ModelStatus`); a study whose status is set on entry is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.gee import pooled_start
from simtrack.kernels.small_matrices import back, factorise, front, invert

__all__ = ["fit_logistic_mixed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST, _MODES, _LONGEST = 60, 60, 2.0
_PROMISE = 1e-18
_ZERO_SD, _ABSURD_SD, _ABSURD, _ABSURD_ERROR = 1e-4, 10.0, 15.0, 10.0
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
        if not pooled_start(n[own], total[r], design, 6, eta, whole, small, right, ahead,
                            at[:columns]):  # fmt: skip
            status[r] = _NOT_ESTIMABLE
            continue
        at[columns] = _first_sd(n[own], total[r], eta)
        for j in range(columns):
            at[j] *= np.sqrt(1.0 + 0.346 * at[columns] * at[columns])
        mode[:] = 0.0
        value = _likelihood(n[own], total[r], design, nodes, weights, at, eta, mode, slope, h)
        value, done = _climb(n[own], total[r], design, nodes, weights, value, at, moved, step, eta,
                             mode, slope, other, h, hold, lower)  # fmt: skip
        if abs(at[columns]) > _ABSURD_SD:
            status[r] = _IMPLAUSIBLE
            continue
        if not done or not factorise(h, lower):
            status[r] = _NOT_CONVERGED
            continue
        invert(lower, inverse)
        if _is_absurd(at, inverse):
            status[r] = _IMPLAUSIBLE
            continue
        for i in range(columns):
            beta[r, i] = at[i]
            for j in range(columns):
                covariance[r, i, j] = inverse[i, j]
        sd[r], likelihood[r] = abs(at[columns]), value
        if sd[r] < _ZERO_SD:
            status[r] = _SINGULAR


@kernel
def _climb(
    n: Floats, total: Floats, design: Floats, nodes: Floats, weights: Floats, value: Any,
    at: Floats, moved: Floats, step: Floats, eta: Floats, mode: Floats, slope: Floats,
    other: Floats, h: Floats, hold: Floats, lower: Floats,
) -> tuple[float, bool]:  # fmt: skip
    """Newton's steps, halved until the likelihood rises; say where it stands and whether on top."""
    size = at.size
    for _ in range(_MOST):
        promise = _newton(h, slope, lower, hold, step)
        if promise <= _PROMISE:
            return float(value), True
        t, risen, next_value = 1.0, False, value
        for _ in range(40):
            for j in range(size):
                moved[j] = at[j] + t * step[j]
            next_value = _likelihood(n, total, design, nodes, weights, moved, eta, mode, other,
                                     hold)  # fmt: skip
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
def _is_absurd(at: Floats, inverse: Floats) -> bool:
    columns = at.size - 1
    absurd = False
    for j in range(columns):
        if abs(at[j]) > _ABSURD or np.sqrt(inverse[j, j]) > _ABSURD_ERROR:
            absurd = True
    return absurd


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
    eta: Floats, mode: Floats, slope: Floats, h: Floats,
) -> float:  # fmt: skip
    """Give log L; fill its gradient and minus its second derivatives. `mode` is used as a start."""
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
        z = _mode(n[g], s_all, n_all, eta, sigma, mode[g])
        mode[g] = z
        curve = _curve(n[g], total[g], design, eta, sigma, z, dmode, dcurve)
        reach = np.sqrt(2.0 / curve)
        top = -np.inf
        for q in range(nodes.size):
            node = z + nodes[q] * reach
            logs[q] = weights[q] + _node(n[g], total[g], design, eta, sigma, node, s_all,
                                         first[q], bend[q], pull[q : q + 1])  # fmt: skip
            top = max(top, logs[q])
        mass = 0.0
        for q in range(nodes.size):
            logs[q] = np.exp(logs[q] - top)
            mass += logs[q]
        value += top + np.log(mass) - 0.5 * np.log(curve)
        mean[:] = 0.0
        for q in range(nodes.size):
            share = logs[q] / mass
            node_shift = nodes[q] * reach
            for j in range(size):
                mean[j] += share * first[q, j]
                # Where the node moves, f moves with it.
                travel = dmode[j] - 0.5 * node_shift * dcurve[j] / curve
                slope[j] += share * (first[q, j] + pull[q] * travel)
        for j in range(size):
            slope[j] -= 0.5 * dcurve[j] / curve
        _bend(logs, mass, nodes, reach, z, first, bend, mean, design, h)
    for i in range(size):
        for j in range(i):
            h[j, i] = h[i, j]
    return float(value)


@kernel
def _mode(n: Floats, s_all: Any, n_all: Any, eta: Floats, sigma: Any, start: Any) -> float:
    """The root of f' by Newton's method inside a bracket that shrinks."""
    if sigma == 0.0:
        return 0.0
    low, high = -abs(sigma) * n_all - 1.0, abs(sigma) * n_all + 1.0
    z = start if low < start < high else 0.0
    for _ in range(_MODES):
        fitted, spread = 0.0, 0.0
        for k in range(eta.size):
            if n[k] > 0.0:
                small = np.exp(-abs(eta[k] + sigma * z))
                mu = 1.0 / (1.0 + small)
                spread += n[k] * mu * (1.0 - mu)
                fitted += n[k] * (mu if eta[k] + sigma * z >= 0.0 else 1.0 - mu)
        pull = sigma * (s_all - fitted) - z
        if pull > 0.0:
            low = z
        else:
            high = z
        step = pull / (1.0 + sigma * sigma * spread)
        if abs(step) <= 1e-11 * (1.0 + abs(z)):
            return float(z + step)
        z = z + step if low < z + step < high else 0.5 * (low + high)
    return float(z)


@kernel
def _curve(
    n: Floats, total: Floats, design: Floats, eta: Floats, sigma: Any, z: Any, dmode: Floats,
    dcurve: Floats,
) -> float:  # fmt: skip
    """Give h at the mode; fill the derivatives of mode and h by the parameters."""
    size = dmode.size
    columns = size - 1
    left, spread, skew = 0.0, 0.0, 0.0
    dmode[:], dcurve[:] = 0.0, 0.0
    for k in range(eta.size):
        if n[k] > 0.0:
            full = eta[k] + sigma * z
            small = np.exp(-abs(full))
            mu = 1.0 / (1.0 + small) if full >= 0.0 else small / (1.0 + small)
            v = n[k] * small / ((1.0 + small) * (1.0 + small))
            t = v * (1.0 - 2.0 * mu)
            left += total[k] - n[k] * mu
            spread += v
            skew += t
            for j in range(columns):
                dmode[j] += v * design[k, j]
                dcurve[j] += t * design[k, j]
    curve = 1.0 + sigma * sigma * spread
    for j in range(columns):
        dmode[j] *= -sigma / curve
        dcurve[j] = sigma * sigma * (dcurve[j] + sigma * skew * dmode[j])
    dmode[columns] = (left - sigma * z * spread) / curve
    dcurve[columns] = 2.0 * sigma * spread + sigma * sigma * skew * (z + sigma * dmode[columns])
    return float(curve)


@kernel
def _node(
    n: Floats, total: Floats, design: Floats, eta: Floats, sigma: Any, z: Any, s_all: Any,
    first: Floats, bend: Floats, pull: Floats,
) -> float:  # fmt: skip
    """Give f at a node; fill its derivatives by the parameters and by z, and n μ(1-μ)."""
    columns = first.size - 1
    first[:] = 0.0
    value, left_all = -0.5 * z * z, 0.0
    product, times = 1.0, 0.0
    for k in range(eta.size):
        m = n[k]
        if m > 0.0:
            full = eta[k] + sigma * z
            small = np.exp(-abs(full))
            share = 1.0 / (1.0 + small)
            # Σ n log(1 + e): patterns of one size share a logarithm.
            if m != times or product > 1e200:
                value -= times * np.log(product)
                product, times = 1.0, m
            product *= 1.0 + small
            bend[k] = m * share * (1.0 - share)
            if full >= 0.0:
                value += (total[k] - m) * full
                left = total[k] - m * share
            else:
                value += total[k] * full
                left = total[k] - m * (1.0 - share)
            left_all += left
            for j in range(columns):
                first[j] += left * design[k, j]
        else:
            bend[k] = 0.0
    value -= times * np.log(product)
    first[columns] = z * left_all
    pull[0] = sigma * left_all - z
    return float(value)


@kernel
def _bend(
    logs: Floats, mass: Any, nodes: Floats, reach: Any, mode: Any, first: Floats, bend: Floats,
    mean: Floats, design: Floats, h: Floats,
) -> None:  # fmt: skip
    """Add minus the second derivatives of one cluster's log integral to the lower part of h."""
    patterns, columns = design.shape
    zero, one, two = np.zeros(patterns), np.zeros(patterns), 0.0
    for q in range(nodes.size):
        share, z = logs[q] / mass, mode + nodes[q] * reach
        for k in range(patterns):
            weight = share * bend[q, k]
            zero[k] += weight
            one[k] += z * weight
            two += z * z * weight
        for i in range(columns + 1):
            part = share * (first[q, i] - mean[i])
            for j in range(i + 1):
                h[i, j] -= part * (first[q, j] - mean[j])
    for k in range(patterns):
        for i in range(columns):
            x = design[k, i]
            if x != 0.0:
                h[columns, i] += one[k] * x
                for j in range(i + 1):
                    h[i, j] += zero[k] * x * design[k, j]
    h[columns, columns] += two
