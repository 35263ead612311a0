"""The bootstrap law by convolution: the G-fold sum of independent draws of one cluster.

The generating function of one draw is raised to the number of draws. In whole numbers where
they fit; else by a fast Fourier transform, whose result carries noise of about 1e-17 a cell: places
that no resample can reach are set to 0, and the rest is scaled to sum to 1.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.resampling.lattice import Line, Plane
from simtrack.inference.resampling.law import BootstrapLaw

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
        can = np.flatnonzero(counts)
        weights = counts[can].astype(np.float64)
    else:
        size = _smooth(line.size)
        spectrum = _product(
            _power(np.fft.rfft(_single(places), size), places.size) for places in line.places
        )
        can = np.flatnonzero(reachable(line.places, line.size))
        weights = masked(np.fft.irfft(spectrum, size), can)
    return BootstrapLaw(line.values()[can], weights, tie=tie, ascending=True)


def law_of_plane(plane: Plane, tie: float) -> BootstrapLaw:
    """Which law has one sum of whole numbers over another?"""
    rows, columns = plane.shape
    shape = _smooth(rows), _smooth(columns)
    pairs = zip(plane.top.places, plane.bottom.places, strict=True)
    flat = [i * columns + j for i, j in pairs]
    spectrum = _product(
        _power(np.fft.rfft2(_single_in_plane(places, columns), shape), places.size)
        for places in flat
    )
    joint = np.fft.irfft2(spectrum, shape)[:rows, :columns].ravel()
    found = np.flatnonzero(reachable(tuple(flat), rows * columns))
    weights = masked(joint, found)
    above, below = plane.top.values(), plane.bottom.values()
    row = found // columns
    bottom = below[found - row * columns]
    defined = bottom != 0
    undefined = _undefined(plane, weights, defined)
    if undefined > 0.0 or not defined.all():
        row, bottom, weights = row[defined], bottom[defined], weights[defined]
    top = above[row]
    if plane.tilt:
        top += plane.tilt * bottom
    cells = top / bottom
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
    bits, top = 1, 0  # bit k stands for the sum k: adding a place is a shift
    for places in pools:
        steps = sorted(set(places.tolist()))
        runs, reach = _runs(steps), steps[-1]
        for draw in range(places.size):
            moved = _moved(bits, runs)
            core = _settled(bits, moved, top, reach) if steps[0] == 0 < reach else None
            if core is not None:
                bits = _grown(bits, core, (places.size - draw) * reach)
                break
            bits, top = moved, top + reach
        top = bits.bit_length() - 1
    length = size or 1 + sum(p.size * int(p.max()) for p in pools)
    packed = np.frombuffer(bits.to_bytes((length + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=length, bitorder="little").view(np.bool_)


def _runs(steps: list[int]) -> list[tuple[int, int]]:
    """Cut ascending steps into runs without a gap, as (first, length), the shortest first."""
    runs: list[list[int]] = []
    for step in steps:
        if runs and step == runs[-1][0] + runs[-1][1]:
            runs[-1][1] += 1
        else:
            runs.append([step, 1])
    return sorted(((first, length) for first, length in runs), key=lambda run: run[1])


def _moved(bits: int, runs: list[tuple[int, int]]) -> int:
    """Move the sums by each step and join: a run of steps by doubling what is moved at once."""
    found, spread, width = 0, bits, 1
    for first, length in runs:
        while 2 * width <= length:
            spread |= spread << width
            width *= 2
        found |= (spread if width == length else spread | spread << (length - width)) << first
    return found


def _settled(before: int, after: int, top: int, reach: int) -> tuple[int, int] | None:
    """Give the gapless core of the sums up to `top` if more draws only lengthen it, else None.

    A core as long as the largest step grows by it at each draw. The sums below it are made of sums
    below it, so once a draw leaves them as they are they stay; and so, seen from the top, above.
    """
    gaps = ~before & ((1 << (top + 1)) - 1)
    middle = top // 2
    low = (gaps & ((1 << middle) - 1)).bit_length()
    above = gaps >> middle
    high = middle + (above & -above).bit_length() - 2 if above else top
    if high - low + 1 < reach:
        return None
    same_below = not (before ^ after) & ((1 << low) - 1)
    return (low, high) if same_below and before >> high + 1 == after >> high + 1 + reach else None


def _grown(bits: int, core: tuple[int, int], by: int) -> int:
    low, high = core
    ones = ((1 << (high - low + 1 + by)) - 1) << low
    return (bits & ((1 << low) - 1)) | ones | ((bits >> high + 1) << high + 1 + by)


def masked(noisy: Floats, can: NDArray[np.int64]) -> Floats:
    """Keep the places that can be reached, nothing below 0, and let the masses sum to 1."""
    found: Floats = np.maximum(noisy[can], 0.0)
    found /= found.sum()
    return found


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


def _product(spectra: Iterable[NDArray[np.complex128]]) -> NDArray[np.complex128]:
    return functools.reduce(operator.mul, spectra)


def _single_in_plane(places: NDArray[np.int64], columns: int) -> Floats:
    rows = int(places.max()) // columns + 1
    return _single(places, rows * columns).reshape(rows, columns)


def _single(places: NDArray[np.int64], length: int = 0) -> Floats:
    return np.bincount(places, minlength=length) / places.size


@functools.lru_cache(maxsize=256)
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
