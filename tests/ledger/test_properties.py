"""What holds for every dialogue and every sequence of repairs."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.ledger import (
    FINAL_CHECK_CAPACITY,
    Ledger,
    Retest,
    Violation,
    ablate,
    compile_ledger,
    diagnose,
    exemplify,
    keep,
    prefill,
    promote,
    report_back,
    rewrite,
    roll_back,
    settle,
)

TEXTS = st.text("abc é.\n\"\\'{}", min_size=1, max_size=30).filter(str.strip)
# What a user does in a turn: add a clause (True) or revoke the n-th in force (False), after a gap.
CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 3)), max_size=14)


def dialogue(changes, texts=()):
    """Build a ledger, and beside it a plain replay: the net state after every turn."""
    ledger, bound, turn = Ledger("Do it."), [], 0
    log = []
    for place, (adds, which, gap) in enumerate(changes):
        turn += gap
        if adds or not bound:
            text = texts[place] if place < len(texts) else f"Clause {place}."
            ledger = ledger.add(turn, f"c{place}", text, f"check:{place}")
            bound = [*bound, f"c{place}"]
        else:
            gone = bound[which % len(bound)]
            ledger = ledger.revoke(turn, gone)
            bound = [one for one in bound if one != gone]
        log.append((turn, bound))
    return ledger, log


@given(CHANGES)
def test_the_net_state_of_every_turn_is_that_of_a_naive_replay(changes):
    ledger, log = dialogue(changes)
    wanted = []
    for turn in range(ledger.last_turn + 2):
        wanted = next((bound for at, bound in reversed(log) if at <= turn), [])
        net = [clause.id for clause in ledger.in_force(turn)]
        assert net == wanted
        numbered = [clause.id for clause in compile_ledger(ledger, turn).clauses]
        assert numbered == wanted
        gone = {clause.id for clause in ledger.revoked(turn)}
        born = {clause.id for clause in ledger.clauses if clause.turn <= turn}
        assert gone == born - set(wanted)
    assert [clause.id for clause in ledger.in_force()] == wanted


@given(CHANGES, st.integers(0, 14))
def test_later_turns_never_change_earlier_net_states(changes, cut):
    whole, _ = dialogue(changes)
    part, _ = dialogue(changes[:cut])
    for turn in range(part.last_turn):
        assert part.in_force(turn) == whole.in_force(turn)


@given(CHANGES, st.lists(TEXTS, max_size=14))
def test_a_ledger_is_read_back_as_it_was(changes, texts):
    ledger, _ = dialogue(changes, texts)
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert Ledger.from_json(ledger.to_json()).to_json() == ledger.to_json()


@given(CHANGES, st.lists(TEXTS, max_size=14), st.data())
def test_ablation_keeps_every_line_s_length(changes, texts, data):
    ledger, _ = dialogue([(True, 0, 0), *changes], texts)
    net = ledger.in_force()
    if not net:
        return
    clause = data.draw(st.sampled_from(net)).id
    found = ablate(ledger, clause)
    full, ablated = found.full.text, found.ablated.text
    assert len(full) == len(ablated)
    assert list(map(len, full.split("\n"))) == list(map(len, ablated.split("\n")))
    assert len(found.placeholder) == len(found.surface_text)


def accepts_short(text: str) -> bool:
    return len(text) < 4


REPAIRS = st.lists(
    st.tuples(
        st.sampled_from(["L1", "L2", "L3", "L5", "L7", "probe", "keep", "back", "settle"]),
        st.integers(0, 9),
        TEXTS,
    ),
    max_size=25,
)


def repaired(ledger, step):
    """Take one step of the ladder; what the ledger refuses leaves it as it is."""
    what, which, text = step
    clauses = [clause.id for clause in ledger.clauses]
    clause = clauses[which % len(clauses)]
    steps = {
        "L1": lambda: promote(ledger, clause),
        "L2": lambda: rewrite(ledger, clause, text if which % 2 else ""),
        "L3": lambda: exemplify(ledger, clause, text, text * 2, accepts_short),
        "L5": lambda: prefill(ledger, clause, text),
        "L7": lambda: report_back(ledger, clause, [Violation("missed", clause)]),
        "probe": lambda: diagnose(ledger, clause, "dead", "0.1"),
        "keep": lambda: keep(ledger),
        "back": lambda: roll_back(ledger),
        "settle": lambda: settle(ledger, Retest("0.5", f"0.{which}")),
    }
    try:
        return steps[what]()
    except InputError:
        return ledger


@settings(max_examples=150)
@given(CHANGES, REPAIRS)
def test_repairs_change_surface_texts_parameters_and_histories_alone(changes, repairs):
    ledger, _ = dialogue([(True, 0, 0), *changes])
    fixed = [(c.id, c.text, c.checker_id, c.turn) for c in ledger.clauses]
    stones, contract, net = ledger.tombstones, ledger.contract(), ledger.in_force()
    for step in repairs:
        after = repaired(ledger, step)
        assert after.contract() == contract
        assert [(c.id, c.text, c.checker_id, c.turn) for c in after.clauses] == fixed
        assert after.task == "Do it."
        assert after.tombstones == stones
        assert [c.id for c in after.in_force()] == [c.id for c in net]
        assert len(after.compilation.final_check) <= FINAL_CHECK_CAPACITY
        for old, new in zip(ledger.clauses, after.clauses, strict=True):
            assert new.history[: len(old.history)] == old.history  # only ever appended to
            if old.surface_text != new.surface_text:
                assert new.history[-1].surface_text == new.surface_text
        assert Ledger.from_json(after.to_json()) == after
        ledger = after


@settings(max_examples=150)
@given(CHANGES, REPAIRS, st.tuples(st.sampled_from(["L1", "L2", "L3", "L5", "L7"]),
                                   st.integers(0, 9), TEXTS))  # fmt: skip
def test_rollback_restores_byte_for_byte(changes, repairs, last):
    ledger, _ = dialogue([(True, 0, 0), *changes])
    for step in repairs:
        ledger = repaired(ledger, step)
    before = keep(ledger) if ledger.pending else ledger
    after = repaired(before, last)
    if after.pending is None:
        return
    assert after.compilation != before.compilation or delivered(after) != delivered(before)
    restored = roll_back(after)
    assert delivered(restored) == delivered(before)
    assert compile_ledger(restored).to_json() == compile_ledger(before).to_json()
    grown = [
        len(new.history) - len(old.history)
        for old, new in zip(before.clauses, restored.clauses, strict=True)
    ]
    assert sorted(grown) == [0] * (len(grown) - 1) + [2]  # applied, rolled back


def delivered(ledger) -> bytes:
    """All of a ledger but what is only remembered, as bytes."""
    told = ledger.to_dict()
    for clause in told["clauses"]:
        del clause["history"]
    return json.dumps(told).encode()
