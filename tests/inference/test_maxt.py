"""Max-T by joint sign flips: Westfall and Young's step-down rule by brute force in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simtrack.errors import InputError
from simtrack.inference import sign_flip
from simtrack.inference.exact.maxt import max_t
from simtrack.inference.exact.multiplicity import bonferroni

SIDES = ["two-sided", "greater", "less"]


def brute(table, alternative):
    """All 2^G patterns in integers; T²/Σd² (with its sign) orders like T/sqrt(Σd²)."""
    g, h = len(table), len(table[0])
    square = [sum(row[j] ** 2 for row in table) for j in range(h)]

    def extremity(signs):
        found = []
        for j in range(h):
            t = sum(s * row[j] for s, row in zip(signs, table, strict=True))
            t = {"two-sided": abs(t), "greater": t, "less": -t}[alternative]
            found.append(Fraction(t * abs(t), square[j]))
        return found

    seen = extremity([1] * g)
    order = sorted(range(h), key=lambda j: -seen[j])
    patterns = [extremity(signs) for signs in itertools.product((1, -1), repeat=g)]
    own = [Fraction(sum(p[j] >= seen[j] for p in patterns), 2**g) for j in range(h)]
    single = [Fraction(sum(max(p) >= seen[j] for p in patterns), 2**g) for j in range(h)]
    stepped, least = [Fraction(0)] * h, Fraction(0)
    for place, j in enumerate(order):
        rest = order[place:]
        least = max(
            least, Fraction(sum(max(p[k] for k in rest) >= seen[j] for p in patterns), 2**g)
        )
        stepped[j] = least
    return own, single, stepped


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(-5, 5)),
    st.sampled_from(SIDES),
)
def test_all_patterns_by_brute_force(table, alternative):
    if not table.any(axis=0).all():
        return
    found = max_t(table, alternative=alternative)
    own, single, stepped = brute(table.tolist(), alternative)
    assert found.pvalues.tolist() == [float(p) for p in own]
    assert found.single_step.tolist() == [float(p) for p in single]
    assert found.adjusted.tolist() == [float(p) for p in stepped]


def test_one_contrast_is_the_sign_flip_test():
    d = [-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5]
    found = max_t(np.array(d)[:, None])
    assert found.adjusted[0] == float(sign_flip(d).exact) == 40 / 4096
    assert found.floor == Fraction(2, 4096)


def test_copies_of_one_contrast_cost_nothing():
    d = np.array([3.0, 1, 2, 4, 1, 2, -1, 3])
    found = max_t(np.stack([d, 2 * d, d / 7], axis=1))
    assert found.adjusted.tolist() == [sign_flip(d.tolist()).pvalue] * 3
    assert bonferroni(found.pvalues)[0] == 3 * found.adjusted[0]


def test_missing_clusters_are_left_out_of_their_contrast_alone():
    d = np.array([[3, 1], [1, np.nan], [2, 2], [4, 3], [1, 1], [2, 2.0]])
    found = max_t(d)
    assert found.clusters.tolist() == [6, 5]
    assert found.pvalues.tolist() == [2 / 64, 2 / 32]
    assert found.means.tolist() == pytest.approx([13 / 6, 9 / 5])
    zeros = np.nan_to_num(d)
    assert found.adjusted.tolist() == max_t(zeros).adjusted.tolist()


def test_nothing_to_test_keeps_its_place():
    found = max_t([[1, 0, np.nan, 2], [2, 0, np.nan, 2], [1, 0, np.nan, -1]],
                  names=["a", "b", "c", "d"])  # fmt: skip
    assert np.isnan(found.adjusted).tolist() == [False, True, True, False]
    assert found.notes == (
        "b: every difference is 0, so there is nothing to test",
        "c: no cluster has it, so there is nothing to test",
    )
    alone = max_t([[1, 2], [2, 2], [1, -1]])
    assert found.adjusted[[0, 3]].tolist() == alone.adjusted.tolist()
    empty = max_t([[0.0], [0.0]])
    assert np.isnan(empty.adjusted).all()
    assert found.to_dict()["adjusted"][1] is None


def test_blocks_do_not_show():
    """15 clusters take more than one block: the same counts as one array of all patterns."""
    d = np.random.default_rng(1).integers(-4, 7, (15, 3))
    signs = 1 - 2 * ((np.arange(2**15)[:, None] >> np.arange(15)) & 1)
    t = np.abs(signs @ d).astype(float) / np.sqrt((d * d).sum(0))
    seen = np.abs(d.sum(0)) / np.sqrt((d * d).sum(0))
    found = max_t(d)
    assert found.patterns == 2**15
    right = (t.max(1)[:, None] >= seen * (1 - 1e-12)).mean(0)
    assert found.single_step.tolist() == right.tolist()
    for j in range(3):
        assert found.pvalues[j] == float(sign_flip(d[:, j]).exact)


def test_monte_carlo_counts_itself_and_repeats():
    rng = np.random.default_rng(2)
    d = rng.normal(0.4, 1.0, (12, 3))
    exact = max_t(d)
    random = max_t(d, n_resamples=20_000, seed=3)
    assert (np.abs(random.adjusted - exact.adjusted) < 5 * random.mcse + 1e-4).all()
    assert random.adjusted.tolist() == max_t(d, n_resamples=20_000, seed=3).adjusted.tolist()
    far = max_t(np.ones((40, 2)), n_resamples=99)
    assert far.adjusted.tolist() == [0.01, 0.01]  # (0 + 1) / (99 + 1)
    assert far.floor == Fraction(1, 100)
    assert far.computation == "monte-carlo"
    assert max_t(rng.normal(size=(21, 2))).n_resamples == 99_999


@settings(max_examples=30, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(2, 4)),
           elements=st.floats(-2, 2).map(lambda x: round(x, 2))),
)  # fmt: skip
def test_own_p_below_stepped_below_single_step_below_bonferroni(table):
    found = max_t(table)
    live = ~np.isnan(found.adjusted)
    own, stepped, single = (x[live] for x in (found.pvalues, found.adjusted, found.single_step))
    assert (own <= stepped).all()
    assert (stepped <= single).all()
    # Single step is at most the sum of what each contrast does at that height: no more than 1.
    assert (single <= 1.0).all()


def test_family_wise_error_is_held_exactly():
    """Under the null all patterns are equally likely: the share with any adjusted p <= .05."""
    d = np.array([[3, 1, 2], [1, 2, -2], [2, -1, 5], [4, 3, 1], [1, 1, -1], [2, 5, 3]])
    hits = sum(
        bool((max_t(d * np.array(signs)[:, None]).adjusted <= 0.05).any())
        for signs in itertools.product((1, -1), repeat=6)
    )
    assert 0 < Fraction(hits, 64) <= Fraction(1, 20)


def test_refusal_and_findings():
    d = np.ones((5, 2))
    assert max_t(d).refusal(0.05) == (
        "the smallest two-sided p of these clusters is 1/16 = 0.0625, above 0.05"
    )
    assert max_t(d).refusal(0.07) is None
    found = max_t(np.array([[1, 1], [1, -1], [1, 1], [1, -1], [1, 1], [1, -1]]), names=["a", "b"])
    # Two patterns make all of a alike, two others all of b: 4 of 64 reach the maximum.
    assert found.adjusted.tolist() == [4 / 64, 1.0]
    assert found.rejected(0.05) == ()
    assert found.rejected(0.0625) == ("a",)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 2], "a table, clusters by hypotheses"),
        ([[math.inf]], "finite or NaN"),
        ([["a"]], "numbers, clusters by hypotheses"),
        (np.empty((0, 2)), "a table"),
    ],
)
def test_what_is_no_table_is_refused(bad, message):
    with pytest.raises(InputError, match=message):
        max_t(bad)
    with pytest.raises(InputError, match="a name for each of 1"):
        max_t([[1.0]], names=["a", "b"])
