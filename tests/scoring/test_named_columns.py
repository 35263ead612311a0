"""What a protocol names and the log lacks is refused, or told, by what it was wanted for."""

from __future__ import annotations

import pytest

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring import StageProtocol, score_stageif
from simtrack.scoring.rebind.protocol import RebindProtocol
from simtrack.scoring.rebind.score import rebind_tables
from simtrack.scoring.replay.gates import replay_gates
from simtrack.scoring.replay.protocol import ReplayProtocol
from simtrack.scoring.schemes import load_protocol, scheme_of
from simtrack.scoring.stageif.obligations import score_obligations
from simtrack.scoring.statetrack.protocol import StateTrackProtocol
from simtrack.scoring.statetrack.score import score_statetrack


def _replies(**columns):
    rows = len(next(iter(columns.values())))
    labels = {"unit": [f"u{k}" for k in range(rows)], "status": ["scored"] * rows} | columns
    return Replies(Records.from_columns(labels), ["<stage>completed</stage>"] * rows, [()] * rows)


def test_the_right_stage_the_arm_the_obligation_and_the_branch() -> None:
    with pytest.raises(InputError, match=r"^right stage: column must be one of stages, unit, got "
                       r"'stage'\. Did you mean stages\? Map it: --map stage=COLUMN"):  # fmt: skip
        score_stageif(_replies(stages=["READY"]))
    constant = StageProtocol.from_dict({"expected": {"static": "active"}})
    with pytest.raises(InputError, match=r"^arms of \[expected\]: column must be.*arm = …"):
        score_stageif(_replies(stage=["READY"]), constant)
    with pytest.raises(InputError, match=r"^obligation of a row: column.*--map obligation=COLUMN"):
        score_obligations(_replies(stage=["READY"]))
    rules = [{"when": {"unit": "x"}, "duty": 0}, {"when": {"done": "1"}, "duty": 0}]
    machine = StageProtocol.from_dict({"rule": rules})
    with pytest.raises(InputError, match=r"^when of \[\[rule\]\] 2: column must be"):
        score_stageif(_replies(stage=["READY"]), machine)


def test_a_duty_that_is_named_must_be_there_and_the_usual_one_need_not() -> None:
    rows = _replies(stage=["READY"])
    assert any("a report is taken as due" in note for note in score_stageif(rows).notes)
    named = StageProtocol.from_dict({"truth": {"duty": "is_due"}})
    with pytest.raises(InputError, match=r"^\[truth\] duty: column must be one of stage, unit"):
        score_stageif(rows, named)


def test_of_two_columns_of_right_stages_it_is_told_which_is_read() -> None:
    found = score_stageif(_replies(stage=["READY"], gold=["COMPLETED"]))
    assert found.factors["outcome"].values() == ["CLEAN", "CLEAN"]
    assert "the right stage is read from the column gold, not from stage" in found.notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.toml", '[[rule]]\nwhen = {}\nduty = 1\ngold = "REDY"\n',
         r"p\.toml, \[\[rule\]\] 1: gold must be stages of NEEDS_INFO"),
        ("p.toml", 'encoding = "yaml"\n', r"p\.toml: encoding must be one of xml, json"),
        ("p.json", '{"tag": "a", "tag": "b"}', r"p\.json.*the key 'tag' stands twice"),
    ],
)  # fmt: skip
def test_a_refusal_says_which_file_and_rule(tmp_path, name, text, message) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises((InputError, DataError), match=message):
        load_protocol(scheme_of("stageif"), path)


def test_a_byte_order_mark_before_the_protocol_is_no_fault(tmp_path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('tag = "state"\n', encoding="utf-8-sig")
    assert load_protocol(scheme_of("stageif"), path).tag == "state"


def test_columns_and_a_state_machine_contradict_each_other() -> None:
    both = {"truth": {"gold": "right"}, "rule": [{"when": {}, "duty": 1, "gold": "READY"}]}
    with pytest.raises(InputError, match=r"truth must be left out where \[\[rule\]\] says"):
        StageProtocol.from_dict(both)
    only = StageProtocol.from_dict({"rule": both["rule"]})
    assert StageProtocol.from_dict(only.to_dict()) == only


def test_a_label_of_a_rule_that_no_row_has_is_told() -> None:
    rules = [
        {"when": {"done": ["yes", "ja"]}, "duty": 1, "gold": "COMPLETED"},
        {"when": {}, "duty": 0},
    ]
    found = score_stageif(_replies(done=["yes", "no"]), StageProtocol.from_dict({"rule": rules}))
    assert "no row has done ja, of which [[rule]] 1 speaks" in found.notes
    assert not any("[[rule]] 2" in note for note in found.notes)


def test_labels_that_no_row_has_are_told_of_probes_and_clauses_too() -> None:
    rows = _replies(branch=["compliance"], r=["1"], c=["1"], unit=["p"], kind=["short"])
    both = Replies.concatenate([rows, _replies(branch=["recall"], r=["1"], c=["1"], unit=["p"],
                                               kind=["short"])])  # fmt: skip
    protocol = StateTrackProtocol.from_dict({
        "columns": {"recall": "r", "constraint": "c"},
        "rule": [{"when": {"kind": ["short", "bulets"]}, "task": {"kind": "words", "at_most": 9}}],
    })  # fmt: skip
    found = score_statetrack(both, protocol)
    assert "no row has kind bulets, of which [[rule]] 1 speaks" in found.notes
    clause = {"id": "f", "check": {"function": "f"}, "revoked_when": {"arm": ["x", "y"]}}
    found = rebind_tables(_replies(arm=["x"]), RebindProtocol.from_dict({"clause": [clause]}))
    assert "no row has arm y, of which clause f speaks" in found.episodes.notes


def test_no_pair_of_branches_names_the_labels_there_are() -> None:
    protocol = StateTrackProtocol.from_dict({"columns": {"recall": "r", "constraint": "c"}})
    rows = _replies(branch=["recall", "comply"], r=["1", "1"], c=["1", "1"])
    with pytest.raises(DataError, match=r"0 compliance and 1 recall replies.*branch is comply, "
                       r"recall in the log; compliance, and recall are looked for"):  # fmt: skip
        score_statetrack(rows, protocol)


def test_a_call_that_nobody_makes_is_told_and_one_that_is_made_is_not() -> None:
    labels = {"trajectory": ["t", "t"], "turn": ["0", "1"], "role": ["assistant", "tool"]}
    session = Replies(_replies(**labels).records, ["", "ok"], [("book",), ()])

    def notes(name):
        return replay_gates(session, ("runtime",), ReplayProtocol(done_calls=(name,))).notes

    assert "no message calls bok, so no task is ever done (the tools that are called: book)" \
        in notes("bok")  # fmt: skip
    assert not any("no message calls" in note for note in notes("book"))
    assert "a task is done once book was executed" in notes("book")
