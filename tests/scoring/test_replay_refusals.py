"""What a gate has shaped tells nothing of another: such records are refused, in one line."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.replay.gates import ReplayProtocol, replay_gates

READY, MID = "<stage>ready_for_action</stage>", "<stage>post_observation_continue</stage>"
END = "<stage>completed</stage>"
FREE = {"record": {"gate": "none"}, "done": {"calls": ["one", "two"]}}
OPENING = ["user Book it.", f"say Shall I? {READY}", "user Yes."]
FIRST, SECOND = ["call one", "tool ok"], ["call two", "tool ok"]
CORRECT = [*OPENING, *FIRST, *SECOND, f"say Done. {END}"]
UNMARKED = ["user Book it.", "say Shall I?", "user Yes.", *FIRST, *SECOND, f"say Done. {END}"]
STALLED = [*OPENING, *FIRST, f"say One step is left. {MID}"]

REPROMPT = "user [System] Go on with what you have."


def test_a_re_prompted_session_is_refused_unless_it_was_stopped_before(played, ends):
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


def test_a_session_that_a_marker_gate_cut_says_nothing_of_the_others(played, ends):
    cut = {"t": ["user Book it.", "say Shall I?"], "u": CORRECT}
    by_marker = {**FREE, "record": {"gate": "marker"}}
    assert ends(played(cut), ["marker"], by_marker)["t", "B1"] == ("dead end", 1)
    for gate in ("no-tool-call", "runtime"):
        with pytest.raises(DataError, match=r"1 of 2 sessions .* t was cut by the marker gate at"):
            ends(played(cut), [gate], by_marker)
    # The one that stopped when it was done had nothing left to tell.
    done = {"u": CORRECT}
    assert ends(played(done), ["runtime"], by_marker)["u", "A"] == ("correct stop", 5)


def test_a_stall_is_the_same_under_both_gates_that_return_to_the_user(played, ends):
    stalled = {"t": STALLED}
    plan = {**FREE, "record": {"gate": "no-tool-call"}}
    assert ends(played(stalled), ["marker"], plan)["t", "B1"] == ("stall", None)
    with pytest.raises(DataError, match="cut by the no-tool-call gate"):
        ends(played(stalled), ["runtime"], plan)


def test_what_the_runtime_stopped_cannot_say_completed(played, ends):
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


def test_a_column_may_say_how_each_session_was_recorded(played, ends):
    def gate(columns):
        return ["B1" if name == "t" else "none" for name in columns["unit"]]

    cut = {"t": ["user Book it.", "say Shall I?"], "u": CORRECT}
    plan = {"done": FREE["done"]}
    with pytest.raises(DataError, match="t was cut by the marker gate"):
        ends(played(cut, gate=gate), ["runtime"], plan)
    with pytest.raises(InputError, match="gate of the record must be one of"):
        ends(played(cut, gate="free"), ["runtime"], plan)
    plan["record"] = {"column": "how"}
    assert ends(played(cut, how="none"), ["runtime"], plan)["t", "A"] == ("stall", None)


def test_a_record_that_looks_cut_is_refused_until_it_is_said_not_to_be(played, ends):
    # Nobody goes on after a message without a marker, and one session ends there unfinished.
    cut = {"t": ["user Book it.", "say Shall I?"], "u": CORRECT}
    unsaid = {"done": FREE["done"]}
    with pytest.raises(DataError, match="they look cut by it"):
        ends(played(cut), ["runtime"], unsaid)
    assert ends(played(cut), ["marker"], unsaid)["t", "B1"] == ("dead end", 1)
    assert ends(played(cut), ["runtime"])["t", "A"] == ("stall", None)  # said to be free
    goes_on = cut | {"v": UNMARKED}
    assert ends(played(goes_on), ["runtime"], unsaid)["t", "A"] == ("stall", None)
    markerless = {"t": ["user Book it.", "say Shall I?"]}  # a log without markers is not gated
    assert ends(played(markerless), ["runtime"], unsaid)["t", "A"] == ("stall", None)


def test_arms_that_were_recorded_apart_are_looked_at_apart(played, ends):
    cut = {"t": ["user Book it.", "say Shall I?"], "u": CORRECT}
    both = cut | {"v": UNMARKED}

    def arm(columns):
        return ["free" if name == "v" else "gated" for name in columns["unit"]]

    unsaid = {"done": FREE["done"]}
    assert ends(played(both), ["runtime"], unsaid)["t", "A"] == ("stall", None)
    with pytest.raises(DataError, match="they look cut by it"):
        ends(played(both, arm=arm), ["runtime"], unsaid)


def test_a_message_without_a_turn_is_refused(played):
    replies = played({"t": ["user Hi.", "say Shall I?"]}, done="0")
    turns = Factor(("0",), np.array([0, -1], dtype=np.int32))
    records = replies.records.with_factors(turn=turns)
    with pytest.raises(DataError, match="1 messages have no turn"):
        replay_gates(Replies(records, replies.texts, replies.calls))


def test_logs_that_lack_something_are_refused_by_name(played, ends):
    replies = played({"t": CORRECT})
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
