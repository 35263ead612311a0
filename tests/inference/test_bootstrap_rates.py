"""Bootstrap intervals by condition, as the verbs call them."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.analysis import METHODS, estimate
from simtrack.counts import Counts, Totals
from simtrack.estimands import RATE
from simtrack.inference.resampling.bootstrap import (
    basic_rates,
    bca_rates,
    bootstrap,
    percentile_rates,
    studentized_rates,
)
from simtrack.method import Ask, Layout

TOTALS = Totals.from_arrays(
    [[3, 4, 1, 0], [1, 2, 0, 0], [0, 3, 0, 0], [2, 1, 0, 0], [4, 4, 0, 0]],
    [[4, 4, 2, 0], [5, 4, 0, 0], [1, 4, 0, 0], [2, 4, 0, 0], [6, 4, 0, 0]],
)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (percentile_rates, "percentile"),
        (basic_rates, "basic"),
        (bca_rates, "bca"),
        (studentized_rates, "studentized"),
    ],
)
def test_each_condition_is_resampled_by_itself(method, kind):
    found = method(TOTALS, level=0.8)
    for k in (0, 1):
        alone = bootstrap(TOTALS.column(k), kind=kind, level=0.8)
        assert (found.low[k], found.high[k]) == (alone.low, alone.high)
        assert found.notes[k] == alone.notes
    assert np.isnan(found.low[2:]).all()
    assert found.notes[2] == ("no interval: one cluster cannot say how much clusters differ",)
    assert found.notes[3] == ("no trial: nothing is defined",)
    assert found.computation == "enumeration"
    assert found.method.endswith("cluster bootstrap, law computed exactly")


def test_by_hand_18_20_15_19_of_20():
    """Sums of four draws: P(80) = 1/256, P(79) = 4/256, P(78) = 10/256; so F(78) = 251/256."""
    found = percentile_rates(Totals.from_arrays([18, 20, 15, 19], [20] * 4))
    assert found.high[0] == 78 / 80
    assert found.computation == "convolution"


def test_random_resamples_say_how_many_and_how_far_off():
    rng = np.random.default_rng(2)
    x = rng.normal(size=30) ** 2
    data = Totals.from_arrays(x, rng.integers(1, 9, 30), square=x * x)
    found = percentile_rates(data, n_resamples=500, seed=3)
    assert found.computation == "monte-carlo"
    assert found.notes[0][-1].startswith("ends from 500 random resamples, seed 3, standard errors")
    assert found.method == "percentile cluster bootstrap, law partly estimated by Monte Carlo"


OFFERED = {"percentile": percentile_rates, "basic": basic_rates, "bca": bca_rates,
           "studentized": studentized_rates}  # fmt: skip


@pytest.mark.parametrize("kind", OFFERED)
def test_estimate_offers_them_by_name(kind):
    cells = [[1, 3], [4, 1], [0, 4], [2, 2]]
    table = Counts.from_cells(cells, outcomes=("FAIL", "PASS"), cluster=list("abcd"))
    row = estimate(table, RATE, method=f"bootstrap-{kind}").rows[0]
    right = OFFERED[kind](RATE.totals(table), level=0.95)
    assert (row.low, row.high) == (right.low[0], right.high[0])
    assert row.method == right.method


@pytest.mark.parametrize("name", ["bootstrap-difference", "bootstrap-contrast"])
def test_contrasts_are_offered_by_name(name):
    arms = Totals.from_arrays([[3, 1], [5, 2], [2, 2]], [[4, 3], [5, 4], [4, 2]])
    found = METHODS[name].one(Layout.of_totals(arms, (1.0, -1.0)), Ask(0.9))
    right = bootstrap(arms, level=0.9)
    assert (found.low, found.high, found.estimate) == (right.low, right.high, right.estimate)
