"""Pooled intervals: what papers print, and the note that they ignore clusters."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.analysis import estimate
from simtrack.analysis.catalogue import METHODS
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.binomial import clopper_pearson, jeffreys, mid_p
from simtrack.inference.rates.pooled import (
    clopper_pearson_pooled,
    jeffreys_pooled,
    mid_p_pooled,
    wilson_pooled,
)
from simtrack.inference.rates.wilson import wilson
from simtrack.method import Ask, Layout

ROUNDING = 1e-12


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(263, 440, 55.1, 64.3), (417, 440, 92.3, 96.5)],  # intermediate, terminal
)
def test_stageif_table_9_wilson(k, n, low, high):
    found = wilson_pooled(Totals.from_arrays([k], [n]))
    assert (round(100 * found.low[0], 1), round(100 * found.high[0], 1)) == (low, high)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(70, 79, 79.7, 93.9), (27, 32, 68.2, 93.1)],  # integrity failures; without Gemini
)
def test_statetrack_integrity_share_wilson(k, n, low, high):
    found = wilson_pooled(Totals.from_arrays([k], [n]))
    assert (round(100 * found.low[0], 1), round(100 * found.high[0], 1)) == (low, high)


def test_wilson_fagerland_lydersen_laake_2017_chapter_2():
    found = wilson_pooled(Totals.from_arrays([13], [16]))
    assert (found.low[0], found.high[0]) == pytest.approx((0.5699, 0.9341), abs=5e-5)


@pytest.mark.parametrize(
    ("pooled", "plain"),
    [(wilson_pooled, wilson), (clopper_pearson_pooled, clopper_pearson),
     (jeffreys_pooled, jeffreys), (mid_p_pooled, mid_p)],
)  # fmt: skip
def test_clusters_are_added_up_and_the_note_says_so(pooled, plain):
    found = pooled(Totals.from_arrays([[3, 0, 1], [4, 0, 1]], [[5, 0, 1], [6, 0, 1]]), level=0.9)
    right = [float(end) for end in plain(7, 11, level=0.9)]
    assert [found.low[0], found.high[0]] == pytest.approx(right, rel=ROUNDING)
    assert "treats trials as independent" in found.notes[0][0]
    assert np.isnan(found.low[1])
    assert found.notes[1] == ("no trial: nothing is defined",)
    assert found.notes[2] == ()  # one trial a cluster: nothing is ignored
    assert found.effective_n[0] == 11


def test_scores_that_are_no_counts_are_refused_or_named():
    with pytest.raises(InputError, match="scores must be between 0 and 1"):
        wilson_pooled(Totals.from_arrays([3.0], [2], square=[5.0]))
    halves = Totals.from_arrays([0.5, 0.5, 1.0], [1, 1, 1], square=[0.25, 0.25, 1.0])
    assert "taken for counts" in wilson_pooled(halves).notes[0][0]


def test_wilson_one_sided_is_the_ninety_percent_end():
    totals = Totals.from_arrays([7], [34])
    assert wilson_pooled(totals, side="upper").high[0] == pytest.approx(
        0.33945927680407395,
        rel=ROUNDING,  # statsmodels 0.15.0, alpha = 0.1
    )
    assert wilson_pooled(totals, side="upper").low[0] == 0.0
    assert wilson_pooled(totals, side="lower").low[0] == pytest.approx(
        0.11566389757386855, rel=ROUNDING
    )


OF_RATES = (
    "korn-graubard", "logit-t", "cluster-t-rate", "wilson", "clopper-pearson", "jeffreys", "mid-p",
    "rule-of-three", "zero-bound", "rule-of-three-clustered", "zero-bound-clustered",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_RATES)
def test_the_catalogue_says_what_the_answers_say(name):
    method = METHODS[name]
    none = Totals.from_arrays([0, 0, 0, 0], [5, 5, 5, 5])
    found = method.one(Layout.of_totals(none), Ask())
    assert (found.computation, found.guarantee) == (method.computation, method.guarantee)
    assert found.low == 0.0
    assert 0.0 < found.high < 1.0
    row = estimate(none, method=name).rows[0]
    assert (row.low, row.high, row.method) == (
        found.low, found.high, found.extra["interval"],
    )  # fmt: skip
    assert any(note.code == "flat" for note in found.notes)
