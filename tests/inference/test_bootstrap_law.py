"""The bootstrap law against full enumeration of all G^G resamples in exact arithmetic."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.resampling.bootstrap import bootstrap
from simtrack.inference.resampling.convolution import law_of_line, law_of_plane, reachable
from simtrack.inference.resampling.lattice import Line, as_line, as_plane
from simtrack.inference.resampling.law import BootstrapLaw
from simtrack.inference.resampling.sample import checked_sample

#: Masses are sums of at most some thousand doubles below 1.
LAW_TOLERANCE = 1e-12


def statistic(sums, weights, kind="contrast") -> Fraction | None:
    """The statistic of column sums ((x, m), ...) in fractions; None where it is undefined."""
    above = below = Fraction(0)
    for (top, bottom), w in zip(sums, weights, strict=True):
        if bottom == 0:
            return None
        if kind == "contrast" or w > 0:
            above += Fraction(w) * Fraction(top, bottom)
        else:
            below -= Fraction(w) * Fraction(top, bottom)
    if kind == "contrast":
        return above
    return above / below if below else None


def enumerated(pools, weights, kind="contrast"):
    """List every resample of every pool: value -> probability, and the undefined mass."""
    listed = []
    for rows in pools:  # every draw of every cluster, G^G of them
        flat = [[n for pair in row for n in pair] for row in rows]
        draws = itertools.product(flat, repeat=len(flat))
        listed.append(Counter(tuple(map(sum, zip(*draw, strict=True))) for draw in draws))
    law: dict[Fraction, int] = {}
    lost = n = 0
    for parts in itertools.product(*(tally.items() for tally in listed)):
        sums = [sum(column) for column in zip(*(s for s, _ in parts), strict=True)]
        value = statistic(list(zip(sums[::2], sums[1::2], strict=True)), weights, kind)
        ways = math.prod(k for _, k in parts)
        n += ways
        if value is None:
            lost += ways
        else:
            law[value] = law.get(value, 0) + ways
    total = n - lost
    return {v: Fraction(k, total) for v, k in sorted(law.items())}, Fraction(lost, n)


def quantile(law, p) -> Fraction:
    """The smallest value whose distribution function reaches p."""
    total = Fraction(0)
    for value, mass in law.items():
        total += mass
        if total >= p:
            return value
    raise AssertionError


def rows_of(top, bottom):
    """Rows of (x, m) pairs from arrays of shape (clusters, columns)."""
    return [
        [(int(x), int(m)) for x, m in zip(a, b, strict=True)]
        for a, b in zip(np.atleast_2d(top), np.atleast_2d(bottom), strict=True)
    ]


def assert_same(law: BootstrapLaw, exact, lost=Fraction(0)):
    """Values, probabilities, quantiles and moments are those of the enumeration."""
    values, masses = law.table()
    np.testing.assert_allclose(values, [float(v) for v in exact], rtol=0, atol=LAW_TOLERANCE)
    np.testing.assert_allclose(
        masses, [float(m) for m in exact.values()], rtol=0, atol=LAW_TOLERANCE
    )
    assert law.undefined == pytest.approx(float(lost), rel=1e-12, abs=0)
    for p in (Fraction(1, 40), Fraction(1, 4), Fraction(1, 2), Fraction(39, 40)):
        right = float(quantile(exact, p))
        assert law.quantile(float(p)) == pytest.approx(right, rel=0, abs=LAW_TOLERANCE)
    mean = sum(v * m for v, m in exact.items())
    variance = sum((v - mean) ** 2 * m for v, m in exact.items())
    assert law.mean == pytest.approx(float(mean), abs=LAW_TOLERANCE)
    assert law.standard_deviation**2 == pytest.approx(float(variance), abs=LAW_TOLERANCE)


ONE_RATE = ([[3], [5], [0], [2], [4], [5]], [[5]] * 6)
RATIO = ([[3], [1], [0], [2], [4], [2]], [[4], [5], [1], [2], [6], [3]])
PAIRED = ([[3, 1], [1, 4], [0, 2], [2, 0], [4, 3]], [[4, 2], [5, 4], [1, 3], [2, 2], [6, 5]])
SHARED_TRIALS = ([[3, 1], [1, 4], [0, 1], [2, 0], [4, 3]], [[4, 4], [5, 5], [1, 1], [2, 2], [6, 6]])


@pytest.mark.parametrize(
    ("data", "method"),
    [
        (ONE_RATE, "convolution-1d"),
        (ONE_RATE, "convolution-2d"),
        (ONE_RATE, "multisets"),
        (RATIO, "convolution-2d"),
        (RATIO, "multisets"),
        (PAIRED, "multisets"),
        (SHARED_TRIALS, "convolution-2d"),
        (SHARED_TRIALS, "multisets"),
    ],
)
def test_the_law_is_that_of_all_resamples(data, method):
    top, bottom = data
    weights = (1, -1)[: len(top[0])]
    found = bootstrap(Totals.from_arrays(top, bottom), method=method)
    assert found.route == method
    exact, lost = enumerated([rows_of(top, bottom)], weights)
    assert_same(found.law, exact, lost)
    assert found.low == pytest.approx(float(quantile(exact, Fraction(1, 40))), abs=LAW_TOLERANCE)
    assert found.high == pytest.approx(float(quantile(exact, Fraction(39, 40))), abs=LAW_TOLERANCE)


def split(data):
    """The two columns of paired data as pools of their own."""
    top, bottom = (np.array(a) for a in data)
    zero = np.zeros_like(top[:, :1])
    return [
        rows_of(np.hstack([top[:, :1], zero]), np.hstack([bottom[:, :1], zero])),
        rows_of(np.hstack([zero, top[:, 1:]]), np.hstack([zero, bottom[:, 1:]])),
    ]


@pytest.mark.parametrize("kind", ["contrast", "ratio"])
def test_unpaired_arms_are_independent(kind):
    top, bottom = np.array(PAIRED[0][:4]), np.array(PAIRED[1][:4])
    found = bootstrap(Totals.from_arrays(top, bottom), groups=["a", "b"], statistic=kind)
    assert_same(found.law, *enumerated(split((top, bottom)), (1, -1), kind))


def test_unpaired_arms_of_constant_size_are_convolved():
    top, bottom = np.array([[3, 1], [1, 0], [0, 2], [2, 2]]), np.array([[4, 2]] * 4)
    found = bootstrap(Totals.from_arrays(top, bottom), groups=["a", "b"])
    assert found.route == "convolution-1d"
    assert_same(found.law, *enumerated(split((top, bottom)), (1, -1)))
    ratio = bootstrap(
        Totals.from_arrays(top, bottom), groups="ab", statistic="ratio", method="convolution-2d"
    )
    assert_same(ratio.law, *enumerated(split((top, bottom)), (1, -1), "ratio"))


def test_the_ratio_of_paired_arms():
    for data in (PAIRED, SHARED_TRIALS):
        totals = Totals.from_arrays(*data)
        exact, lost = enumerated([rows_of(*data)], (1, -1), "ratio")
        assert lost > 0
        found = bootstrap(totals, statistic="ratio", method="multisets")
        assert_same(found.law, exact, lost)
    plane = bootstrap(totals, statistic="ratio", method="convolution-2d")
    assert_same(plane.law, exact, lost)


@pytest.mark.parametrize("method", ["multisets", "convolution-2d"])
def test_strata_are_resampled_apart(method):
    top, bottom = np.array(RATIO[0]), np.array(RATIO[1])
    found = bootstrap(Totals.from_arrays(top, bottom), strata=list("xyxyxy"), method=method)
    pools = [rows_of(top[::2], bottom[::2]), rows_of(top[1::2], bottom[1::2])]
    assert_same(found.law, *enumerated(pools, (1,)))


@pytest.mark.parametrize("method", ["multisets", "convolution-2d"])
def test_resamples_without_a_trial_are_counted(method):
    top, bottom = [[1], [0], [0], [2]], [[2], [0], [0], [3]]
    # Rows without a trial leave the sample, so put a second column beside that they do have.
    pair = np.hstack([top, [[1]] * 4]), np.hstack([bottom, [[2]] * 4])
    if method == "multisets":
        found = bootstrap(Totals.from_arrays(*pair), method=method)
        exact, lost = enumerated([rows_of(*pair)], (1, -1))
    else:
        sample = checked_sample(Totals.from_arrays(*pair), (1, 0), "contrast", None, None)
        assert sample.clusters == 2
        found = bootstrap(Totals.from_arrays(*pair), statistic="ratio", method="multisets")
        exact, lost = enumerated([rows_of(*pair)], (1, -1), "ratio")
    assert lost == Fraction(1, 16)
    assert_same(found.law, exact, lost)
    assert any("a denominator of 0" in note for note in found.notes)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_small_table_equals_enumeration(data):
    g, c = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 2))
    bottom = data.draw(
        st.lists(st.lists(st.integers(0, 4), min_size=c, max_size=c), min_size=g, max_size=g)
    )
    top = [[data.draw(st.integers(0, m)) for m in row] for row in bottom]
    weights = data.draw(st.sampled_from([(1, -1), (Fraction(1, 3), Fraction(2, 3))]))[:c]
    try:
        found = bootstrap(Totals.from_arrays(top, bottom), weights)
    except InputError:
        kept = [row for row in bottom if any(row)]
        assert len(kept) < 2 or not np.array(bottom).any(axis=0).all()
        return
    kept = [k for k, row in enumerate(bottom) if any(row)]
    exact, lost = enumerated([rows_of([top[k] for k in kept], [bottom[k] for k in kept])], weights)
    assert_same(found.law, exact, lost)


@pytest.mark.parametrize("size", [7, 8])
def test_eight_clusters_of_unequal_size(size):
    """All 8^8 resamples are too many for fractions in a loop: their integer sums are not."""
    top, bottom = (
        np.array([3, 1, 0, 2, 4, 2, 1, 5][:size]),
        np.array([4, 5, 1, 2, 6, 3, 1, 5][:size]),
    )
    tally: dict[tuple[int, int], int] = {(0, 0): 1}
    for _ in range(size):
        step: dict[tuple[int, int], int] = {}
        for (x, m), ways in tally.items():
            for a, b in zip(top.tolist(), bottom.tolist(), strict=True):
                step[x + a, m + b] = step.get((x + a, m + b), 0) + ways
        tally = step
    law: dict[Fraction, Fraction] = {}
    for (x, m), ways in tally.items():
        law[Fraction(x, m)] = law.get(Fraction(x, m), Fraction(0)) + Fraction(ways, size**size)
    exact = dict(sorted(law.items()))
    for method in ("multisets", "convolution-2d"):
        assert_same(bootstrap(Totals.from_arrays(top, bottom), method=method).law, exact)


def test_failures_are_counted_where_they_take_fewer_places():
    top, bottom = np.array([4, 6, 3, 5, 9]), np.array([4, 6, 4, 5, 9])
    sample = checked_sample(Totals.from_arrays(top, bottom), None, "contrast", None, None)
    plane = as_plane(sample)
    assert plane is not None
    assert (plane.tilt, plane.shape) == (1, (6, 26))
    exact, lost = enumerated([rows_of(top[:, None], bottom[:, None])], (1,))
    assert_same(law_of_plane(plane, 0.0), exact, lost)


def test_sums_with_a_common_factor():
    """Even numerators over multiples of 3: both sums are divided by their common factor."""
    top, bottom = np.array([2, 4, 0, 6]), np.array([3, 6, 3, 9])
    sample = checked_sample(Totals.from_arrays(top, bottom), None, "contrast", None, None)
    plane = as_plane(sample)
    assert plane is not None
    assert plane.factor == pytest.approx(2 / 3, rel=1e-15)
    exact, lost = enumerated([rows_of(top[:, None], bottom[:, None])], (1,))
    assert_same(law_of_plane(plane, 1e-14), exact, lost)


def test_67_clusters_on_a_line_are_exact():
    """Python's integers hold all 67^67 resamples: one big number to the 67th power."""
    x = np.array([(k * k) % 13 for k in range(67)])
    found = bootstrap(Totals.from_arrays(x, [12] * 67))
    width = 67 * math.ceil(math.log2(67))
    packed = sum(1 << (width * int(v)) for v in x) ** 67
    counts = [(packed >> (width * k)) & ((1 << width) - 1) for k in range(67 * 12 + 1)]
    assert sum(counts) == 67**67
    exact = {Fraction(k, 67 * 12): Fraction(n, 67**67) for k, n in enumerate(counts) if n}
    assert_same(found.law, exact)
    assert (found.law.probabilities >= 0).all()
    assert found.why.endswith("805 places")


