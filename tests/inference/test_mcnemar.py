"""McNemar's test: published tables, SciPy, enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.exact.mcnemar import (
    mcnemar,
    mcnemar_midp,
    mcnemar_stratified,
    mcnemar_totals,
)

FAGERLAND = 0.0005  # printed to three or four places


def test_h07_equal_discordant_counts_give_one():
    assert mcnemar(6, 6).exact == 1
    assert mcnemar(6, 6).pvalue == 1.0


def test_tau2_base_against_fine_tuned():
    assert mcnemar(2, 16).pvalue == pytest.approx(0.001312, abs=5e-7)
    assert mcnemar(2, 16).exact == Fraction(2 * (1 + 18 + 153), 2**18)


def test_h08_pairs_by_id_not_by_order():
    """Five pairs disagree one way, none the other: 2/2^5; one unit has no partner."""
    passed = {"q1": (1, 0), "q2": (1, 0), "q3": (0, 0), "q4": (1, 1), "q5": (1, 0),
              "q6": (1, 0), "q8": (1, 0)}  # fmt: skip
    a = Totals.from_arrays([v[0] for v in passed.values()] + [0], [1] * 8, clusters=[*passed, "q7"])
    order = ["q8", "q3", "q1", "q6", "q2", "q5", "q4"]
    b = Totals.from_arrays([passed[q][1] for q in order], [1] * 7, clusters=order)
    found = mcnemar_totals(Totals.stack([a, b], ["a", "b"], "pass"))
    assert (found.only_first, found.only_second) == (5, 0)
    assert found.exact == Fraction(1, 16)
    assert found.notes == ("unpaired units left out: 1",)


def test_several_trials_a_row_are_refused():
    with pytest.raises(InputError, match="one trial of 0 or 1 a cluster"):
        mcnemar_totals(Totals.from_arrays([[2, 1]], [[2, 2]]))


@pytest.mark.parametrize(
    ("b", "c", "exact", "midp"),
    [
        # Fagerland, Lydersen, Laake (2013): airway hyper-responsiveness before and after stem cell
        # transplantation (Bentur et al. 2009), and complete response (Cavo et al. 2012)
        (1, 7, 0.070, 0.039),
        (6, 16, 0.0525, 0.0347),
    ],
)
def test_fagerland_2013(b, c, exact, midp):
    assert mcnemar(b, c).pvalue == pytest.approx(exact, abs=FAGERLAND)
    assert mcnemar_midp(b, c).pvalue == pytest.approx(midp, abs=FAGERLAND)


def test_r_documentation_approval_ratings():
    """Agresti (1990), p. 350, R's mcnemar.test: 150 against 86 of 1600 who were asked twice."""
    from scipy.stats import binomtest

    assert mcnemar(150, 86).pvalue == pytest.approx(binomtest(86, 236).pvalue, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from(["two-sided", "greater", "less"]))
def test_all_outcomes_listed(b, c, alternative):
    """Weigh every split of the discordant pairs: more extreme 1, as extreme 1 (mid-p 1/2)."""
    n = b + c
    above = Fraction(b) - Fraction(n, 2)
    more = equal = 0
    for pattern in itertools.product((0, 1), repeat=n):
        gap = sum(pattern) - Fraction(n, 2)
        seen = {"two-sided": (abs(gap), abs(above)), "greater": (gap, above),
                "less": (-gap, -above)}[alternative]  # fmt: skip
        more += seen[0] > seen[1]
        equal += seen[0] == seen[1]
    assert mcnemar(b, c, alternative=alternative).exact == Fraction(more + equal, 2**n)
    if n:
        found = mcnemar_midp(b, c, alternative=alternative)
        assert found.exact == Fraction(more, 2**n) + Fraction(equal, 2 ** (n + 1))
        assert found.floor <= found.exact


def test_strata_add_up_where_pairs_count_alike():
    found = mcnemar_stratified([1, 0, 1], [6, 4, 6])
    assert found.exact == mcnemar(2, 16).exact
    assert found.notes == ("3 strata, each pair counts alike: discordant pairs are added up",)


def test_strata_that_count_alike_equal_enumeration():
    b, c, n = [3, 0, 2], [1, 2, 0], [10, 4, 5]
    sizes = [Fraction(1, n[s]) for s in range(3) for _ in range(b[s] + c[s])]
    observed = sum(Fraction(x - y, m) for x, y, m in zip(b, c, n, strict=True))
    hits = sum(
        abs(sum(s * d for s, d in zip(signs, sizes, strict=True))) >= abs(observed)
        for signs in itertools.product((1, -1), repeat=len(sizes))
    )
    found = mcnemar_stratified(b, c, pairs=n, weights="equal")
    assert found.exact == Fraction(hits, 2 ** len(sizes))
    assert found.statistic == pytest.approx(float(observed / 3), rel=1e-15)


def test_strata_are_checked():
    with pytest.raises(InputError, match="pairs must be the number of pairs"):
        mcnemar_stratified([1], [2], weights="equal")
    with pytest.raises(InputError, match="as many strata"):
        mcnemar_stratified([1, 2], [2])
    with pytest.raises(InputError, match="pairs must be an integer >= 3"):
        mcnemar_stratified([1], [2], pairs=[2], weights="equal")
    nothing = mcnemar_stratified([0, 0], [0, 0], pairs=[3, 4], weights="equal")
    assert nothing.exact == 1


def test_no_discordant_pair():
    for found in (mcnemar(0, 0), mcnemar_midp(0, 0)):
        assert found.exact == 1
        assert found.statistic is None
        assert found.notes == ("no discordant pair: there is nothing to test",)


def test_midp_promises_no_level():
    assert mcnemar_midp(1, 7).guarantee == "asymptotic"
    assert mcnemar(1, 7).guarantee == "finite-sample"
    assert mcnemar(0, 5).refusal(0.05) is not None
    assert mcnemar_midp(0, 5).refusal(0.05) is None  # 2^-5 = .03125
