"""The two-sample permutation test: published values, SciPy, full enumeration in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.exact.permutation import permutation_test, permutation_totals
from simtrack.inference.exact.permutation_law import (
    Stratum,
    extreme_by_convolution,
    extreme_by_lists,
    extreme_by_size,
    subset_law,
)

BLOOD = [94, 108, 110, 90], [80, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88]
SIDES = ["two-sided", "greater", "less"]


def enumerated(groups, weights, alternative) -> Fraction:
    """List all assignments within strata; the statistic is the weighted difference of means."""

    def means_of(group):
        pooled = [Fraction(v) for v in group[0] + group[1]]
        n, total = len(group[0]), sum(pooled)
        return [
            sum(pooled[k] for k in chosen) / n
            - (total - sum(pooled[k] for k in chosen)) / (len(pooled) - n)
            for chosen in itertools.combinations(range(len(pooled)), n)
        ]

    laws = [means_of(group) for group in groups]
    observed = sum(w * law[0] for w, law in zip(weights, laws, strict=True))
    hits = total = 0
    for gaps in itertools.product(*laws):
        gap = sum(w * g for w, g in zip(weights, gaps, strict=True))
        total += 1
        if alternative == "two-sided":
            hits += abs(gap) >= abs(observed)
        else:
            hits += gap >= observed if alternative == "greater" else gap <= observed
    return Fraction(hits, total)


def test_statxact_table_9_6_blood_pressure():
    """T = 402: one-sided 77/1365 = .0564, two-sided .1040."""
    assert sum(BLOOD[0]) == 402
    one, two = permutation_test(*BLOOD, alternative="greater"), permutation_test(*BLOOD)
    assert one.exact == Fraction(77, 1365)
    assert f"{two.pvalue:.4f}" == "0.1040"
    assert (two.assignments, two.route) == (1365, "convolution")


def test_gardner_altman_61_and_45_of_80():
    """Gardner and Altman (1989): exact p = .0118; SciPy's Fisher test beside it."""
    from scipy.stats import fisher_exact

    found = permutation_test([1] * 61 + [0] * 19, [1] * 45 + [0] * 35)
    assert f"{found.pvalue:.4f}" == "0.0118"
    right = fisher_exact([[61, 19], [45, 35]]).pvalue
    assert found.pvalue == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("alternative", SIDES)
def test_darwins_maize_unpaired(alternative):
    """Pitman's test of the two groups of 15 by SciPy's enumeration on the first 6 of each."""
    from scipy.stats import permutation_test as scipy_test

    crossed = [188, 96, 168, 176, 153, 172]
    selfed = [139, 163, 160, 160, 147, 149]
    right = scipy_test(
        (crossed, selfed),
        lambda x, y, axis: x.mean(axis) - y.mean(axis),
        vectorized=True, n_resamples=np.inf, alternative=alternative,
    )  # fmt: skip
    found = permutation_test(crossed, selfed, alternative=alternative)
    assert found.statistic == pytest.approx(right.statistic)
    assert found.pvalue == pytest.approx(min(1.0, right.pvalue), rel=1e-12)  # symmetric


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=5),
    st.lists(st.integers(-6, 6), min_size=1, max_size=5),
    st.sampled_from(SIDES),
)
def test_integers_and_reals_equal_enumeration(first, second, alternative):
    right = enumerated([(first, second)], [1], alternative)
    found = permutation_test(first, second, alternative=alternative)
    assert found.exact == right
    assert found.floor <= right
    # The same ties must be found where rounding has spread them.
    third = math.sqrt(2.0)
    real = permutation_test(
        [v * third + 5.1 for v in first], [v * third + 5.1 for v in second],
        alternative=alternative,
    )  # fmt: skip
    assert real.exact == right
    assert real.floor == found.floor


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), min_size=1, max_size=3),
            st.lists(st.integers(0, 4), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(SIDES),
    st.sampled_from(["mean-difference", "sum"]),
)
def test_strata_equal_enumeration(groups, alternative, statistic):
    sizes = [(len(a), len(b)) for a, b in groups]
    raw = [Fraction(n * m, n + m) if statistic == "sum" else Fraction(n + m) for n, m in sizes]
    weights = [w / sum(raw) for w in raw]
    labels = tuple(
        [f"s{k}" for k, group in enumerate(groups) for _ in group[side]] for side in (0, 1)
    )
    first = [v for a, _ in groups for v in a]
    second = [v for _, b in groups for v in b]
    found = permutation_test(
        first, second, strata=labels, statistic=statistic, alternative=alternative
    )
    right = enumerated(groups, weights, alternative)
    assert found.exact == right
    gaps = [Fraction(sum(a), len(a)) - Fraction(sum(b), len(b)) for a, b in groups]
    expected = sum(w * g for w, g in zip(weights, gaps, strict=True))
    assert found.statistic == pytest.approx(float(expected), rel=1e-14, abs=1e-15)
    shift = math.sqrt(3.0)
    real = permutation_test(
        [v * shift for v in first], [v * shift for v in second],
        strata=labels, statistic=statistic, alternative=alternative,
    )  # fmt: skip
    assert (real.exact, real.route) == (right, "convolution" if not any(first + second) else
                                        "enumeration")  # fmt: skip


