"""Gate agents: chains against fundamental matrices and recursion in fractions, replay, draws."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.gate.chain import GATES, OUTCOMES, Rollout, replay
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import CATALOGUE, Contrast, Estimand

CLOSE = 1e-12  # a few dozen products and sums of doubles
SPEAK = (0.9, 0.5, 0.2, 0.3, 0.1)
SETTINGS = {"omit": 0.25, "early": 0.05, "valid": 0.8, "transport": 0.02, "resume": 0.7}
AGENT = GateAgent(SPEAK, turn_cap=8, scenario_sd=0.8, **SETTINGS)
PLAIN = GateAgent(SPEAK, turn_cap=8, **SETTINGS)
DESIGN = Design(6, 4, {"gate": GATES, "model": ("a", "b")})
FROZEN = "4641a6f2066c8d26f26fcdc481d4b1d10061d22e228be3a8cd352f491034547d"


def by_recursion(gate: str, cap: int) -> list[Fraction]:
    """Follow the task in fractions, written from the description of the gates."""
    speak = [Fraction(str(s)) for s in SPEAK]
    omit, early, valid, lost, resume = (Fraction(str(v)) for v in SETTINGS.values())
    names = ["clarify", "confirm", "one", "report", "two"]
    after_call = {"clarify": "report", "confirm": "report", "one": "report"}
    after_text = {
        "clarify": "confirm",
        "confirm": "one",
        "one": "one",
        "report": "two",
        "two": "two",
    }

    @cache
    def ends(state: str, left: int) -> tuple[Fraction, ...]:
        transport, dead, premature, stall, capped, ok = (Fraction(0) for _ in range(6))
        if left == 0:
            return (transport, dead, premature, stall, Fraction(1), ok)
        transport = lost
        total = [transport, dead, premature, stall, capped, ok]

        def add(weight: Fraction, law: tuple[Fraction, ...]) -> None:
            for k, share in enumerate(law):
                total[k] += weight * share

        live = 1 - lost
        say = live * speak[names.index(state)]
        call = live - say
        add(call * (1 - valid), ends(state, left - 1))
        if state in after_call:
            add(call * valid, ends(after_call[state], left - 1))
        else:
            total[5] += call * valid
        answered = state in ("clarify", "confirm")
        if gate == "B1":
            total[1] += say * omit
            total[2] += say * early
            say *= 1 - omit - early
        if gate in ("A", "A_matched"):
            add(say * resume, ends(after_text[state], left - 1))
            total[3] += say * (1 - resume)
        elif answered:
            add(say, ends(after_text[state], left - 1))
        else:
            total[3] += say
        return tuple(total)

    return list(ends("clarify", cap))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("cap", [1, 3, 8])
def test_capped_chains_are_the_recursion_in_fractions(gate, cap):
    agent = GateAgent(SPEAK, turn_cap=cap, **SETTINGS)
    expected = [float(x) for x in by_recursion(gate, cap)]
    assert agent.outcome({"gate": gate}) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("gate", GATES)
def test_without_a_cap_the_chain_is_the_limit(gate):
    expected = [float(x) for x in by_recursion(gate, 200)]
    found = PLAIN.outcome({"gate": gate}, capped=False)
    assert found == pytest.approx(expected, abs=CLOSE)
    assert found.sum() == pytest.approx(1.0, abs=CLOSE)


def test_absorption_is_that_of_the_fundamental_matrix():
    # B2 by hand: (I - Q)^-1 R with SciPy's solver
    s, v, t = SPEAK, 0.8, 0.02
    q, r = np.zeros((5, 5)), np.zeros((5, 3))  # transport, stall, ok
    for i in range(5):
        r[i, 0] = t
        q[i, i] += (1 - t) * (1 - s[i]) * (1 - v)
        if i < 3:
            q[i, 3] += (1 - t) * (1 - s[i]) * v
        else:
            r[i, 2] += (1 - t) * (1 - s[i]) * v
        if i < 2:
            q[i, i + 1] += (1 - t) * s[i]
        else:
            r[i, 1] += (1 - t) * s[i]
    expected = np.linalg.solve(np.eye(5) - q, r)[0]
    found = PLAIN.outcome({"gate": "B2"}, capped=False)
    assert found[[0, 3, 5]] == pytest.approx(expected, abs=CLOSE)


def test_scenarios_are_averaged_by_quadrature():
    found = AGENT.outcome({"gate": "B1"})
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    law = []
    for z in nodes:
        speak = [*SPEAK[:2], *(1 / (1 + (1 - p) / p * math.exp(-0.8 * z)) for p in SPEAK[2:])]
        law.append(GateAgent(speak, turn_cap=8, **SETTINGS).outcome({"gate": "B1"}))
    expected = (weights / weights.sum()) @ np.array(law)
    assert found == pytest.approx(expected, abs=1e-9)


def test_no_marker_no_dead_end():
    for gate in ("B2", "A", "A_matched"):
        found = PLAIN.outcome({"gate": gate})
        assert found[1] == found[2] == 0.0


@pytest.mark.parametrize("name", ["task_success", "dead_end_share", "stall_share", "gate_contrast"])
def test_drawn_studies_average_to_the_expectation(name):
    # 3,000 studies; 5 standard errors of their mean, a false alarm once in 1.7e6 runs; fixed seed
    what = CATALOGUE[name]
    batch = AGENT.counts(DESIGN, 3000, seed=3)
    if isinstance(what, Contrast):
        top, bottom, weights = what.batch(batch)
        rates = (top.sum(axis=1) / bottom.sum(axis=1) * weights).sum(axis=1)
    else:
        assert isinstance(what, Estimand)
        top, bottom = what.batch(batch)
        rates = top.sum(axis=1) / bottom.sum(axis=1)
    error = rates.std() / math.sqrt(rates.size)
    assert abs(rates.mean() - AGENT.expectation(what, DESIGN)) < 5 * error


@pytest.mark.parametrize("gate", GATES)
def test_rollouts_turn_by_turn_have_the_exact_law(gate):
    # 4,000 rollouts: 5 SD of a share
    design = Design(40, 100, {"gate": (gate,)})
    drawn = PLAIN.rollouts(design, {"gate": gate}, seed=11)
    expected = PLAIN.outcome({"gate": gate})
    for outcome, share in zip(OUTCOMES, expected, strict=True):
        found = sum(r.outcome == outcome for r in drawn) / len(drawn)
        assert abs(found - share) <= 5 * math.sqrt(share * (1 - share) / len(drawn)) + 1e-12
    assert max(len(r.turns) for r in drawn) <= 8


def test_replayed_rollouts_are_those_of_the_other_gate():
    # equal turns use equal numbers under all gates, so replay and rollout agree one by one
    design = Design(10, 30, {"gate": ("A", "B1", "B2")})
    agent = GateAgent(SPEAK, turn_cap=8, **(SETTINGS | {"resume": 1.0}))
    free = agent.rollouts(design, {"gate": "A"}, seed=4)
    for gate in ("B1", "B2"):
        assert replay(free, gate) == agent.rollouts(design, {"gate": gate}, seed=4)
    assert replay(free, "A") == free
    # where the model does not always go on, A stops at a question that the user of B1 answers
    with pytest.raises(InputError, match="long enough for B1, got one that A cut"):
        replay(PLAIN.rollouts(design, {"gate": "A"}, seed=4), "B1")


def test_a_prefix_that_was_cut_cannot_be_replayed_further():
    cut = Rollout(0, 0, "B1", ((0, "omitted", False),), "DEAD_END")
    with pytest.raises(
        InputError, match="rollouts must be long enough for B2, got one that B1 cut"
    ):
        replay([cut], "B2")
    assert replay([cut], "B1") == (cut,)
    whole = Rollout(
        0, 0, "A", ((0, "marked", True), (1, "done", True), (3, "done", True)), "TASK_OK"
    )
    assert replay([whole], "B1")[0].outcome == "TASK_OK"
    early = Rollout(
        0, 0, "A", ((0, "early", True), (1, "done", True), (3, "done", True)), "TASK_OK"
    )
    assert replay([early], "B1")[0].outcome == "PREMATURE"
    with pytest.raises(InputError, match="gate must be one of B1, B2, A, A_matched"):
        replay([early], "B3")


def test_draws_do_not_depend_on_others_threads_or_chunks():
    whole = AGENT.counts(DESIGN, 12, seed=5)
    assert whole.fingerprint == FROZEN
    for threads, chunk in ((2, None), (1, 1), (2, 7), (1, 1000)):
        assert AGENT.counts(DESIGN, 12, 5, threads=threads, chunk=chunk).fingerprint == FROZEN
    part = AGENT.counts(DESIGN, range(4, 9), 5).cells
    np.testing.assert_array_equal(part, whole.cells[4:9])
    more = DESIGN.with_(clusters=9, conditions={"gate": ("B2",), "model": ("a", "b", "c")})
    found = AGENT.counts(more, 12, 5)
    old = [k for k, label in enumerate(whole.labels) if label["gate"] == "B2"]
    new = [found.labels.index(whole.labels[k]) for k in old]
    np.testing.assert_array_equal(found.cells[:, :6, new], whole.cells[:, :, old])
    assert (AGENT.counts(DESIGN.with_(repetitions=9), 12, 5).cells >= whole.cells).all()


def test_records_are_the_first_study():
    records = AGENT.records(DESIGN, seed=5)
    counts = records.counts(cluster="scenario", by=["gate", "model"])
    assert counts.n == 6 * 4 * 8
    ok = CATALOGUE["task_success"]
    assert isinstance(ok, Estimand)
    first = AGENT.counts(DESIGN, 1, 5).counts(0)
    assert ok.totals(counts, by="gate").rates() == pytest.approx(
        ok.totals(first, by="gate").rates()
    )


def test_plain_data_makes_an_equal_agent():
    again = GateAgent.from_dict(AGENT.to_dict())
    assert again == AGENT
    assert hash(again) == hash(AGENT)
    assert pickle.loads(pickle.dumps(AGENT)) == AGENT


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GateAgent((0.5, 0.5)), "speak must be a chance for each of clarify, confirm"),
        (lambda: GateAgent(SPEAK, omit=1.5), "omit must be a finite number from 0 to 1"),
        (
            lambda: GateAgent(SPEAK, omit=0.6, early=0.6).outcome({"gate": "B1"}),
            "early must be at most 1 - omit",
        ),
        (lambda: AGENT.counts(Design(2), 1, 1), "gate must be a condition of the design"),
        (lambda: AGENT.outcome({"gate": "B3"}), "levels among B1, B2, A, A_matched, got 'B3'"),
    ],
)
def test_impossible_agents_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
