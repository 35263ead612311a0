"""The portable functions: near the mathematics library, and the same double compiled or not."""

import math

import numpy as np
import pytest
from scipy import special

from simtrack._jit import kernel
from simtrack.kernels.portable import exp, expit, log, normal_quantile, unit_interval

# Two units in the last place: one of ours and one of the library's.
EXP_LOG = 4.5e-16
# expit adds a sum and a quotient.
EXPIT = 7e-16
# AS 241 promises about 1e-16 and loses some in a ratio of two sums of eight terms; so does ndtri.
QUANTILE = 2e-15
N = 20_000


@kernel
def apply(which, x, out):
    for i in range(x.size):
        if which == 0:
            out[i] = exp(x[i])
        elif which == 1:
            out[i] = log(x[i])
        elif which == 2:
            out[i] = expit(x[i])
        else:
            out[i] = normal_quantile(x[i])


def odd_multiples(n):
    """Uniforms as streams make them, with both ends."""
    k = np.random.default_rng(1).integers(0, 2**52, n, dtype=np.uint64)
    k[:4] = [0, 1, 2**52 - 2, 2**52 - 1]
    deep = np.uint64(1) << np.arange(1, 51, dtype=np.uint64)
    return np.concatenate([k, deep, 2**52 - deep]).astype(float) * 2.0**-52 + 2.0**-53


CASES = [
    (0, exp, np.exp, np.random.default_rng(2).uniform(-700, 700, N), EXP_LOG),
    (1, log, np.log, np.exp(np.random.default_rng(3).uniform(-700, 700, N)), EXP_LOG),
    (1, log, np.log, 1 + np.random.default_rng(4).uniform(-0.3, 0.5, N), EXP_LOG),
    (2, expit, special.expit, np.random.default_rng(5).uniform(-700, 700, N), EXPIT),
    (2, expit, special.expit, np.random.default_rng(6).normal(0, 3, N), EXPIT),
    (3, normal_quantile, special.ndtri, odd_multiples(N), QUANTILE),
]


@pytest.mark.parametrize(("which", "function", "reference", "x", "tolerance"), CASES)
def test_near_the_library_and_equal_bits_compiled_or_not(which, function, reference, x, tolerance):
    compiled = np.empty_like(x)
    apply(which, x, compiled)
    expected = reference(x)
    assert np.all(np.abs(compiled - expected) <= tolerance * np.abs(expected))
    some = slice(None, None, 7)
    plain = np.array([function(value) for value in x[some].tolist()])
    assert plain.tobytes() == compiled[some].tobytes()


def test_expit_at_the_ends():
    assert [expit(x) for x in (-1e6, 0.0, 1e6)] == [0.0, 0.5, 1.0]


def test_known_quantiles():
    # Abramowitz and Stegun, table 26.1 and its inverse: 1.959963984540054, 3.090232306167813.
    assert math.isclose(normal_quantile(0.975), 1.959963984540054, rel_tol=QUANTILE)
    assert math.isclose(normal_quantile(0.001), -3.090232306167813, rel_tol=QUANTILE)
    assert normal_quantile(0.5) == 0.0


def test_uniforms_are_inside_the_interval_and_symmetric():
    # (k + 1/2) / 2^53 with 53 bits of k would round up to 1.0 at the top.
    lowest, highest = (unit_interval.py_func(np.uint64(n)) for n in (0, 2**64 - 1))
    assert 0.0 < lowest == 2.0**-53
    assert highest == 1.0 - 2.0**-53 < 1.0
    numbers = np.random.default_rng(7).integers(0, 2**64, 1000, dtype=np.uint64)
    u, mirrored = unit_interval.py_func(numbers), unit_interval.py_func(~numbers)
    assert np.array_equal(u + mirrored, np.ones(1000))
