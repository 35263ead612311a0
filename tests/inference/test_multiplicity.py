"""Adjusted p-values: R's documentation values, statsmodels, hand arithmetic, exact definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.inference.exact import multiplicity as m

METHODS = {
    "bonferroni": ("bonferroni", m.bonferroni),
    "holm": ("holm", m.holm),
    "hochberg": ("simes-hochberg", m.hochberg),
    "benjamini-hochberg": ("fdr_bh", m.benjamini_hochberg),
    "benjamini-yekutieli": ("fdr_by", m.benjamini_yekutieli),
}
SAME = 1e-12

#: Benjamini and Hochberg (1995), section 4: 15 comparisons of thrombolysis trials.
BH_1995 = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
           0.5719, 0.6528, 0.7590, 1.0000]  # fmt: skip


def test_benjamini_hochberg_1995_rejects_four_bonferroni_three_hochberg_three():
    """The paper: at .05 the new procedure rejects four, Bonferroni's three, Hochberg's three."""
    counts = {name: len(m.adjust(BH_1995, name).rejected(0.05)) for name in METHODS}
    assert counts["benjamini-hochberg"] == 4
    assert counts["bonferroni"] == 3
    assert counts["hochberg"] == 3


#: McDonald, Handbook of Biological Statistics (3rd ed.), multiple comparisons: 25 foods and breast
#: density (Garcia-Arenzana et al. 2014), at a false discovery rate of .25.
FOODS = [0.001, 0.008, 0.039, 0.041, 0.042, 0.060, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251,
         0.269, 0.275, 0.34, 0.341, 0.384, 0.569, 0.594, 0.696, 0.762, 0.94, 0.942, 0.975,
         0.986]  # fmt: skip
#: The first foods as R's p.adjust gives them (Mangiafico, R Companion to that handbook).
FOODS_IN_R = {
    "bonferroni": [0.025, 0.200, 0.975, 1.0, 1.0, 1.0, 1.0, 1.0],
    "holm": [0.025, 0.192, 0.897, 0.902, 0.902, 1.0, 1.0, 1.0],
    "hochberg": [0.025, 0.192, 0.882, 0.882, 0.882, 0.986, 0.986, 0.986],
    "benjamini-hochberg": [0.025, 0.1, 0.21, 0.21, 0.21, 0.25, 0.2642857, 0.4910714],
    "benjamini-yekutieli": [0.09539895, 0.38159582, 0.80135122, 0.80135122, 0.80135122,
                            0.95398954, 1.0, 1.0],
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_r_p_adjust_on_mcdonalds_foods(method):
    shuffled = FOODS[::-1]
    found = m.adjust(shuffled, method).adjusted[::-1]
    assert found[:8].tolist() == pytest.approx(FOODS_IN_R[method], abs=6e-8)  # printed digits


def test_mcdonald_calls_five_or_six_foods_at_a_quarter():
    """The handbook: proteins (.042) is the last below its line; nuts lie on theirs in R."""
    assert len(m.adjust(FOODS, "benjamini-hochberg").rejected(0.249)) == 5
    assert len(m.adjust(FOODS, "benjamini-hochberg").rejected(0.25)) == 6  # 25/6 · .06 = .25


def by_definition(p: list[Fraction], size: int, method: str) -> list[Fraction]:
    """The smallest level at which each is rejected, from the textbook rules, in fractions."""
    order = sorted(range(len(p)), key=lambda k: p[k])
    harmonic = sum(Fraction(1, k) for k in range(1, size + 1))
    found = [Fraction(0)] * len(p)
    for place, k in enumerate(order):
        lower, upper = order[: place + 1], order[place:]
        rank = {j: r + 1 for r, j in enumerate(order)}
        found[k] = {
            "bonferroni": size * p[k],
            "holm": max((size + 1 - rank[j]) * p[j] for j in lower),
            "hochberg": min((size + 1 - rank[j]) * p[j] for j in upper),
            "benjamini-hochberg": min(Fraction(size, rank[j]) * p[j] for j in upper),
            "benjamini-yekutieli": min(harmonic * Fraction(size, rank[j]) * p[j] for j in upper),
        }[method]
    return [min(Fraction(1), q) for q in found]


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(
    p=st.lists(st.fractions(0, 1, max_denominator=50), min_size=1, max_size=9),
    more=st.integers(0, 4),
)
def test_the_definitions_in_fractions(method, p, more):
    found = METHODS[method][1]([float(x) for x in p], len(p) + more)
    right = by_definition(p, len(p) + more, method)
    assert found.tolist() == pytest.approx([float(x) for x in right], rel=SAME, abs=0)


@pytest.mark.parametrize("method", METHODS)
def test_statsmodels(method):
    sm = pytest.importorskip("statsmodels.stats.multitest")
    for p in (BH_1995, np.random.default_rng(1).beta(0.4, 3, 50)):
        right = sm.multipletests(p, method=METHODS[method][0])[1]
        assert METHODS[method][1](p) == pytest.approx(right, rel=SAME)


def test_scipy_false_discovery_control():
    from scipy.stats import false_discovery_control

    p = np.random.default_rng(2).uniform(size=40)
    assert m.benjamini_hochberg(p) == pytest.approx(false_discovery_control(p), rel=SAME)
    right = false_discovery_control(p, method="by")
    assert m.benjamini_yekutieli(p) == pytest.approx(right, rel=SAME)


def test_holm_hand_worked():
    """4 x .01, then 3 x .02 = .06, 2 x .03 = .06, and .04 held up to .06."""
    assert m.holm([0.03, 0.01, 0.04, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_of_four():
    """.005 and .01 stand at .05, .03 and .04 do not: 2 x .03 is above it."""
    found = m.adjust([0.01, 0.04, 0.03, 0.005], "holm", names=["h1", "h2", "h3", "h4"])
    assert found.adjusted.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert found.rejected(0.05) == ("h1", "h4")


def test_h09_one_missing_p_leaves_the_rest():
    p = [0.004, math.nan, 0.03, 0.02, 0.9]
    four = m.adjust(p, "benjamini-hochberg")
    assert four.adjusted.tolist() == pytest.approx([0.016, math.nan, 0.04, 0.04, 0.9], nan_ok=True)
    assert four.sizes == {"all": 4}
    assert four.notes == ("1 hypotheses without a test, not counted in the family",)
    five = m.adjust(p, "benjamini-hochberg", family=5)
    assert five.adjusted.tolist() == pytest.approx([0.02, math.nan, 0.05, 0.05, 1.0], nan_ok=True)
    assert five.sizes == {"all": 5}
    assert five.notes == ("1 hypotheses without a test, counted in the family",)


@pytest.mark.parametrize("method", METHODS)
def test_h09_missing_ones_keep_their_place_in_every_method(method):
    p = np.array([0.004, np.nan, 0.03, 0.02, np.nan, 0.9])
    there = ~np.isnan(p)
    for size in (None, 6):
        found = METHODS[method][1](p, size)
        assert np.isnan(found[~there]).all()
        assert found[there].tolist() == METHODS[method][1](p[there], size).tolist()


def test_families_are_adjusted_one_by_one():
    p = [0.01, 0.02, 0.03, 0.04]
    found = m.adjust(p, "bonferroni", family=["x", "y", "x", "x"], names=["a", "b", "c", "d"])
    assert found.adjusted.tolist() == pytest.approx([0.03, 0.02, 0.09, 0.12])
    assert found.sizes == {"x": 3, "y": 1}
    assert found.rejected(0.05) == ("a", "b")


def test_rebind_tombstone_family_of_two():
    """ReBIND, section 5.5: the sign test's .083 is twice .0415, for two declared contrasts."""
    found = m.adjust([0.0415], "bonferroni", family=2)
    assert found.adjusted.tolist() == pytest.approx([0.083])


