"""Distribution functions against SciPy over a broad grid, and against closed forms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.inference.numerics import special

#: What is asked of this module, where the problem itself is well conditioned.
RELATIVE = 1e-12
#: SciPy's own error for lopsided betas: its inverse, put back into its cdf, misses by this much.
SCIPY_INVERSE = 1e-8

DFS = [0.01, 0.1, 0.5, 1, 2, 3, 5, 11, 66, 1e3, 9999, 10001, 1e6, 1e12, 1e300, math.inf]
TAILS = [1e-50, 1e-12, 1e-4, 0.005, 0.025, 0.05, 0.1, 0.25, 0.4]
SHAPES = [0.01, 0.5, 1, 2.5, 10, 77, 1e3, 1e5]


def close(found: float, right: float, relative: float = RELATIVE) -> bool:
    return abs(found - right) <= relative * abs(right)


@pytest.mark.parametrize("df", DFS)
def test_the_t_cdf_agrees_with_scipy_in_both_tails(df):
    from scipy import special as sp
    from scipy import stats

    for t in (1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 30.0, 1e3):
        right = float(sp.stdtr(df, -t)) if df < 1e300 else float(stats.norm.sf(t))
        if right < 1e-290:
            continue
        assert close(special.t_cdf(-t, df), right), (t, df)
        assert special.t_cdf(t, df) == 1.0 - special.t_cdf(-t, df)


@pytest.mark.parametrize("df", DFS)
def test_the_t_quantile_agrees_with_scipy(df):
    from scipy import special as sp
    from scipy import stats

    for p in TAILS:
        right = float(sp.stdtrit(df, p)) if df < 1e300 else float(stats.norm.ppf(p))
        if abs(right) > 1e150:
            continue  # SciPy stops there; the next test holds these to the closed form
        assert close(special.t_quantile(p, df), right), (p, df)
        assert special.t_quantile(0.5, df) == 0.0


@pytest.mark.parametrize("p", [1e-200, 1e-30, 0.01, 0.3, 0.499999, 0.7])
def test_one_and_two_degrees_of_freedom_have_closed_forms(p):
    cauchy = -1.0 / math.tan(math.pi * p) if p < 0.25 else math.tan(math.pi * (p - 0.5))
    assert close(special.t_quantile(p, 1), cauchy)
    assert close(special.t_quantile(p, 2), (2 * p - 1) / math.sqrt(2 * p * (1 - p)))


def test_the_median_t_is_zero_and_the_ends_are_infinite():
    assert special.t_quantile(0.0, 3) == -math.inf
    assert special.t_quantile(1.0, 3) == math.inf
    assert special.normal_quantile(0.0) == -math.inf
    assert special.t_critical(0.95, math.inf) == pytest.approx(1.959963984540054, rel=RELATIVE)


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_the_incomplete_beta_agrees_with_scipy(a, b):
    from scipy import special as sp

    for x in (1e-12, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.99, 0.25 * a / (a + b), 0.9 * a / (a + b)):
        right = float(sp.betainc(a, b, x))
        if right > 1e-280:
            assert close(special.beta_cdf(x, a, b), right), x


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_the_beta_quantile_agrees_with_scipy_and_undoes_its_cdf(a, b):
    from scipy import special as sp

    for p in (1e-12, 1e-4, 0.025, 0.3, 0.5, 0.9, 0.975):
        found, right = special.beta_quantile(p, a, b), float(sp.betaincinv(a, b, p))
        if 1e-300 < right < 1.0:
            assert close(found, right, SCIPY_INVERSE), p
        if 1e-290 < found <= 0.5:  # a float near 1 cannot hold the answer finely enough
            assert close(float(sp.betainc(a, b, found)), p, 1e-11), p


def test_a_beta_with_one_unit_shape_is_a_power():
    assert close(special.beta_quantile(0.025, 30, 1), 0.025 ** (1 / 30))
    assert close(special.beta_quantile(0.025, 1, 23), 1 - 0.975 ** (1 / 23))
    assert close(special.beta_cdf(1e-200, 1, 1), 1e-200)
    assert special.beta_quantile(0.0, 2, 2) == 0.0
    assert special.beta_quantile(1.0, 2, 2) == 1.0


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-10, 1 - 1e-10), st.floats(0.05, 1e5))
def test_quantile_and_cdf_of_t_are_inverse(p, df):
    assert special.t_cdf(special.t_quantile(p, df), df) == pytest.approx(p, rel=1e-11, abs=1e-15)


def test_the_normal_cdf_keeps_its_digits_in_the_tail():
    # erfc(10/√2)/2, tabulated: 7.619853024160527e-24
    assert close(special.normal_cdf(-10.0), 7.619853024160527e-24)
    assert special.normal_cdf(40.0) == 1.0


def test_what_is_no_probability_or_shape_is_refused():
    with pytest.raises(InputError, match=r"p must be between 0 and 1, got 1\.5"):
        special.t_quantile(1.5, 3)
    with pytest.raises(InputError, match="df must be above 0"):
        special.t_cdf(1.0, 0.0)
    with pytest.raises(InputError, match="a must be above 0"):
        special.beta_cdf(0.5, math.nan, 1.0)
