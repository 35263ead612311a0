"""Tests of contrasts by cluster: pairing by label, strata, warnings, intervals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Counts, Totals
from simtrack.errors import InputError
from simtrack.estimands import RATE, Contrast
from simtrack.inference import sign_flip, sign_flip_interval
from simtrack.inference.contrasts import cluster_contrasts, contrast_table
from simtrack.inference.exact.contrast_tests import (
    sign_flip_contrast,
    sign_flip_contrast_interval,
    sign_flip_stratified,
    sign_test_contrast,
)
from simtrack.inference.exact.maxt import max_t

PASSED = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]


def test_h19_four_clusters_can_reach_an_eighth_at_best():
    totals = Totals.from_arrays([[3, 0], [1, 0], [4, 0], [2, 0]], [[10, 10]] * 4)
    test = sign_flip_contrast(totals)
    assert test.exact == test.floor == Fraction(2, 16)
    assert test.refusal(0.05).endswith("is 2/16 = 0.125, above 0.05")
    attainable = {
        sign_flip([s * d for s, d in zip(signs, (3, 1, 4, 2), strict=True)]).exact
        for signs in itertools.product((1, -1), repeat=4)
    }
    assert attainable == {Fraction(k, 8) for k in (1, 2, 3, 5, 7, 8)}


def test_clusters_that_lack_a_term_are_left_out_and_counted():
    totals = Totals.from_arrays([*PASSED, [2, 0], [0, 1], [0, 0]],
                                [[4, 4]] * 7 + [[4, 0], [0, 4], [0, 0]])  # fmt: skip
    found = cluster_contrasts(totals)
    assert (len(found.values), found.left_out) == (7, 2)  # the last has no term at all
    test = sign_flip_contrast(totals, randomised=True)
    assert test.notes == ("clusters left out, which lack a term: 2",)
    assert test.exact == sign_flip([a - b for a, b in PASSED]).exact
    assert sign_test_contrast(totals).exact == Fraction(2, 64)
    with pytest.raises(InputError, match="at least one cluster that has all terms"):
        cluster_contrasts(Totals.from_arrays([[1, 0]], [[1, 0]]))


def test_a_contrast_of_models_and_stages_by_hand():
    """Mean over two models of (early - late): weights 1/2, -1/2, 1/2, -1/2 as floats."""
    cells, labels = [], {"model": [], "stage": []}
    clusters = []
    for g in range(6):
        for m, s in itertools.product("xy", ("early", "late")):
            passed = {"early": 3, "late": g % 3}[s]
            cells.append([4 - passed, passed])
            clusters.append(f"c{g}")
            labels["model"].append(m)
            labels["stage"].append(s)
    counts = Counts.from_cells(cells, outcomes=("FAIL", "PASS"), cluster=clusters,
                               conditions=labels)  # fmt: skip
    half = Fraction(1, 2)
    terms = [(half, RATE.at(model=m, stage="early")) for m in "xy"]
    terms += [(-half, RATE.at(model=m, stage="late")) for m in "xy"]
    totals, weights = Contrast("decay", tuple(terms)).stacked(counts)
    found = cluster_contrasts(totals, weights)
    assert found.values == tuple(Fraction(3 - g % 3, 4) for g in range(6))
    test = sign_flip_contrast(totals, weights)
    assert test.exact == Fraction(2, 64)
    assert test.statistic == pytest.approx(0.5)
    ends = sign_flip_contrast_interval(totals, weights)
    assert ends == sign_flip_interval(found.values)


def test_thirds_stay_exact():
    totals = Totals.from_arrays([[1, 1, 0], [2, 1, 0]], [[3, 3, 3]] * 2)
    found = cluster_contrasts(totals, [1 / 3, 1 / 3, -2 / 3])
    assert found.values == (Fraction(2, 9), Fraction(1, 3))
    irrational = cluster_contrasts(totals, [2**0.5, 1.0, 0.0])
    assert isinstance(irrational.values[0], float)


def test_a_table_of_contrasts_leaves_room_for_missing_clusters():
    totals = Totals.from_arrays(
        [[3, 1, 0], [2, 2, 1], [0, 1, 1]], [[4, 4, 0], [4, 4, 2], [0, 4, 4]]
    )
    table = contrast_table(totals, [[1, -1, 0], [0, 1, -1]])
    assert table.ravel().tolist() == pytest.approx(
        [0.5, np.nan, 0.0, 0.0, np.nan, 0.0], nan_ok=True
    )
    assert max_t(table).clusters.tolist() == [2, 2]


def test_scores_are_reals():
    totals = Totals.from_arrays([[1.5, 0.25], [1.0, 0.5]], [[2, 1], [2, 1]], square=np.ones((2, 2)))
    assert cluster_contrasts(totals).values == (0.5, 0.0)


def test_what_nobody_randomised_is_warned_of():
    totals = Totals.from_arrays(PASSED, [[4, 4]] * 7)
    note = sign_flip_contrast(totals).notes[-1]
    assert "was not assigned at random" in note
    d = np.array([a - b for a, b in PASSED]) / 4
    z = d - d.mean()
    skewness = (z**3).mean() / (z**2).mean() ** 1.5
    assert f"(the skewness of these is {skewness:+.2f})" in note
    assert sign_flip_contrast(totals, randomised=True).notes == ()
    flat = cluster_contrasts(Totals.from_arrays([[1, 0]] * 4, [[2, 2]] * 4))
    assert flat.skewness is None
    assert flat.symmetry_note().endswith("at random")


def test_bad_weights_are_refused():
    totals = Totals.from_arrays([[1, 0, 1]], [[2, 2, 2]])
    with pytest.raises(InputError, match="given for 3 terms"):
        cluster_contrasts(totals)
    for weights in ([1, -1], [0, 0, 0], [np.nan, 1, 1]):
        with pytest.raises(InputError, match="3 finite numbers, not all 0"):
            cluster_contrasts(totals, weights)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abc")), min_size=1, max_size=8),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_strata_that_count_alike_equal_enumeration(rows, alternative):
    d, strata = [v for v, _ in rows], [s for _, s in rows]
    kinds = sorted(set(strata))

    def mean_over_strata(values):
        means = [
            Fraction(sum(v for v, s in zip(values, strata, strict=True) if s == k), strata.count(k))
            for k in kinds
        ]
        return sum(means) / len(kinds)

    observed, hits = mean_over_strata(d), 0
    for signs in itertools.product((1, -1), repeat=len(d)):
        t = mean_over_strata([s * abs(v) for s, v in zip(signs, d, strict=True)])
        pair = {"two-sided": (abs(t), abs(observed)), "greater": (t, observed),
                "less": (-t, -observed)}[alternative]  # fmt: skip
        hits += pair[0] >= pair[1]
    found = sign_flip_stratified(d, strata, alternative=alternative)
    assert found.exact == Fraction(hits, 2 ** len(d))
    assert found.statistic == pytest.approx(float(observed), rel=1e-14, abs=1e-15)
    tenths = sign_flip_stratified([v / 10 for v in d], strata, alternative=alternative)
    assert tenths.exact == found.exact
    reals = sign_flip_stratified([v * 2**0.5 for v in d], strata, alternative=alternative)
    assert reals.exact == found.exact


def test_strata_by_cluster_label():
    totals = Totals.from_arrays([[4, 1], [3, 1], [0, 0], [4, 4]], [[4, 4], [4, 4], [0, 4], [4, 4]])
    found = sign_flip_contrast(totals, strata=["a", "a", "b", "b"], randomised=True)
    assert found.statistic == pytest.approx(((3 + 2) / 2 / 4 + 0) / 2)
    assert found.notes[-1] == "2 strata (a: 2, b: 1 clusters), each stratum counts alike"
    with pytest.raises(InputError, match="a label for 4 clusters"):
        sign_flip_contrast(totals, strata=["a"])


def test_clusters_that_count_alike_are_the_plain_test():
    d = [0.7, 0.1, -0.3, 0.2, 0.3]
    found = sign_flip_stratified(d, list("aabbb"), weights="clusters")
    assert found.exact == Fraction(12, 32)
    assert found.statistic == pytest.approx(0.2)
    assert found.notes[-1].endswith("each cluster counts alike")
    with pytest.raises(InputError, match="a label for each of 5"):
        sign_flip_stratified(d, ["a"])


def test_drawn_interval_is_near_the_exact_one():
    d = np.random.default_rng(5).integers(-6, 9, 67)
    exact, drawn = sign_flip_interval(d), sign_flip_interval(d, n_resamples=20_000, seed=6)
    for end, right, error in zip((drawn.low, drawn.high), (exact.low, exact.high), drawn.mcse,
                                 strict=True):  # fmt: skip
        assert abs(end - right) < 5 * error
    assert drawn.attained == 1 - Fraction(2 * 500, 20_001)
    # Six differences: the empty subset is 1 of 64 draws and shifts the rank by one.
    six = [1.0, 2.1, 4.3, 8.7, 16.2, -3.3]
    means = sorted(sum(c) / k for k in range(1, 7) for c in itertools.combinations(six, k))
    small = sign_flip_interval(six, level=0.9, n_resamples=20_000, seed=8)
    assert (small.low, small.high) == pytest.approx((means[2], means[-3]))  # floor(.05 x 64) = 3
    few = sign_flip_interval(d, n_resamples=10)
    assert few.notes == ("10 draws over 67 differences have no interval at 0.95: draw more",)
    many_reals = sign_flip_interval(np.random.default_rng(7).normal(size=50), n_resamples=999)
    assert many_reals.low < many_reals.high
