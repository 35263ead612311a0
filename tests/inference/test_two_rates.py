"""Differences and ratios of independent rates: published values, other libraries, enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.log_ratio import katz, katz_pooled
from simtrack.inference.differences.newcombe import newcombe, newcombe_pooled
from simtrack.inference.differences.score_interval import (
    miettinen_nurminen,
    miettinen_nurminen_pooled,
    miettinen_nurminen_ratio,
    miettinen_nurminen_ratio_pooled,
)

FOUR = 5.1e-5  # published to four decimals
ROUNDING = 1e-10
ROOT = 1e-6  # the other library's root finder
Z = 1.959963984540054


def ends(found):
    return tuple(float(end) for end in found)


# Newcombe (1998), Stat. Med. 17, 873-890, Table II: Mee (without N/(N-1)), Miettinen-Nurminen,
# and hybrid score, for his examples a to h.
NEWCOMBE = [
    ((56, 70, 48, 80), (0.0533, 0.3377), (0.0528, 0.3382), (0.0524, 0.3339)),
    ((9, 10, 3, 10), (0.1821, 0.8370), (0.1700, 0.8406), (0.1705, 0.8090)),
    ((6, 7, 2, 7), (0.0544, 0.8478), (0.0342, 0.8534), (0.0582, 0.8062)),
    ((5, 56, 0, 29), (-0.0313, 0.1926), (-0.0326, 0.1933), (-0.0381, 0.1926)),
    ((0, 10, 0, 20), (-0.1611, 0.2775), (-0.1658, 0.2844), (-0.1611, 0.2775)),
    ((10, 10, 0, 10), (0.6777, 1.0), (0.6636, 1.0), (0.6075, 1.0)),
    ((10, 10, 0, 20), (0.7225, 1.0), (0.7156, 1.0), (0.6791, 1.0)),
]


@pytest.mark.parametrize(("counts", "mee", "mn", "hybrid"), NEWCOMBE)
def test_newcombe_1998_table_2(counts, mee, mn, hybrid):
    assert ends(miettinen_nurminen(*counts, correction=False)) == pytest.approx(mee, abs=FOUR)
    assert ends(miettinen_nurminen(*counts)) == pytest.approx(mn, abs=FOUR)
    assert ends(newcombe(*counts)) == pytest.approx(hybrid, abs=FOUR)


def test_fagerland_lydersen_laake_epinephrine_7_of_34_against_1_of_34():
    # Perondi et al. (2004), as the R package contingencytables prints it; the paper of 2015 has
    # (.028, .34) for the score interval without N/(N-1) and (.019, .34) for Newcombe's.
    counts = (7, 34, 1, 34)
    assert ends(newcombe(*counts)) == pytest.approx((0.0189, 0.3404), abs=FOUR)
    assert ends(miettinen_nurminen(*counts, correction=False)) == pytest.approx(
        (0.0284, 0.3439), abs=FOUR
    )
    assert ends(katz(*counts)) == pytest.approx((0.9096, 53.8695), abs=FOUR)
    assert ends(miettinen_nurminen_ratio(*counts)) == pytest.approx((1.2086, 43.0330), abs=FOUR)
    assert ends(miettinen_nurminen_ratio(*counts, correction=False)) == pytest.approx(
        (1.2209, 42.5757), abs=FOUR
    )


def test_fagerland_lydersen_laake_chrna4_0_of_16_against_15_of_72():
    found = miettinen_nurminen(0, 16, 15, 72)  # Ritland et al. (2007)
    assert ends(found) == pytest.approx((-0.3164, -0.0056), abs=FOUR)


@pytest.mark.parametrize(
    ("counts", "level", "low", "high"),
    [
        ((56, 70, 48, 80), 0.9, 0.07656419154407207, 0.31364458358294384),
        ((84, 101, 89, 105), 0.95, -0.11774964978519353, 0.08507135181574296),
        ((0, 5, 3, 9), 0.95, -0.6457978644196039, 0.15044075476358076),
    ],
)
def test_newcombe_statsmodels_0_15(counts, level, low, high):
    assert ends(newcombe(*counts, level=level)) == pytest.approx((low, high), rel=ROUNDING)


@pytest.mark.parametrize(
    ("counts", "level", "low", "high"),
    [
        ((56, 70, 48, 80), 0.95, 1.0790471195344218, 1.6721453590897675),
        ((9, 10, 3, 10), 0.95, 1.3279565734835286, 8.691914949017299),
        ((6, 7, 2, 7), 0.9, 1.2449690310757455, 9.135516207572191),
        ((84, 101, 89, 105), 0.95, 0.8643255089366488, 1.1101970369841543),
        ((5, 56, 0, 29), 0.95, 0.717495078277114, np.inf),
    ],
)
def test_miettinen_nurminen_ratio_statsmodels_0_15(counts, level, low, high):
    found = ends(miettinen_nurminen_ratio(*counts, level=level))
    assert found == pytest.approx((low, high), rel=ROOT)


@pytest.mark.parametrize(
    ("counts", "level", "low", "high"),
    [
        ((56, 70, 48, 80), 0.95, 1.0766264227631928, 1.6512485112663873),
        ((9, 10, 3, 10), 0.9, 1.3302606360932165, 6.765591460656689),
    ],
)
def test_katz_statsmodels_0_15(counts, level, low, high):
    assert ends(katz(*counts, level=level)) == pytest.approx((low, high), rel=ROUNDING)


def fitted(x1, n1, x2, n2, delta):
    """Maximise the likelihood with the first rate `delta` above the second, by SciPy."""
    from scipy.optimize import minimize_scalar
    from scipy.special import xlog1py, xlogy

    def loss(p2):
        p1 = p2 + delta
        return -(xlogy(x1, p1) + xlog1py(n1 - x1, -p1) + xlogy(x2, p2) + xlog1py(n2 - x2, -p2))

    edge = 1e-13
    bounds = (max(0.0, -delta) + edge, min(1.0, 1.0 - delta) - edge)
    return minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x


@pytest.mark.parametrize(
    "counts", [(7, 34, 1, 34), (56, 70, 48, 80), (9, 10, 3, 10), (3, 40, 17, 25), (2, 9, 8, 11)]
)
@pytest.mark.parametrize("correction", [True, False])
def test_each_end_solves_the_score_equation(counts, correction):
    x1, n1, x2, n2 = counts
    for sign, end in zip(
        (1, -1), ends(miettinen_nurminen(*counts, correction=correction)), strict=True
    ):
        p2 = fitted(x1, n1, x2, n2, end)
        p1 = p2 + end
        variance = p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2
        variance *= (n1 + n2) / (n1 + n2 - 1) if correction else 1
        score = (x1 / n1 - x2 / n2 - end) / variance**0.5
        assert score == pytest.approx(sign * Z, abs=1e-6)


# 40-digit bisection of the score statistic, with the constrained maximum by bisection too.
@pytest.mark.parametrize(
    ("counts", "low", "high", "absolute"),
    [
        ((7, 34, 1, 34), 0.02704162658344679, 0.3452912169662238, 1e-14),
        ((84, 101, 89, 105), -0.1190646148980614, 0.08599687234505854, 1e-14),
        ((1, 10**6, 0, 10**6), -2.841447905386277e-06, 5.664913786799948e-06, 1e-12),
        ((999999, 10**6, 10**6, 10**6), -5.664913786799948e-06, 2.841447905386277e-06, 1e-10),
        ((1, 3, 10**5, 10**6), -0.03850916400317314, 0.6923410713843241, 1e-14),
    ],
)
def test_the_cubic_keeps_its_digits(counts, low, high, absolute):
    assert ends(miettinen_nurminen(*counts)) == pytest.approx((low, high), abs=absolute)


@pytest.mark.parametrize("method", [newcombe, miettinen_nurminen])
def test_differences_cover_near_the_level_by_enumeration(method):
    from scipy.stats import binom

    n1, n2 = 12, 15
    x1, x2 = np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij")
    low, high = method(x1, n1, x2, n2)
    found = []
    for p1 in (0.1, 0.3, 0.5, 0.8, 0.95):
        for p2 in (0.05, 0.2, 0.5, 0.7, 0.9):
            weight = np.outer(
                binom.pmf(np.arange(n1 + 1), n1, p1), binom.pmf(np.arange(n2 + 1), n2, p2)
            )
            found.append(weight[(low <= p1 - p2) & (p1 - p2 <= high)].sum())
    assert 0.94 < np.mean(found) < 0.975
    assert min(found) > 0.91


four = st.tuples(*[st.integers(0, 30)] * 4).map(
    lambda v: (min(v[0], v[1] + 1), v[1] + 1, min(v[2], v[3] + 1), v[3] + 1)
)


@settings(max_examples=80, deadline=None)
@given(four, st.floats(0.5, 0.999))
def test_ends_enclose_the_estimate_and_turn_with_the_arms(counts, level):
    x1, n1, x2, n2 = counts
    gap = x1 / n1 - x2 / n2
    for method in (newcombe, miettinen_nurminen):
        low, high = ends(method(*counts, level=level))
        assert -1.0 <= low <= gap + 1e-15
        assert gap - 1e-15 <= high <= 1.0
        other = ends(method(x2, n2, x1, n1, level=level))
        assert (-high, -low) == pytest.approx(other, abs=1e-11)
    low, high = ends(miettinen_nurminen_ratio(*counts, level=level))
    assert 0.0 <= low <= high
    assert (low == 0.0) == (x1 == 0)
    assert (high == np.inf) == (x2 == 0)
    if x1 and x2:
        assert low <= x1 / n1 / (x2 / n2) * (1 + 1e-12)
        back = ends(miettinen_nurminen_ratio(x2, n2, x1, n1, level=level))
        assert (1 / high, 1 / low) == pytest.approx(back, rel=1e-6)


def test_nothing_against_nothing_is_the_whole_line():
    low, high = miettinen_nurminen_ratio([0, 0], [5, 5], [0, 3], [7, 7])
    assert (low.tolist(), high[0]) == ([0.0, 0.0], np.inf)
    assert np.isnan(katz([0, 5, 5], 5, [3, 0, 7], 7)).all()  # no logarithm, no spread


@pytest.mark.parametrize("method", [newcombe, miettinen_nurminen])
def test_one_sided_bounds(method):
    both = method(9, 10, 3, 10, level=0.9)
    assert ends(method(9, 10, 3, 10, side="lower")) == (pytest.approx(float(both[0])), 1.0)
    assert ends(method(9, 10, 3, 10, side="upper")) == (-1.0, pytest.approx(float(both[1])))


@pytest.mark.parametrize("method", [katz, miettinen_nurminen_ratio])
def test_one_sided_ratio_bounds(method):
    both = method(9, 10, 3, 10, level=0.9)
    assert ends(method(9, 10, 3, 10, side="lower")) == (pytest.approx(float(both[0])), np.inf)
    assert ends(method(9, 10, 3, 10, side="upper")) == (0.0, pytest.approx(float(both[1])))


def test_totals_are_added_up_and_the_notes_say_what_that_ignores():
    both = Totals.from_arrays([[30, 20], [26, 28]], [[40, 40], [30, 40]])
    found = miettinen_nurminen_pooled(both)
    right = ends(miettinen_nurminen(56, 70, 48, 80))
    assert (found.low, found.high) == pytest.approx(right, rel=ROUNDING)
    assert found.notes == (
        "treats trials as independent: several come from one cluster",
        "treats the two conditions as independent, though 2 clusters have both",
    )
    assert (found.estimate, found.shared) == (pytest.approx(0.2), 2)
    back = newcombe_pooled(both, 1, 0)
    assert (back.low, back.high) == pytest.approx((-0.33387265, -0.05243147), abs=1e-8)


def test_ratio_totals_say_what_is_missing():
    none = Totals.from_arrays([[3, 0]], [[5, 7]])
    found = miettinen_nurminen_ratio_pooled(none)
    assert (found.estimate, found.high, found.to_dict()["high"]) == (np.inf, np.inf, "inf")
    assert "no upper end" in found.notes[-1]
    refused = katz_pooled(none)
    assert (refused.low, refused.high) == (None, None)
    assert "miettinen-nurminen-ratio" in refused.notes[-1]
    nothing = miettinen_nurminen_ratio_pooled(Totals.from_arrays([[0, 0]], [[5, 7]]))
    assert (nothing.estimate, nothing.low, nothing.high) == (None, 0.0, np.inf)
    assert any("say nothing of the ratio" in line for line in nothing.notes)


def test_an_empty_condition_has_a_reason_and_columns_are_checked():
    empty = Totals.from_arrays([[3, 0]], [[5, 0]])
    for method in (newcombe_pooled, miettinen_nurminen_pooled, katz_pooled):
        found = method(empty)
        assert (found.estimate, found.low, found.high) == (None, None, None)
        assert "a condition without trials" in found.notes[-1]
        assert "not defined" in repr(found)
        with pytest.raises(InputError, match="second must be another condition than the first"):
            method(empty, 0, 0)
        with pytest.raises(InputError, match="second must be a column from 0 to 1, got 2"):
            method(empty, 0, 2)
    with pytest.raises(InputError, match="scores must be between 0 and 1"):
        newcombe_pooled(Totals.from_arrays([[3.0, 0]], [[1, 1]], square=[[9.0, 0]]))
    with pytest.raises(InputError, match="successes must be between 0 and n"):
        newcombe(3, 2, 1, 2)