def test_strata_with_one_group_tell_nothing():
    plain = permutation_test([3, 5], [1, 2])
    found = permutation_test([3, 5, 9], [1, 2], strata=(["a", "a", "b"], ["a", "a"]))
    assert found.exact == plain.exact
    assert found.notes == ("1 strata with one group only left out: nothing to compare there",)
    with pytest.raises(InputError, match="shared by both groups"):
        permutation_test([3], [1], strata=(["a"], ["b"]))


@pytest.mark.parametrize("chosen", [1, 4, 9])
def test_all_routes_count_alike(chosen):
    values = [(37 * k * k + 11) % 23 for k in range(10)]
    whole = [Stratum(tuple(values), chosen, 1)]
    real = [Stratum(tuple(v / 7.0 for v in values), chosen, 1.0)]
    for observed in (-40, 0, 7, 60):
        for sides in (1, 2):
            count = extreme_by_convolution(whole, observed, sides)
            assert extreme_by_lists(real, observed / 7.0, sides) == count
            assert extreme_by_size(real, observed / 7.0, sides) == count


def test_meeting_in_the_middle_is_taken_beyond_the_list():
    rng = np.random.default_rng(3)
    first, second = rng.normal(1.0, 1.0, 12), rng.normal(0.0, 1.0, 12)
    found = permutation_test(first, second)
    assert (found.route, found.assignments) == ("meet-in-the-middle", math.comb(24, 12))
    pooled = np.concatenate([first, second])
    pooled -= pooled.mean()
    half = np.array(list(itertools.combinations(pooled[:12], 6))).sum(1)
    assert half.size == math.comb(12, 6)
    scaled = np.rint(pooled * 2**20).astype(np.int64)  # the same values, a little rounded
    counted = extreme_by_convolution(
        [Stratum(tuple((scaled // 2**10).tolist()), 12, 1)],
        int(24 * (scaled // 2**10)[:12].sum() - 12 * (scaled // 2**10).sum()),
        2,
    )
    assert counted / found.assignments == pytest.approx(found.pvalue, rel=0.02)


def test_subset_law_counts_every_subset():
    values = [4, -2, 4, 10, 1, 1]
    for chosen in range(1, 7):
        start, step, ways = subset_law(values, chosen)
        sums = [sum(c) for c in itertools.combinations(values, chosen)]
        for k, count in enumerate(ways):
            assert count == sums.count(start + k * step)
        assert sum(ways) == math.comb(6, chosen)


def test_67_tasks_of_counts_are_exact():
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 11, 33), rng.integers(1, 11, 34)
    found = permutation_test(first, second)
    assert found.route == "convolution"
    random = permutation_test(first, second, n_resamples=20_000, seed=1)
    assert abs(random.pvalue - found.pvalue) < 5 * random.mcse  # false alarm 6e-7


def test_monte_carlo_never_gives_zero_and_repeats_itself():
    first, second = list(range(20, 40)), list(range(20))
    found = permutation_test(first, second, n_resamples=999, seed=5)
    assert found.pvalue == 1 / 1000  # (0 + 1) / (999 + 1): a hit has chance 1e-11
    assert found.exact is None
    assert found.computation == "monte-carlo"
    other = permutation_test(*BLOOD, n_resamples=30_000, seed=6)
    assert other.pvalue == permutation_test(*BLOOD, n_resamples=30_000, seed=6).pvalue
    assert abs(other.pvalue - 0.1040293) < 5 * other.mcse


def test_many_reals_go_to_monte_carlo_and_say_so():
    rng = np.random.default_rng(7)
    found = permutation_test(rng.normal(size=30), rng.normal(size=30))
    assert found.route == "monte-carlo"
    assert found.notes[0].startswith("too many assignments to count exactly: 99999 random")


def test_the_floor_and_the_refusal():
    four = permutation_test([1, 2], [3, 4])
    assert four.floor == Fraction(2, 6)
    assert four.refusal() == (
        "the smallest two-sided p of 2 against 2 clusters is 1/3 = 0.3333, above 0.05"
    )
    unequal = permutation_test([1, 2], [3, 4, 5, 7])
    assert unequal.floor == Fraction(1, 15)  # sizes differ, so only one end is that far out
    assert permutation_test(*BLOOD).refusal(0.05) is None
    tied = permutation_test([1, 1, 1], [0, 0, 0, 0, 1])
    assert tied.floor == Fraction(2 * math.comb(4, 3), 56)


def test_all_equal_values_have_p_one():
    for value in (3, 0.1 + 0.2):
        found = permutation_test([value] * 3, [value] * 4)
        assert found.exact == 1
        assert found.floor == 1


def test_totals_of_arms_that_share_no_cluster():
    tops, bottoms = [[3, 0], [2, 0], [0, 1], [0, 0]], [[4, 0], [2, 0], [0, 3], [0, 5]]
    found = permutation_totals(Totals.from_arrays(tops, bottoms), alternative="greater")
    assert found.exact == Fraction(1, 6)
    assert found.statistic == pytest.approx((3 / 4 + 1) / 2 - (1 / 3) / 2)
    with pytest.raises(InputError, match="share no cluster, got 1 shared"):
        permutation_totals(Totals.from_arrays([[1, 1]], [[2, 2]]))


def test_totals_within_strata():
    totals = Totals.from_arrays([[3, 0], [2, 0], [0, 1], [0, 0], [1, 0]],
                                [[4, 0], [2, 0], [0, 3], [0, 5], [9, 0]])  # fmt: skip
    found = permutation_totals(totals, strata=["a", "b", "a", "b", "c"])
    plain = permutation_test(
        [Fraction(3, 4), 1], [Fraction(1, 3), 0], strata=(["a", "b"], ["a", "b"])
    )
    assert (found.exact, found.statistic) == (plain.exact, plain.statistic)
    assert found.exact == Fraction(2, 4)
    with pytest.raises(InputError, match="a label for 5 clusters"):
        permutation_totals(totals, strata=["a"])


def test_totals_of_scores():
    totals = Totals.from_arrays([[1.5, 0], [0, 0.25]], [[2, 0], [0, 1]], square=[[2, 0], [0, 1]])
    assert permutation_totals(totals).statistic == 0.5


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [1], "first must be at least one number, got none"),
        ([1], [math.nan], r"second must be finite, got nan \(position 1\)"),
        ([1], ["a"], "second must be numbers"),
    ],
)
def test_what_is_no_group_is_refused(first, second, message):
    with pytest.raises(InputError, match=message):
        permutation_test(first, second)


def test_strata_of_another_length_are_refused():
    with pytest.raises(InputError, match="a label for each of 2 of second"):
        permutation_test([1], [2, 3], strata=(["a"], ["a"]))
