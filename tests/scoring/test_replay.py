"""Sessions cut at the first stop of another gate: worked by hand, refused where they must be."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

from simtrack.agents import GateAgent
from simtrack.agents.gate_replay import replay as replay_simulated
from simtrack.counts import Factor
from simtrack.design import Design
from simtrack.errors import DataError, InputError
from simtrack.estimands import estimand
from simtrack.logs import read_replies
from simtrack.records import Records, Replies
from simtrack.scoring.replay import ReplayProtocol, replay_gates

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


def played(sessions, ended=None, **more):
    columns = {name: [] for name in ("trajectory", "turn", "role", "unit")}
    texts, calls = [], []
    for name, turns in sessions.items():
        for k, line in enumerate(turns):
            verb, _, rest = line.partition(" ")
            role = "assistant" if verb in ("say", "call") else verb
            tool, _, words = rest.partition(" ") if verb == "call" else ("", "", rest)
            for column, value in zip(columns.values(), (name, str(k), role, name), strict=True):
                column.append(value)
            texts.append(words)
            calls.append((tool,) if tool else ())
    n = len(texts)
    columns |= {label: [value] * n if isinstance(value, str) else value(columns)
                for label, value in more.items()}  # fmt: skip
    if ended:
        columns["ended"] = [ended] * n
    return Replies(Records.from_columns(columns), texts, calls)


def ends(replies, gates=ALL, protocol=FREE):
    found = replay_gates(replies, gates, ReplayProtocol.from_dict(protocol))
    names, turns = found.factors["end"].values(), found.factors["stop_turn"].values()
    keys = zip(found.factors["trajectory"].values(), found.factors["gate"].values(), strict=True)
    values = [(end, None if turn is None else int(turn))
              for end, turn in zip(names, turns, strict=True)]  # fmt: skip
    return dict(zip(keys, values, strict=True))


def test_every_session_under_every_gate():
    found = ends(played({name: case[0] for name, case in SESSIONS.items()}))
    for name, (_, *wanted) in SESSIONS.items():
        assert [found[name, gate] for gate in ("B1", "B2", "A")] == wanted, name


def test_outcomes_are_of_the_taxonomy_and_the_catalogue_counts_them():
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


def test_the_counts_of_the_paper():
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


def test_when_a_task_is_done_may_be_a_column():
    turns = [*OPENING, *FIRST, f"say Done. {END}", "user No.", f"say Now. {END}"]

    def done(columns):
        said = {0: "0", 6: "1"}  # what was said last holds on
        return [said.get(int(turn)) for turn in columns["turn"]]

    replies = played({"t": turns}, finished=done)
    plan = {"record": {"gate": "none"}, "done": {"column": "finished"}}
    assert ends(replies, protocol=plan) == {
        ("t", "B1"): ("premature stop", 5), ("t", "B2"): ("correct stop", 7),
        ("t", "A"): ("correct stop", 7)}  # fmt: skip


def test_a_session_whose_truth_is_not_told_is_unscored():
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


def test_calls_count_once_a_tool_has_answered_and_not_if_it_refused():
    plan = {**FREE, "done": {"calls": ["one", "one"], "rejected": ["error"]}}
    again = [*FIRST, "call one", "tool ERROR: no", f"say {END}", "user no", *FIRST, f"say {END}"]
    assert ends(played({"t": again}), ["marker"], plan)["t", "B1"] == ("premature stop", 4)
    assert ends(played({"t": again}), ["runtime"], plan)["t", "A"] == ("correct stop", 6)
    unanswered = ["call one", "call one"]  # the last call was never answered
    assert ends(played({"t": ["call one", "tool ok", "call one"]}), ["runtime"], plan)[
        "t", "A"] == ("other", None)  # fmt: skip
    # In a log without messages of tools a call counts when it is made.
    assert ends(played({"t": unanswered}), ["runtime"], plan)["t", "A"] == ("correct stop", 1)


def test_how_a_record_ends_is_told_where_no_gate_stops_it():
    turns = {"t": [*OPENING, *FIRST]}
    assert ends(played(turns, ended="limited"), ["marker"])["t", "B1"] == ("turn cap", None)
    assert ends(played(turns, ended="errored"), ["marker"])["t", "B1"] == ("transport", None)
    stopped = {"t": ["user Hi.", "say Shall I?", *FIRST]}
    assert ends(played(stopped, ended="errored"), ["marker"])["t", "B1"] == ("dead end", 1)


def test_a_turn_without_a_response_is_a_transport_failure_and_stays_in_the_denominator():
    replies = played({"t": [*OPENING, "say x"], "u": SESSIONS["correct"][0]})
    texts = list(replies.texts)
    texts[3] = None
    found = replay_gates(replies.with_texts(texts), ["marker"], ReplayProtocol.from_dict(FREE))
    assert found.factors["outcome"].values() == ["TRANSPORT", "TASK_OK"]
    assert estimand("task_success").totals(found.counts(by=["gate"])).rates()[0] == 0.5


def test_duty_may_begin_with_the_first_call_and_greetings_are_not_the_models():
    turns = {"t": ["say Hello!", "user Hi.", "say Shall I?", "user Yes.", *FIRST, "say Hm."]}
    later = {**FREE, "record": {"gate": "none", "duty_from": "first-call"}}
    greeted = {**FREE, "record": {"gate": "none", "scripted": ["Hello!"]}}
    assert ends(played(turns), ["marker"])["t", "B1"] == ("dead end", 0)
    assert ends(played(turns), ["marker"], greeted)["t", "B1"] == ("dead end", 2)
    assert ends(played(turns), ["marker"], later)["t", "B1"] == ("dead end", 6)


def test_other_markers_are_read_as_the_protocol_says():
    plan = {**FREE, "marker": {"encoding": "json", "tag": "state", "completed": "over"}}
    turns = {"t": [*FIRST, *SECOND, 'say Done.\n"state": "over"']}
    assert ends(played(turns), ["marker"], plan)["t", "B1"] == ("correct stop", 4)
    assert ends(played(turns), ["marker"])["t", "B1"] == ("dead end", 4)
    protocol = ReplayProtocol.from_dict(plan)
    assert ReplayProtocol.from_dict(protocol.to_dict()).to_dict() == protocol.to_dict()


# Refusals.

REPROMPT = "user [System] Go on with what you have."


def test_a_session_that_the_runtime_re_prompted_is_refused_unless_it_was_stopped_before():
    turns = [*OPENING, *FIRST, f"say Left. {MID}", REPROMPT, *SECOND, f"say {END}"]
    with pytest.raises(DataError, match="t was re-prompted by the runtime after turn 3") as caught:
        ends(played({"t": turns}), ["marker"])
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="cannot be replayed under the no-tool-call gate"):
        ends(played({"t": turns}), ["no-tool-call"])
    assert ends(played({"t": turns}), ["runtime"])["t", "A"] == ("correct stop", 7)
    # Cut at its first message, which the re-prompt cannot have touched.
    before = ["user Book it.", "say Shall I?", REPROMPT, *FIRST, *SECOND, f"say {END}"]
    assert ends(played({"t": before}), ["marker"])["t", "B1"] == ("dead end", 1)
    # Words of the user's own are no re-prompt.
    own = {**FREE, "record": {"gate": "none", "reprompts": ["(runtime)"]}}
    assert ends(played({"t": turns}), ["marker"], own)["t", "B1"] == ("correct stop", 9)


def test_a_session_that_a_marker_gate_cut_says_nothing_of_the_others():
    cut = {"t": ["user Book it.", "say Shall I?"], "u": SESSIONS["correct"][0]}
    by_marker = {**FREE, "record": {"gate": "marker"}}
    assert ends(played(cut), ["marker"], by_marker)["t", "B1"] == ("dead end", 1)
    for gate in ("no-tool-call", "runtime"):
        with pytest.raises(DataError, match=r"1 of 2 sessions .* t was cut by the marker gate at"):
            ends(played(cut), [gate], by_marker)
    # The one that stopped when it was done had nothing left to tell.
    done = {"u": SESSIONS["correct"][0]}
    assert ends(played(done), ["runtime"], by_marker)["u", "A"] == ("correct stop", 5)


def test_a_stall_is_the_same_under_both_gates_that_return_to_the_user_but_not_under_the_runtime():
    stalled = {"t": SESSIONS["nobody answers"][0]}
    plan = {**FREE, "record": {"gate": "no-tool-call"}}
    assert ends(played(stalled), ["marker"], plan)["t", "B1"] == ("stall", None)
    with pytest.raises(DataError, match="cut by the no-tool-call gate"):
        ends(played(stalled), ["runtime"], plan)


def test_what_the_runtime_stopped_cannot_say_completed():
    stopped = {"t": [*OPENING, *FIRST, *SECOND]}
    plan = {**FREE, "record": {"gate": "runtime"}}
    with pytest.raises(DataError, match="none of their messages is known to be the runtime's"):
        ends(played(stopped), ["marker"], plan)
    plan["record"] = {"gate": "runtime", "reprompts": ["Yes."]}
    with pytest.raises(DataError, match="re-prompted by the runtime after turn 1"):
        ends(played(stopped), ["marker"], plan)
    alone = {"t": [*FIRST, *SECOND]}
    with pytest.raises(DataError, match="was cut by the runtime gate at turn 2"):
        ends(played(alone), ["marker"], plan)


def test_a_column_may_say_how_each_session_was_recorded():
    def gate(columns):
        return ["B1" if name == "t" else "none" for name in columns["unit"]]

    cut = {"t": ["user Book it.", "say Shall I?"], "u": SESSIONS["correct"][0]}
    plan = {"done": FREE["done"]}
    with pytest.raises(DataError, match="t was cut by the marker gate"):
        ends(played(cut, gate=gate), ["runtime"], plan)
    with pytest.raises(InputError, match="gate of the record must be one of"):
        ends(played(cut, gate="free"), ["runtime"], plan)
    plan["record"] = {"column": "how"}
    assert ends(played(cut, how="none"), ["runtime"], plan)["t", "A"] == ("stall", None)


def test_a_record_that_looks_cut_is_refused_until_it_is_said_not_to_be():
    # Nobody goes on after a message without a marker, and one session ends there unfinished.
    cut = {"t": ["user Book it.", "say Shall I?"], "u": SESSIONS["correct"][0]}
    unsaid = {"done": FREE["done"]}
    with pytest.raises(DataError, match="they look cut by it"):
        ends(played(cut), ["runtime"], unsaid)
    assert ends(played(cut), ["marker"], unsaid)["t", "B1"] == ("dead end", 1)
    assert ends(played(cut), ["runtime"])["t", "A"] == ("stall", None)  # said to be free
    goes_on = cut | {"v": SESSIONS["no marker at first"][0]}
    assert ends(played(goes_on), ["runtime"], unsaid)["t", "A"] == ("stall", None)
    markerless = {"t": ["user Book it.", "say Shall I?"]}  # a log without markers is not gated
    assert ends(played(markerless), ["runtime"], unsaid)["t", "A"] == ("stall", None)


def test_arms_that_were_recorded_apart_are_looked_at_apart():
    cut = {"t": ["user Book it.", "say Shall I?"], "u": SESSIONS["correct"][0]}
    both = cut | {"v": SESSIONS["no marker at first"][0]}

    def arm(columns):
        return ["free" if name == "v" else "gated" for name in columns["unit"]]

    unsaid = {"done": FREE["done"]}
    assert ends(played(both), ["runtime"], unsaid)["t", "A"] == ("stall", None)
    with pytest.raises(DataError, match="they look cut by it"):
        ends(played(both, arm=arm), ["runtime"], unsaid)


def test_a_message_without_a_turn_is_refused():
    replies = played({"t": ["user Hi.", "say Shall I?"]}, done="0")
    turns = Factor(("0",), np.array([0, -1], dtype=np.int32))
    records = replies.records.with_factors(turn=turns)
    with pytest.raises(DataError, match="1 messages have no turn"):
        replay_gates(Replies(records, replies.texts, replies.calls))


def test_logs_that_lack_something_are_refused_by_name():
    replies = played({"t": SESSIONS["correct"][0]})
    with pytest.raises(DataError, match="no column 'done' says when a task is done"):
        replay_gates(replies)
    with pytest.raises(DataError, match="does not say of 4 replies whether they call a tool"):
        replay_gates(Replies(replies.records, replies.texts, [None] * len(replies)),
                     protocol=ReplayProtocol.from_dict(FREE))  # fmt: skip
    bare = Replies(Records.from_columns({"unit": ["a"]}), ["x"], [()])
    with pytest.raises(DataError, match=r"trajectory, turn, role.*--map trajectory=COL"):
        replay_gates(bare)
    with pytest.raises(DataError, match="no message of an assistant"):
        ends(played({"t": ["user Hi."]}))
    with pytest.raises(InputError, match="gate must be one of"):
        replay_gates(replies, ["B1"])
    with pytest.raises(InputError, match="each once"):
        replay_gates(replies, ["marker", "marker"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"recorded": {}}, "Did you mean record"),
        ({"done": {"column": "a", "calls": ["b"]}}, "one of column and calls"),
        ({"record": {"gate": "free"}}, "gate of the record must be one of"),
        ({"record": {"duty_from": "end"}}, "duty_from must be one of"),
        ({"record": {"reprompts": [" "]}}, "none of them blank"),
        ({"marker": {"tag": "a b"}}, "tag must be"),
        ({"scheme": "stageif"}, "scheme must be 'replay'"),
    ],
)
def test_faulty_protocols_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        ReplayProtocol.from_dict(content)


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
def test_simulated_rollouts_end_as_their_own_replay_says(scheme):
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


def test_a_log_of_messages_is_replayed_from_its_file(tmp_path):
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
