"""The inverted interval: what the test itself rejects, and full enumeration in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from simtrack.inference import sign_flip, sign_flip_interval
from simtrack.inference.exact.signflip_interval import _ends_by_law, _ends_by_listing

LIST = [-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5]
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def subset_means(values) -> list[Fraction]:
    return sorted(
        Fraction(sum(chosen), size)
        for size in range(1, len(values) + 1)
        for chosen in itertools.combinations(values, size)
    )


def test_twelve_clusters_take_the_102nd_from_each_end():
    found, means = sign_flip_interval(LIST), subset_means(LIST)
    assert found.rank == 102
    assert found.attained == 1 - Fraction(204, 4096)
    assert (found.low, found.high) == (float(means[101]), float(means[-102]))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_the_law_of_size_and_sum_equals_enumeration(level):
    values = [7, -3, 0, 0, 4, -9, 1, 1, 5]
    means = subset_means(values)
    rank = math.floor((1 - level) / 2 * 2**9)
    assert _ends_by_law(values, rank) == (means[rank - 1], means[-rank])
    assert _ends_by_listing(values, rank) == (float(means[rank - 1]), float(means[-rank]))


def test_it_holds_the_shifts_that_the_test_does_not_reject():
    found, step = sign_flip_interval(DARWIN), Fraction(1, 10**6)
    for end, out in ((found.low, -1), (found.high, 1)):
        exact = Fraction(end).limit_denominator(15)  # a subset mean
        for shift, rejected in ((exact + out * step, True), (exact - out * step, False)):
            p = sign_flip([d - shift for d in DARWIN]).exact
            assert (p <= Fraction(1, 20)) is rejected


def test_darwin_just_misses_significance_so_zero_is_inside():
    found = sign_flip_interval(DARWIN)
    assert found.low < 0 < found.high
    assert sign_flip(DARWIN).pvalue > 0.05


def test_typed_decimals_keep_their_scale():
    tenths = [d / 10 for d in DARWIN]
    found, whole = sign_flip_interval(tenths), sign_flip_interval(DARWIN)
    assert (found.low, found.high) == pytest.approx((whole.low / 10, whole.high / 10), rel=1e-14)
    assert found.computation == "convolution"


def test_67_clusters_of_counts_are_exact_and_near_the_t_interval():
    d = np.random.default_rng(5).integers(-6, 9, 67)
    found = sign_flip_interval(d)
    half = 1.9966 * d.std(ddof=1) / math.sqrt(67)  # t(66) at .975
    assert found.low == pytest.approx(d.mean() - half, abs=0.05 * half)
    assert found.high == pytest.approx(d.mean() + half, abs=0.05 * half)


def test_too_few_are_refused_with_the_reason():
    few = sign_flip_interval([1, 2, 3, 4, 5])
    assert (few.low, few.high) == (None, None)
    assert few.notes == ("5 differences have no interval at 0.95: the widest has 0.9375",)
    assert few.guarantee == "asymptotic"


def test_ends_by_bounds_lie_just_beyond_the_listed_ones():
    """Twenty-two reals have four million subset means: all are listed here."""
    d = np.random.default_rng(1).normal(0.4, 1, 22)
    sums, sizes = np.zeros(1), np.zeros(1)
    for x in d:
        sums, sizes = np.concatenate([sums, sums + x]), np.concatenate([sizes, sizes + 1])
    means = np.sort(sums[1:] / sizes[1:])
    rank = math.floor(0.025 * 2**22)
    low, high = float(means[rank - 1]), float(means[-rank])
    found, slack = sign_flip_interval(d), 3e-3 * (high - low)
    assert found.computation == "quadrature"
    assert low - slack <= found.low <= low
    assert high <= found.high <= high + slack


@pytest.mark.parametrize("items", [1_319, 14_042])
def test_the_interval_of_many_clusters_comes_near_the_normal_limit(items):
    """Inverting d' = d - m against the sum of d'^2 gives m +- z s / sqrt(n - z^2)."""
    rng = np.random.default_rng(items)
    for d in (rng.choice([-1, 0, 1], items, p=[0.06, 0.86, 0.08]), rng.normal(0.01, 0.2, items)):
        found = sign_flip_interval(d)
        half = 1.959964 * d.std() / math.sqrt(items - 1.959964**2)
        atom = 1 / items if d.dtype.kind == "i" else 0.0
        assert found.low == pytest.approx(d.mean() - half, abs=3e-3 * half + atom)
        assert found.high == pytest.approx(d.mean() + half, abs=3e-3 * half + atom)


def test_an_interval_without_width_is_withheld():
    for d in ([0] * 50, [1] * 12, [0.25] * 1_319):
        found = sign_flip_interval(d)
        assert (found.low, found.high) == (None, None)
        assert found.notes[-1].code == "flat"
        assert f"both of its ends are {d[0]:g}" in found.notes[-1]
