"""Path counts: their sum, Python's integers, and the switch from integers to doubles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simtrack.probe import StoppingRule
from simtrack.probe.decisions import decision_table
from simtrack.probe.paths import INT64_K_MAX, stopping_states
from simtrack.probe.states import NOT_CONFIDENT


def counts_in_python(rule, start):
    """The same recursion on Python integers, which never overflow, over a dict."""
    state = decision_table(rule).state
    alive, ends = dict(start), {}
    for k in range(1, rule.k_max + 1):
        if k > 1:
            grown = {}
            for (i, j), n in alive.items():
                for f, s in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    grown[i + f, j + s] = grown.get((i + f, j + s), 0) + n
            alive = grown
        for i, j in sorted(alive):
            decided = k >= rule.k_min and state[k, i, j] != NOT_CONFIDENT
            if decided or k == rule.k_max:
                ends[k, i, j] = alive.pop((i, j))
    return ends


STARTS = {
    "paths": {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1},
    "paths_full": {(1, 0): 1, (1, 1): 1},
    "paths_ablated": {(0, 1): 1, (1, 1): 1},
}


@pytest.mark.parametrize("k_max", [1, 3, 30, INT64_K_MAX])
def test_counts_are_exact_integers_up_to_the_limit(k_max):
    rule = StoppingRule(k_min=min(3, k_max), k_max=k_max)
    found = stopping_states(rule)
    assert found.paths.dtype == np.int64
    records = list(zip(found.k.tolist(), found.i.tolist(), found.j.tolist(), strict=True))
    for name, start in STARTS.items():
        ends = counts_in_python(rule, start)
        assert [ends.get(record, 0) for record in records] == getattr(found, name).tolist()
    assert set(records) == set(counts_in_python(rule, STARTS["paths"]))


def test_no_stopping_at_all_is_the_largest_count_and_fits():
    # k_min = k_max: all 4^34 sequences reach the last round; the middle cell is C(34, 17)^2
    found = stopping_states(StoppingRule(k_min=INT64_K_MAX, k_max=INT64_K_MAX))
    middle = int(found.paths[(found.i == 17) & (found.j == 17)][0])
    assert middle == 2333606220**2
    assert sum(map(int, found.paths)) == 4**INT64_K_MAX


@pytest.mark.parametrize(("k_max", "prior"), [(30, (1, 1)), (34, (0.5, 0.5)), (12, (2, 1))])
def test_all_paths_end_somewhere_exactly(k_max, prior):
    found = stopping_states(StoppingRule(k_max=k_max, prior=prior))
    pairs = zip(found.paths.tolist(), found.k.tolist(), strict=True)
    assert sum(Fraction(n, 4**k) for n, k in pairs) == 1
    firsts = zip(found.paths_full.tolist(), found.k.tolist(), strict=True)
    assert sum(Fraction(n, 4**k) for n, k in firsts) == Fraction(1, 2)


@pytest.mark.parametrize("k_max", [35, 60])
def test_doubles_lose_nothing_that_matters(k_max):
    rule = StoppingRule(k_max=k_max)
    found = stopping_states(rule)
    assert found.paths.dtype == np.float64
    for name, start in STARTS.items():
        ends = counts_in_python(rule, start)
        values = getattr(found, name).tolist()
        for k, i, j, value in zip(
            found.k.tolist(), found.i.tolist(), found.j.tolist(), values, strict=True
        ):
            assert value == pytest.approx(ends.get((k, i, j), 0), rel=k_max * 1e-15)


def test_the_frozen_rule_has_1525_stopping_states():
    found = stopping_states(StoppingRule())
    assert found.k.size == 1525
    order = np.lexsort((found.j, found.i, found.k))
    assert np.array_equal(order, np.arange(1525))
