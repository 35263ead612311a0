"""Integrals over normal laws of logits: of a cluster's likelihood, and of the rate itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.hierarchical_cluster import log_expit

__all__ = ["Patterns", "log_mean_rate"]

Floats = NDArray[np.float64]
#: The trapezoidal rule errs by e^(-2 pi² (sd/step)²) on a normal law, e^(-2 pi² / step) on expit.
_STEP_Z, _REACH_Z = 0.25, 9.0
_STEP_SDS, _STEP_MOST = 0.4, 0.25
#: Further out a likelihood is nothing, whatever a small spread makes of it.
_NATS = 300.0
_UNDERFLOW = 1e-280
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """What do clusters of y successes in n trials contribute, for each different (y, n)?

    Attributes
    ----------
    y, n, times : float64 arrays, shape (patterns,)
        Successes, trials, and how many clusters have them.
    of_cluster : int64 array, shape (clusters,)
    step : float
        Of an even grid of logits that resolves every likelihood.
    """

    y: Floats
    n: Floats
    times: Floats
    of_cluster: NDArray[np.int64]
    step: float

    @classmethod
    def of(cls, hits: Floats, size: Floats) -> Patterns:
        """Find the different ones."""
        rows, place, times = np.unique(
            np.stack([hits, size], axis=1), axis=0, return_inverse=True, return_counts=True
        )
        y, n = rows[:, 0], rows[:, 1]
        sharpest = math.sqrt(max(float((y * (n - y) / n).max()), 1.0))
        step = min(_STEP_MOST, _STEP_SDS / sharpest)
        return cls(y, n, times.astype(np.float64), place.ravel().astype(np.int64), step)

    def log_top(self) -> Floats:
        """Give the largest log likelihood of each pattern, shape (patterns,)."""
        share = self.y / self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.y * np.log(share) + (self.n - self.y) * np.log1p(-share)
        return np.where((share > 0.0) & (share < 1.0), found, 0.0)

    def log_marginal(self, m: Floats, tau: float, moment: int = 0) -> Floats:
        """Integrate likelihood times rate^moment over Normal(m, tau²), shape (patterns, *m.shape).

        On an even grid of logits, or of deviates where tau is less than its step.
        """
        flat = m.ravel()
        if tau < 2.5 * self.step:
            z = np.arange(-_REACH_Z, _REACH_Z + _STEP_Z / 2, _STEP_Z)
            log_weight = -0.5 * z * z - _LOG_ROOT_2PI + math.log(_STEP_Z)
            value = self._log_likelihood(flat[:, None] + tau * z, moment) + log_weight
            found = _log_sum(value)
        else:
            low, high = flat.min() - _REACH_Z * tau, flat.max() + _REACH_Z * tau
            left, right = self._window()
            low, high = max(low, left), min(high, right)
            count = max(math.ceil((high - low) / self.step), 1)
            eta = low + self.step * np.arange(count + 1)
            log_kernel = -0.5 * ((eta - flat[:, None]) / tau) ** 2
            log_own = self._log_likelihood(eta, moment)
            total = np.einsum("pk,mk->pm", np.exp(log_own), np.exp(log_kernel))
            with np.errstate(divide="ignore"):
                found = np.log(total)
            lost = np.nonzero(total < _UNDERFLOW)
            if lost[0].size:
                found[lost] = _log_sum(log_own[lost[0]] + log_kernel[lost[1]])
            found += math.log(self.step / tau) - _LOG_ROOT_2PI
        return np.asarray((found + self.log_top()[:, None]).reshape(-1, *m.shape))

    def _log_likelihood(self, eta: Floats, moment: int) -> Floats:
        """Give logs of likelihoods over their tops, times rate^moment, (patterns, *eta.shape)."""
        shape = (-1, *[1] * eta.ndim)
        up, down = log_expit(eta), log_expit(-eta)
        value = (self.y + moment).reshape(shape) * up + (self.n - self.y).reshape(shape) * down
        found: Floats = value - self.log_top().reshape(shape)
        return found

    def _window(self) -> tuple[float, float]:
        """Between which logits is any likelihood above e^-300 of its top?"""
        left, right = math.inf, -math.inf
        for y, n, top in zip(self.y, self.n, self.log_top(), strict=True):
            left = min(left, -math.inf if y == 0.0 else (top - _NATS) / y)
            right = max(right, math.inf if y == n else (_NATS - top) / (n - y))
        return left, right


def _log_sum(value: Floats) -> Floats:
    top = value.max(axis=-1)
    found: Floats = top + np.log(np.exp(value - top[..., None]).sum(axis=-1))
    return found


def log_mean_rate(m: Floats, tau: float) -> tuple[Floats, Floats, Floats]:
    """Give the logs of the mean of expit over Normal(m, tau²) and of its rest, and the slope.

    Returns
    -------
    log_rate, log_rest : float64 arrays, shape of m
    slope : float64 array
        Derivative of logit(rate) by m.
    """
    step = min(_STEP_Z, 0.75 / max(tau, 1e-9))
    z = np.arange(-_REACH_Z, _REACH_Z + step / 2, step)
    weight = np.exp(-0.5 * z * z)
    weight /= weight.sum()
    place = m[..., None] + tau * z
    small = np.exp(-np.abs(place))
    share, other, positive = 1.0 / (1.0 + small), small / (1.0 + small), place >= 0.0
    up, down = np.where(positive, share, other), np.where(positive, other, share)
    rate, rest = np.einsum("...z,z->...", up, weight), np.einsum("...z,z->...", down, weight)
    slope = np.einsum("...z,...z,z->...", up, down, weight) / (rate * rest)
    return np.log(rate), np.log(rest), slope
