"""The sign test: published counts, SciPy, and ties that are said to be dropped."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import fair_coin_tail
from simtrack.inference.exact.sign_test import sign_test, sign_test_counts, sign_test_interval

SAME = 1e-13  # two floats of one exact number; relative


def test_rebind_load_contrast_45_up_1_down():
    """The ReBIND paper prints 1.3e-12 for 45 of 67 tasks up and 1 down."""
    test = sign_test_counts(45, 1, 21)
    assert test.exact == Fraction(2 * 47, 2**46)
    assert f"{test.pvalue:.1e}" == "1.3e-12"
    assert test.ties == 21
    assert test.notes == ("21 tied clusters left out: a sign test drops ties",)


def test_stageif_16_lower_3_tied_3_reversed():
    """StageIF, appendix L: of 22 endpoints 16 are lower, 3 tied, 3 reversed; C(19, i) by hand."""
    test = sign_test([-0.1] * 16 + [0.0] * 3 + [0.2] * 3)
    assert test.exact == Fraction(2 * (1 + 19 + 171 + 969), 2**19)
    assert (test.positive, test.negative, test.ties) == (3, 16, 3)


def test_floors_of_six_and_twelve_clusters():
    """StageIF, appendix O: the smallest p of six clusters is .031; of twelve 2/4096."""
    six, twelve = sign_test([1] * 6), sign_test([1] * 12)
    assert six.floor == six.exact == Fraction(2, 64)
    assert twelve.floor == twelve.exact == Fraction(2, 4096)
    assert six.refusal(0.05) is None
    assert six.refusal(0.03) == (
        "the smallest two-sided p of 6 up and 0 down is 1/32 = 0.03125, above 0.03"
    )
    assert sign_test([1] * 5).refusal(0.0625) is None  # reached, if only just
    assert sign_test([1] * 5 + [0]).refusal(0.05) is not None  # a tie is no cluster
    assert sign_test([1] * 5, alternative="greater").refusal(0.05) is None


def test_h06_tiny_p_values_keep_their_digits():
    test = sign_test_counts(76, 4)
    assert test.exact == Fraction(2 * sum(math.comb(80, i) for i in range(5)), 2**80)
    assert test.pvalue == pytest.approx(2.7577887293885e-18, rel=SAME, abs=0)


def test_statetrack_47_against_12_failures():
    assert sign_test_counts(47, 12).pvalue == pytest.approx(5.1e-6, abs=0.05e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(["two-sided", "greater", "less"]),
)
def test_scipy_binomtest(up, down, alternative):
    from scipy.stats import binomtest

    found = sign_test_counts(up, down, alternative=alternative)
    if up + down == 0:
        assert found.exact == 1
        assert found.statistic is None
        assert "nothing to test" in found.notes[-1]
        return
    right = binomtest(up, up + down, 0.5, alternative).pvalue
    assert found.pvalue == pytest.approx(right, rel=1e-12, abs=0)  # SciPy's own rounding
    assert float(found.exact) == found.pvalue


def test_many_tosses_go_to_the_incomplete_beta():
    from scipy.stats import binom

    exact, tail = fair_coin_tail(10_100, 20_400)
    assert exact is None
    assert tail == pytest.approx(float(binom.cdf(10_100, 20_400, 0.5)), rel=1e-10)
    assert fair_coin_tail(9_900, 20_000)[1] == pytest.approx(
        float(binom.cdf(9_900, 20_000, 0.5)), rel=1e-10
    )


def test_rounding_makes_no_sign():
    assert sign_test([0.1 + 0.2 - 0.3, 0.5, 0.25]).ties == 1
    assert sign_test([Fraction(1, 10**15), 1]).ties == 0


def test_median_interval_is_what_the_test_does_not_reject():
    d = [7, 1, 3, 9, 4, 2, 8, -3, 11, 6, 5, -1]
    found = sign_test_interval(d)
    assert found.rank == 3  # Conover, table A3: n = 12, P(X <= 2) = .0193
    assert (found.low, found.high) == (1.0, 8.0)
    for shift, rejected in ((0.999, True), (1.001, False), (7.999, False), (8.001, True)):
        assert (sign_test([x - shift for x in d]).exact <= Fraction(1, 20)) is rejected


def test_median_interval_covers_as_it_says():
    """Which side of the median each value falls on is a fair coin: list all patterns."""
    found = sign_test_interval(range(8), level=0.9)
    r, hits = found.rank, 0
    for pattern in itertools.product((0, 1), repeat=8):
        below = 8 - sum(pattern)
        hits += r <= below <= 8 - r  # the median lies between the two order statistics
    assert found.attained == Fraction(hits, 2**8)


def test_too_few_have_no_interval():
    found = sign_test_interval([1, 2, 3, 4, 5])
    assert (found.low, found.high) == (None, None)
    assert found.notes == ("5 differences have no interval at 0.95: the widest has 0.9375",)


def test_what_is_no_count_is_refused():
    with pytest.raises(InputError, match="positive must be an integer >= 0, got -1"):
        sign_test_counts(-1, 3)
    with pytest.raises(InputError, match="alternative"):
        sign_test([1], alternative="both")
    with pytest.raises(InputError, match="finite"):
        sign_test([np.nan])


def test_dictionary():
    plain = sign_test_counts(45, 1, 21).to_dict()
    assert plain["schema"] == "simtrack.sign-test/1"
    assert plain["pvalue_exact"] == "47/35184372088832"
    assert plain["guarantee"] == "finite-sample"
    assert "exact" not in plain
