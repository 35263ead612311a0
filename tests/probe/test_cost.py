"""Expected calls, tokens and dollars, and the law of their total."""

from __future__ import annotations

import json

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.price import Price
from simtrack.probe import StoppingRule, characteristics
from simtrack.probe.cost import probe_cost, rounds_law


@pytest.fixture(scope="module")
def points():
    return characteristics(StoppingRule(), ("0.9", "0.5"), ("0.1", "0.5"), paired=True)


def test_two_calls_a_round_and_their_price(points):
    price = Price(input_usd_per_mtok=2, output_usd_per_mtok=8, input_tokens=1000, output_tokens=250)
    cost = probe_cost(points, price, n_clauses=(10, 3))
    calls = 2 * (10 * points.expected_rounds[0] + 3 * points.expected_rounds[1])
    assert cost.total_calls == pytest.approx(calls, rel=1e-15)
    # a call costs 1000 * 2e-6 + 250 * 8e-6 = .004 dollars
    assert cost.total_usd == pytest.approx(calls * 0.004, rel=1e-14)
    assert cost.total_input_tokens == pytest.approx(calls * 1000, rel=1e-14)
    assert cost.total_output_tokens == pytest.approx(calls * 250, rel=1e-14)
    assert cost.worst_calls == 2 * 30 * 13
    assert cost.worst_usd == pytest.approx(780 * 0.004)


def test_the_law_of_the_total_is_a_convolution(points):
    law = rounds_law(points, np.array([2, 1]))
    one, other = points.rounds_probability[:, 0], points.rounds_probability[:, 1]
    assert law == pytest.approx(np.convolve(np.convolve(one, one), other), abs=1e-16)
    assert law.sum() == pytest.approx(1.0, abs=1e-14)


def test_quantiles_of_the_total_are_calls(points):
    cost = probe_cost(points, Price(usd_per_call=0.5), n_clauses=(1, 0), levels=(0.5, 0.95))
    alone = points.rounds_quantile((0.5, 0.95))[:, 0]
    assert cost.calls_quantile == {0.5: 2 * alone[0], 0.95: 2 * alone[1]}
    assert cost.usd_quantile == {0.5: float(alone[0]), 0.95: float(alone[1])}


def test_many_clauses_follow_the_normal_law(points):
    # 400 independent clauses: the mean and spread of the total, and about normal quantiles
    cost = probe_cost(points, n_clauses=(400, 0), levels=(0.5, 0.975))
    mean = 800 * points.expected_rounds[0]
    spread = 2 * 20 * points.sd_rounds[0]
    assert cost.calls_quantile[0.5] == pytest.approx(mean, abs=0.05 * spread)
    assert cost.calls_quantile[0.975] == pytest.approx(mean + 1.96 * spread, abs=0.1 * spread)


def test_what_is_missing_says_why(points):
    cost = probe_cost(points, n_clauses=2000)
    assert cost.calls_quantile is None
    assert "120000 rounds at most" in cost.note
    assert cost.total_usd is None
    assert json.loads(json.dumps(cost.to_dict()))["schema"] == "simtrack.probe-cost/1"


def test_bad_clause_counts_are_refused(points):
    with pytest.raises(InputError, match="one for each of 2 truths"):
        probe_cost(points, n_clauses=(1, 2, 3))
    with pytest.raises(InputError, match="n_clauses must be an integer"):
        probe_cost(points, n_clauses=-1)
