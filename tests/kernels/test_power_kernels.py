"""Kernels of power against plain enumeration, small enough to run with the JIT off."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from simtrack.kernels.bootstrap_whole import percentile_whole
from simtrack.kernels.flip_power import flip_power
from simtrack.kernels.logistic import logistic

#: Sums of a few thousand products of doubles.
CLOSE = 1e-13


@pytest.mark.parametrize("side", [0, 1, -1])
@pytest.mark.parametrize(("clusters", "allowed"), [(3, 2), (4, 0), (4, 2), (5, 3), (2, 4)])
def test_flip_power_is_the_sum_over_all_data_sets(side, clusters, allowed):
    law = {0: Fraction(2, 10), 1: Fraction(3, 10), -1: Fraction(1, 10), 3: Fraction(3, 10),
           -3: Fraction(1, 10)}  # fmt: skip
    above = below = size = Fraction(0)
    for data in product(law, repeat=clusters):
        share, total = math.prod(law[d] for d in data), sum(data)
        flips = [sum(s * d for s, d in zip(signs, data, strict=True))
                 for signs in product((1, -1), repeat=clusters)]  # fmt: skip
        if side == 0:
            as_extreme = sum(abs(f) >= abs(total) for f in flips)
        else:
            as_extreme = sum(side * f >= side * total for f in flips)
        if as_extreme <= allowed:
            above += share * (total > 0)
            below += share * (total < 0)
            size += share * abs(total)
    out = np.zeros(4)
    sizes = np.array([0, 1, 3], np.int64)
    plus, minus = np.array([0.1, 0.3, 0.3]), np.array([0.1, 0.1, 0.1])
    flip_power(sizes, plus, minus, clusters, allowed, side, out)
    assert out == pytest.approx([float(above), float(below), float(size), 1.0], abs=CLOSE)


@pytest.mark.parametrize("tail", [0.025, 0.1, 0.25])
def test_percentiles_are_those_of_all_resamples(tail):
    rows = np.array([[0, 2, -3, 5], [7, 7, 7, 7], [10, 30, 10, -50], [1, 0, 0, 0]], dtype=np.int64)
    low, high = np.empty(len(rows)), np.empty(len(rows))
    percentile_whole(rows, tail, low, high)
    for r, row in enumerate(rows.tolist()):
        sums = sorted(sum(draw) for draw in product(row, repeat=4))
        n = len(sums)
        # inf{x : F(x) >= p}: the ceil(n p)-th of the sorted sums
        assert low[r] == sums[math.ceil(n * Fraction(str(tail))) - 1]
        assert high[r] == sums[math.ceil(n * (1 - Fraction(str(tail)))) - 1]


def test_logistic_of_arrays_is_symmetric_and_exact_to_rounding():
    x = np.linspace(-40, 40, 321).reshape(3, 107)
    found = logistic(x)
    assert found.shape == x.shape
    assert found == pytest.approx(1.0 / (1.0 + np.exp(-x)), rel=1e-14)
    assert found + found[::-1, ::-1] == pytest.approx(np.ones_like(x), abs=1e-15)
