"""The guarded Wilson interval: coherent in the data, and covering where the plain one does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simtrack.agents import ClusteredAgent
from simtrack.counts import Totals
from simtrack.inference import wilson_clustered, wilson_guarded

# A coverage of .95 over 1,000 runs has MCSE .007; the bounds below leave 4 of them and more.
RUNS = 1000


def interval(failures: list[int], size: int, method=wilson_guarded):
    passes = [size - f for f in failures]
    found = method(Totals.from_arrays(passes, [size] * len(passes)))
    return float(found.low[0]), float(found.high[0])


def test_one_failure_never_makes_the_rate_surer():
    # 240/240, 239/240 and 238/240 in twelve clusters of 20
    lows = [interval([n] + [0] * 11, 20)[0] for n in (0, 1, 2)]
    assert lows == sorted(lows, reverse=True)
    plain = [interval([n] + [0] * 11, 20, wilson_clustered)[0] for n in (0, 1)]
    assert plain[1] > plain[0]  # the fault that the guard mends


def test_with_many_clusters_on_both_sides_nothing_is_guarded():
    totals = Totals.from_arrays([12, 15, 18, 11, 16, 14, 19, 13], [20] * 8)
    plain, guarded = wilson_clustered(totals), wilson_guarded(totals)
    assert (plain.low[0], plain.high[0]) == (guarded.low[0], guarded.high[0])
    assert guarded.notes == plain.notes


def test_one_large_cluster_counts_as_little_more_than_one():
    totals = Totals.from_arrays([60, 2, 1, 2, 3, 0, 1, 2], [100, 3, 3, 3, 3, 3, 3, 3])
    found = wilson_guarded(totals)
    # Kish: (Σm)² / Σm² = 121² / (100² + 7·9) = 1.455
    assert found.df[0] == pytest.approx(121**2 / (100**2 + 63) - 1, rel=1e-12)
    assert found.high[0] - found.low[0] > 0.99
    assert any("one cluster holds 83% of the trials" in note for note in found.notes[0])


def test_one_trial_a_cluster_is_the_plain_interval_with_t():
    totals = Totals.from_arrays([1] * 19 + [0], [1] * 20)
    plain, guarded = wilson_clustered(totals), wilson_guarded(totals)
    assert guarded.low[0] == pytest.approx(plain.low[0], rel=1e-14)


@pytest.mark.parametrize(
    ("sizes", "rate", "icc", "least"),
    [
        ([20] * 8, 0.9, 0.5, 0.95),
        ([20] * 20, 0.98, 0.5, 0.94),
        ([20] * 30, 0.98, 0.5, 0.94),
        (list(range(1, 51, 7)), 0.9, 0.5, 0.95),
        ([100, *[3] * 7], 0.5, 0.5, 0.95),
        ([20] * 12, 0.5, 0.1, 0.92),
    ],
)
def test_it_covers_where_the_plain_interval_does_not(sizes, rate, icc, least):
    totals = ClusteredAgent(rate, icc).totals(sizes, RUNS, seed=11)
    found = wilson_guarded(totals)
    hit = (found.low <= rate + 1e-12) & (found.high >= rate - 1e-12)
    assert hit.mean() >= least - 4 * math.sqrt(least * (1 - least) / RUNS)
    assert np.isfinite(found.low).all()
