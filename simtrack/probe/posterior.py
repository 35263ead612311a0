"""Posterior masses of the probe's two sides after every possible (k, i, j), in NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.probe.beta import Level, levels
from simtrack.probe.prior import Beta
from simtrack.probe.quadrature import Nodes, plain_nodes, smooth_nodes

__all__ = ["Masses", "difference_masses", "high_masses"]

#: Two successive node counts must agree to this before masses of real-valued priors are used.
STABLE: Final = 2e-13
NODES_MAX: Final = 2000


class Masses(NamedTuple):
    """The three masses of the effect after k rounds, by (i, j).

    `zones` has shape (3, k + 1, k + 1): P(F - S > z), P(|F - S| <= z), P(F - S < -z).
    """

    k: int
    zones: NDArray[np.float64]

    @property
    def positive(self) -> NDArray[np.float64]:
        """P(F - S > z), shape (k + 1, k + 1)."""
        mass: NDArray[np.float64] = self.zones[0]
        return mass

    @property
    def zero(self) -> NDArray[np.float64]:
        """P(|F - S| <= z), what the other two masses leave, shape (k + 1, k + 1)."""
        mass: NDArray[np.float64] = self.zones[1]
        return mass

    @property
    def negative(self) -> NDArray[np.float64]:
        """P(F - S < -z), shape (k + 1, k + 1)."""
        mass: NDArray[np.float64] = self.zones[2]
        return mass


def high_masses(prior: Beta, threshold: Fraction, k_max: int) -> NDArray[np.float64]:
    """How probable is a pass rate above the threshold after k rounds with i passes?

    Parameters
    ----------
    prior : Beta
    threshold : Fraction
        In (0, 1).
    k_max : int
        Last round.

    Returns
    -------
    array, shape (k_max + 1, k_max + 1)
        Element (k, i) is P(F > threshold); NaN where i > k, which cannot happen.

    Examples
    --------
    >>> masses = high_masses(Beta(1, 1), Fraction(4, 5), 1)
    >>> [round(float(m), 12) for m in (masses[0, 0], masses[1, 1])]
    [0.2, 0.36]
    """
    out = np.full((k_max + 1, k_max + 1), np.nan)
    x, y = np.array([float(threshold)]), np.array([float(1 - threshold)])
    for level in levels(prior, x, y, k_max):
        out[level.k, : level.k + 1] = level.survival[:, 0]
    return out


def difference_masses(
    full: Beta, ablated: Beta, zero_band: Fraction, k_max: int
) -> Iterator[Masses]:
    """How probable are a positive and a negative effect after k rounds with i and j passes?

    P(F - S > z) is the integral over s in [0, 1 - z] of the density of S at s times the survival
    function of F at s + z. With integer parameters the integrand is a polynomial and Gauss-Legendre
    integrates it exactly; else the integral is split by parts so that no end is singular, the nodes
    lie behind a smoothstep map and are doubled until two counts agree at the first and last rounds.

    Parameters
    ----------
    full, ablated : Beta
        Priors of the two pass rates.
    zero_band : Fraction
        z, in (0, 1).
    k_max : int
        Last round.

    Yields
    ------
    Masses
        For k = 0, 1, ..., k_max.

    Raises
    ------
    InputError
        The quadrature does not settle for these priors.

    Examples
    --------
    >>> first = next(difference_masses(Beta(), Beta(), Fraction(1, 5), 3))
    >>> round(float(first.positive[0, 0]), 12), round(float(first.zero[0, 0]), 12)
    (0.32, 0.36)
    """
    nodes, band = _settled_nodes(full, ablated, zero_band, k_max), float(zero_band)
    upward = _exceedance(full, ablated, band, nodes, k_max)
    if full == ablated:
        for k, positive in upward:
            yield _masses(k, positive, positive.T)
        return
    downward = _exceedance(ablated, full, band, nodes, k_max)
    for (k, positive), (_, negative) in zip(upward, downward, strict=True):
        yield _masses(k, positive, negative.T)


def _masses(k: int, positive: NDArray[np.float64], negative: NDArray[np.float64]) -> Masses:
    zones = np.empty((3, k + 1, k + 1))
    zones[0], zones[2] = positive, negative
    np.subtract(1.0, zones[0], out=zones[1])
    zones[1] -= zones[2]
    np.maximum(zones[1], 0.0, out=zones[1])
    return Masses(k, zones)


def _exceedance(
    first: Beta,
    second: Beta,
    band: float,
    nodes: Nodes,
    k_max: int,
    *,
    rounds: tuple[int, ...] | None = None,
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """P(first - second > z) for all (passes of first, passes of second), k = 0 ... k_max.

    With H = P(first > s + z) and c, C the density and distribution function of `second` at s, the
    plain form is the integral of H c. Real parameters let c blow up at s = 0; integrating the
    fraction 1 - s/w of it by parts (w = 1 - z, y = w - s) gives three positive terms, each one
    power smoother at both ends: (y/w) h C + H C / w + (s/w) H c.
    """
    a, c = float(first.alpha), float(second.alpha)
    count = np.arange(k_max + 1, dtype=np.float64)[:, None]
    for upper, lower in _both_levels(first, second, band, nodes, k_max, rounds):
        k = upper.k
        density = lower.term * (c + count[: k + 1])
        if nodes.is_polynomial:
            density *= nodes.weight / nodes.x
            yield k, np.einsum("im,jm->ij", upper.survival, density)
            continue
        share = nodes.weight / (1.0 - band)
        rise = upper.term * (a + count[: k + 1]) * (nodes.y / (nodes.x + band))
        left = np.hstack([(rise + upper.survival) * share, upper.survival * share])
        yield k, np.einsum("im,jm->ij", left, np.hstack([1.0 - lower.survival, density]))


def _both_levels(
    first: Beta,
    second: Beta,
    band: float,
    nodes: Nodes,
    k_max: int,
    rounds: tuple[int, ...] | None,
) -> Iterator[tuple[Level, Level]]:
    """Posteriors of `first` at s + z and of `second` at s; one recurrence does for equal priors."""
    if first != second:
        above = levels(first, nodes.x + band, nodes.y, k_max, rounds)
        at = levels(second, nodes.x, nodes.y + band, k_max, rounds)
        yield from zip(above, at, strict=True)
        return
    x = np.concatenate([nodes.x + band, nodes.x])
    y = np.concatenate([nodes.y, nodes.y + band])
    m = nodes.x.size
    for k, survival, term in levels(first, x, y, k_max, rounds):
        yield (
            Level(k, survival[:, :m], term[:, :m]),
            Level(k, survival[:, m:], term[:, m:]),
        )


def _settled_nodes(full: Beta, ablated: Beta, zero_band: Fraction, k_max: int) -> Nodes:
    """The smallest tried set of nodes that is exact, or that a doubled one confirms."""
    width = float(1 - zero_band)
    observations = k_max + float(max(sum(full), sum(ablated)))
    n = 48 + int(10.0 * math.sqrt(observations))
    if full.is_integer and ablated.is_integer:
        exact = k_max + int(sum(full) + sum(ablated)) // 2
        if exact <= 2 * n:
            return plain_nodes(exact, width)
    last = _trial(full, ablated, zero_band, k_max, smooth_nodes(n, width))
    while n <= NODES_MAX:
        doubled = _trial(full, ablated, zero_band, k_max, smooth_nodes(2 * n, width))
        if np.abs(doubled - last).max() <= STABLE:
            return smooth_nodes(n, width)
        n, last = 2 * n, doubled
    rule = "one whose posterior masses can be integrated to 1e-12"
    cure = "Use prior parameters nearer to 1."
    raise InputError("prior", rule, f"{full!r} and {ablated!r}", cure=cure)


def _trial(
    full: Beta, ablated: Beta, zero_band: Fraction, k_max: int, nodes: Nodes
) -> NDArray[np.float64]:
    """Masses of the rounds where ends are sharpest (1) and peaks are narrowest (k_max), flat."""
    band, rounds = float(zero_band), (1, k_max)
    ways = ((full, ablated),) if full == ablated else ((full, ablated), (ablated, full))
    parts = [
        mass.ravel()
        for first, second in ways
        for _, mass in _exceedance(first, second, band, nodes, k_max, rounds=rounds)
    ]
    return np.concatenate(parts)
