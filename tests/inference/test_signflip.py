"""The exact sign-flip test: published values, full enumeration, SciPy, and ties."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.inference import sign_flip
from simtrack.inference.exact.signflip_law import (
    as_integers,
    choose_route,
    count_by_convolution,
    count_by_lists,
)

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
STATXACT = [149, -51, 0, -126, 106, 20, 0, 52, 292, 0, 103, 0, 84, 89, 159, 404, 500, 259, 14, 2600]


def enumerated(differences, alternative="two-sided") -> Fraction:
    """List all sign patterns in exact arithmetic."""
    d = [Fraction(str(x)) if isinstance(x, float) else Fraction(x) for x in differences]
    observed, hits = sum(d), 0
    for signs in itertools.product((1, -1), repeat=len(d)):
        total = sum(s * abs(x) for s, x in zip(signs, d, strict=True))
        if alternative == "two-sided":
            hits += abs(total) >= abs(observed)
        else:
            hits += total >= observed if alternative == "greater" else total <= observed
    return Fraction(hits, 2 ** len(d))


@pytest.mark.parametrize(
    ("differences", "right"),
    [
        (DARWIN, Fraction(1726, 32768)),  # Fisher 1935, The Design of Experiments, section 21
        ([-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5], Fraction(40, 4096)),
        ([0.7, 0.1, -0.3, 0.2, 0.3], Fraction(12, 32)),  # H04: float sums lose two ties
        ([0.3, 0.1, 0.4, 0.2], Fraction(2, 16)),  # H19
        ([1] * 10, Fraction(2, 1024)),  # H05: an exact p gets no +1
        ([1] * 6 + [-1] * 6, Fraction(1)),  # H07: never above 1
        ([1] * 5 + [0] * 2, Fraction(1, 16)),  # H08 joined by id
    ],
)
def test_known_two_sided_values(differences, right):
    assert sign_flip(differences).exact == right


def test_darwins_one_sided_value():
    assert sign_flip(DARWIN, alternative="greater").exact == Fraction(863, 32768)
    strictly = 1 - sign_flip(DARWIN, alternative="less").exact
    assert strictly == Fraction(835, 32768)


def test_statxact_table_8_1_with_zeros():
    two, one = sign_flip(STATXACT), sign_flip(STATXACT, alternative="greater")
    assert round(two.pvalue, 8) == 0.00213623
    assert round(one.pvalue, 9) == 0.001068115
    assert (two.clusters, two.zeros) == (20, 4)


def test_h06_a_tiny_p_keeps_its_digits():
    p = sign_flip([1] * 76 + [-1] * 4)
    assert p.exact == Fraction(2 * sum(math.comb(80, i) for i in range(5)), 2**80)
    assert p.pvalue == pytest.approx(2.7577887293885e-18, rel=1e-13, abs=0)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_integers_equal_enumeration(differences, alternative):
    assert sign_flip(differences, alternative=alternative).exact == enumerated(
        differences, alternative
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.fractions(-2, 2, max_denominator=12), min_size=1, max_size=8),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_fractions_of_unequal_denominators_equal_enumeration(differences, alternative):
    assert sign_flip(differences, alternative=alternative).exact == enumerated(
        differences, alternative
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=9))
def test_irrational_multiples_of_integers_have_the_same_ties(differences):
    """Rounding spreads what are ties in exact arithmetic; √2·d must count as d does."""
    real = sign_flip([d * math.sqrt(2.0) for d in differences])
    assert real.exact == enumerated(differences)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-3, 3, allow_nan=False), min_size=2, max_size=8).filter(any),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_scipy_agrees_where_it_enumerates(differences, alternative):
    from scipy.stats import permutation_test

    d = np.round(differences, 2)  # SciPy rounds ties off at 1e-14: keep sums well apart or equal
    right = permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative=alternative
    )
    if alternative == "two-sided":
        # SciPy doubles the smaller tail; ours counts |sum|. The law is symmetric, so they agree.
        assert sign_flip(d).pvalue == pytest.approx(min(1.0, right.pvalue), rel=1e-12)
    else:
        found = sign_flip(d, alternative=alternative).pvalue
        assert found == pytest.approx(right.pvalue, rel=1e-12)


@pytest.mark.parametrize("size", [3, 16, 17, 21])
def test_all_routes_count_alike(size):
    sizes = [(37 * k * k + 11) % 101 + 1 for k in range(size)]
    for share in (0, 3, 10):
        bound = sum(sizes) * share // 10
        convolved = count_by_convolution(sizes, bound)
        assert count_by_lists(sizes, bound) == convolved
        assert count_by_lists([s / 7.0 for s in sizes], bound / 7.0) == convolved


def test_67_clusters_are_exact():
    """No int64 holds 2^67: compare with a plain dictionary of sums."""
    d = [(k * k) % 9 - 3 for k in range(67)]
    law = {0: 1}
    for x in d:
        step: dict[int, int] = {}
        for total, ways in law.items():
            for moved in (total + x, total - x):
                step[moved] = step.get(moved, 0) + ways
        law = step
    hits = sum(ways for total, ways in law.items() if abs(total) >= abs(sum(d)))
    assert sign_flip(d).exact == Fraction(hits, 2**67)


def test_large_whole_numbers_with_ties_are_listed_exactly():
    d = [10**15, 10**15 + 1, -(10**15), 1, 1]
    assert choose_route(5, sum(map(abs, d))) == "enumeration"
    assert sign_flip(d).exact == enumerated(d)


def test_routes():
    rng = np.random.default_rng(1)
    assert sign_flip(rng.normal(size=12)).route == "enumeration"
    assert sign_flip(rng.normal(size=20)).route == "meet-in-the-middle"
    assert sign_flip(rng.normal(size=45), n_resamples=99).route == "monte-carlo"
    assert as_integers([0.1 + 0.2]) is None
    assert sign_flip([0.1, 0.2]).computation == "convolution"


def test_meeting_in_the_middle_equals_full_enumeration():
    d = np.random.default_rng(2).normal(0.3, 1.0, size=18)
    sums = np.zeros(1)
    for x in np.abs(d):
        sums = np.concatenate([sums + x, sums - x])
    hits = int((np.abs(sums) >= abs(d.sum()) * (1 - 1e-12)).sum())
    assert sign_flip(d).exact == Fraction(hits, 2**18)


def test_a_zero_mean_has_p_one():
    assert sign_flip([2.5, -2.5, 0.1 + 0.2, -(0.1 + 0.2)]).exact == 1
    assert sign_flip([0, 0, 0]).exact == 1
    assert "nothing to test" in sign_flip([0, 0, 0]).notes[0]


def test_h05_monte_carlo_never_gives_zero():
    tests = [sign_flip([1] * 10, n_resamples=999, seed=s) for s in range(30)]
    values = {t.pvalue for t in tests}
    assert min(values) == 1 / 1000  # (0 + 1) / (999 + 1): chance .142 a seed, .99 over 30
    assert len(values) > 1
    assert all(t.exact is None and t.mcse is not None and t.n_resamples == 999 for t in tests)


def test_monte_carlo_agrees_with_the_exact_value_and_repeats_itself():
    exact = sign_flip(DARWIN)
    found = sign_flip(DARWIN, n_resamples=20_000, seed=3)
    assert abs(found.pvalue - exact.pvalue) < 5 * found.mcse  # odds of a false alarm 6e-7
    assert found.pvalue == sign_flip(DARWIN, n_resamples=20_000, seed=3).pvalue
    one = sign_flip(DARWIN, alternative="less", n_resamples=20_000, seed=3)
    assert abs(one.pvalue - (1 - 835 / 32768)) < 5 * one.mcse


def test_the_floor_and_the_refusal():
    five = sign_flip([1, 2, 3, 4, 6])
    assert five.floor == Fraction(2, 32)
    assert five.refusal(0.05) == (
        "the smallest two-sided p of 5 differences that are not 0 is 2/32 = 0.0625, above 0.05"
    )
    assert sign_flip([1, 2, 3, 4, 6, 7]).refusal(0.05) is None  # 2/64
    assert sign_flip([1, 2, 3, 4, 6, 0]).floor == Fraction(2, 32)  # zeros do not count
    assert sign_flip([1, 2, 3, 4, 6], alternative="less").floor == Fraction(1, 32)
    assert sign_flip([0]).refusal(0.05).endswith("is 1/1 = 1, above 0.05")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "at least one number"),
        ([1.0, math.nan], r"finite, got nan \(position 2\)"),
        (["1"], "numbers"),
        ([True], "numbers"),
    ],
)
def test_what_is_no_list_of_differences_is_refused(bad, message):
    with pytest.raises(InputError, match=message):
        sign_flip(bad)


def test_the_dictionary_keeps_the_fraction():
    plain = sign_flip([0.7, 0.1, -0.3, 0.2, 0.3]).to_dict()
    assert plain["schema"] == "simtrack.sign-flip/1"
    assert plain["pvalue_exact"] == "3/8"
    assert plain["guarantee"] == "finite-sample"


def test_ties_are_a_share_of_the_differences_however_small():
    """An absolute tolerance makes all sums of small differences tie."""
    d = [7, 1, -3, 2, 3, 5]
    assert sign_flip([x * math.sqrt(2.0) * 1e-14 for x in d]).exact == enumerated(d)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e9, 1e12])
def test_computed_reals_of_any_size_keep_their_ties(scale):
    """A large float with many digits was computed, however short its fraction is."""
    d = [6, -8, 5, -5, 4, 6, 9, 6]
    assert sign_flip([x * math.sqrt(2.0) * scale for x in d]).exact == enumerated(d)


def test_what_only_rounding_keeps_from_zero_is_zero():
    d = [0.1 + 0.2 - 0.3] * 8 + [1.0, 0.7, 1.3, 0.9]
    found = sign_flip(d)
    assert (found.zeros, float(found.floor)) == (8, 2 / 16)


def test_many_reals_are_bounded_without_chance():
    rng = np.random.default_rng(8)
    whole = rng.integers(-900, 1400, 60).tolist()
    exact = float(sign_flip(whole).exact)  # integers: counted by convolution
    found = sign_flip([x * math.pi for x in whole])  # the same signs, as reals
    assert found.route == "inversion"
    assert found.guarantee == "finite-sample"
    assert exact <= found.pvalue <= exact * 1.01
    for alternative in ("greater", "less"):
        one = sign_flip([x * math.pi for x in whole], alternative=alternative)
        exact_one = float(sign_flip(whole, alternative=alternative).exact)
        assert exact_one * (1 - 1e-9) <= one.pvalue <= exact_one * 1.02 + 1e-12


def test_a_drawn_p_value_cannot_go_below_its_own_floor():
    found = sign_flip([1.0] * 30, n_resamples=999)
    assert found.floor == Fraction(1, 1000)
