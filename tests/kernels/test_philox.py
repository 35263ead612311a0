"""Philox4x32-10 against the known-answer vectors of Random123, in its three ways of running."""

import numpy as np
import pytest

from simtrack._jit import kernel
from simtrack.kernels.philox import philox4x32

# Random123, kat_vectors, philox4x32 10: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@kernel
def fill(arguments, out):
    for row in range(arguments.shape[0]):
        a, b, c, d = philox4x32(
            arguments[row, 0],
            arguments[row, 1],
            arguments[row, 2],
            arguments[row, 3],
            arguments[row, 4],
            arguments[row, 5],
        )
        out[row, 0] = a
        out[row, 1] = b
        out[row, 2] = c
        out[row, 3] = d


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers_as_numpy_scalars(counter, key, expected):
    found = philox4x32.py_func(*(np.uint64(word) for word in (*counter, *key)))
    assert tuple(int(word) for word in found) == expected
    assert all(isinstance(word, np.uint64) for word in found)


def test_known_answers_as_arrays():
    columns = np.array([(*counter, *key) for counter, key, _ in KNOWN], np.uint64).T
    found = np.stack(philox4x32.py_func(*columns), axis=1)
    assert found.dtype == np.uint64
    assert found.tolist() == [list(expected) for *_, expected in KNOWN]


def test_known_answers_inlined_in_a_kernel():
    arguments = np.array([(*counter, *key) for counter, key, _ in KNOWN], np.uint64)
    out = np.zeros((len(KNOWN), 4), np.uint64)
    fill(arguments, out)
    assert out.tolist() == [list(expected) for *_, expected in KNOWN]
