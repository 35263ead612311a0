"""Agreement: published coefficients and standard errors, exact fractions, and undefined cases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import DataError, InputError
from simtrack.inference.agreement.agreement import agreement_weights, percent_agreement
from simtrack.inference.agreement.kappa import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
)
from simtrack.inference.agreement.ratings import Ratings
from simtrack.inference.rates.bounded_mean import bounded_mean

ROUNDING = 1e-12
N = None
# Krippendorff (2011), section C; Gwet (2014) prints the same table without one rating.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
GWET = [KRIPPENDORFF[0], [*KRIPPENDORFF[1][:11], N], [*KRIPPENDORFF[2][:11], 3], KRIPPENDORFF[3]]
THREE = [
    [N, N, N, N, N, 3, 4, 1, 2, 1, 1, 3, 3, N, 3],
    [1, N, 2, 1, 3, 3, 4, 3, N, N, N, N, N, N, N],
    [N, N, 2, 1, 3, 4, 4, N, 2, 1, 1, 3, 3, N, 4],
]
GENDER = ["aaaaabbbcaaaaab", "aaaababccaaaaba", "abbcaabbcabbcaa", "ccccaabbcccccaa"]
OBSERVERS = [
    [1, 1, 2, N, 0, 0, 1, 1, 2, 2, N, 0, 1, 3, 1],
    [1, 1, 3, 0, 0, 0, 0, N, 2, 1, 1, 0, 2, 3, 1],
    [2, 0, 3, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2, 1],
    [N, 1, 3, N, N, N, N, 0, N, 1, 0, 0, 2, 2, N],
    [2, N, N, 0, 0, 0, 1, N, 2, N, N, N, N, 3, 1],
]
# Fleiss (1971), Table 1: 30 patients, six psychiatrists, diagnoses 1 to 5 (sorted within patient).
DIAGNOSES = [
    "444444", "222555", "233335", "555555", "222444", "113333", "333355", "113334",
    "114444", "555555", "144444", "124444", "222333", "144444", "224445", "333335",
    "111455", "111112", "224444", "133555", "555555", "244444", "224555", "114444",
    "144445", "222224", "111155", "224444", "133333", "555555",
]  # fmt: skip
# irr::anxiety of R, raters 2 and 3; level 5 is used by neither.
ANXIETY = ("36462424332333221334", "21443216111233113322")
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
SAS = [[0, 4, 1], [0, 8, 0], [0, 1, 5]]
WIKIPEDIA = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def by_rater(raters, **options):
    return Ratings.from_rows([list(row) for row in zip(*raters, strict=True)], **options)


@pytest.mark.parametrize(
    ("weights", "kappa", "ase"), [("identity", 0.4842, 0.1380), ("linear", 0.4701, 0.1457)]
)
def test_cohen_kappa_and_its_error_as_sas_prints_them(weights, kappa, ase):
    found = cohen_kappa(SAS, weights=weights)
    assert found.value == pytest.approx(kappa, abs=5e-5)
    # SAS divides by n, we by n - 1.
    assert found.se * math.sqrt(18 / 19) == pytest.approx(ase, abs=5e-5)


def test_cohen_kappa_of_the_abstractors():
    found = cohen_kappa(ABSTRACTORS)  # R irrCAC: .7964094, se .05891072
    assert found.value == pytest.approx(0.7964094, abs=5e-8)
    assert found.se * math.sqrt(99 / 100) == pytest.approx(0.05891072, abs=5e-9)


@pytest.mark.parametrize(
    ("weights", "kappa"),
    [("identity", -0.006289308), ("linear", 0.1459075), ("quadratic", 0.2520325)],
)
def test_cohen_kappa_of_anxiety_as_irr_gives_it(weights, kappa):
    found = cohen_kappa(by_rater(ANXIETY), weights=weights)
    assert found.categories == ("1", "2", "3", "4", "6")
    assert found.value == pytest.approx(kappa, abs=5e-8)


def test_cohen_error_is_that_of_fleiss_cohen_and_everitt():
    table, w = (
        np.array([[11, 3, 1], [2, 9, 4], [0, 5, 8]]),
        agreement_weights("linear", tuple("abc")),
    )
    p = table / table.sum()
    r, c = p.sum(1), p.sum(0)
    po, pe = (w * p).sum(), (w * np.outer(r, c)).sum()
    mixed = (w * c).sum(1)[:, None] + (w.T * r).sum(1)[None, :]
    inner = (p * (w - mixed * (1 - (po - pe) / (1 - pe))) ** 2).sum()
    kappa = (po - pe) / (1 - pe)
    variance = (inner - (kappa - pe * (1 - kappa)) ** 2) / (43 * (1 - pe) ** 2)
    found = cohen_kappa(table, weights="linear")
    assert found.value == pytest.approx(kappa, rel=ROUNDING)
    assert found.se == pytest.approx(math.sqrt(variance * 43 / 42), rel=1e-10)


def test_h10_one_label_has_no_kappa_but_a_reason_and_full_agreement():
    ratings = Ratings.from_rows([["pass", "pass"]] * 6)
    for found in (cohen_kappa(ratings), fleiss_kappa(ratings)):
        assert found.value is None
        assert (found.observed, found.expected) == (1.0, 1.0)
        assert "one label" in found.notes[0]
        assert found.se is found.low is found.high is None
    alpha = krippendorff_alpha(ratings)
    assert (alpha.value, alpha.observed) == (None, 1.0)
    assert "one label" in alpha.notes[0]
    assert percent_agreement(ratings).value == 1.0


def test_gwet_ac_of_one_label_is_defined_once_other_categories_are_declared():
    rows = [["pass", "pass"]] * 6
    assert gwet_ac(Ratings.from_rows(rows)).value is None
    assert gwet_ac(Ratings.from_rows(rows, categories=["fail", "pass"])).value == 1.0


def test_h11_fleiss_takes_counts_and_refuses_labels_in_their_place():
    labels = [[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]
    with pytest.raises(InputError, match=r"For labels use Ratings\.from_rows"):
        fleiss_kappa(labels)
    assert fleiss_kappa(Ratings.from_rows(labels)).value == pytest.approx(35 / 47, rel=ROUNDING)
    counts = [[2, 1, 0], [0, 3, 0], [0, 0, 3], [3, 0, 0]]
    assert fleiss_kappa(counts).value == pytest.approx(35 / 47, rel=ROUNDING)


def test_h11_agreement_below_chance_is_minus_a_third():
    assert fleiss_kappa([[2, 2], [2, 2], [2, 2]]).value == pytest.approx(-1 / 3, rel=ROUNDING)


def test_fleiss_kappa_of_the_psychiatric_diagnoses():
    found = fleiss_kappa(Ratings.from_rows([list(row) for row in DIAGNOSES]))
    assert found.value == pytest.approx(0.4302445, abs=5e-8)  # Fleiss prints .430, R irr the rest


def test_fleiss_kappa_of_the_wikipedia_table():
    found = fleiss_kappa(WIKIPEDIA)
    assert (round(found.value, 3), round(found.observed, 3), round(found.expected, 3)) == (
        0.210, 0.378, 0.213,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("table", "kappa"),
    [([[7, 1], [3, 5]], 0.161905), ([[6, 1, 0], [0, 7, 0]], 0.708333), ([[7, 0], [0, 7]], 1.0)],
)
def test_fleiss_kappa_of_randolphs_calculator(table, kappa):
    assert fleiss_kappa(table).value == pytest.approx(kappa, abs=6e-7)


@pytest.mark.parametrize(
    ("method", "weights", "value"),
    [
        (fleiss_kappa, "identity", 0.761), (fleiss_kappa, "linear", 0.818),
        (fleiss_kappa, "quadratic", 0.865), (gwet_ac, "identity", 0.775),
        (gwet_ac, "linear", 0.859), (gwet_ac, "quadratic", 0.914),
    ],
)  # fmt: skip
def test_four_raters_with_missing_ratings_as_gwet_gives_them(method, weights, value):
    assert method(by_rater(GWET), weights=weights).value == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(
    ("method", "value", "se", "low", "high"),
    [
        (fleiss_kappa, 0.12888889, 0.14050133, -0.1724565, 0.43023428),
        (gwet_ac, 0.20808081, 0.09069682, 0.01355548, 0.40260613),
    ],
)
def test_error_and_interval_of_complete_ratings_are_those_of_irrcac(method, value, se, low, high):
    found = method(by_rater(GENDER))
    assert (found.value, found.se, found.low, found.high) == (
        pytest.approx(value, abs=6e-9), pytest.approx(se, abs=6e-9),
        pytest.approx(low, abs=6e-8), pytest.approx(high, abs=6e-8),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "value"), [(fleiss_kappa, 0.458), (gwet_ac, 0.497), (krippendorff_alpha, 0.481)]
)
def test_five_observers(method, value):
    assert method(by_rater(OBSERVERS)).value == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(
    ("measurement", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorff_2011(measurement, alpha):
    found = krippendorff_alpha(by_rater(KRIPPENDORFF), measurement=measurement)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert found.units == 11
    assert "1 units with fewer than two ratings" in found.notes[0]


@pytest.mark.parametrize(("measurement", "alpha"), [("nominal", 0.691358), ("interval", 0.810845)])
def test_krippendorff_alpha_of_three_coders(measurement, alpha):
    found = krippendorff_alpha(by_rater(THREE), measurement=measurement)
    assert found.value == pytest.approx(alpha, abs=6e-7)


def test_krippendorff_alpha_of_words():
    rows = [["pos"] * 3, ["neg"] * 3, ["neu", "neu", "pos"], [None, "pos", "pos"]]
    assert krippendorff_alpha(Ratings.from_rows(rows)).value == pytest.approx(0.722222, abs=6e-7)


def exact_alpha(rows, distance):
    """α from its definition, pair by pair, in fractions."""
    kept = [[v for v in row if v is not None] for row in rows]
    kept = [row for row in kept if len(row) > 1]
    values = [v for row in kept for v in row]
    n = len(values)
    seen = sum(
        (Fraction(distance(a, b, values), len(row) - 1) for row in kept
         for a, b in permutations(row, 2)), Fraction(0),
    ) / n  # fmt: skip
    chance = Fraction(sum(distance(a, b, values) for a, b in permutations(values, 2)), n * (n - 1))
    return None if chance == 0 else 1 - seen / chance


def ordinal(a, b, values):
    low, high = min(a, b), max(a, b)
    between = sum(low <= v <= high for v in values)
    return (between - Fraction(values.count(a) + values.count(b), 2)) ** 2 if a != b else 0


DISTANCES = {
    "nominal": lambda a, b, _: int(a != b),
    "ordinal": ordinal,
    "interval": lambda a, b, _: (a - b) ** 2,
}
tables = st.lists(
    st.lists(st.sampled_from([None, 1, 2, 4, 5]), min_size=3, max_size=3), min_size=2, max_size=7
)


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from(sorted(DISTANCES)))
def test_krippendorff_alpha_is_its_definition(rows, measurement):
    right = (
        exact_alpha(rows, DISTANCES[measurement])
        if any(sum(v is not None for v in row) > 1 for row in rows)
        else None
    )
    ratings = Ratings.from_rows(rows, categories=[1, 2, 4, 5])
    found = krippendorff_alpha(ratings, measurement=measurement).value
    assert (found is None) == (right is None)
    if right is not None:
        assert found == pytest.approx(float(right), abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=3, max_size=25))
def test_two_raters_fleiss_is_scott_and_percent_is_the_diagonal(pairs):
    ratings = Ratings.from_rows([list(p) for p in pairs], categories="abc")
    same = Fraction(sum(a == b for a, b in pairs), len(pairs))
    labels = [v for p in pairs for v in p]
    chance = sum(Fraction(labels.count(v), len(labels)) ** 2 for v in "abc")
    assert percent_agreement(ratings).value == pytest.approx(float(same), rel=ROUNDING)
    found = fleiss_kappa(ratings).value
    if chance == 1:
        assert found is None
    else:
        assert found == pytest.approx(float((same - chance) / (1 - chance)), abs=1e-10)


@pytest.mark.parametrize("method", [cohen_kappa, fleiss_kappa, gwet_ac])
def test_a_unit_written_twice_in_one_cluster_says_nothing_new(method):
    rows = [["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"], ["a", "a"], ["b", "a"], ["a", "a"]]
    once = method(Ratings.from_rows(rows))
    twice = method(Ratings.from_rows(rows + rows, cluster=[f"c{k % 7}" for k in range(14)]))
    assert twice.clusters == 7
    assert (twice.value, twice.se) == pytest.approx((once.value, once.se), rel=ROUNDING)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high), rel=ROUNDING)
    apart = method(Ratings.from_rows(rows + rows))
    assert apart.se < 0.75 * once.se


def test_influence_is_the_limit_of_leaving_a_cluster_out():
    # Delete-one jackknife and linearisation agree to O(1/G) where there are many clusters.
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 400)
    rows = [[str(t if u < 0.8 else 0), str(t if v < 0.7 else 1)]
            for t, u, v in zip(truth, rng.random(400), rng.random(400), strict=True)]  # fmt: skip
    for method in (cohen_kappa, gwet_ac, krippendorff_alpha):
        found = method(Ratings.from_rows(rows, categories="012"))
        left = np.array([
            method(Ratings.from_rows(rows[:k] + rows[k + 1 :], categories="012")).value
            for k in range(0, 400, 4)
        ])  # fmt: skip
        jackknife = math.sqrt(399 * 399 / 400 * 4 * ((left - found.value) ** 2).sum() / 400)
        assert found.se == pytest.approx(jackknife, rel=0.15)


def test_percent_agreement_is_a_bounded_mean_over_clusters():
    rows = [["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"], ["a", "b"], ["a", "a"]]
    found = percent_agreement(Ratings.from_rows(rows, cluster=list("xxyyzz")))
    right = bounded_mean(Totals.from_arrays([1, 2, 1], [2, 2, 2]))
    assert (found.low, found.high) == (right.low[0], right.high[0])
    assert percent_agreement(by_rater(GWET)).value == pytest.approx(0.8181818, abs=5e-8)  # irrCAC


def test_ratings_are_joined_by_id_never_by_position():
    unit, rater = ["u2", "u1", "u1", "u2"], ["y", "x", "y", "x"]
    found = Ratings.from_columns(unit, rater, ["b", "a", "a", "b"], cluster=["k", "j", "j", "k"])
    assert found.codes.tolist() == [[0, 0], [1, 1]]
    assert found.groups.levels == ("j", "k")
    with pytest.raises(DataError, match="rater x rated unit u1 more than once"):
        Ratings.from_columns(["u1", "u1"], ["x", "x"], ["a", "b"])
    with pytest.raises(DataError, match="unit u1 lies in clusters j and k"):
        Ratings.from_columns(["u1", "u1"], ["x", "y"], ["a", "b"], cluster=["j", "k"])


def test_degenerate_ratings_give_a_reason():
    one = cohen_kappa(Ratings.from_rows([["a", "a"], ["a", "b"], ["b", "b"]], cluster=["c"] * 3))
    assert one.value is not None
    assert one.low is None
    assert "one cluster" in one.notes[-1]
    perfect = cohen_kappa([[5, 0], [0, 5]])
    assert (perfect.value, perfect.se, perfect.low) == (1.0, 0.0, None)
    assert "width would be 0" in perfect.notes[-1]
    nobody = krippendorff_alpha(Ratings.from_rows([["a", None], [None, "b"]]))
    assert nobody.value is None
    assert "no unit has two ratings" in nobody.notes[0]
    assert percent_agreement(Ratings.from_rows([["a", None]])).value is None
    assert cohen_kappa([[9, 0], [1, 8]]).high == 1.0


def test_wrong_input_is_refused():
    three = Ratings.from_rows([["a", "b", "a"], ["a", "a", "a"]])
    with pytest.raises(InputError, match="ratings must be of two named raters, got 3 raters"):
        cohen_kappa(three)
    with pytest.raises(InputError, match="table must be square"):
        cohen_kappa([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InputError, match="scores must be given where labels are no numbers"):
        krippendorff_alpha(three, measurement="interval")
    with pytest.raises(InputError, match="weights must be one of identity, linear, quadratic"):
        fleiss_kappa(three, weights="cubic")
    with pytest.raises(InputError, match="label must be one of"):
        Ratings.from_rows([["a", "z"]], categories=["a", "b"])


def test_a_result_is_plain_for_json():
    found = gwet_ac([[2, 0], [1, 1], [0, 2]]).to_dict()
    assert found["schema"] == "simtrack.agreement/1"
    assert (found["computation"], found["guarantee"]) == ("closed-form", "asymptotic")
