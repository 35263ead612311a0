"""The area under the ROC curve: printed values, exact counts, and clusters."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simtrack.errors import InputError
from simtrack.inference.agreement.roc import auroc

ROUNDING = 1e-12
# Hanley and McNeil (1982), Table I: ratings 1 to 5 of 58 normal and 51 abnormal images.
NORMAL, ABNORMAL = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
# Hollander and Wolfe (1973), p. 69: permeability of the human chorioamnion.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def exact_area(up, down):
    won = sum(Fraction(2 * (a > b) + (a == b), 2) for a in up for b in down)
    return won / (len(up) * len(down))


def test_h12_ties_that_are_not_adjacent_count_half():
    y, score = [1, 0, 1, 0, 1, 0, 0], [0.8, 0.3, 0.3, 0.8, 0.5, 0.5, 0.3]
    for order in (range(7), reversed(range(7)), [3, 0, 6, 2, 5, 1, 4]):
        places = list(order)
        found = auroc([score[k] for k in places], [y[k] for k in places])
        assert (found.value, found.u_statistic) == (7 / 12, 7)


def test_hanley_and_mcneil_1982():
    signal = [k for group in (NORMAL, ABNORMAL) for k, n in enumerate(group) for _ in range(n)]
    found = auroc(signal, [0] * 58 + [1] * 51)
    assert round(found.value, 3) == 0.893
    # Their own standard error, .032, is by another formula; DeLong's is near it.
    assert found.se == pytest.approx(0.032, abs=0.0025)


def test_permeability_as_r_prints_it():
    found = auroc(AT_TERM + EARLY, [1] * 10 + [0] * 5)  # R wilcox.test: W = 35, p = 0.1272
    assert found.u_statistic == 35
    from simtrack.inference.agreement.ranks import kendall_tau

    one = kendall_tau(AT_TERM + EARLY, [1] * 10 + [0] * 5, alternative="greater")
    assert round(one.pvalue, 4) == 0.1272
    assert found.test.pvalue == pytest.approx(2 * one.pvalue, rel=ROUNDING)


def test_the_exact_test_is_mann_whitney_without_ties():
    rng = np.random.default_rng(3)
    up, down = rng.normal(0.5, 1, 9), rng.normal(0, 1, 7)
    right = stats.mannwhitneyu(up, down, method="exact")
    found = auroc(np.concatenate([up, down]), [1] * 9 + [0] * 7)
    assert found.u_statistic == right.statistic
    assert found.test.pvalue == pytest.approx(right.pvalue, rel=1e-10)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
)
def test_the_area_is_the_share_of_pairs(up, down):
    found = auroc(up + down, [1] * len(up) + [0] * len(down))
    assert found.value == float(exact_area(up, down))
    turned = auroc([-v for v in up + down], [1] * len(up) + [0] * len(down))
    assert turned.value == pytest.approx(1 - found.value, abs=ROUNDING)
    swapped = auroc([-v for v in up + down], [0] * len(up) + [1] * len(down))
    assert swapped.value == pytest.approx(found.value, abs=ROUNDING)
    if found.se is not None:
        assert swapped.se == pytest.approx(found.se, abs=1e-10)


def test_delongs_variance_is_the_two_sample_jackknife():
    up, down = [5, 3, 3, 8, 6, 7], [1, 3, 4, 2, 6, 0, 3]
    area = exact_area(up, down)
    left_up = [exact_area(up[:k] + up[k + 1 :], down) for k in range(6)]
    left_down = [exact_area(up, down[:k] + down[k + 1 :]) for k in range(7)]
    variance = Fraction(5, 6) * sum((a - area) ** 2 for a in left_up)
    variance += Fraction(6, 7) * sum((a - area) ** 2 for a in left_down)
    found = auroc(up + down, [1] * 6 + [0] * 7)
    assert found.se == pytest.approx(math.sqrt(variance), rel=ROUNDING)


def test_obuchowskis_variance_in_fractions():
    # Clusters a, b, c, d; two hold positives only or negatives only.
    rows = [("a", 1, 5), ("a", 1, 3), ("a", 0, 3), ("b", 1, 4), ("b", 0, 1), ("b", 0, 4),
            ("c", 0, 2), ("c", 0, 2), ("d", 1, 6)]  # fmt: skip
    up = [s for _, y, s in rows if y]
    down = [s for _, y, s in rows if not y]
    m, n, area = len(up), len(down), exact_area(up, down)
    placed = [exact_area([s], down) if y else exact_area(up, [s]) for _, y, s in rows]
    sums = {
        c: [sum((p - area for p, r in zip(placed, rows, strict=True) if r[0] == c and r[1] == y),
                Fraction(0)) for y in (1, 0)]
        for c in "abcd"
    }  # fmt: skip
    s10 = Fraction(3, 2 * m) * sum(v[0] ** 2 for v in sums.values())  # 3 clusters with positives
    s01 = Fraction(3, 2 * n) * sum(v[1] ** 2 for v in sums.values())  # 3 with negatives
    s11 = Fraction(4, 3) * sum(v[0] * v[1] for v in sums.values())
    variance = s10 / m + s01 / n + 2 * s11 / (m * n)
    found = auroc([r[2] for r in rows], [r[1] for r in rows], cluster=[r[0] for r in rows])
    assert found.value == float(area)
    assert found.se == pytest.approx(math.sqrt(variance), rel=ROUNDING)
    assert (found.df, found.test) == (2, None)
    assert "not exchangeable" in found.notes[-1]


def test_items_written_twice_in_a_cluster_say_nothing_new():
    signal, truth = [5, 3, 1, 3, 4, 2, 6, 0], [1, 1, 0, 0, 1, 0, 1, 0]
    once = auroc(signal, truth)
    twice = auroc(signal * 2, truth * 2, cluster=[str(k % 8) for k in range(16)])
    assert (twice.value, twice.se) == pytest.approx((once.value, once.se), rel=ROUNDING)
    assert auroc(signal * 2, truth * 2).se < once.se


def test_the_logit_interval_stays_inside_and_the_plain_one_is_cut():
    signal, truth = [9, 8, 7, 3, 2, 1, 4, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    found, plain = auroc(signal, truth), auroc(signal, truth, scale="plain")
    t, a, se = stats.t.ppf(0.975, 3), 15 / 16, found.se
    half = t * se / (a * (1 - a))
    right = [1 / (1 + math.exp(-(math.log(a / (1 - a)) + sign * half))) for sign in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(right, rel=1e-9)
    assert 0 < found.low < a < found.high < 1
    assert plain.high == 1.0
    assert "cut off" in plain.notes[0]
    assert plain.low == pytest.approx(a - t * se, rel=1e-9)


def test_no_area_and_no_interval_come_with_a_reason():
    lone = auroc([1, 2], [1, 1])
    assert lone.value is None
    assert lone.notes == ("not defined: no negative",)
    apart = auroc([1, 2, 3, 4], [0, 0, 1, 1])
    assert (apart.value, apart.low) == (1.0, None)
    assert "width would be 0" in apart.notes[0]
    single = auroc([1, 2, 3], [0, 1, 0])
    assert single.se is None
    assert "one cluster only" in single.notes[0]
    with pytest.raises(InputError, match="none missing"):
        auroc([1, math.nan], [1, 0])
    with pytest.raises(InputError, match="positive must be true or false"):
        auroc([1, 2], [1, 2])
    with pytest.raises(InputError, match="cluster must be given for each of 2 items"):
        auroc([1, 2], [1, 0], cluster=["a"])
