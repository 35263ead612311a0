"""Logistic estimating equations of many studies; see `inference.gee_equations` for the algebra.

Legend of dims: r = study, g = cluster, k = pattern, j = column.
Status: 0 converged, 3 not converged, 4 not estimable, 5 implausible (places in
`options.ModelStatus`); a study whose status is set on entry is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.small_matrices import back, factorise, front, invert, root_inverse_times

__all__ = ["fit_gee", "pooled_start"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST, _LONGEST, _TOLERANCE = 200, 2.0, 1e-12
_BOUND = 0.75
_NOT_CONVERGED, _NOT_ESTIMABLE = 3, 4
MODEL, SANDWICH, MANCL_DEROUEN, KAUERMANN_CARROLL, FAY_GRAUBARD = 0, 1, 2, 3, 4


@kernel
def fit_gee(
    n: Floats, total: Floats, design: Floats, exchangeable: Any, kind: Any, beta: Floats,
    covariance: Floats, df: Floats, alpha: Floats, status: Ints,
) -> None:  # fmt: skip
    """Fit every study with status 0.

    n (1 or r, g, k), total (r, g, k), design (k, j); `kind` is the place of the covariance in
    `options.GeeCovariance`. Fills beta (r, j), covariance (r, j, j), df (r, j), alpha (r,),
    status (r,); a covariance that is not defined is NaN.
    """
    groups, columns = total.shape[1], design.shape[1]
    mu, root = np.empty(design.shape[0]), np.empty(design.shape[0])
    score, part = np.empty((groups, columns)), np.empty((groups, columns, columns))
    whole, lower = np.empty((columns, columns)), np.zeros((columns, columns))
    right, step = np.empty(columns), np.empty(columns)
    for r in range(total.shape[0]):
        own = r if n.shape[0] > 1 else 0
        beta[r], covariance[r], df[r], alpha[r] = np.nan, np.nan, np.nan, np.nan
        if status[r] != 0:
            continue
        trials, live = 0.0, 0
        for g in range(groups):
            size = 0.0
            for k in range(design.shape[0]):
                size += n[own, g, k]
            trials += size
            live += 1 if size > 0.0 else 0
        if live < 2 or trials <= columns:
            status[r] = _NOT_ESTIMABLE
            continue
        if not pooled_start(n[own], total[r], design, 25, mu, whole, lower, right, step, beta[r]):
            beta[r], status[r] = np.nan, _NOT_ESTIMABLE
            continue
        status[r] = _solve(n[own], total[r], design, exchangeable, mu, root, score, part, whole,
                           lower, right, step, beta[r], alpha[r : r + 1])  # fmt: skip
        if status[r] == 0:
            _cover(kind, score, part, whole, lower, covariance[r])
            mu[:], root[:] = 0.5, 0.5  # trials of one variance
            _parts(n[own], total[r], design, mu, root, alpha[r], score, part, whole, right)
            factorise(whole, lower)
            _degrees(part, lower, live, df[r])
        else:
            beta[r], alpha[r] = np.nan, np.nan


@kernel
def pooled_start(
    n: Floats, total: Floats, design: Floats, most: Any, mu: Floats, whole: Floats, lower: Floats,
    right: Floats, step: Floats, beta: Floats,
) -> bool:  # fmt: skip
    """Fill beta by Fisher scoring on the pooled patterns; False where a column is a combination."""
    groups, patterns, columns = n.shape[0], n.shape[1], design.shape[1]
    beta[:] = 0.0
    for _ in range(most):
        whole[:], right[:] = 0.0, 0.0
        for k in range(patterns):
            m, s, eta = 0.0, 0.0, 0.0
            for g in range(groups):
                m += n[g, k]
                s += total[g, k]
            for i in range(columns):
                eta += design[k, i] * beta[i]
            mu[k] = 1.0 / (1.0 + np.exp(-eta))
            weight = m * mu[k] * (1.0 - mu[k])
            for i in range(columns):
                right[i] += (s - m * mu[k]) * design[k, i]
                for j in range(i + 1):
                    whole[i, j] += weight * design[k, i] * design[k, j]
        if not factorise(whole, lower):
            return False
        size = _step(lower, right, step)
        shrink = min(1.0, 4.0 / max(size, 1e-300))
        for i in range(columns):
            beta[i] += shrink * step[i]
        if size < 1e-10:
            break
    return True


@kernel
def _step(lower: Floats, right: Floats, step: Floats) -> float:
    front(lower, right, step)
    back(lower, step, step)
    size = 0.0
    for i in range(step.size):
        size += step[i] * step[i]
    return float(np.sqrt(size))


@kernel
def _solve(
    n: Floats, total: Floats, design: Floats, exchangeable: Any, mu: Floats, root: Floats,
    score: Floats, part: Floats, whole: Floats, lower: Floats, right: Floats, step: Floats,
    beta: Floats, alpha: Floats,
) -> int:  # fmt: skip
    columns = design.shape[1]
    before = np.inf
    for _ in range(_MOST):
        for k in range(design.shape[0]):
            eta = 0.0
            for i in range(columns):
                eta += design[k, i] * beta[i]
            mu[k] = 1.0 / (1.0 + np.exp(-eta))
            if not 0.0 < mu[k] < 1.0:
                return _NOT_CONVERGED
            root[k] = np.sqrt(mu[k] * (1.0 - mu[k]))
        alpha[0] = 0.0
        if exchangeable:
            largest = _moment(n, total, mu, root, columns, alpha)
            low = -1.0 / (largest - 1.0) if largest > 1.0 else -1.0
            if not (low < alpha[0] < 1.0):
                return _NOT_CONVERGED
        _parts(n, total, design, mu, root, alpha[0], score, part, whole, right)
        if not factorise(whole, lower):
            return _NOT_CONVERGED
        size = _step(lower, right, step)
        widest = 0.0
        for i in range(columns):
            widest = max(widest, abs(beta[i]))
        if not np.isfinite(size):
            return _NOT_CONVERGED
        if size <= _TOLERANCE * (1.0 + widest) or (size < 1e-9 and size >= 0.5 * before):
            return 0
        before = size
        shrink = min(1.0, _LONGEST / size)
        for i in range(columns):
            beta[i] += shrink * step[i]
    return _NOT_CONVERGED


@kernel
def _moment(
    n: Floats, total: Floats, mu: Floats, root: Floats, columns: Any, alpha: Floats
) -> float:
    """Set α from the moments of Pearson's residuals; give the size of the largest cluster."""
    trials, squares, both, pairs, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(n.shape[0]):
        size, own, e = 0.0, 0.0, 0.0
        for k in range(n.shape[1]):
            m, s = n[g, k], total[g, k]
            if m > 0.0:
                size += m
                own += s * (1.0 - mu[k]) / mu[k] + (m - s) * mu[k] / (1.0 - mu[k])
                e += (s - m * mu[k]) / root[k]
        trials += size
        squares += own
        both += 0.5 * (e * e - own)
        pairs += 0.5 * size * (size - 1.0)
        largest = max(largest, size)
    scale = squares / (trials - columns)
    alpha[0] = both / scale / (pairs - columns) if pairs > columns else np.nan
    return float(largest)