def test_impossible_places_carry_no_mass():
    """All scores 0 or 3 of 4: only multiples of 3 can be sums, whatever the transform's noise."""
    x = np.array([0, 12, 12, 0, 9] * 8)
    values = bootstrap(Totals.from_arrays(x, [12] * 40)).law.values
    sums = np.rint(values * 480).astype(int)
    assert set((sums % 3).tolist()) == {0}
    places = (np.array([0, 4, 4, 0, 3] * 8),)
    law = law_of_line(Line(places, 0, 1, 1, 161), 0.0)
    right = {3 * a + 4 * b for a in range(41) for b in range(41 - a)}
    assert law.cells.tolist() == sorted(right)
    assert reachable(places).sum() == len(right)
    assert (law.weights >= 0).all()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=2))
def test_what_can_be_reached_is_what_sets_of_sums_say(pools):
    """Gaps at both ends settle after some draws; the short way must not change the set."""
    shifted = [[x - min(p) for x in p] * 3 for p in pools]
    sums = {0}
    for pool in shifted:
        for _ in pool:
            sums = {s + x for s in sums for x in set(pool)}
    found = reachable(tuple(np.array(p) for p in shifted))
    assert set(np.flatnonzero(found).tolist()) == sums


def test_many_clusters_of_few_kinds_are_listed():
    """300 clusters of two kinds have 301 multisets, with binomial masses."""
    data = Totals.from_arrays([1] * 200 + [0] * 100, [2] * 200 + [3] * 100)
    found = bootstrap(data, method="multisets")
    assert found.why == "300 clusters have 301 multisets"
    for k in (180, 200, 230):
        mass = Fraction(math.comb(300, k) * 2**k, 3**300)
        at = found.law.shares(k / (2 * k + 3 * (300 - k))).at
        assert at == pytest.approx(float(mass), rel=1e-10)
    many = Totals.from_arrays([1, 0] * 700, [2, 3] * 700)
    with pytest.raises(InputError, match="method must be one that lists at most"):
        bootstrap(many, method="multisets")
    assert bootstrap(many, kind="studentized", n_resamples=200).route == "monte-carlo"


