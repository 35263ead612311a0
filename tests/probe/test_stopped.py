"""Estimates after a stop, against the definition by enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest

from simtrack.errors import InputError
from simtrack.probe import StoppingRule
from simtrack.probe.stopped import estimate_after_stop


def test_unbiased_estimates_are_shares_of_enumerated_paths(oracle):
    # at p = q = 1/2 all sequences weigh the same: the estimate is the mean of the first draw given
    # the stop, E[first | (k, i, j)], found here by walking all 4^4 sequences
    rule = StoppingRule("0.5", "0.7", "0.3", 1, 4)
    half = Fraction(1, 2)
    total: dict[tuple[int, int, int], Fraction] = {}
    for weight, k, i, j, _ in oracle.sequences(rule, half, half):
        total[k, i, j] = total.get((k, i, j), 0) + weight
    # the same walk with the first full draw sure to pass: paths that begin with a pass, reweighed
    first: dict[tuple[int, int, int], Fraction] = {}
    for weight, k, i, j in begin_with_pass(oracle, rule):
        first[k, i, j] = first.get((k, i, j), 0) + weight
    for (k, i, j), weight in total.items():
        found = estimate_after_stop(rule, k, i, j)
        assert found.full_unbiased == pytest.approx(
            float(first.get((k, i, j), 0) / weight), abs=1e-15
        )
        assert (found.full, found.ablated, found.effect) == (i / k, j / k, (i - j) / k)


def begin_with_pass(oracle, rule):
    import itertools

    for draws in itertools.product(((0, 0), (0, 1), (1, 0), (1, 1)), repeat=rule.k_max):
        if not draws[0][0]:
            continue
        for k in range(1, rule.k_max + 1):
            i, j = sum(f for f, _ in draws[:k]), sum(s for _, s in draws[:k])
            decided = oracle.state(rule, k, i, j) != "not_confident"
            if k == rule.k_max or (k >= rule.k_min and decided):
                yield Fraction(1, 4**rule.k_max), k, i, j
                break


def test_at_fixed_depth_naive_and_unbiased_agree():
    rule = StoppingRule(k_min=10, k_max=10)
    found = estimate_after_stop(rule, 10, 7, 2)
    assert found.full_unbiased == pytest.approx(0.7, abs=1e-15)
    assert found.ablated_unbiased == pytest.approx(0.2, abs=1e-15)
    assert found.effect_unbiased == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize("record", [(5, 5, 5), (2, 2, 0), (8, 8, 0)])
def test_records_where_no_probe_stops_are_refused(record):
    # (8, 8, 0) is past its stop: all seven first full draws passed at round 7
    with pytest.raises(InputError, match="a record at which this rule stops"):
        estimate_after_stop(StoppingRule(), *record)


@pytest.mark.parametrize("record", [(0, 0, 0), (31, 1, 1), (5, 6, 0), (5, 0, -1)])
def test_impossible_records_are_refused(record):
    with pytest.raises(InputError, match="must be an integer"):
        estimate_after_stop(StoppingRule(), *record)


def test_plain_data_has_a_schema():
    data = estimate_after_stop(StoppingRule(), 7, 7, 0).to_dict()
    assert data["schema"] == "simtrack.stopped-estimate/1"
    assert data["effect_unbiased"] == 1.0
