"""One cluster of a random-intercept logistic model: its mode, its nodes, and their derivatives.

Legend of dims: k = pattern, j = column, q = node. Parameters are (β, σ), η = x·β + σz, the log
integrand is f(z) = Σ s η - n log(1 + e^η) - z²/2; see `kernels.logistic_mixed`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel

__all__ = ["add_bends", "add_slopes", "at_node", "curvature", "find_mode"]

Floats = NDArray[np.float64]

_MODES = 60


@kernel
def find_mode(n: Floats, s_all: Any, n_all: Any, eta: Floats, sigma: Any, start: Any) -> float:
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
def curvature(
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
def at_node(
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
def add_slopes(
    logs: Floats, mass: Any, nodes: Floats, reach: Any, curve: Any, first: Floats, pull: Floats,
    dmode: Floats, dcurve: Floats, mean: Floats, slope: Floats,
) -> None:  # fmt: skip
    """Add the gradient of one cluster's log integral; `mean` is that with the nodes held."""
    mean[:] = 0.0
    for q in range(nodes.size):
        share = logs[q] / mass
        for j in range(mean.size):
            mean[j] += share * first[q, j]
            # Where the node moves, f moves with it.
            travel = dmode[j] - 0.5 * nodes[q] * reach * dcurve[j] / curve
            slope[j] += share * (first[q, j] + pull[q] * travel)
    for j in range(mean.size):
        slope[j] -= 0.5 * dcurve[j] / curve


@kernel
def add_bends(
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
