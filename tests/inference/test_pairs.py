"""Differences from pairs: Tango and Newcombe's paired method against print, R and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.differences.newcombe import newcombe, newcombe_paired, newcombe_pairs
from simtrack.inference.differences.paired_rates import joint_counts, tango, tango_pairs

FOUR = 5e-5  # published to four decimals
THREE = 5e-4
Z = 1.959963984540054


def ends(found):
    return tuple(float(end) for end in found)


def test_cavo_2012_complete_response_before_and_after():
    # 59 both, 6 and 16 discordant, 80 neither; the R package contingencytables prints these.
    assert ends(tango(6, 16, 161)) == pytest.approx((-0.1240, -0.0054), abs=FOUR)
    assert ends(newcombe_paired(59, 6, 16, 80)) == pytest.approx((-0.1186, -0.0046), abs=FOUR)


def test_bentur_2009_airway_hyper_responsiveness():
    # 1 both, 1 and 7 discordant, 12 neither: Fagerland, Lydersen and Laake (2014), Stat. Med. 33.
    assert ends(tango(1, 7, 21)) == pytest.approx((-0.517, -0.026), abs=THREE)
    assert ends(newcombe_paired(1, 1, 7, 12)) == pytest.approx((-0.507, -0.026), abs=THREE)


def test_tango_r_propcis_scoreci_mp():
    found = tango(28, 25, 618, level=0.9)  # PropCIs::scoreci.mp(25, 28, 618, 0.90)
    assert ends(found) == pytest.approx((-0.0148, 0.0247), abs=FOUR)


def fitted(b, c, n, delta):
    """Maximise the trinomial likelihood with P(first only) - P(second only) = delta, by SciPy."""
    from scipy.optimize import minimize_scalar
    from scipy.special import xlog1py, xlogy

    def loss(q):
        return -(xlogy(b, q + delta) + xlogy(c, q) + xlog1py(n - b - c, -2 * q - delta))

    bounds = (max(0.0, -delta) + 1e-13, (1.0 - delta) / 2 - 1e-13)
    return minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x


@pytest.mark.parametrize("pairs", [(6, 16, 161), (1, 7, 21), (12, 2, 50), (5, 5, 12), (9, 3, 12)])
def test_each_tango_end_solves_the_score_equation(pairs):
    b, c, n = pairs
    for sign, end in zip((1, -1), ends(tango(*pairs)), strict=True):
        q = fitted(b, c, n, end)
        score = (b - c - n * end) / (n * (2 * q + end * (1 - end))) ** 0.5
        assert score == pytest.approx(sign * Z, abs=1e-6)


def test_tango_at_zero_is_mcnemar():
    # McNemar's statistic is (b - c)² / (b + c) = 144/14: at its own level one end is exactly 0.
    from scipy.stats import chi2

    level = float(chi2.cdf((14 - 2) ** 2 / 16, 1))
    assert float(tango(14, 2, 60, level=level)[0]) == pytest.approx(0.0, abs=1e-12)


def test_tango_without_discordant_pairs_is_wilson_on_each_side():
    # The score equation is n delta = z² (1 - delta): delta = z²/(n + z²).
    low, high = ends(tango(0, 0, 46))
    assert high == pytest.approx(Z * Z / (46 + Z * Z), rel=1e-12)
    assert low == -high
    low, high = ends(tango(10, 0, 10))
    assert high == 1.0
    assert 0.0 < low < 1.0


def test_tango_covers_near_the_level_by_enumeration():
    from scipy.stats import multinomial

    n = 20
    b, c = np.array([(i, j) for i in range(n + 1) for j in range(n + 1 - i)]).T
    low, high = tango(b, c, n)
    found = []
    for p in ((0.1, 0.1), (0.3, 0.05), (0.02, 0.2), (0.4, 0.3), (0.0, 0.15)):
        weight = multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, [*p, 1 - sum(p)])
        gap = p[0] - p[1]
        found.append(weight[(low <= gap) & (gap <= high)].sum())
    assert min(found) > 0.93
    assert 0.94 < np.mean(found) < 0.98


def test_uncorrelated_pairs_are_newcombes_independent_interval():
    # ad = bc: 8·3 = 4·6, so phi is 0.
    found = ends(newcombe_paired(8, 4, 6, 3))
    assert found == pytest.approx(ends(newcombe(12, 21, 14, 21)), rel=1e-12)
    # An empty margin: phi is taken as 0 (all succeed under the first condition).
    assert ends(newcombe_paired(5, 7, 0, 0)) == pytest.approx(ends(newcombe(12, 12, 5, 12)))


def test_continuity_makes_a_positive_correlation_smaller_only():
    # ad - bc = 40 - 6 = 34, less n/2 = 9.5: phi = 24.5 / sqrt(11·8·10·9).
    from simtrack.inference.rates.wilson import wilson

    phi = 24.5 / (11 * 8 * 10 * 9) ** 0.5
    p, q = 11 / 19, 10 / 19
    (l1, u1), (l2, u2) = wilson(11, 19), wilson(10, 19)
    down = ((p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2) ** 0.5
    up = ((u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2) ** 0.5
    assert ends(newcombe_paired(8, 3, 2, 6)) != pytest.approx((p - q - down, p - q + up))
    phi = (8 * 6 - 3 * 2 - 9.5) / (11 * 8 * 10 * 9) ** 0.5
    down = ((p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2) ** 0.5
    up = ((u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2) ** 0.5
    assert ends(newcombe_paired(8, 3, 2, 6)) == pytest.approx((p - q - down, p - q + up))


cells = st.tuples(*[st.integers(0, 25)] * 4).filter(lambda v: sum(v) > 0)


@settings(max_examples=80, deadline=None)
@given(cells, st.floats(0.5, 0.999))
def test_ends_enclose_the_difference_and_turn_with_the_conditions(table, level):
    a, b, c, d = table
    n = sum(table)
    for found, other in (
        (tango(b, c, n, level=level), tango(c, b, n, level=level)),
        (newcombe_paired(a, b, c, d, level=level), newcombe_paired(a, c, b, d, level=level)),
    ):
        low, high = ends(found)
        assert -1.0 <= low <= (b - c) / n + 1e-15
        assert (b - c) / n - 1e-15 <= high <= 1.0
        assert (-high, -low) == pytest.approx(ends(other), abs=1e-9)


def test_pairs_come_from_clusters_by_label_with_the_rest_counted():
    totals = Totals.from_arrays(
        [[1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [1, 0], [0, 1]],
        [[1, 1]] * 5 + [[1, 0], [0, 1]],
    )
    two, counts, notes = joint_counts(totals)
    assert counts == (1.0, 2.0, 1.0, 1.0)
    assert notes == ("unpaired clusters left out: 2",)
    assert two.rates.rate.tolist() == [0.6, 0.4]  # over the pairs alone
    found = tango_pairs(totals)
    assert (found.low, found.high) == pytest.approx(ends(tango(2, 1, 5)), rel=1e-12)
    assert (found.notes, found.computation) == (notes, "optimisation")
    found = newcombe_pairs(totals, 1, 0)
    assert (found.low, found.high) == pytest.approx(ends(newcombe_paired(1, 1, 2, 1)), rel=1e-12)


@pytest.mark.parametrize("method", [tango_pairs, newcombe_pairs])
def test_what_is_no_pair_is_refused(method):
    with pytest.raises(InputError, match="at most one a cluster and condition, got 2"):
        method(Totals.from_arrays([[1, 2]], [[1, 2]]))
    with pytest.raises(InputError, match="scores must be 0 or 1 for pairs"):
        method(Totals.from_arrays([[0.5, 1]], [[1, 1]], square=[[0.25, 1]]))
    found = method(Totals.from_arrays([[1, 0], [0, 1]], [[1, 0], [0, 1]]))
    assert (found.low, found.notes[0]) == (None, "unpaired clusters left out: 2")


def test_counts_of_pairs_are_checked():
    with pytest.raises(InputError, match="successes must be between 0 and n, got 7"):
        tango(4, 3, 6)
    with pytest.raises(InputError, match="pairs must be counts of at least 0"):
        newcombe_paired(1, -1, 3, 4)
    with pytest.raises(InputError, match="n must be above 0"):
        newcombe_paired(0, 0, 0, 0)
    lower, upper = tango(6, 16, 161, side="lower"), tango(6, 16, 161, side="upper")
    both = tango(6, 16, 161, level=0.9)
    assert ends(lower) == (pytest.approx(float(both[0])), 1.0)
    assert ends(upper) == (-1.0, pytest.approx(float(both[1])))
