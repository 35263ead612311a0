"""Inversion at its edges, where a stream would come once in 2^64 draws."""

import numpy as np
import pytest

from simtrack.kernels.draws import invert
from simtrack.kernels.philox import philox4x32

K0, K1, FIRST = np.uint64(1), np.uint64(2), np.uint64(3)
INDICES = np.array([4], np.uint64)


def number():
    """The 64-bit number behind the first draw: the first two words of its block."""
    zero = np.uint64(0)
    a, b, *_ = philox4x32.py_func(zero, INDICES[0], FIRST, zero, K0, K1)
    return (int(a) << 32) + int(b)


def inverted(values):
    """The count for that number with these thresholds."""
    out = np.empty((1, 1, 1), np.int64)
    lowest, start, stop = (np.array([[x]], np.int64) for x in (100, 1, 1 + len(values)))
    # A neighbour on each side that must not be looked at.
    thresholds = np.array([0, *values, 0], np.uint64)
    # A guide of two buckets that knows nothing: the search begins at the first threshold.
    guide_start, shift = np.array([[1]], np.int64), np.array([[63]], np.uint64)
    guide = np.array([9, 0, 0, 9], np.int64)
    law = (lowest, start, stop, thresholds, guide_start, shift, guide)
    invert(K0, K1, FIRST, INDICES, *law, out)
    return int(out[0, 0, 0]) - 100


@pytest.mark.parametrize("n_reached", range(6))
@pytest.mark.parametrize("n_above", range(6))
def test_the_count_is_how_many_thresholds_are_reached(n_reached, n_above):
    # P(K <= k) = T / 2^64 means the T numbers 0 .. T - 1: the number T itself has reached T.
    reached = [number() - i for i in reversed(range(n_reached))]
    above = [number() + 1 + i for i in range(n_above)]
    assert inverted(reached + above) == n_reached
