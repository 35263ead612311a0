"""The bootstrap law by convolution: the G-fold sum of independent draws of one cluster.

The generating function of one draw is raised to the number of draws. In whole numbers where
they fit; else by a fast Fourier transform, whose result carries noise of about 1e-17 a cell: places
that no resample can reach are set to 0, and the rest is scaled to sum to 1.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.bootstrap_lattice import Line, Plane
from simtrack.inference.bootstrap_law import BootstrapLaw

__all__ = ["law_of_line", "law_of_plane", "masked", "reachable"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

#: All resamples can be counted in int64 while there are fewer than this.
_MOST_RESAMPLES = 2**62
#: Direct convolution costs the square of the size.
_MOST_DIRECT = 1024


def law_of_line(line: Line, tie: float) -> BootstrapLaw:
    """Which law has a sum of whole numbers over the resampled clusters?"""
    resamples = math.prod(p.size**p.size for p in line.places)
    if resamples < _MOST_RESAMPLES and line.size <= _MOST_DIRECT:
        counts = _counted(line)
        can = counts > 0
        weights = counts[can].astype(np.float64)
    else:
        size = _smooth(line.size)
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        for places in line.places:
            spectrum *= _power(np.fft.rfft(_single(places), size), places.size)
        can = reachable(line.places)
        weights = masked(np.fft.irfft(spectrum, size)[: line.size], can)[can]
    return BootstrapLaw(line.values()[can], weights, tie=tie, ascending=line.step > 0)


def law_of_plane(plane: Plane, tie: float) -> BootstrapLaw:
    """Which law has one sum of whole numbers over another?"""
    rows, columns = plane.shape
    shape = _smooth(rows), _smooth(columns)
    spectrum = np.ones((shape[0], shape[1] // 2 + 1), dtype=np.complex128)
    flat = []
    for i, j in zip(plane.top.places, plane.bottom.places, strict=True):
        places = i * columns + j
        flat.append(places)
        one = _single(places, (int(i.max()) + 1) * columns).reshape(-1, columns)
        spectrum *= _power(np.fft.rfft2(one, shape), i.size)
    joint = np.fft.irfft2(spectrum, shape)[:rows, :columns].ravel()
    can = reachable(tuple(flat), rows * columns)
    found = np.flatnonzero(can)
    weights = masked(joint, can)[found]
    above, below = plane.top.values(), plane.bottom.values()
    bottom = below[found % columns]
    defined = bottom != 0
    undefined = _undefined(plane, weights, defined)
    if undefined > 0.0 or not defined.all():
        found, bottom, weights = found[defined], bottom[defined], weights[defined]
    cells = above[found // columns] / bottom
    if plane.factor != 1.0:
        cells *= plane.factor
    return BootstrapLaw(cells, weights, undefined, tie)


def reachable(pools: tuple[NDArray[np.int64], ...], size: int | None = None) -> Bools:
    """Say which sums can be reached by drawing as many places from each pool as it has.

    Examples
    --------
    >>> reachable((np.array([0, 3, 3]),)).astype(int).tolist()
    [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    """
    bits = 1  # bit k stands for the sum k: adding a place is a shift
    for places in pools:
        steps = sorted(set(places.tolist()))
        for _ in range(places.size):
            before, bits = bits, 0
            for step in steps:
                bits |= before << step
    length = size or 1 + sum(p.size * int(p.max()) for p in pools)
    packed = np.frombuffer(bits.to_bytes((length + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=length, bitorder="little").view(np.bool_)


def masked(noisy: Floats, can: Bools) -> Floats:
    """Keep what can be reached, nothing below 0, and let the masses sum to 1."""
    found = np.where(can, np.maximum(noisy, 0.0), 0.0)
    return np.asarray(found / found.sum())


def _counted(line: Line) -> NDArray[np.int64]:
    """Count the resamples at each place, in whole numbers."""
    total = np.ones(1, dtype=np.int64)
    for places in line.places:
        total = np.convolve(total, _whole_power(np.bincount(places), places.size))
    return total


def _whole_power(base: NDArray[np.int64], exponent: int) -> NDArray[np.int64]:
    found = base
    for bit in bin(exponent)[3:]:
        found = np.convolve(found, found)
        if bit == "1":
            found = np.convolve(found, base)
    return found


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Multiply repeatedly: quicker than a complex power, and the same on every machine."""
    found = base.copy()
    for bit in bin(exponent)[3:]:
        found *= found
        if bit == "1":
            found *= base
    return found


def _single(places: NDArray[np.int64], length: int = 0) -> Floats:
    return np.bincount(places, minlength=length) / places.size


def _smooth(size: int) -> int:
    """Give the smallest even number from `size` on without a prime factor above 5."""
    while True:
        size += size % 2
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


def _undefined(plane: Plane, weights: Floats, defined: Bools) -> float:
    """Give the mass where the lower sum is 0; exactly where only all zeros can give 0."""
    if defined.all():
        return 0.0
    if plane.bottom.origin == 0:  # places from 0 up: the sum is 0 where every draw is
        shares = [int((j == 0).sum()) / j.size for j in plane.bottom.places]
        pools = zip(shares, plane.bottom.places, strict=True)
        return float(math.prod(share**j.size for share, j in pools))
    return float(weights[~defined].sum())
