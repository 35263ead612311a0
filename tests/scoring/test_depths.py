"""Prevalence by depth, its censored crossing, and the paired change between two depths."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.agents import RelapseAgent
from simtrack.design import Design
from simtrack.errors import DataError, InputError
from simtrack.records import Records
from simtrack.scoring.rebind.depth_contrasts import (
    crossing_of,
    deepest_minus_shallowest,
    first_crossings,
)
from simtrack.scoring.rebind.depths import prevalence_by_depth

#: Rounding of a division or two.
ROUNDING = 1e-12
#: Odds of a false alarm below 1e-4 for a normal error.
FOUR_SIGMA = 4.0
CODE = {"R": "TRUE_RELAPSE", "n": "NO_TRACE", "m": "CLAUSE_MISS", "u": "UNPARSEABLE", "e": "EMPTY"}


def table(curves: dict[str, dict[str, str]], **more: list[str]) -> Records:
    """{cluster: {depth: letters}}: one letter an episode; letters of one place are one slice."""
    rows = [
        (c, d, f"{c}{k}", CODE[letter])
        for c, by_depth in curves.items()
        for d, letters in by_depth.items()
        for k, letter in enumerate(letters)
    ]
    cluster, depth, unit, outcome = zip(*rows, strict=True)
    columns = {"cluster": cluster, "depth": depth, "unit": unit, "outcome": outcome}
    return Records.from_columns(columns | more, kind="episode")


FOUR = table({
    "a": {"0": "Rn", "4": "RR", "10": "RR"},
    "b": {"0": "nn", "4": "nm", "10": "RR"},
    "c": {"0": "nu", "4": "Rn", "10": "nR"},
    "d": {"0": "nn", "4": "nn", "10": "ue"},
})  # fmt: skip


def test_prevalence_is_relapse_among_what_parses() -> None:
    curve = prevalence_by_depth(FOUR, n_resamples=100)
    # Depth 0: 1 of 7 (one unparseable); 4: 3 of 8; 10: 5 of 6 (one unparseable, one empty).
    assert curve.depths == (0.0, 4.0, 10.0)
    assert (curve.relapsed, curve.episodes, curve.clusters) == ((1, 3, 5), (7, 8, 6), 4)
    assert curve.prevalence == pytest.approx((1 / 7, 3 / 8, 5 / 6))
    # On the line from (4, 3/8) to (10, 5/6): 4 + 6 · (1/2 - 3/8) / (5/6 - 3/8) = 4 + 6 · 3/11.
    assert curve.crossing.depth == pytest.approx(4 + 18 / 11)
    assert curve.crossing.censored_share < 0.2


def test_worst_case_counts_what_does_not_parse() -> None:
    worst = prevalence_by_depth(FOUR, worst_case=True, n_resamples=100)
    # Depth 0: 2 of 8; 4: 3 of 8; 10: 7 of 8.
    assert worst.prevalence == pytest.approx((2 / 8, 3 / 8, 7 / 8))


def test_interval_is_that_of_all_resamples() -> None:
    # All 4^4 resamples of the four clusters, in fractions, not by our code.
    sums = {
        "a": ((1, 2), (2, 2), (2, 2)), "b": ((0, 2), (0, 2), (2, 2)),
        "c": ((0, 1), (1, 2), (1, 2)), "d": ((0, 2), (0, 2), (0, 0)),
    }  # fmt: skip
    law = []
    for drawn in itertools.product(sums.values(), repeat=4):
        points = []
        for k, place in enumerate((0, 4, 10)):
            top, bottom = (sum(c[k][side] for c in drawn) for side in (0, 1))
            if bottom:
                points.append((place, Fraction(top, bottom)))
        law.append(exact_crossing(points))
    law.sort()
    curve = prevalence_by_depth(FOUR, n_resamples=20_000, seed=5)
    share = sum(math.isinf(x) for x in law) / 256
    assert share > 0.0
    assert abs(curve.crossing.censored_share - share) < FOUR_SIGMA * curve.crossing.mcse_censored
    # Ends of the 80 % interval: inf{x : P(X <= x) >= p} at .1 and .9 of 256.
    inner = prevalence_by_depth(FOUR, level=0.8, n_resamples=20_000, seed=5).crossing
    assert inner.low == pytest.approx(float(law[math.ceil(25.6) - 1]))
    high = law[math.ceil(230.4) - 1]
    assert inner.high is None if math.isinf(high) else inner.high == pytest.approx(float(high))


def exact_crossing(points: list[tuple[int, Fraction]]) -> float | Fraction:
    for (x0, y0), (x1, y1) in itertools.pairwise([(0, Fraction(-1)), *points]):
        if y1 >= Fraction(1, 2):
            return x1 if y0 < 0 else x0 + (x1 - x0) * (Fraction(1, 2) - y0) / (y1 - y0)
    return math.inf


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8), st.floats(0.05, 0.95))
def test_rising_curve_crosses_where_it_is_interpolated(steps: list[float], at: float) -> None:
    depths = np.arange(len(steps)) * 1.5
    rising = np.cumsum(steps) / len(steps)
    found = first_crossings(depths, rising[:, None], at=at)[0]
    if rising[-1] < at:
        assert found == math.inf
    elif rising[0] >= at:
        assert found == 0.0
    else:
        assert found == pytest.approx(np.interp(at, rising, depths), rel=1e-9)


def test_first_crossing_by_hand() -> None:
    nan = math.nan
    curves = np.array([[0.2, 0.7, 0.4, nan, 0.5, nan], [0.6, 0.1, nan, 0.2, 0.1, nan],
                       [0.1, 0.1, 0.6, 0.4, 0.9, nan]])  # fmt: skip
    # Depths 2, 4, 8. Falls again after crossing; above from the start; skips the missing middle
    # (2 + 6 · .1/.2); never; is there at once; nothing known.
    assert first_crossings([2, 4, 8], curves, anchor=False).tolist() == pytest.approx(
        [2 + 2 * 0.3 / 0.4, 2.0, 5.0, math.inf, 2.0, math.inf]
    )
    # From the anchor (0, 0): .7 at depth 2 crosses at 2 · .5/.7.
    anchored = first_crossings([2, 4, 8], curves)
    assert anchored[1] == pytest.approx(2 * 0.5 / 0.7)
    # Where depth 0 was observed the anchor is not used.
    assert first_crossings([0, 4], [[0.6], [0.8]])[0] == 0.0


def test_ends_are_values_that_enough_resamples_reach() -> None:
    # inf{x : P(X <= x) >= p} of 1 to 7 at .1 and .9: the first (.7) and the seventh (6.3).
    seven = crossing_of(4.0, np.arange(1.0, 8.0), 8.0, 0.5, 0.8, 0)
    assert (seven.low, seven.high) == (1.0, 7.0)
    # Of 1 to 10 the first and the ninth, exactly; with two of ten beyond, the ninth is beyond.
    ten = np.arange(1.0, 11.0)
    assert crossing_of(4.0, ten, 8.0, 0.5, 0.8, 0).high == 9.0
    ten[8:] = math.inf
    beyond = crossing_of(4.0, ten, 8.0, 0.5, 0.8, 0)
    assert (beyond.low, beyond.high, beyond.censored_share) == (1.0, None, 0.2)
    assert beyond.notes == ("the upper end lies beyond the deepest depth",)


def test_censoring_is_kept_when_no_resample_crosses() -> None:
    # The paper's case: prevalence .233 at revocation over 67 tasks, and no accumulation.
    agent = RelapseAgent(0.233, icc=0.3, persistence=0.9)
    design = Design(67, 2, {"depth": ("0", "2", "4", "8")}, cluster_name="task")
    curve = prevalence_by_depth(agent.records(design, 3), cluster="task", n_resamples=1_000)
    crossing = curve.crossing
    assert (crossing.depth, crossing.low, crossing.high) == (None, None, None)
    assert (crossing.censored_share, crossing.horizon) == (1.0, 8.0)
    assert crossing.notes[0].startswith("right-censored: 0.5 is not reached by depth 8")
    assert "beyond 8" in repr(curve)
    assert curve.to_dict()["crossing"]["depth"] is None


def test_level_reached_at_the_first_depth_is_told() -> None:
    early = table({"a": {"2": "RR", "4": "Rn"}, "b": {"2": "Rn", "4": "nn"}})
    curve = prevalence_by_depth(early, anchor=False, n_resamples=100)
    assert curve.crossing.depth == 2.0
    assert any("at or before it" in note for note in curve.crossing.notes)
    assert prevalence_by_depth(early, n_resamples=100).crossing.depth == pytest.approx(
        2 * 0.5 / 0.75
    )


def test_deepest_minus_shallowest_by_hand() -> None:
    found = deepest_minus_shallowest(FOUR)
    # Slices at depths 0 and 10: a: R→R, n→R; b: n→R, n→R; c: n→n, (u→R out); d: both out.
    # Moves 0, +1 | +1, +1 | 0: 3 of 5 pairs; three pairs left out.
    assert found.difference == pytest.approx(3 / 5)
    assert (found.pairs, found.left_out, found.unpaired) == (5, 3, 0)
    assert (found.shallow, found.deep) == (0.0, 10.0)
    # All 27 resamples of the three clusters with pairs: moves / pairs 1/2, 2/2, 0/1.
    law = sorted(
        Fraction(sum(c[0] for c in drawn), sum(c[1] for c in drawn))
        for drawn in itertools.product(((1, 2), (2, 2), (0, 1)), repeat=3)
    )
    assert found.low == pytest.approx(float(law[0]), abs=ROUNDING)  # 1/27 > 2.5 %
    assert found.high == pytest.approx(float(law[-1]), abs=ROUNDING)
    assert found.computation == "enumeration"


def test_order_of_rows_and_levels_is_no_matter() -> None:
    shuffled = FOUR.take(np.random.Generator(np.random.PCG64(1)).permutation(len(FOUR)))
    values = shuffled.factors["depth"].values()
    other = shuffled.with_factors(
        depth=type(shuffled.factors["depth"]).from_values(values, ["10", "4", "0"])
    )
    for rows in (shuffled, other):
        assert deepest_minus_shallowest(rows).difference == pytest.approx(3 / 5)
        assert prevalence_by_depth(rows, n_resamples=100).depths == (0.0, 4.0, 10.0)


def test_episodes_without_a_partner_are_counted() -> None:
    some = FOUR.take(np.arange(len(FOUR) - 1))  # the second slice of d lacks depth 10
    found = deepest_minus_shallowest(some)
    assert (found.left_out, found.unpaired) == (2, 1)


def test_what_is_added_up_is_told() -> None:
    arms = FOUR.with_factors(arm=FOUR.factors["cluster"])
    assert prevalence_by_depth(arms, n_resamples=100).notes[0] == "added up over arm"


def test_wrong_input_is_refused() -> None:
    odd = table({"a": {"late": "Rn"}})
    with pytest.raises(InputError, match="depth must be a column of numbers, got 'late'"):
        prevalence_by_depth(odd)
    one = table({"a": {"0": "Rn"}})
    with pytest.raises(DataError, match="depth has one level, 0"):
        deepest_minus_shallowest(one)
    apart = table({"a": {"0": "R", "2": "u"}})
    with pytest.raises(DataError, match="no slice has a parseable episode at 0 and at 2"):
        deepest_minus_shallowest(apart)