def test_decimal_scores_lie_on_a_line():
    half = Totals.from_arrays([1.5, 2.0, 0.5], [2, 2, 2], square=[1, 2, 1])
    found = bootstrap(half)
    assert found.route == "convolution-1d"
    whole = bootstrap(Totals.from_arrays([3, 4, 1], [4, 4, 4]))
    np.testing.assert_allclose(found.law.values, whole.law.values, rtol=1e-15)
    np.testing.assert_array_equal(found.law.probabilities, whole.law.probabilities)
    tenths = Totals.from_arrays([0.1, 0.2, 0.3], [1, 1, 1], square=[1, 1, 1])
    np.testing.assert_allclose(bootstrap(tenths).law.values * 30, range(3, 10), rtol=1e-14)


def test_real_scores_are_listed():
    real = Totals.from_arrays([2**0.5, 1.0, 0.5], [2, 2, 3], square=[1, 1, 1])
    found = bootstrap(real)
    assert found.route == "multisets"
    three = [2**0.5, 1.0, 0.5], [2, 2, 3]
    values = [
        sum(three[0][i] for i in d) / sum(three[1][i] for i in d)
        for d in itertools.product(range(3), repeat=3)
    ]
    assert found.law.mean == pytest.approx(np.mean(values), rel=1e-14)
    assert found.standard_error == pytest.approx(np.std(values), rel=1e-13)


