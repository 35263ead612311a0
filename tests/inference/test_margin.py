"""Equivalence and non-inferiority: published examples, other libraries, enumeration, intervals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from simtrack.analysis.catalogue import find_method
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.margin import MARGIN_METHODS, Margin, margin_answer
from simtrack.inference.differences.score_interval import difference_score
from simtrack.method import Ask, Layout

#: Sums and square roots of doubles; the t law by two libraries.
CLOSE = 1e-10


def asked(name, totals, margin, alternative="two-sided", level=0.95):
    method = find_method(name)
    return margin_answer(
        method,
        Layout.of_totals(totals, (1.0, -1.0), method.pairing),
        Ask(level),
        Margin.of(margin, alternative),
    )


def clusters(first, second, trials):
    """Passes of two arms in the same clusters."""
    return Totals.from_arrays(np.stack([first, second], 1), np.full((len(first), 2), trials))


def apart(first, second, sizes):
    """Passes of two arms in clusters of their own."""
    top = [[x, 0] for x in first] + [[0, x] for x in second]
    bottom = [[n, 0] for n in sizes[0]] + [[0, n] for n in sizes[1]]
    return Totals.from_arrays(top, bottom)


def pairs(both, first_only, second_only, neither):
    rows = [[1, 1]] * both + [[1, 0]] * first_only + [[0, 1]] * second_only + [[0, 0]] * neither
    return Totals.from_arrays(rows, np.ones((len(rows), 2)))


# Tango 1998, Statistics in Medicine 17, section 5: 44 pairs, one discordant, margin .1
def test_non_inferiority_of_the_disinfection_of_contact_lenses():
    found = asked("tango", pairs(43, 0, 1, 0), 0.1, "greater")
    assert found.pvalue == pytest.approx(0.044, abs=5e-4)
    assert stats.norm.isf(found.pvalue) == pytest.approx(1.709, abs=5e-4)
    assert (found.extra["claim"], found.extra["verdict"]) == ("not inferior", "not inferior")
    assert found.extra["margin"] == "above -0.1"


# gsDesign, binomialTwoSample vignette: Farrington and Manning 1990, without the factor N/(N-1)
@pytest.mark.parametrize(("delta", "z"), [(0.0, 2.070197), (-0.02, 2.225796), (0.02, 1.915403)])
def test_score_at_a_margin_is_that_of_gsdesign(delta, z):
    data = [np.array([float(v)]) for v in (18, 30, 10, 30, delta)]
    assert difference_score(*data, correction=False)[0] == pytest.approx(z, abs=1e-6)
    if delta < 0.0:
        totals = apart([1] * 18 + [0] * 12, [1] * 10 + [0] * 20, ([1] * 30, [1] * 30))
        found = asked("miettinen-nurminen", totals, -delta, "greater")
        assert found.pvalue == pytest.approx(stats.norm.sf(z * math.sqrt(59 / 60)), abs=1e-7)


# Miettinen and Nurminen 1985, example 4, as gsDesign tests it
@pytest.mark.parametrize(("delta", "z"), [(-0.1658, 1.959962), (0.2843608, -1.959865)])
def test_score_of_no_success_is_that_of_miettinen_and_nurminen(delta, z):
    data = [np.array([float(v)]) for v in (0, 10, 0, 20, delta)]
    assert difference_score(*data)[0] == pytest.approx(z, abs=5e-4)


def test_equivalence_by_student_s_t_is_that_of_statsmodels():
    first = np.array([9, 8, 10, 7, 9, 8, 10, 9, 6, 8])
    second = np.array([8, 9, 9, 8, 9, 7, 10, 10, 6, 7])
    totals = clusters(first, second, 10)
    p, lower, upper = ttost_paired(first / 10, second / 10, -0.1, 0.15)
    found = asked("paired-cluster-t", totals, (-0.1, 0.15))
    assert found.pvalue == pytest.approx(p, abs=CLOSE)
    assert found.extra["pvalues"] == pytest.approx([lower[1], upper[1]], abs=CLOSE)
    assert found.extra["verdict"] == "equivalent"
    assert found.extra["interval_level"] == 0.9
    assert (found.low, found.high) == pytest.approx(
        stats.ttest_rel(first / 10, second / 10).confidence_interval(0.9), abs=CLOSE
    )


def test_equivalence_of_arms_apart_is_welch_s():
    # one trial a cluster: the clustered variance is s² / n, the degrees of freedom Welch's
    first, second = [1] * 18 + [0] * 4, [1] * 14 + [0] * 5
    p, lower, upper = ttost_ind(first, second, -0.3, 0.3, usevar="unequal")
    found = asked("cluster-t-difference", apart(first, second, ([1] * 22, [1] * 19)), 0.3)
    assert found.pvalue == pytest.approx(p, abs=CLOSE)
    assert found.extra["pvalues"] == pytest.approx([lower[1], upper[1]], abs=CLOSE)


@pytest.mark.parametrize(("alternative", "null"), [("greater", -0.15), ("less", 0.15)])
def test_sign_flip_at_a_margin_by_all_patterns_one_by_one(alternative, null):
    first, second = [7, 6, 8, 5, 7, 6, 8, 7], [6, 7, 7, 5, 8, 5, 7, 8]
    # tenths as typed: -0.15 is -3/20
    gaps = [Fraction(a - b, 8) - Fraction(str(null)) for a, b in zip(first, second, strict=True)]
    sign = 1 if alternative == "greater" else -1
    seen = sign * sum(gaps)
    count = sum(
        sign * sum(s * g for s, g in zip(signs, gaps, strict=True)) >= seen
        for signs in itertools.product((1, -1), repeat=8)
    )
    found = asked("sign-flip", clusters(first, second, 8), 0.15, alternative)
    assert found.exact == Fraction(count, 256)
    assert found.extra["floor"] == Fraction(1, 256)
    assert found.notes[-1].code == "symmetric-at-margin"
    both = asked("sign-flip", clusters(first, second, 8), 0.15)
    assert both.exact == max(
        asked("sign-flip", clusters(first, second, 8), 0.15, side).exact
        for side in ("greater", "less")
    )


def test_levels_that_never_differ_are_equivalent_by_sign_flip():
    # all gaps are 0, so that all shifted ones are the margin: only one pattern in 2^6 is as far
    found = asked("sign-flip", clusters([4] * 6, [4] * 6, 5), 0.05)
    assert (found.exact, found.extra["verdict"]) == (Fraction(1, 64), "equivalent")
    flat = asked("paired-cluster-t", clusters([4] * 6, [4] * 6, 5), 0.05)
    assert (flat.pvalue, flat.extra["verdict"]) == (None, "refused")
    assert "its width would be 0" in flat.refused


def test_too_few_clusters_are_refused_at_the_level_that_was_typed():
    few = asked("sign-flip", clusters([4, 3, 4, 4], [4, 3, 4, 4], 5), 0.2, level=0.93)
    assert few.pvalue == 0.0625  # 1 / 2^4 reaches .07, as it is one-sided
    refused = asked("sign-flip", clusters([4, 3, 4, 4], [4, 4, 4, 3], 5), 0.2)
    assert refused.refused == "4 clusters can give no p below 0.0625, above 0.05"
    assert refused.extra["verdict"] == "refused"


def test_newcombe_reaches_the_margin_at_the_level_of_its_p():
    totals = apart([1] * 56 + [0] * 14, [1] * 48 + [0] * 32, ([1] * 70, [1] * 80))
    found = asked("newcombe", totals, 0.02, "greater")
    assert found.pvalue < 0.05
    low, _ = confint_proportions_2indep(
        56, 70, 48, 80, method="newcomb", compare="diff", alpha=2 * found.pvalue
    )
    assert low == pytest.approx(-0.02, abs=1e-9)
    far = asked("newcombe", totals, 0.9, "greater")
    assert far.pvalue == 1e-10  # and no less is looked for
    worse = asked("newcombe", totals, 0.1, "less")
    assert worse.pvalue > 0.5


def drawn(rng, shares):
    rate = rng.beta(4, 2, size=14)
    first = rng.binomial(6, rate)
    return first, rng.binomial(6, np.clip(rate + shares, 0.0, 1.0))


@pytest.mark.parametrize("name", MARGIN_METHODS)
def test_p_rejects_where_the_interval_lies_within_the_margin(name):
    rng = np.random.default_rng(20)  # the data of a property, not a simulation
    seen = set()
    for k in range(15):
        first, second = drawn(rng, 0.1 * (k % 3 - 1))
        pairing = find_method(name).pairing
        if pairing == "trials":
            totals = Totals.from_arrays(np.stack([first > 3, second > 3], 1), np.ones((14, 2)))
        elif name in {"sign-flip", "paired-cluster-t", "newcombe-clustered"}:
            totals = clusters(first, second, 6)
        else:
            totals = apart(first[:7], second[7:], ([6] * 7, [6] * 7))
        for margin, side in (((-0.3, 0.2), "two-sided"), (0.25, "greater"), (0.1, "less")):
            found = asked(name, totals, margin, side, level=0.9)
            limits = Margin.of(margin, side)
            inside = limits.low < found.low and found.high < limits.high
            assert (found.pvalue <= 0.1) == inside, (k, margin, found)
            assert (found.extra["verdict"] != "not shown") == inside
            seen.add(inside)
    assert seen == {True, False}


def test_one_claim_has_its_words():
    assert [Margin.of(0.1, side).words for side in ("two-sided", "greater", "less")] == [
        "within -0.1 to 0.1", "above -0.1", "below 0.1",
    ]  # fmt: skip
    assert Margin.of(0.1, "less").claim == "not superior"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Margin.of(-0.1, "greater"), "margin must be above 0, got -0.1. For non-inferior"),
        (lambda: Margin.of((0.1, 0.2), "two-sided"), "margin must be below 0 and above 0, got 0.1"),
        (lambda: Margin.of((-0.1, 0.2), "less"), "margin must be one number with the alternative"),
        (lambda: asked("mcnemar", pairs(3, 1, 1, 3), 0.1), "method must be one that tests a margi"),
        (lambda: asked("tango", pairs(3, 1, 1, 3), 0.1, level=0.5), "level must be above 0.5 with"),
        (lambda: asked("tango", pairs(3, 1, 1, 3), 1.0), "margin must be below 1 for scores in"),
    ],
)
def test_margins_that_mean_nothing_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
