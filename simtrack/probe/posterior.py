"""Posterior masses of the probe's two sides after every possible (k, i, j), in NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.probe.beta import Block, posterior_blocks
from simtrack.probe.parameters import Beta
from simtrack.probe.quadrature import Nodes, plain_nodes, smooth_nodes

__all__ = ["Masses", "difference_masses", "high_masses", "zone_blocks"]

#: Two successive node counts must agree to this before masses of real-valued priors are used, and
#: to this for the smaller count to do: what lies between the two is left to the larger count.
STABLE: Final = 2e-13
SHARP: Final = 2e-14
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
    for block in posterior_blocks(prior, x, y, k_max):
        out[block.rounds, : block.survival.shape[1]] = block.survival[:, :, 0]
    out[np.triu_indices(k_max + 1, 1)] = np.nan
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
    for rounds, zones in zone_blocks(full, ablated, zero_band, k_max):
        for at, k in enumerate(rounds.tolist()):
            yield Masses(k, zones[:, at, : k + 1, : k + 1])


def zone_blocks(
    full: Beta, ablated: Beta, zero_band: Fraction, k_max: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The same as `difference_masses`, some rounds at a time.

    Yields
    ------
    rounds : int64 array, shape (n,)
    zones : array, shape (3, n, w, w) with w = rounds[-1] + 1
        Masses of the positive, zero and negative zone by (k, i, j); 0, -1 and 0 where i or j is
        above k, which cannot happen.
    """
    nodes, band = _settled_nodes(full, ablated, zero_band, k_max), float(zero_band)
    upward = _exceedance(full, ablated, band, nodes, k_max)
    if full == ablated:
        for rounds, positive in upward:
            yield rounds, _zones(rounds, positive, positive.transpose(0, 2, 1))
        return
    downward = _exceedance(ablated, full, band, nodes, k_max)
    for (rounds, positive), (_, negative) in zip(upward, downward, strict=True):
        yield rounds, _zones(rounds, positive, negative.transpose(0, 2, 1))


def _zones(
    rounds: NDArray[np.int64], positive: NDArray[np.float64], negative: NDArray[np.float64]
) -> NDArray[np.float64]:
    zones = np.empty((3, *positive.shape))
    zones[0], zones[2] = positive, negative
    zero = zones[1]
    np.subtract(1.0, zones[0], out=zero)
    zero -= zones[2]
    np.maximum(zero, 0.0, out=zero)
    beyond = np.arange(positive.shape[1]) > rounds[:, None]
    zero[beyond] = -1.0
    zero.transpose(0, 2, 1)[beyond] = -1.0
    return zones


def _exceedance(
    first: Beta,
    second: Beta,
    band: float,
    nodes: Nodes,
    k_max: int,
    *,
    rounds: tuple[int, ...] | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """P(first - second > z) by (k, passes of first, passes of second), some rounds at a time.

    With H = P(first > s + z) and c, C the density and distribution function of `second` at s, the
    plain form is the integral of H c. Real parameters let c blow up at s = 0; integrating the
    fraction 1 - s/w of it by parts (w = 1 - z, y = w - s) gives three positive terms, each one
    power smoother at both ends: (y/w) h C + H C / w + (s/w) H c.
    """
    a, c = float(first.alpha), float(second.alpha)
    for upper, lower in _both_blocks(first, second, band, nodes, k_max, rounds):
        count = np.arange(upper.term.shape[1], dtype=np.float64)[:, None]
        right = lower.term * (c + count)
        if nodes.is_polynomial:
            left = upper.survival
            right *= nodes.weight / nodes.x
        else:
            share = nodes.weight / (1.0 - band)
            rise = upper.term * (a + count) * (nodes.y / (nodes.x + band))
            left = np.concatenate([(rise + upper.survival) * share, upper.survival * share], axis=2)
            right = np.concatenate([1.0 - lower.survival, right], axis=2)
        yield upper.rounds, _products(upper.rounds, left, right)


def _products(
    rounds: NDArray[np.int64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums over the nodes for all (i, j) of each round, without BLAS; 0 where i or j is above k."""
    width = left.shape[1]
    out = np.zeros((rounds.size, width, width))
    for at, n in enumerate((rounds + 1).tolist()):
        np.einsum("im,jm->ij", left[at, :n], right[at, :n], out=out[at, :n, :n])
    return out


def _both_blocks(
    first: Beta,
    second: Beta,
    band: float,
    nodes: Nodes,
    k_max: int,
    rounds: tuple[int, ...] | None,
) -> Iterator[tuple[Block, Block]]:
    """Posteriors of `first` at s + z and of `second` at s; one table does for equal priors."""
    if first != second:
        above = posterior_blocks(first, nodes.x + band, nodes.y, k_max, rounds)
        at = posterior_blocks(second, nodes.x, nodes.y + band, k_max, rounds)
        yield from zip(above, at, strict=True)
        return
    x = np.concatenate([nodes.x + band, nodes.x])
    y = np.concatenate([nodes.y, nodes.y + band])
    m = nodes.x.size
    for some, survival, term in posterior_blocks(first, x, y, k_max, rounds):
        yield (
            Block(some, survival[:, :, :m], term[:, :, :m]),
            Block(some, survival[:, :, m:], term[:, :, m:]),
        )


def _settled_nodes(full: Beta, ablated: Beta, zero_band: Fraction, k_max: int) -> Nodes:
    """The smallest tried set of nodes that is exact, or that a doubled one confirms or sharpens.

    Two rounds confirm for all: the rounds between have blunter ends than the first and broader
    peaks than the last (measured over awkward priors, none was worse by more than 1e-14).
    """
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
        change = np.abs(doubled - last).max()
        if change <= STABLE:
            return smooth_nodes(n if change <= SHARP else 2 * n, width)
        n, last = 2 * n, doubled
    rule = "one whose posterior masses can be integrated to 1e-12"
    cure = "Use prior parameters nearer to 1."
    raise InputError("prior", rule, f"{full!r} and {ablated!r}", cure=cure)


def _trial(
    full: Beta, ablated: Beta, zero_band: Fraction, k_max: int, nodes: Nodes
) -> NDArray[np.float64]:
    """Masses of the rounds where ends are sharpest (1) and peaks are narrowest (k_max), flat."""
    band, rounds = float(zero_band), tuple(sorted({1, k_max}))
    ways = ((full, ablated),) if full == ablated else ((full, ablated), (ablated, full))
    parts = [
        mass[at, : k + 1, : k + 1].ravel()
        for first, second in ways
        for some, mass in _exceedance(first, second, band, nodes, k_max, rounds=rounds)
        for at, k in enumerate(some.tolist())
    ]
    return np.concatenate(parts)