def test_transform_and_whole_numbers_agree():
    """15 clusters can be counted in int64; the transform must give the same law."""
    x = np.array([(5 * k * k + 3) % 11 for k in range(15)])
    sample = checked_sample(Totals.from_arrays(x, [10] * 15), None, "contrast", None, None)
    line, plane = as_line(sample), as_plane(sample)
    assert line is not None
    assert plane is not None
    counted, transformed = law_of_line(line, 0.0), law_of_plane(plane, 0.0)
    assert counted.weights.sum() == 15.0**15
    np.testing.assert_array_equal(counted.values, transformed.values)
    np.testing.assert_allclose(
        counted.probabilities, transformed.probabilities, rtol=0, atol=LAW_TOLERANCE
    )


def test_quantiles_of_a_long_law_need_no_sort():
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 9, 50_000).astype(float)
    for cells in (np.round(rng.normal(size=50_000), 2), rng.normal(size=50_000)):
        law = BootstrapLaw(cells, weights)
        order = np.argsort(cells, kind="stable")
        reached = np.cumsum(weights[order]) / weights.sum()
        for p in (0.0, 1e-6, 0.025, 0.1, 0.5, 0.9, 0.975, 1.0):
            right = cells[order][np.searchsorted(reached, p - 1e-12)]
            assert law.quantile(p) == right


def test_a_quantile_is_reached_exactly():
    """F jumps to exactly 1/4 at 0: the quantile at 1/4 is 0 and just above it is the next value."""
    law = BootstrapLaw(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    assert [law.quantile(p) for p in (0.25, 0.25 + 1e-13, 0.25 + 1e-9, 0.75, 1.0)] == [
        0,
        0,
        1,
        1,
        2,
    ]
    assert law.cdf(1.0) == 0.75
    assert law.shares(1.0) == (0.25, 0.5)
    with pytest.raises(InputError, match="probability must be from 0 to 1"):
        law.quantile(1.5)
