"""One probe, draw by draw."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.probe import StoppingRule
from simtrack.probe.decisions import Decision, decide
from simtrack.probe.paths import stopping_states
from simtrack.probe.rule import ProbeSession

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=30, max_size=30)


def run(session, draws):
    for full, ablated in draws:
        decision = session.update(full=full, ablated=ablated)
        if decision is not None:
            return decision
    return None


@given(pairs)
def test_every_session_stops_at_a_stopping_state(draws):
    rule = StoppingRule()
    session = rule.session()
    decision = run(session, draws)
    states = stopping_states(rule)
    at = (states.k == decision.k) & (states.i == decision.i) & (states.j == decision.j)
    assert at.sum() == 1
    seen = draws[: decision.k]
    assert (decision.i, decision.j) == (sum(f for f, _ in seen), sum(s for _, s in seen))
    assert session.draws == tuple(seen)
    assert session.estimate().effect == (decision.i - decision.j) / decision.k


@given(pairs, st.integers(0, 30))
def test_a_saved_session_goes_on_as_if_never_saved(draws, cut):
    session = StoppingRule().session()
    decision = run(session, draws[:cut])
    replayed = ProbeSession.from_json(session.to_json())
    assert replayed.decision == decision
    assert replayed.draws == session.draws
    if decision is None:
        assert run(replayed, draws[cut:]) == run(session, draws[cut:])


def test_no_decision_before_k_min():
    session = StoppingRule(k_min=9).session()
    for _ in range(8):
        assert session.update(full=True, ablated=False) is None
    assert session.update(full=True, ablated=False).k == 9


def test_an_undecided_probe_says_so():
    # five passes of five: P(F > .8) = 1 - .8^6 = .738 is below .8, so the level is undecided
    session = StoppingRule(k_max=5).session()
    decision = run(session, [(True, True)] * 5)
    assert isinstance(decision, Decision)
    assert (decision.k, decision.a_side, decision.state) == (5, "undecided", "not_confident")
    assert decision.confident is False
    assert decision.to_dict()["schema"] == "simtrack.probe-decision/1"


def test_no_draw_after_the_stop():
    session = StoppingRule(k_min=1, k_max=1).session()
    session.update(full=True, ablated=True)
    with pytest.raises(DataError, match="The probe has stopped after round 1"):
        session.update(full=True, ablated=True)


@pytest.mark.parametrize("bad", [1, None, "pass", 0.0])
def test_outcomes_are_booleans(bad):
    with pytest.raises(InputError, match="full must be True or False"):
        StoppingRule().session().update(full=bad, ablated=True)


def test_an_estimate_needs_a_stop():
    with pytest.raises(DataError, match="has not stopped yet"):
        StoppingRule().session().estimate()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"schema": "simtrack.probe-session/1", "rule": {}}',
        '{"schema": "x", "rule": {}, "draws": []}',
        '{"schema": "simtrack.probe-session/1", "rule": {}, "draws": [[1, 2]]}',
        '{"schema": "simtrack.probe-session/1", "rule": {}, "draws": [1]}',
    ],
)
def test_broken_saved_sessions_are_refused(text):
    with pytest.raises(DataError, match=r"session|saved draw"):
        ProbeSession.from_json(text)


def test_saved_draws_beyond_the_stop_are_refused():
    saved = json.loads(StoppingRule(k_min=1, k_max=1).session().to_json())
    saved["draws"] = [[1, 1], [1, 1]]
    with pytest.raises(DataError, match="has stopped"):
        ProbeSession.from_json(json.dumps(saved))


def test_impossible_records_are_refused():
    for record in ((31, 0, 0), (3, 4, 0), (3, 0, -1)):
        with pytest.raises(InputError, match="0 <= i, j <= k <= 30"):
            decide(StoppingRule(), *record)