@kernel
def _parts(
    n: Floats, total: Floats, design: Floats, mu: Floats, root: Floats, alpha: Any, score: Floats,
    part: Floats, whole: Floats, right: Floats,
) -> None:  # fmt: skip
    """Fill U_g, B_g, and their sums."""
    columns = design.shape[1]
    whole[:], right[:] = 0.0, 0.0
    h = np.empty(columns)
    for g in range(n.shape[0]):
        score[g], part[g], h[:] = 0.0, 0.0, 0.0
        size, e = 0.0, 0.0
        for k in range(n.shape[1]):
            m = n[g, k]
            if m > 0.0:
                left = total[g, k] - m * mu[k]
                weight = m * root[k]
                size += m
                e += left / root[k]
                for i in range(columns):
                    x = design[k, i]
                    if x != 0.0:
                        score[g, i] += left * x
                        h[i] += weight * x
                        for j in range(i + 1):
                            part[g, i, j] += weight * root[k] * x * design[k, j]
        c = alpha / (1.0 + (size - 1.0) * alpha)
        for i in range(columns):
            score[g, i] = (score[g, i] - c * e * h[i]) / (1.0 - alpha)
            right[i] += score[g, i]
            for j in range(i + 1):
                part[g, i, j] = (part[g, i, j] - c * h[i] * h[j]) / (1.0 - alpha)
                part[g, j, i] = part[g, i, j]
                whole[i, j] += part[g, i, j]
    for i in range(columns):
        for j in range(i):
            whole[j, i] = whole[i, j]


