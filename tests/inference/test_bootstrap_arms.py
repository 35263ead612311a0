"""Two arms resampled independently: pairs of values that are counted, not listed."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.resampling import arms as bootstrap_arms
from simtrack.inference.resampling import routes as bootstrap_routes
from simtrack.inference.resampling.arms import law_of_arms
from simtrack.inference.resampling.bootstrap import bootstrap
from simtrack.inference.resampling.law import BootstrapLaw

TOLERANCE = 1e-12
FIRST = [(3, 4), (1, 5), (0, 1), (2, 2)]
SECOND = [(1, 2), (4, 4), (0, 3)]


def arm_law(rows):
    """All resamples of one arm in fractions: value -> share."""
    law: dict[Fraction, Fraction] = {}
    for draw in itertools.product(rows, repeat=len(rows)):
        value = Fraction(sum(x for x, _ in draw), sum(m for _, m in draw))
        law[value] = law.get(value, Fraction(0)) + Fraction(1, len(rows) ** len(rows))
    return law


def both(kind):
    """The law of the difference or ratio, and the share of resamples where it is undefined."""
    law: dict[Fraction, Fraction] = {}
    lost = Fraction(0)
    for (a, p), (b, q) in itertools.product(arm_law(FIRST).items(), arm_law(SECOND).items()):
        if kind == "ratio" and b == 0:
            lost += p * q
            continue
        value = a / b if kind == "ratio" else a - b
        law[value] = law.get(value, Fraction(0)) + p * q
    return {v: m / (1 - lost) for v, m in sorted(law.items())}, lost


def totals():
    """Both arms as columns; clusters of one arm have nothing in the other."""
    top = [[x, 0] for x, _ in FIRST] + [[0, x] for x, _ in SECOND]
    bottom = [[m, 0] for _, m in FIRST] + [[0, m] for _, m in SECOND]
    return Totals.from_arrays(top, bottom)


@pytest.mark.parametrize("kind", ["contrast", "ratio"])
def test_arms_by_themselves_equal_all_resamples(kind, monkeypatch):
    monkeypatch.setattr(bootstrap_routes, "_FEW_MULTISETS", 0)
    found = bootstrap(totals(), groups=["a", "b"], statistic=kind)
    assert found.route == "independent-arms"
    exact, lost = both(kind)
    values, masses = found.law.table()
    np.testing.assert_allclose(values, [float(v) for v in exact], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(masses, [float(m) for m in exact.values()], rtol=0, atol=TOLERANCE)
    assert found.undefined == pytest.approx(float(lost), abs=TOLERANCE)
    mean = sum(v * m for v, m in exact.items())
    variance = sum((v - mean) ** 2 * m for v, m in exact.items())
    assert found.bias == pytest.approx(float(mean) - found.estimate, abs=TOLERANCE)
    assert found.standard_error == pytest.approx(float(variance) ** 0.5, abs=TOLERANCE)


def test_an_arm_of_two_columns_may_be_undefined(monkeypatch):
    """The mean of two models, one of which lacks a cluster, less another arm."""
    top = [[1, 0, 0], [2, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2]]
    bottom = [[2, 0, 0], [3, 2, 0], [1, 3, 0], [0, 0, 3], [0, 0, 2]]
    weights = [Fraction(1, 2), Fraction(1, 2), -1]
    data = Totals.from_arrays(top, bottom)
    joint = bootstrap(data, weights, groups="aab", method="multisets")
    assert joint.undefined == pytest.approx(1 / 27, rel=1e-13)  # the first cluster three times
    monkeypatch.setattr(bootstrap_routes, "_FEW_MULTISETS", 0)
    apart = bootstrap(data, weights, groups="aab")
    assert apart.route == "independent-arms"
    assert apart.undefined == pytest.approx(1 / 27, rel=1e-13)
    for ours, theirs in zip(apart.law.table(), joint.law.table(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["contrast", "ratio"])
@pytest.mark.parametrize("listed", [1 << 20, 5])
def test_quantiles_by_counting_equal_those_of_the_listed_law(kind, listed, monkeypatch):
    monkeypatch.setattr(bootstrap_routes, "_FEW_MULTISETS", 0)
    monkeypatch.setattr(bootstrap_arms, "_LISTED", listed)
    law = bootstrap(totals(), groups=["a", "b"], statistic=kind).law
    reached, wanted = Fraction(0), []
    for value, mass in both(kind)[0].items():
        shares = law.shares(float(value))
        assert shares.below == pytest.approx(float(reached), abs=TOLERANCE)
        assert shares.at == pytest.approx(float(mass), abs=TOLERANCE)
        reached += mass
        assert law.cdf(float(value)) == pytest.approx(float(reached), abs=TOLERANCE)
        wanted.append((float(reached - mass / 2), float(value)))
    found = law.quantiles([p for p, _ in wanted])
    np.testing.assert_allclose(found, [v for _, v in wanted], rtol=0, atol=TOLERANCE)


def test_auto_takes_the_arms_apart_and_random_resamples_agree():
    rng = np.random.default_rng(1)
    m = rng.integers(3, 7, (12, 2))
    data = Totals.from_arrays(rng.binomial(m, [0.8, 0.6]), m)
    for statistic in ("contrast", "ratio"):
        for kind in ("percentile", "bca"):
            options = {"groups": "ab", "statistic": statistic, "kind": kind}
            exact = bootstrap(data, **options)
            drawn = bootstrap(data, method="monte-carlo", n_resamples=40_000, seed=7, **options)
            assert exact.route == "independent-arms"
            assert exact.why.endswith("exact law (convolution-2d, convolution-2d)")
            for end in ("low", "high"):
                error = 5 * getattr(drawn, f"mcse_{end}")
                assert abs(getattr(exact, end) - getattr(drawn, end)) < error
            assert exact.standard_error == pytest.approx(
                drawn.standard_error, rel=5 / (2 * 40_000) ** 0.5
            )


def test_a_law_of_too_many_pairs_is_not_listed_but_has_quantiles():
    """Uniform on 0 ... 2047 twice: F of the sum is (t+1)(t+2)/2 over 2048², up to 2047."""
    flat = BootstrapLaw(np.arange(2048.0), np.ones(2048))
    law = law_of_arms(flat, flat, False, 0.0)
    with pytest.raises(InputError, match="law must be one of few values to be listed, got"):
        _ = law.values
    for t in (0, 300, 2047):
        reached = (t + 1) * (t + 2) / 2 / 2048**2
        assert law.cdf(t) == pytest.approx(reached, abs=TOLERANCE)
        assert law.quantile(reached) == t
        assert law.quantile(reached + 1e-9) == t + 1


def test_arms_that_share_a_column_are_no_arms():
    """Strata are pools too, but their ratios are not sums of two."""
    m = np.arange(30) % 5 + 3
    found = bootstrap(Totals.from_arrays(m - 1, m), strata=["a", "b"] * 15)
    assert found.route == "convolution-2d"


def test_a_probability_is_checked():
    law = law_of_arms(*[BootstrapLaw(np.array([0.0, 1.0]), np.ones(2))] * 2, False, 0.0)
    assert law.quantile(0.25) == 0.0
    assert law.quantile(0.5) == 1.0
    with pytest.raises(InputError, match="probability must be from 0 to 1"):
        law.quantile(-0.1)
