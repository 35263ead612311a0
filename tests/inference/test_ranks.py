"""Kendall's τ: exact laws against enumeration, SciPy and printed values of R."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simtrack.errors import InputError
from simtrack.inference.agreement.ranks import kendall_tau, score_law

ROUNDING = 1e-12
# Hollander and Wolfe (1973), p. 187: Hunter L values of canned tuna and panel scores.
TUNA = (
    [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1],
    [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8],
)
EXTREME = {
    "two-sided": lambda s, seen: abs(s) >= abs(seen),
    "greater": lambda s, seen: s >= seen,
    "less": lambda s, seen: s <= seen,
}


def sign(v):
    return (v > 0) - (v < 0)


def scores(x, y):
    """S of every pairing, by enumeration of permutations."""
    pairs = list(itertools.combinations(range(len(x)), 2))
    return Counter(
        sum(sign(x[i] - x[j]) * sign(p[i] - p[j]) for i, j in pairs)
        for p in itertools.permutations(y)
    )


def test_h13_balanced_pairs_have_p_1_and_never_more():
    found = kendall_tau([1, 2, 3, 4, 5], [3, 5, 1, 2, 4])
    assert (found.statistic, found.pvalue, found.exact) == (0.0, 1.0, 1)
    for y in itertools.permutations(range(5)):
        assert kendall_tau(range(5), y).exact <= 1


def test_tuna_as_r_prints_it():
    found = kendall_tau(*TUNA)  # R: T = 26, p-value = 0.1194, tau 0.4444444
    assert (found.concordant, round(found.pvalue, 4)) == (26, 0.1194)
    assert found.statistic == pytest.approx(4 / 9, rel=ROUNDING)
    assert found.exact == Fraction(sum(
        ways for s, ways in scores_without_ties(9).items() if abs(s) >= 16
    ), math.factorial(9))  # fmt: skip


def scores_without_ties(n):
    law = Counter({0: 1})
    for k in range(1, n):
        law = sum((Counter({s + k - 2 * d: w for s, w in law.items()}) for d in range(k + 1)),
                  Counter())  # fmt: skip
    return law


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
    ),
    st.sampled_from(sorted(EXTREME)),
)
def test_p_and_floor_are_those_of_every_permutation_with_ties(xy, alternative):
    x, y = xy
    found = kendall_tau(x, y, alternative=alternative)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert (found.statistic, found.pvalue) == (None, 1.0)
        assert "constant" in found.notes[0]
        return
    law, total = scores(x, y), math.factorial(len(x))
    holds = EXTREME[alternative]
    tails = {
        seen: Fraction(sum(w for s, w in law.items() if holds(s, seen)), total) for seen in law
    }
    assert found.exact == tails[found.score]
    assert found.floor == min(tails.values())
    assert found.statistic == pytest.approx(stats.kendalltau(x, y).statistic, abs=ROUNDING)


def test_eight_items_with_ties_in_both_by_enumeration():
    x, y = [1, 1, 2, 3, 3, 3, 4, 5], [2, 1, 2, 2, 3, 5, 4, 4]
    law = scores(x, y)
    found = kendall_tau(x, y)
    right = sum(w for s, w in law.items() if abs(s) >= abs(found.score))
    assert found.exact == Fraction(right, math.factorial(8))


@pytest.mark.parametrize("n", [3, 8, 30, 100])
def test_without_ties_it_is_scipys_exact_p(n):
    x = np.arange(n)
    y = (x * 7 + (x * x) % 5) % n + x / 1000
    right = stats.kendalltau(x, y, method="exact")
    found = kendall_tau(x, y)
    assert found.pvalue == pytest.approx(right.pvalue, rel=1e-9)
    assert found.exact is not None
    for alternative in ("greater", "less"):
        right = stats.kendalltau(x, y, method="exact", alternative=alternative)
        assert kendall_tau(x, y, alternative=alternative).pvalue == pytest.approx(
            right.pvalue, rel=1e-9
        )


def test_a_law_is_the_same_whichever_ranking_is_dealt_out():
    # Π (t + 1) decides which side is the state; the law may not depend on it.
    for first, second in (((2, 1, 3), (1, 2, 2, 1)), ((4, 2), (1, 1, 2, 2)), ((2, 2), (3, 1))):
        one, two = score_law(first, second), score_law(second, first)
        assert {k - one.offset: Fraction(w, one.total) for k, w in enumerate(one.ways) if w} == {
            k - two.offset: Fraction(w, two.total) for k, w in enumerate(two.ways) if w
        }


def test_binary_rankings_are_the_hypergeometric_law():
    # Two binary variables: S = ad - bc, so Fisher's exact test of the 2 x 2 table.
    x, y = [0] * 9 + [1] * 8, [0] * 7 + [1] * 2 + [0] * 2 + [1] * 6
    found = kendall_tau(x, y, alternative="greater")
    right = stats.fisher_exact([[7, 2], [2, 6]], alternative="greater")
    assert found.pvalue == pytest.approx(right.pvalue, rel=1e-10)


def test_too_many_ties_to_count_give_scipys_normal_approximation():
    x = np.arange(600) % 37
    y = (np.arange(600) * 11) % 41 + x // 9
    found = kendall_tau(x, y)
    right = stats.kendalltau(x, y, method="asymptotic")
    assert (found.exact, found.guarantee) == (None, "asymptotic")
    assert "normal approximation" in found.notes[0]
    assert 1e-6 < right.pvalue < 0.9
    assert found.pvalue == pytest.approx(right.pvalue, rel=1e-9)
    one = kendall_tau(x, y, alternative="greater").pvalue
    assert min(one, 1 - one) == pytest.approx(right.pvalue / 2, rel=1e-9)


def test_tau_a_divides_by_all_pairs():
    x, y = [1, 1, 2, 3], [1, 2, 3, 3]
    found = kendall_tau(x, y, variant="a")
    assert (found.score, found.statistic) == (4, 4 / 6)
    assert kendall_tau(x, y).statistic == pytest.approx(4 / 5)  # sqrt((6-1)(6-1))


def test_the_floor_refuses_what_cannot_reach_alpha():
    found = kendall_tau([1, 2, 3], [1, 2, 3])
    assert found.floor == Fraction(1, 3)
    assert "above 0.05" in found.refusal()
    assert kendall_tau(range(5), range(5)).refusal() is None


def test_missing_values_and_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="none missing"):
        kendall_tau([1, math.nan], [1, 2])
    with pytest.raises(InputError, match="second must be of 2 values"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="at least two items"):
        kendall_tau([1], [1])
