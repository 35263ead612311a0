"""Sessions cut at the first stop of another gate: worked by hand, refused where they must be."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

from simtrack.agents import GateAgent
from simtrack.agents.gate.chain import replay as replay_simulated
from simtrack.counts import Factor
from simtrack.design import Design
from simtrack.estimands import estimand
from simtrack.logs import read_replies
from simtrack.records import Replies
from simtrack.scoring.replay.gates import ReplayProtocol, replay_gates

READY, MID = "<stage>ready_for_action</stage>", "<stage>post_observation_continue</stage>"
END = "<stage>completed</stage>"
LOGS = pathlib.Path(__file__).parents[1] / "fixtures" / "logs"
FREE = {"record": {"gate": "none"}, "done": {"calls": ["one", "two"]}}
ALL = ("marker", "no-tool-call", "runtime")

# Role and what it says; "call X" calls a tool, "say ..." speaks.
OPENING = ["user Book it.", f"say Shall I? {READY}", "user Yes."]
FIRST, SECOND = ["call one", "tool ok"], ["call two", "tool ok"]
SESSIONS = {
    # name: turns, then (end, stop turn) under the marker gate, without one, under the runtime.
    "correct": (
        [*OPENING, *FIRST, *SECOND, f"say Done. {END}"],
        ("correct stop", 7), ("correct stop", 7), ("correct stop", 5)),
    "no marker at first": (
        ["user Book it.", "say Shall I?", "user Yes.", *FIRST, *SECOND, f"say Done. {END}"],
        ("dead end", 1), ("correct stop", 7), ("correct stop", 5)),
    "ill-formed marker": (
        ["user Book it.", f"say {READY} Shall I?", "user Yes.", *FIRST, *SECOND, f"say {END}"],
        ("dead end", 1), ("correct stop", 7), ("correct stop", 5)),
    "too early": (
        [*OPENING, *FIRST, f"say Done. {END}", "user And the rest?", *SECOND, f"say {END}"],
        ("premature stop", 5), ("correct stop", 9), ("correct stop", 7)),
    "nobody answers": (
        [*OPENING, *FIRST, f"say One step is left. {MID}"],
        ("stall", None), ("stall", 5), ("stall", None)),
    "goes on unanswered": (  # a gate without markers stops where nobody answers
        [*OPENING, *FIRST, f"say One step is left. {MID}", *SECOND, f"say {END}"],
        ("correct stop", 8), ("stall", 5), ("correct stop", 6)),
    "never says so": (
        [*OPENING, *FIRST, *SECOND, f"say Well. {MID}"],
        ("finished without a stop", None), ("correct stop", 7), ("correct stop", 5)),
    "forgets at the end": (
        [*OPENING, *FIRST, *SECOND, "say Done."],
        ("dead end", 7), ("correct stop", 7), ("correct stop", 5)),
    "ends on a call": (
        [*OPENING, *FIRST],
        ("other", None), ("other", None), ("other", None)),
    "a marker in a call": (  # what stands in a tool call is not read
        [*OPENING, *FIRST, f"call two {END}", "tool ok", f"say {END}"],
        ("correct stop", 7), ("correct stop", 7), ("correct stop", 5)),
}  # fmt: skip


def test_every_session_under_every_gate(played, ends):
    found = ends(played({name: case[0] for name, case in SESSIONS.items()}))
    for name, (_, *wanted) in SESSIONS.items():
        assert [found[name, gate] for gate in ("B1", "B2", "A")] == wanted, name


def test_outcomes_are_of_the_taxonomy_and_the_catalogue_counts_them(played):
    replies = played({name: case[0] for name, case in SESSIONS.items()}, scenario="s")
    found = replay_gates(replies, ALL, ReplayProtocol.from_dict(FREE))
    counts = found.counts(cluster="scenario", by=["gate"])
    success = estimand("task_success").totals(counts, "gate")
    rates = dict(zip([c[0] for c in success.conditions], success.rates(), strict=True))
    # Marker: correct, goes on unanswered, never says so, a marker in a call: 4 of 10.
    assert rates == {"B1": 0.4, "B2": 0.7, "A": 0.8}
    dead = estimand("dead_end_share").totals(counts, "gate")
    assert dead.rates().tolist() == [0.0, 0.3, 0.0]
    gap = estimand("gate_contrast").value(counts)
    assert gap == pytest.approx(0.3, abs=1e-15)
    turns = zip(found.factors["trajectory"].values(), found.factors["gate"].values(),
                found.numbers["turns"].tolist(), strict=True)  # fmt: skip
    kept = {name: n for name, gate, n in turns if gate == "B1"}
    assert (kept["correct"], kept["no marker at first"], kept["too early"]) == (4, 1, 3)


def test_the_counts_of_the_paper(played, ends):
    # Appendix V: of 336, the marker gate ends 114 correctly, 62 dead, 8 too early; the runtime's
    # 164 correct are the 114 and 50 of those that the marker gate ended before they were done.
    names = {"correct": 114, "no marker at first": 46, "too early": 4, "nobody answers": 152}
    dead = ["user Book it.", "say Shall I?", "user Yes.", *FIRST, f"say Left. {MID}"]
    early = [*OPENING, *FIRST, f"say Done. {END}", "user And the rest?", f"say Left. {MID}"]
    sessions = {f"{name} {k}": SESSIONS[name][0] for name, n in names.items() for k in range(n)}
    sessions |= {f"dead {k}": dead for k in range(16)} | {f"early {k}": early for k in range(4)}
    found = ends(played(sessions))
    tally = {gate: [end for (_, g), (end, _) in found.items() if g == gate] for gate in ("B1", "A")}
    marker = [tally["B1"].count(e) for e in ("correct stop", "dead end", "premature stop")]
    assert len(sessions) == 336
    assert marker == [114, 62, 8]
    assert tally["A"].count("correct stop") == 164
    assert tally["B1"].count("finished without a stop") == 0


def test_when_a_task_is_done_may_be_a_column(played, ends):
    turns = [*OPENING, *FIRST, f"say Done. {END}", "user No.", f"say Now. {END}"]

    def done(columns):
        said = {0: "0", 6: "1"}  # what was said last holds on
        return [said.get(int(turn)) for turn in columns["turn"]]

    replies = played({"t": turns}, finished=done)
    plan = {"record": {"gate": "none"}, "done": {"column": "finished"}}
    assert ends(replies, protocol=plan) == {
        ("t", "B1"): ("premature stop", 5), ("t", "B2"): ("correct stop", 7),
        ("t", "A"): ("correct stop", 7)}  # fmt: skip


def test_a_session_whose_truth_is_not_told_is_unscored(played):
    replies = played({"t": SESSIONS["correct"][0]}, done=lambda c: ["0"] * len(c["turn"]))
    nothing = replies.records.factors["done"].compact()
    nothing = Factor(nothing.levels, np.full(len(nothing), -1, dtype=np.int32))
    records = replies.records.with_factors(done=nothing)
    untold = Replies(records, replies.texts, replies.calls)
    found = replay_gates(untold, ["marker"])
    assert found.factors["status"].values() == ["unscored"]
    assert found.factors["outcome"].values() == [None]
    assert found.factors["reason"].values() == ["whether the task was done by then is not told"]
    assert found.counts().losses.by_kind() == {"unscored": 1}


def test_calls_count_once_a_tool_has_answered_and_not_if_it_refused(played, ends):
    plan = {**FREE, "done": {"calls": ["one", "one"], "rejected": ["error"]}}
    again = [*FIRST, "call one", "tool ERROR: no", f"say {END}", "user no", *FIRST, f"say {END}"]
    assert ends(played({"t": again}), ["marker"], plan)["t", "B1"] == ("premature stop", 4)
    assert ends(played({"t": again}), ["runtime"], plan)["t", "A"] == ("correct stop", 6)
    unanswered = ["call one", "call one"]  # the last call was never answered
    assert ends(played({"t": ["call one", "tool ok", "call one"]}), ["runtime"], plan)[
        "t", "A"] == ("other", None)  # fmt: skip
    # In a log without messages of tools a call counts when it is made.
    assert ends(played({"t": unanswered}), ["runtime"], plan)["t", "A"] == ("correct stop", 1)


def test_how_a_record_ends_is_told_where_no_gate_stops_it(played, ends):
    turns = {"t": [*OPENING, *FIRST]}
    assert ends(played(turns, ended="limited"), ["marker"])["t", "B1"] == ("turn cap", None)
    assert ends(played(turns, ended="errored"), ["marker"])["t", "B1"] == ("transport", None)
    stopped = {"t": ["user Hi.", "say Shall I?", *FIRST]}
    assert ends(played(stopped, ended="errored"), ["marker"])["t", "B1"] == ("dead end", 1)


def test_a_turn_without_a_response_is_a_transport_failure_and_stays_in_the_denominator(played):
    replies = played({"t": [*OPENING, "say x"], "u": SESSIONS["correct"][0]})
    texts = list(replies.texts)
    texts[3] = None
    found = replay_gates(replies.with_texts(texts), ["marker"], ReplayProtocol.from_dict(FREE))
    assert found.factors["outcome"].values() == ["TRANSPORT", "TASK_OK"]
    assert estimand("task_success").totals(found.counts(by=["gate"])).rates()[0] == 0.5


def test_duty_may_begin_with_the_first_call_and_greetings_are_not_the_models(played, ends):
    turns = {"t": ["say Hello!", "user Hi.", "say Shall I?", "user Yes.", *FIRST, "say Hm."]}
    later = {**FREE, "record": {"gate": "none", "duty_from": "first-call"}}
    greeted = {**FREE, "record": {"gate": "none", "scripted": ["Hello!"]}}
    assert ends(played(turns), ["marker"])["t", "B1"] == ("dead end", 0)
    assert ends(played(turns), ["marker"], greeted)["t", "B1"] == ("dead end", 2)
    assert ends(played(turns), ["marker"], later)["t", "B1"] == ("dead end", 6)


def test_other_markers_are_read_as_the_protocol_says(played, ends):
    plan = {**FREE, "marker": {"encoding": "json", "tag": "state", "completed": "over"}}
    turns = {"t": [*FIRST, *SECOND, 'say Done.\n"state": "over"']}
    assert ends(played(turns), ["marker"], plan)["t", "B1"] == ("correct stop", 4)
    assert ends(played(turns), ["marker"])["t", "B1"] == ("dead end", 4)
    protocol = ReplayProtocol.from_dict(plan)
    assert ReplayProtocol.from_dict(protocol.to_dict()).to_dict() == protocol.to_dict()


# Against the simulated counterpart, and from files.

_STEPS = ("one", "one", "one", "two", "two")


def rendered(rollouts):
    """Write simulated rollouts out as sessions; the user answers while there is a script."""
    sessions = {}
    for rollout in rollouts:
        lines = ["user Book it."]
        for state, event, _ in rollout.turns:
            if event in ("done", "rejected"):
                lines += [f"call {_STEPS[state]}", "tool ok" if event == "done" else "tool error"]
                continue
            said = {"omitted": "Hm.", "early": END, "marked": MID}[event]
            lines += [f"say {said}"] + (["user Yes."] if state < 2 else [])
        sessions[f"{rollout.cluster}/{rollout.repetition}"] = lines
    return sessions


@pytest.mark.parametrize("scheme", [0, 1])
def test_simulated_rollouts_end_as_their_own_replay_says(played, scheme):
    speak = ((0.9, 0.5, 0.3, 0.3, 0.3), (0.5, 0.5, 0.1, 0.1, 0.1))[scheme]
    agent = GateAgent(speak=speak, omit=0.2, early=0.1, valid=0.8, turn_cap=200)
    design = Design(clusters=6, repetitions=60, conditions={"gate": ("B2",)})
    rollouts = agent.rollouts(design, {"gate": "B2"}, seed=3)
    wanted = {f"{r.cluster}/{r.repetition}": r.outcome for r in replay_simulated(rollouts, "B1")}
    plan = {
        "done": {"calls": ["one", "two"], "rejected": ["error"]},
        "record": {"gate": "no-tool-call"},
    }
    found = replay_gates(played(rendered(rollouts)), ["marker", "no-tool-call"],
                         ReplayProtocol.from_dict(plan))  # fmt: skip
    keys = zip(found.factors["gate"].values(), found.factors["trajectory"].values(), strict=True)
    table = dict(zip(keys, found.factors["outcome"].values(), strict=True))
    assert {name: table["B1", name] for name in wanted} == wanted
    assert {r.outcome for r in rollouts} == {"TASK_OK", "STALL"}
    for r in rollouts:
        assert table["B2", f"{r.cluster}/{r.repetition}"] == r.outcome
    assert len(set(wanted.values())) == 4


def test_a_log_of_messages_is_replayed_from_its_file(ends, tmp_path):
    path = tmp_path / "sessions.jsonl"
    with path.open("w") as out:
        for name, (turns, *_) in SESSIONS.items():
            for k, line in enumerate(turns):
                verb, _, rest = line.partition(" ")
                tool, _, words = rest.partition(" ") if verb == "call" else ("", "", rest)
                role = "assistant" if verb in ("say", "call") else verb
                row = {"id": name, "session": name, "step": k, "role": role, "text": words,
                       "tool_calls": [tool] if tool else []}  # fmt: skip
                out.write(json.dumps(row) + "\n")
    replies = read_replies(path, map={"trajectory": "session", "turn": "step"}, turns="all")
    found = ends(replies)
    for name, (_, *wanted) in SESSIONS.items():
        assert [found[name, gate] for gate in ("B1", "B2", "A")] == wanted, name


def test_an_inspect_log_is_replayed_from_its_messages(tmp_path):
    log = json.loads((LOGS / "stage_reports.json").read_text("utf-8"))
    sample = log["samples"][0]
    log["samples"] = []
    for name, (turns, *_) in SESSIONS.items():
        messages = [{"role": "system", "content": "Work."}]
        for line in turns:
            verb, _, rest = line.partition(" ")
            tool, _, words = rest.partition(" ") if verb == "call" else ("", "", rest)
            role = "assistant" if verb in ("say", "call") else verb
            calls = [{"id": "c", "function": tool, "arguments": {}}] if tool else None
            messages.append({"role": role, "content": words, "tool_calls": calls})
        log["samples"].append({**sample, "id": name, "epoch": 1, "messages": messages})
    log["eval"]["dataset"] |= {"samples": len(SESSIONS), "sample_ids": list(SESSIONS)}
    path = tmp_path / "sessions.json"
    path.write_text(json.dumps(log), "utf-8")
    found = replay_gates(read_replies(path, turns="all"), ALL, ReplayProtocol.from_dict(FREE))
    keys = zip(found.factors["unit"].values(), found.factors["gate"].values(), strict=True)
    table = dict(zip(keys, found.factors["end"].values(), strict=True))
    for name, (_, *wanted) in SESSIONS.items():
        assert [table[name, gate] for gate in ("B1", "B2", "A")] == [w[0] for w in wanted], name
