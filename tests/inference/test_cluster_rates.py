"""Korn-Graubard, logit-t and cluster-t intervals against R's survey package and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import ASSUMED_ICC, clustered_rates, effective_size, wilson_clustered
from simtrack.inference.rates.binomial import clopper_pearson
from simtrack.inference.rates.cluster_t import cluster_t, cluster_t_rate, korn_graubard, logit_t
from simtrack.inference.rates.clustered import design_effect_from_icc

R_DIGITS = 1e-9  # R printed twelve digits
ROUNDING = 1e-10
METHODS = [wilson_clustered, korn_graubard, logit_t, cluster_t_rate]

# Counts by district from the apiclus1 data of R's survey package: 15 districts, 183 schools.
# Values: R 4.2.2, survey 4.1-1, svydesign(id = ~dnum) without a finite population correction.
SIZES = [13, 34, 4, 13, 16, 2, 1, 4, 12, 21, 9, 11, 37, 2, 4]
SCHOOLS = {
    "ell == 0": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0],
    "emer == 0": [0, 9, 0, 1, 5, 0, 0, 1, 1, 8, 7, 1, 1, 0, 1],
    "ell < 10": [0, 1, 0, 4, 2, 0, 0, 0, 0, 5, 9, 0, 4, 0, 4],
}


def ends(found, column=0):
    return float(found.low[column]), float(found.high[column])


@pytest.mark.parametrize(
    ("what", "level", "low", "high"),
    [
        ("ell == 0", 0.95, 0.000198643678807, 0.139396111630852),
        ("ell == 0", 0.9, 0.000569724643328, 0.115947049523903),
        ("emer == 0", 0.95, 0.0841506884334, 0.3471379429122),
        ("emer == 0", 0.9, 0.0984433861053, 0.3195633474197),
        ("ell < 10", 0.95, 0.0540870858445, 0.3304740435728),
    ],
)
def test_korn_graubard_r_survey_svyciprop_beta(what, level, low, high):
    found = korn_graubard(Totals.from_arrays(SCHOOLS[what], SIZES), level=level)
    assert ends(found) == pytest.approx((low, high), rel=R_DIGITS)
    assert found.df[0] == 14


@pytest.mark.parametrize(
    ("what", "level", "low", "high"),
    [
        ("ell == 0", 0.95, 0.00225280191655, 0.18110814491907),
        ("ell == 0", 0.9, 0.00339014767985, 0.12800693803873),
        ("emer == 0", 0.95, 0.0964131332754, 0.3438918084089),
        ("emer == 0", 0.9, 0.109541478548, 0.312534844734),
        ("ell < 10", 0.95, 0.0675719968302, 0.3285577798594),
    ],
)
def test_logit_t_r_survey_svyciprop_xlogit(what, level, low, high):
    found = logit_t(Totals.from_arrays(SCHOOLS[what], SIZES), level=level)
    assert ends(found) == pytest.approx((low, high), rel=R_DIGITS)


@pytest.mark.parametrize(
    ("what", "low", "high"),
    [
        ("emer == 0", 0.0681542043531, 0.3143594568491),
        ("ell < 10", 0.0311215974827, 0.2858182932277),
    ],
)
def test_cluster_t_r_survey_svyciprop_mean(what, low, high):
    totals = Totals.from_arrays(SCHOOLS[what], SIZES)
    assert ends(cluster_t_rate(totals)) == pytest.approx((low, high), rel=R_DIGITS)
    assert ends(cluster_t(totals)) == pytest.approx((low, high), rel=R_DIGITS)


def test_cluster_t_is_cut_off_at_zero_where_r_goes_below():
    totals = Totals.from_arrays(SCHOOLS["ell == 0"], SIZES)
    assert ends(cluster_t(totals)) == pytest.approx(
        (-0.0271503887045, 0.0708662356990), rel=R_DIGITS
    )
    found = cluster_t_rate(totals)
    assert ends(found) == (0.0, pytest.approx(0.0708662356990, rel=R_DIGITS))
    assert "cut off at 0" in found.notes[0][-1]


def test_one_trial_a_cluster_gives_korn_graubards_n_minus_one():
    totals = Totals.from_arrays([1] * 14 + [0] * 6, [1] * 20)
    right = clopper_pearson(0.7 * 19, 19)
    assert ends(korn_graubard(totals)) == pytest.approx(tuple(map(float, right)), rel=ROUNDING)


@pytest.mark.parametrize("k", [0, 20])
def test_zero_variance_rests_on_an_assumed_icc_and_says_so(k):
    totals = Totals.from_arrays([k] * 12, [20] * 12)
    shrunk = (1.969939 / 2.200985) ** 2  # t(239) and t(11) at .975, from tables
    n = 240 / (1 + ASSUMED_ICC * 19) * shrunk
    width = 1 - 0.025 ** (1 / n)
    right = (0.0, width) if k == 0 else (1 - width, 1.0)
    for method in (korn_graubard, logit_t, cluster_t_rate):
        found = method(totals)
        assert ends(found) == pytest.approx(right, abs=1e-6)
        assert found.low[0] == 0.0 or found.high[0] == 1.0
        assert any("assumed ICC 0.3" in line for line in found.notes[0])
    assert "has no logit" in logit_t(totals).notes[0][-1]
    assert "standard error of 0" in cluster_t_rate(totals).notes[0][-1]


def test_equal_rates_inside_get_their_variance_from_the_icc():
    # Rate 1/2, 20 trials, design effect 1 + 0.3 * 3 = 1.9: se = sqrt(.25 * 1.9 / 20) = .154110.
    totals = Totals.from_arrays([2] * 5, [4] * 5)
    half = 2.776445 * 0.1541104
    assert ends(cluster_t_rate(totals)) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    logit = 2.776445 * 0.1541104 / 0.25
    assert ends(logit_t(totals))[1] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)
    given = logit_t(totals, icc=0.1)
    assert ends(given)[1] < ends(logit_t(totals))[1]
    assert any("given ICC 0.1" in line for line in given.notes[0])


def test_h40_the_design_effect_follows_unequal_sizes():
    sizes = np.array([2.0, 4.0, 12.0])
    assert float(design_effect_from_icc(0.2, sizes)) == pytest.approx(2.6222222, abs=5e-8)
    found = effective_size(Totals.from_arrays([2, 4, 12], [2, 4, 12]), icc=0.2)
    assert found.trials[0] == pytest.approx(18 / 2.6222222, rel=1e-7)
    assert abs(found.trials[0] - 9.0) > 2  # with the mean size the effect would be 2.0


def test_chance_agreement_between_clusters_buys_nothing():
    totals = Totals.from_arrays([10, 10, 11, 10], [20] * 4)
    naive = clustered_rates(totals).naive_se[0]
    half = 3.182446 * naive  # t(3) at .975
    low, high = ends(cluster_t_rate(totals))
    assert (high - low) / 2 == pytest.approx(half, rel=1e-6)
    assert "the naive standard error is used" in cluster_t_rate(totals).notes[0][-1]
    assert korn_graubard(totals).effective_n[0] < 80


@pytest.mark.parametrize("method", [korn_graubard, logit_t, cluster_t_rate])
def test_one_sided_bounds_and_refusals(method):
    totals = Totals.from_arrays(
        [[5, 3, 0], [9, 0, 0], [7, 0, 0]], [[10, 4, 0], [10, 0, 0]] * 1 + [[10, 0, 0]]
    )
    both = method(totals, level=0.9)
    upper, lower = method(totals, side="upper"), method(totals, side="lower")
    assert ends(upper) == (0.0, pytest.approx(both.high[0], rel=ROUNDING))
    assert ends(lower) == (pytest.approx(both.low[0], rel=ROUNDING), 1.0)
    for found in (both, upper, lower):
        assert np.isnan(found.low[1:]).all()
        assert np.isnan(found.high[1:]).all()
        assert "one cluster" in found.notes[1][-1]
        assert "no trial" in found.notes[2][0]
    with pytest.raises(InputError, match="icc must be a finite number from 0 to 1"):
        method(totals, icc=2.0)
    scores = Totals.from_arrays([2.0, 9.0], [1, 2], square=[4.0, 41.0])
    with pytest.raises(InputError, match="scores must be between 0 and 1"):
        method(scores)


counts = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=2, max_size=9).map(
    lambda rows: ([min(k, m) for k, m in rows], [m for _, m in rows])
)


@settings(max_examples=150, deadline=None)
@given(counts, st.floats(0.5, 0.999))
def test_ends_enclose_the_rate_within_zero_and_one(data, level):
    totals = Totals.from_arrays(*data)
    rate = totals.rates()[0]
    for method in METHODS:
        low, high = ends(method(totals, level=level))
        assert 0.0 <= low <= rate + 1e-12
        assert rate - 1e-12 <= high <= 1.0
        assert high > low


@settings(max_examples=60, deadline=None)
@given(counts)
def test_failures_mirror_successes(data):
    hits, sizes = data
    for method in METHODS:
        low, high = ends(method(Totals.from_arrays(hits, sizes)))
        missed = [m - k for k, m in zip(hits, sizes, strict=True)]
        other = ends(method(Totals.from_arrays(missed, sizes)))
        assert (1 - high, 1 - low) == pytest.approx(other, abs=1e-8)
