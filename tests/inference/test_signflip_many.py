"""Many sign-flip tests at once: each equals the single exact one, and the twin in plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simtrack.errors import InputError
from simtrack.inference import sign_flip
from simtrack.inference.exact.signflip_law import sign_flip_pvalues
from simtrack.kernels.signflip import flip_integers, flip_reals

ROUNDING = 67 * 2.0**-52  # a halving a cluster, each exact but for one addition
SIDES = ["two-sided", "greater", "less"]


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(1, 9)),
           elements=st.integers(-12, 12)),
    st.sampled_from(SIDES),
)  # fmt: skip
def test_rows_equal_the_exact_test(rows, alternative):
    right = [float(sign_flip(row, alternative=alternative).exact) for row in rows]
    assert sign_flip_pvalues(rows, alternative=alternative).tolist() == right
    # √2 has no short decimal: the same ties by the other route.
    reals = sign_flip_pvalues(rows * 2.0**0.5, alternative=alternative)
    assert reals.tolist() == right


@pytest.mark.parametrize("alternative", SIDES)
def test_67_clusters_equal_the_fraction(alternative):
    rows = np.random.default_rng(1).integers(-6, 9, (20, 67))
    rows[0] = -np.abs(rows[0]) - 1  # the far end
    rows[1] = np.abs(rows[1]) + 1
    right = [float(sign_flip(row, alternative=alternative).exact) for row in rows]
    found = sign_flip_pvalues(rows, alternative=alternative)
    assert found.tolist() == pytest.approx(right, rel=ROUNDING, abs=0)
    assert min(right) < 1e-19 or alternative == "two-sided"


def test_published_values():
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    list_12 = [-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5]
    assert sign_flip_pvalues([darwin]).tolist() == [1726 / 32768]
    assert sign_flip_pvalues([darwin], alternative="greater").tolist() == [863 / 32768]
    assert sign_flip_pvalues([list_12]).tolist() == [40 / 4096]
    assert sign_flip_pvalues([[0.7, 0.1, -0.3, 0.2, 0.3]]).tolist() == [12 / 32]  # H04


def test_a_missing_cluster_is_no_cluster():
    rows = [[1.5, np.nan, 2.25, -0.5], [np.nan] * 4, [3.0, np.nan, 1.0, 1.0]]
    right = [sign_flip([1.5, 2.25, -0.5]).pvalue, 1.0, sign_flip([3, 1, 1]).pvalue]
    assert sign_flip_pvalues(rows).tolist() == right
    assert sign_flip_pvalues(rows[2:]).tolist() == right[2:]  # whole numbers: convolved


def test_large_integers_are_matched():
    row = [[10**7, 10**7 + 1, -(10**7), 1, 1]]
    assert sign_flip_pvalues(row).tolist() == [float(sign_flip(row[0]).exact)]


@pytest.mark.parametrize("side", [0, 1, -1])
def test_kernels_equal_their_plain_python(side):
    rng = np.random.default_rng(2)
    whole = rng.integers(-9, 10, (5, 7)) * np.array([[1], [2], [0], [3], [1]])
    found, plain = np.empty(5), np.empty(5)
    flip_integers(whole, side, found)
    flip_integers.py_func(whole, side, plain)
    assert found.tobytes() == plain.tobytes()
    reals = rng.normal(size=(5, 7))
    reals[2] = np.nan
    flip_reals(reals, side, 1e-12, found)
    flip_reals.py_func(reals, side, 1e-12, plain)
    assert found.tobytes() == plain.tobytes()


def test_a_row_does_not_depend_on_the_rows_beside_it():
    rows = np.random.default_rng(3).integers(-3, 4, (50, 12))
    together = sign_flip_pvalues(rows)
    assert together.tolist() == [float(sign_flip_pvalues(row[None])[0]) for row in rows]


def test_the_size_of_the_test_is_exactly_what_the_law_says():
    """All 2^6 sign patterns of six differences: the share with p <= 2/64 is 2/64."""
    signs = np.array(np.meshgrid(*[[1, -1]] * 6)).reshape(6, -1).T
    p = sign_flip_pvalues(signs * np.array([1, 2, 4, 8, 16, 32]))
    for k in range(1, 33):
        assert Fraction(int((p <= 2 * k / 64).sum()), 64) == Fraction(2 * k, 64)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(InputError, match="reals of 44 clusters, got 45 clusters"):
        sign_flip_pvalues(np.full((2, 45), 0.3))
    with pytest.raises(InputError, match="numbers, replicates by clusters"):
        sign_flip_pvalues([1, 2, 3])
    with pytest.raises(InputError, match="finite or NaN"):
        sign_flip_pvalues([[np.inf, 1.0]])
    assert sign_flip_pvalues(np.empty((0, 5))).size == 0
    assert sign_flip_pvalues(np.empty((2, 0))).tolist() == [1.0, 1.0]
