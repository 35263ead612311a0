"""What peeking costs: published stopping chances, exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import fair_coin_tail
from simtrack.inference.numerics.special import beta_cdf
from simtrack.inference.sequential.repeated_looks import repeated_looks


def posterior_above_half(n: int, s: int) -> Fraction:
    """P(θ > 1/2) under Beta(1 + s, 1 + n - s), which is P(Binomial(n + 1, 1/2) <= s)."""
    return fair_coin_tail(s, n + 1)[0]


def one_sided(n, s):
    return "wrong" if posterior_above_half(n, s) > Fraction(95, 100) else None


def two_sided(n, s):
    return "wrong" if one_sided(n, s) or one_sided(n, n - s) else None


def test_the_posterior_of_the_rule_is_a_beta():
    assert float(posterior_above_half(11, 8)) == pytest.approx(1 - beta_cdf(0.5, 9, 4), rel=1e-12)


def test_h36_peeking_at_a_posterior_of_95_percent():
    """Stopping the first time it passes .95 errs in 17 % of runs to n = 20, not in 5 %."""
    assert repeated_looks(range(1, 21), one_sided).stopped["wrong"] == Fraction(173319, 1048576)
    assert repeated_looks(range(1, 11), one_sided).stopped["wrong"] == Fraction(57, 512)
    for last, rule, right in (
        (20, two_sided, 0.3301963806),
        (50, one_sided, 0.2282847),
        (50, two_sided, 0.4518353),
    ):
        found = repeated_looks(range(1, last + 1), rule).stopped["wrong"]
        assert float(found) == pytest.approx(right, abs=5e-8)
    assert float(repeated_looks([20], one_sided).stopped["wrong"]) == pytest.approx(
        0.0576591, abs=5e-8
    )
    assert float(repeated_looks([20], two_sided).stopped["wrong"]) == pytest.approx(
        0.1153183, abs=5e-8
    )


@pytest.mark.parametrize(
    ("theta", "upper", "expected"),
    [
        (0.1, 0.00453765, 34.93708),
        (0.2, 0.10481669, 34.01654),
        (0.3, 0.49206713, 28.17385),
        (0.5, 0.98957989, 15.00640),
    ],
)
def test_group_sequential_bounds_of_gsdesign(theta, upper, expected):
    """gsDesign, gsBinomialExact(k=3, n.I=c(12,24,36), a=c(-1,0,11), b=c(5,9,12))."""
    low, high = {12: -1, 24: 0, 36: 11}, {12: 5, 24: 9, 36: 12}

    def bounds(n, s):
        return "upper" if s >= high[n] else "lower" if s <= low[n] else None

    found = repeated_looks([12, 24, 36], bounds, p=theta)
    assert float(found.stopped["upper"]) == pytest.approx(upper, abs=5e-9)
    assert float(found.expected_n) == pytest.approx(expected, abs=5e-6)
    assert found.never == 0


def test_all_sequences_listed():
    def rule(n, s):
        return "high" if s - (n - s) >= 3 else "low" if (n - s) - s >= 2 else None

    p, seen, trials = Fraction(2, 5), {"high": Fraction(0), "low": Fraction(0)}, Fraction(0)
    for path in itertools.product((0, 1), repeat=7):
        weight, label, n = Fraction(1), None, 0
        for x in path:
            weight *= p if x else 1 - p
        for n in (2, 3, 5, 7):
            label = rule(n, sum(path[:n]))
            if label:
                seen[label] += weight
                break
        trials += weight * n
    found = repeated_looks([2, 3, 5, 7], rule, p=0.4)
    assert found.stopped == seen
    assert found.expected_n == trials
    assert found.never == 1 - sum(seen.values())


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="ascending"):
        repeated_looks([3, 3], one_sided)
    with pytest.raises(InputError, match="ascending"):
        repeated_looks([], one_sided)
    with pytest.raises(InputError, match="p must be from 0 to 1"):
        repeated_looks([3], one_sided, p=1.5)
    assert repr(repeated_looks([3], lambda n, s: None)) == "RepeatedLooks(1 looks, never stops)"
