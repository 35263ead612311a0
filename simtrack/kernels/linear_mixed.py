"""Random-intercept linear models of many studies: the root of the profile score in each.

Legend of dims: r = study, g = cluster, k = pattern, j = column. See
`inference.linear_mixed_intercept` for the equations; here they run over sums held for one study.
Status: 0 converged, 1 singular, 4 not estimable (places in `options.ModelStatus`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.small_matrices import back, factorise, front, invert

__all__ = ["fit_linear_mixed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GRID = (0.0, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4, 1e8)
_LOWEST, _NOTHING = 1e-12, 1e-300
_SINGULAR, _NOT_ESTIMABLE = 1, 4


@kernel
def fit_linear_mixed(
    n: Floats, total: Floats, square: Floats, design: Floats, centred: Any, reml: Any,
    counted: Floats, beta: Floats, covariance: Floats, variance: Floats, likelihood: Floats,
    df: Floats, status: Ints,
) -> None:  # fmt: skip
    """Fit every study.

    n (1 or r, g, k), total and square (r, g, k), design (k, j); `centred` says that column 0 is 1
    everywhere; `counted` (1 or r, j) are the degrees of freedom at the edge. Fills beta (r, j),
    covariance (r, j, j), variance (r, 2) of clusters and residual, likelihood (r,), df (r, j) by
    Satterthwaite and status (r,); NaN where nothing can be estimated.
    """
    groups, columns = total.shape[1], design.shape[1]
    size, sy, sx = np.empty(groups), np.empty(groups), np.empty((groups, columns))
    xx, xy = np.empty((columns, columns)), np.empty(columns)
    a, lower = np.empty((columns, columns)), np.zeros((columns, columns))
    b, found = np.empty(columns), np.empty(7)
    shift = np.empty(columns)
    for r in range(total.shape[0]):
        own = r if n.shape[0] > 1 else 0
        beta[r], covariance[r], variance[r], df[r] = np.nan, np.nan, np.nan, np.nan
        likelihood[r], status[r] = np.nan, _NOT_ESTIMABLE
        _add_up(n[own], total[r], square[r], design, centred, size, sy, sx, xx, xy, found)
        trials, centre, live = found[0], found[2], found[3]
        if live < 2.0 or trials <= columns or not factorise(xx, lower):
            continue
        _at(0.0, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
        if found[5] <= 1e-13 * found[6] + 2.0 * _NOTHING:
            continue
        theta = _search(size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
        if theta < 0.0:
            continue
        _at(theta, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
        free = trials - columns if reml else trials
        sigma2 = found[5] / free
        for j in range(columns):
            beta[r, j] = shift[j]
        if centred:
            beta[r, 0] += centre
        likelihood[r] = -0.5 * found[4]
        invert(lower, a)
        _satterthwaite(theta, size, sy, sx, shift, a, sigma2, free, reml, df[r])
        for i in range(columns):
            if theta == 0.0 or not df[r, i] > 0.0:
                df[r, i] = counted[own, i]
            for j in range(columns):
                covariance[r, i, j] = sigma2 * a[i, j]
        variance[r, 0], variance[r, 1] = theta * sigma2, sigma2
        status[r] = _SINGULAR if theta == 0.0 else 0


@kernel
def _add_up(
    n: Floats, total: Floats, square: Floats, design: Floats, centred: Any, size: Floats,
    sy: Floats, sx: Floats, xx: Floats, xy: Floats, found: Floats,
) -> None:  # fmt: skip
    """Fill the sums; found: trials, Σ y² about the centre, the centre, clusters with a trial."""
    groups, patterns, columns = n.shape[0], n.shape[1], design.shape[1]
    trials, everything, live = 0.0, 0.0, 0.0
    for g in range(groups):
        for k in range(patterns):
            trials += n[g, k]
            everything += total[g, k]
    centre = everything / trials if centred and trials > 0.0 else 0.0
    xx[:], xy[:] = 0.0, 0.0
    yy = 0.0
    for g in range(groups):
        size[g], sy[g], sx[g] = 0.0, 0.0, 0.0
        for k in range(patterns):
            m = n[g, k]
            if m > 0.0:
                y = total[g, k] - m * centre
                size[g] += m
                sy[g] += y
                yy += square[g, k] - centre * (2.0 * total[g, k] - m * centre)
                for i in range(columns):
                    sx[g, i] += m * design[k, i]
                    xy[i] += y * design[k, i]
                    for j in range(i + 1):
                        xx[i, j] += m * design[k, i] * design[k, j]
        if size[g] > 0.0:
            live += 1.0
    for i in range(columns):
        for j in range(i):
            xx[j, i] = xx[i, j]
    found[0], found[1], found[2], found[3] = trials, yy, centre, live
    found[6] = yy


@kernel
def _at(
    theta: Any, size: Floats, sy: Floats, sx: Floats, xx: Floats, xy: Floats, found: Floats,
    reml: Any, a: Floats, lower: Floats, b: Floats, shift: Floats,
) -> float:  # fmt: skip
    """Give the score (of the deviance by θ); found[4] is the deviance, found[5] the rest of y²."""
    groups, columns = size.size, b.size
    c, logs = found[1], 0.0
    for i in range(columns):
        b[i] = xy[i]
        for j in range(i + 1):
            a[i, j] = xx[i, j]
    for g in range(groups):
        grown = 1.0 + size[g] * theta
        w = theta / grown
        logs += np.log(grown)
        c -= w * sy[g] * sy[g]
        for i in range(columns):
            part = w * sx[g, i]
            b[i] -= part * sy[g]
            for j in range(i + 1):
                a[i, j] -= part * sx[g, j]
    factorise(a, lower)
    front(lower, b, shift)
    for i in range(columns):
        c -= shift[i] * shift[i]
    c = max(c, _NOTHING)
    back(lower, shift, shift)
    free = found[0] - columns if reml else found[0]
    deviance = free * (1.0 + np.log(2.0 * np.pi * c / free)) + logs
    score, lost = 0.0, 0.0
    for g in range(groups):
        grown = 1.0 + size[g] * theta
        s = sy[g]
        for i in range(columns):
            s -= sx[g, i] * shift[i]
        score += size[g] / grown
        lost += s * s / (grown * grown)
        if reml:
            front(lower, sx[g], b)
            trace = 0.0
            for i in range(columns):
                trace += b[i] * b[i]
            score -= trace / (grown * grown)
    if reml:
        for i in range(columns):
            deviance += 2.0 * np.log(lower[i, i])
    found[4], found[5] = deviance, c
    return float(score - free * lost / c)


@kernel
def _search(
    size: Floats, sy: Floats, sx: Floats, xx: Floats, xy: Floats, found: Floats, reml: Any,
    a: Floats, lower: Floats, b: Floats, shift: Floats,
) -> float:  # fmt: skip
    """Give θ of least deviance, or -1 where the score never rises or is 0 throughout."""
    before = _at(0.0, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
    best, least, flat = 0.0, found[4], True
    floor = _GRID[0]
    for step in range(1, len(_GRID)):
        top = _GRID[step]
        score = _at(top, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
        if top <= 100.0 and abs(found[4] - least) > 1e-10 * (1.0 + abs(least)):
            flat = False
        if before < 0.0 and score >= 0.0:
            theta = _root(floor, top, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
            if found[4] < least:
                best, least = theta, found[4]
        floor, before = top, score
    if flat or before < 0.0:
        return -1.0
    return best


@kernel
def _root(
    floor: Any, top: Any, size: Floats, sy: Floats, sx: Floats, xx: Floats, xy: Floats,
    found: Floats, reml: Any, a: Floats, lower: Floats, b: Floats, shift: Floats,
) -> float:  # fmt: skip
    """Follow a change of sign of the score to a root in log θ, by Chandrupatla's bracketing."""
    x1, x2 = np.log(top), np.log(max(floor, _LOWEST))
    f1 = np.exp(x1) * _at(np.exp(x1), size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
    f2 = np.exp(x2) * _at(np.exp(x2), size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
    t, x3, f3, near = 0.5, x1, f1, x1
    for _ in range(200):
        x = x1 + t * (x2 - x1)
        f = np.exp(x) * _at(np.exp(x), size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
        if (f > 0.0) == (f1 > 0.0):
            x3, f3 = x1, f1
        else:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, f
        near = x1 if abs(f1) < abs(f2) else x2
        tolerance = 1e-12 * (1.0 + abs(near))
        gap = abs(x2 - x1)
        if f1 == 0.0 or gap <= tolerance:
            break
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        t = 0.5
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        least = 0.5 * tolerance / gap
        t = min(max(t, least), 1.0 - least)
    theta = np.exp(near)
    _at(theta, size, sy, sx, xx, xy, found, reml, a, lower, b, shift)
    return float(theta)


@kernel
def _satterthwaite(
    theta: Any, size: Floats, sy: Floats, sx: Floats, shift: Floats, ainv: Floats, sigma2: Any,
    free: Any, reml: Any, df: Floats,
) -> None:  # fmt: skip
    """Fill df from the observed information of (σ², θ); NaN where it is not positive."""
    groups, columns = size.size, shift.size
    q, turned = np.zeros(columns), np.zeros((columns, columns))
    a1, a2 = np.zeros((columns, columns)), np.zeros((columns, columns))
    rss1, rss2, h_tt = 0.0, 0.0, 0.0
    for g in range(groups):
        grown = 1.0 + size[g] * theta
        first, second = 1.0 / (grown * grown), -2.0 * size[g] / (grown * grown * grown)
        s = sy[g]
        for i in range(columns):
            s -= sx[g, i] * shift[i]
        rss1 -= first * s * s
        rss2 -= second * s * s
        h_tt -= size[g] * size[g] * first
        for i in range(columns):
            q[i] += first * s * sx[g, i]
            for j in range(columns):
                a1[i, j] -= first * sx[g, i] * sx[g, j]
                a2[i, j] -= second * sx[g, i] * sx[g, j]
    for i in range(columns):
        for j in range(columns):
            rss2 -= 2.0 * q[i] * ainv[i, j] * q[j]
            for k in range(columns):
                turned[i, j] += ainv[i, k] * a1[k, j]
    h_tt += rss2 / sigma2
    if reml:
        for i in range(columns):
            for j in range(columns):
                h_tt += ainv[i, j] * a2[j, i] - turned[i, j] * turned[j, i]
    h_ss, h_st = free / (sigma2 * sigma2), -rss1 / (sigma2 * sigma2)
    det = h_ss * h_tt - h_st * h_st
    for i in range(columns):
        g_t = 0.0
        for j in range(columns):
            g_t -= sigma2 * turned[i, j] * ainv[j, i]
        g_s, v = ainv[i, i], sigma2 * ainv[i, i]
        spread = g_s * g_s * h_tt - 2.0 * g_s * g_t * h_st + g_t * g_t * h_ss
        df[i] = v * v * det / spread if det > 0.0 else np.nan