@kernel
def _cover(
    kind: Any, score: Floats, part: Floats, whole: Floats, lower: Floats, out: Floats
) -> None:
    """Fill the covariance; `lower` is the factor of `whole`."""
    columns = whole.shape[0]
    bread = np.empty((columns, columns))
    invert(lower, bread)
    if kind == MODEL:
        out[:] = bread
        return
    out[:] = 0.0
    rest, factor = np.empty((columns, columns)), np.zeros((columns, columns))
    work = np.empty((3, max(columns, 3), columns))
    turned, u = np.empty(columns), np.empty(columns)
    for g in range(score.shape[0]):
        if kind == MANCL_DEROUEN:
            fine = _without(part[g], score[g], whole, rest, factor, turned)
        else:
            if kind == SANDWICH:
                fine = True
                u[:] = score[g]
            elif kind == FAY_GRAUBARD:
                fine = _bounded_leverage(part[g], score[g], bread, u)
            else:
                fine = _half_leverage(part[g], score[g], lower, rest, factor, work, turned, u)
            for i in range(columns):
                turned[i] = 0.0
                for j in range(columns):
                    turned[i] += bread[i, j] * u[j]
        if not fine:
            out[:] = np.nan
            return
        for i in range(columns):
            for j in range(columns):
                out[i, j] += turned[i] * turned[j]


@kernel
def _degrees(part: Floats, lower: Floats, live: Any, df: Floats) -> None:
    """Fill df by Satterthwaite; see `inference.models.degrees.sandwich_degrees`."""
    columns = df.size
    rest, half = np.empty((columns, columns)), np.empty((columns, columns))
    turn, cross = np.empty((columns, columns)), np.zeros((columns, columns, columns))
    work = np.empty((3, max(columns, 3), columns))
    unit, grown, pull = np.zeros(columns), np.empty(columns), np.empty(columns)
    mean, spread = np.zeros(columns), np.zeros(columns)
    for c in range(columns):
        unit[:] = 0.0
        unit[c] = 1.0
        front(lower, unit, turn[c])
    for g in range(part.shape[0]):
        _left_to_others(part[g], lower, half, unit, pull, rest)
        if not factorise(rest, half):
            df[:] = live - 1.0
            return
        for c in range(columns):
            if not root_inverse_times(rest, turn[c], grown, work):
                df[:] = live - 1.0
                return
            own, shared = 0.0, 0.0
            for i in range(columns):
                pull[i] = grown[i]
                for j in range(columns):
                    pull[i] -= rest[i, j] * grown[j]
                own += grown[i] * pull[i]
                shared += pull[i] * pull[i]
            mean[c] += own - shared
            spread[c] += own * (own - 2.0 * shared)
            for i in range(columns):
                for j in range(columns):
                    cross[c, i, j] += pull[i] * pull[j]
    for c in range(columns):
        for i in range(columns):
            for j in range(columns):
                spread[c] += cross[c, i, j] * cross[c, i, j]
        df[c] = mean[c] * mean[c] / spread[c]


@kernel
def _left_to_others(
    part: Floats, lower: Floats, half: Floats, column: Floats, solved: Floats, rest: Floats
) -> None:
    """Set rest = I - L⁻¹ B_g L⁻ᵀ."""
    for i in range(column.size):
        front(lower, part[i], half[i])
    for j in range(column.size):
        for i in range(column.size):
            column[i] = half[i, j]
        front(lower, column, solved)
        for i in range(column.size):
            rest[i, j] = (1.0 if i == j else 0.0) - solved[i]


@kernel
def _without(
    part: Floats, score: Floats, whole: Floats, rest: Floats, factor: Floats, turned: Floats
) -> bool:
    """Set turned = (B - B_g)⁻¹ U_g; False where the other clusters leave a direction open."""
    for i in range(score.size):
        for j in range(score.size):
            rest[i, j] = whole[i, j] - part[i, j]
    if not factorise(rest, factor):
        return False
    front(factor, score, turned)
    back(factor, turned, turned)
    return True


@kernel
def _bounded_leverage(part: Floats, score: Floats, bread: Floats, u: Floats) -> bool:
    """Set u = U_g over the roots of 1 - min(bound, leverage)."""
    for i in range(score.size):
        leverage = 0.0
        for j in range(score.size):
            leverage += part[i, j] * bread[j, i]
        u[i] = score[i] / np.sqrt(1.0 - min(_BOUND, leverage))
    return True


@kernel
def _half_leverage(
    part: Floats, score: Floats, lower: Floats, m: Floats, half: Floats, work: Floats,
    turned: Floats, u: Floats,
) -> bool:  # fmt: skip
    """Set u = L (I - L⁻¹ B_g L⁻ᵀ)^-½ L⁻¹ U_g; False where the cluster has all of a direction."""
    columns = score.size
    _left_to_others(part, lower, half, turned, u, m)
    front(lower, score, turned)
    fine = factorise(m, half) and root_inverse_times(m, turned, u, work)
    for i in range(columns - 1, -1, -1):
        total = 0.0
        for j in range(i + 1):
            total += lower[i, j] * u[j]
        u[i] = total
    half[:] = 0.0
    return fine
