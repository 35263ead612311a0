"""Philox4x32-10 against the known-answer vectors of Random123, in its three ways of running."""

import math
from fractions import Fraction

import numpy as np
import pytest

from simtrack._jit import kernel
from simtrack.kernels.philox import MASK, philox4x32, succeeds, threshold_words

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


@kernel
def fill_threshold(p, out):
    high, low = threshold_words(p)
    out[0] = high
    out[1] = low


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


def test_a_threshold_of_one_is_met_by_every_number():
    # floor(1 * 2^32) is 2^32: held in 32 bits it would be 0 and p = 1 would never succeed.
    high, low = threshold_words.py_func(np.float64(1.0))
    assert (int(high), int(low)) == (1 << 32, 0)
    assert succeeds.py_func(MASK, MASK, high, low)


def test_a_threshold_of_zero_is_met_by_no_number():
    zero = np.uint64(0)
    assert not succeeds.py_func(zero, zero, *threshold_words.py_func(np.float64(0.0)))


@pytest.mark.parametrize(
    "p", [2.0**-64, 2.0**-40, 1e-9, 0.1, 1 / 3, 0.5, 0.8, np.nextafter(1.0, 0.0), 1.0]
)
def test_the_threshold_is_p_to_64_bits_compiled_or_not(p):
    expected = math.floor(Fraction(p) * 2**64)
    high, low = threshold_words.py_func(np.float64(p))
    assert (int(high) << 32) + int(low) == expected
    out = np.zeros(2, np.uint64)
    fill_threshold(np.float64(p), out)
    assert (int(out[0]) << 32) + int(out[1]) == expected


def test_a_tie_of_the_first_words_is_decided_by_the_second():
    # With 32 bits alone p = 2^-40 would be 0 (or, rounding up, 2^-32).
    high, low = threshold_words.py_func(np.float64(2.0**-40))
    zero, last = np.uint64(0), np.uint64((1 << 24) - 1)
    assert succeeds.py_func(zero, last, high, low)
    assert not succeeds.py_func(zero, last + np.uint64(1), high, low)
    assert not succeeds.py_func(np.uint64(1), zero, high, low)
