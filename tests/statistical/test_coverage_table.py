"""Coverage of the intervals for one rate and of the paired difference, against a printed table.

The table (4,000 runs a rate; 95 % intervals, 12 clusters of 20 trials, beta-binomial with ICC .1)
was made with the design effect taken as 1 where clusters show no spread: only that reading gives
.898 at a rate of .98 (one run in fourteen is 240 of 240 there). It is `icc=0` here; the default,
which assumes an ICC, covers more and is tested beside it.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.inference import (
    cluster_t,
    clustered_rates,
    paired_difference,
    wilson_clustered,
    wilson_limits,
)
from simtrack.rng import Stream

CLUSTERS, SIZE, ICC = 12, 20, 0.1
PRINTED_RUNS, RUNS = 4_000, 20_000
Z = 1.959963984540054
RATES = (0.5, 0.9, 0.98)
PRINTED = {
    "cluster t, G-1": (0.958, 0.915, 0.805),
    "Wilson on effective n, z": (0.936, 0.913, 0.886),
    "Wilson on effective n, t(G-1)": (0.961, 0.941, 0.898),
    "Wilson at the true design effect": (0.952, 0.950, 0.957),
    "naive Wilson": (0.765, 0.785, 0.809),
}


def draw(rate: float, runs: int, label: str) -> np.ndarray:
    """Give beta-binomial counts, shape (clusters, runs)."""
    a, b = rate * (1 / ICC - 1), (1 - rate) * (1 / ICC - 1)
    stream = Stream(20260, "coverage table", label)
    return stream.beta_binomial(SIZE, a, b, replicates=runs, clusters=CLUSTERS).T


@cache
def coverage(rate: float) -> dict[str, float]:
    x = draw(rate, RUNS, f"rate {rate}")
    totals = Totals.from_arrays(x, np.full(x.shape, SIZE))
    found = clustered_rates(totals)
    t, wilson = cluster_t(totals, rates=found), wilson_clustered(totals, icc=0.0, rates=found)
    default = wilson_clustered(totals, rates=found)
    n = CLUSTERS * SIZE
    true_n = n / (1 + ICC * (SIZE - 1))
    ends = {
        "cluster t, G-1": (t.low, t.high),
        "Wilson on effective n, z": wilson_limits(found.rate, wilson.effective_n, Z),
        "Wilson on effective n, t(G-1)": (wilson.low, wilson.high),
        "Wilson at the true design effect": wilson_limits(found.rate, true_n, Z),
        "naive Wilson": wilson_limits(found.rate, n, Z),
        "default": (default.low, default.high),
    }
    return {
        name: float(np.mean((low <= rate) & (rate <= high))) for name, (low, high) in ends.items()
    }


@pytest.mark.parametrize("method", PRINTED)
@pytest.mark.parametrize("rate", RATES)
def test_the_printed_coverage_is_reproduced(method, rate):
    printed, found = PRINTED[method][RATES.index(rate)], coverage(rate)[method]
    mcse = math.sqrt(printed * (1 - printed) / PRINTED_RUNS)
    # Fixed seed: it holds or not for good. 4 MCSE of the printed value is what is asked.
    assert abs(found - printed) < 4 * mcse, f"{found:.4f} against {printed}"


@pytest.mark.parametrize("rate", RATES)
def test_the_default_covers_at_least_what_it_promises(rate):
    # 4 MCSE below .94: the table's own value at .9 is .941.
    assert coverage(rate)["default"] > 0.94 - 4 * math.sqrt(0.94 * 0.06 / RUNS)


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.9, 0.8), (0.98, 0.9)])
def test_the_paired_t_interval_covers_as_printed(first, second):
    """Printed range .934 to .990 over settings; arms with independent cluster effects here."""
    runs = 1_500
    x, y = draw(first, runs, "first"), draw(second, runs, "second")
    size = np.full((CLUSTERS, 2), SIZE)
    hits = 0
    for r in range(runs):
        found = paired_difference(Totals.from_arrays(np.stack([x[:, r], y[:, r]], 1), size))
        hits += found.low <= first - second <= found.high
    slack = 4 * math.sqrt(0.95 * 0.05 / runs)
    assert 0.934 - slack < hits / runs < 0.990 + slack


def test_the_sign_flip_test_keeps_its_size():
    """Arms that are exchangeable within clusters: P(p ≤ .05) ≤ .05 in finite samples."""
    runs = 1_500
    x, y = draw(0.8, runs, "null, first"), draw(0.8, runs, "null, second")
    size = np.full((CLUSTERS, 2), SIZE)
    pairs = (Totals.from_arrays(np.stack([x[:, r], y[:, r]], 1), size) for r in range(runs))
    rejected = sum(paired_difference(pair).test.pvalue <= 0.05 for pair in pairs)
    # Binomial(1500, .05): mean 75, sd 8.4; 4 sd is a false alarm in 3e-5 of seeds. And it does
    # reject: attainable levels near .05 are dense at 12 clusters.
    assert 75 - 34 < rejected < 75 + 34