def test_a_p_value_on_the_level_is_a_finding():
    assert m.adjust([0.05 / 3, 0.9, 0.9], "bonferroni").rejected(0.05) == ("1",)
    assert m.adjust([0.1 * 0.1, 0.5, 1, 1, 1, 1, 1], "holm").rejected(0.07) == ("1",)
    assert m.adjust([0.0501], "holm").rejected(0.05) == ()


def test_the_promise_is_said():
    assert m.adjust([0.1], "hochberg").controls.endswith("independent or positively dependent")
    assert m.adjust([0.1], "benjamini-yekutieli").controls.startswith("false discovery rate")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 1.2],), r"pvalues must be from 0 to 1, got 1.2 \(position 2\)"),
        (([0.1, -0.1],), "position 2"),
        ((["a"],), "numbers from 0 to 1"),
        (([[0.1]],), "a list"),
        (([0.1, 0.2], "fdr"), "method must be one of bonferroni, holm"),
    ],
)
def test_bad_p_values_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        m.adjust(*arguments)


def test_bad_families_are_refused():
    with pytest.raises(InputError, match="at least the 2 p-values that it holds, got 1"):
        m.adjust([0.1, 0.2], family=1)
    with pytest.raises(InputError, match="a label for each of 2"):
        m.adjust([0.1, 0.2], family=["x"])
    with pytest.raises(InputError, match="names must be different"):
        m.adjust([0.1, 0.2], names=["x", "x"])
    with pytest.raises(InputError, match="a name for each"):
        m.adjust([0.1, 0.2], names=["x"])


def test_nothing_to_adjust():
    assert m.adjust([]).adjusted.size == 0
    assert np.isnan(m.adjust([math.nan]).adjusted).all()


def test_dictionary():
    plain = m.adjust([0.01, None], names=["a", "b"]).to_dict()
    assert plain["schema"] == "simtrack.adjusted/1"
    assert plain["hypotheses"][1] == {"name": "b", "family": "all", "pvalue": None,
                                      "adjusted": None}  # fmt: skip
