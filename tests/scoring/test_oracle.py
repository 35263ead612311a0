"""Truth is fixed by labels: columns, a state machine, sets, constants, and what is refused."""

from __future__ import annotations

import pytest

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring import Oracle, Rule, StageProtocol, score_stageif
from simtrack.scoring.stageif.protocol import PAPER_VALUES

MACHINE = """
[[rule]]
when = { turn_kind = "tool" }
duty = 0

[[rule]]
when = { slots = "missing" }
duty = 1
gold = "NEEDS_INFO"

[[rule]]
when = { done = [0], slots = "full" }
duty = 1
gold = ["NEEDS_INFO", "READY"]

[[rule]]
when = { done = [1], steps = [2] }
duty = 1
gold = "POST_OBS"

[[rule]]
when = { done = [1, 2] }
duty = 1
gold = "COMPLETED"
"""


def table(**columns):
    return Records.from_columns(columns)


def truth(records, oracle=None, constants=None, arm="arm"):
    return (oracle or Oracle()).truth(records, PAPER_VALUES, constants or {}, arm)


def test_the_first_rule_that_holds_counts(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    oracle = StageProtocol.load(path).oracle
    records = table(
        turn_kind=["tool", "say", "say", "say", "say", "say"],
        slots=["missing", "missing", "full", "full", "full", "gone"],
        done=[0, 0, 0, 1, 2, 0],
        steps=[2, 2, 2, 2, 2, 2],
    )
    found, notes = truth(records, oracle)
    assert found.duty.tolist() == [0, 1, 1, 1, 1, -1]
    assert found.gold.values() == [
        None, "NEEDS_INFO", "NEEDS_INFO|READY", "POST_OBS", "COMPLETED", None]  # fmt: skip
    assert found.expected.values()[2] == "needs_information|ready_for_action"
    assert notes == ["1 rows meet no rule of the oracle and are unscored"]


def test_a_machine_scores_replies_to_the_end(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    rows = table(unit=list("abc"), turn_kind=["tool", "say", "say"], slots=["full"] * 3,
                 done=[0, 1, 0], steps=[2] * 3)  # fmt: skip
    texts = ["", "<stage>post_observation_continue</stage>", "<stage>completed</stage>"]
    replies = Replies(rows, texts, [("go",), (), ()])
    found = score_stageif(replies, StageProtocol.load(path), ["strict"])
    assert found.factors["outcome"].values() == ["CLEAN", "CLEAN", "STATE_WRONG"]


def test_columns_name_stages_or_the_values_of_markers():
    records = table(duty=["yes", "1", "true", "0"], stage=["READY", "completed", "POST_OBS", "-"])
    found, _ = truth(records)
    assert found.duty.tolist() == [1, 1, 1, 0]
    assert found.gold.values() == ["READY", "COMPLETED", "POST_OBS", None]


def test_a_column_gold_is_preferred_to_stage():
    found, _ = truth(table(stage=["READY"], gold=["COMPLETED"]))
    assert found.gold.values() == ["COMPLETED"]
    found, _ = truth(table(stage=["READY"], gold=["COMPLETED"], z=["POST_OBS"]), Oracle(gold="z"))
    assert found.gold.values() == ["POST_OBS"]


def test_a_duty_of_floats_is_read_and_a_missing_one_is_unknown():
    # A column of floats is one of numbers; it must not count as absent, which means always due.
    found, notes = truth(table(duty=[1.0, 0.0, float("nan")], stage=["READY"] * 3))
    assert found.duty.tolist() == [1, 0, -1]
    assert notes == []
    with pytest.raises(DataError, match="duty must be 1 or 0, got 2"):
        truth(table(duty=[2.0], stage=["READY"]))
    with pytest.raises(DataError, match="duty must be 1 or 0, got 'maybe'"):
        truth(table(duty=["maybe"], stage=["READY"]))


def test_a_stage_that_is_due_must_be_known_wherever_it_stands():
    # The first row has no stage at all; the second has a wrong one, and is the fault to name.
    with pytest.raises(DataError, match=r"row 2: stage must be one of .* got 'FINISHED'"):
        truth(table(duty=["1", "1"], stage=[None, "FINISHED"]))
    found, notes = truth(table(duty=["1", "1"], stage=[None, "READY"]))
    assert found.duty.tolist() == [-1, 1]
    assert notes == ["1 rows have no stage and are unscored"]


def test_constants_need_the_column_of_arms():
    with pytest.raises(InputError, match="column must be one of"):
        truth(table(stage=["READY"]), constants={"static": "active"})
    found, notes = truth(table(stage=["READY"], arm=["base"]), constants={"statc": "active"})
    assert found.expected.values() == ["ready_for_action"]
    assert any("no row has arm statc" in note for note in notes)


def test_truth_does_not_depend_on_replies_and_its_digest_does_on_labels():
    rows = table(unit=["a", "b"], stage=["READY", "COMPLETED"], duty=["1", "0"])
    digests = []
    for texts in (["x", "y"], ["<stage>completed</stage>", ""], [None, None]):
        found = score_stageif(Replies(rows, texts, [(), ()]))
        digests.append([note for note in found.notes if "sha256" in note])
    assert digests[0] == digests[1] == digests[2]
    other, _ = truth(table(stage=["READY", "READY"], duty=["1", "0"]))
    assert other.digest != truth(rows)[0].digest


def test_rules_are_checked():
    with pytest.raises(InputError, match="gold must be stages"):
        Rule({}, True, ("DONE",))
    with pytest.raises(InputError, match="at least one stage"):
        Rule({}, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"encodng": "xml"}, "Did you mean encoding"),
        ({"encoding": "yaml"}, "encoding must be one of xml, json"),
        ({"values": {"READY": "a"}}, "values must be given for every stage"),
        ({"values": dict.fromkeys(PAPER_VALUES, "a")}, "different for each stage"),
        ({"expected": {"static": "a|b"}}, "without"),
        ({"rule": [{"when": {}, "duty": 2}]}, r"\[\[rule\]\] 1.*|duty must be 0 or 1"),
        ({"rule": [{"dutty": 1}]}, "Did you mean duty"),
        ({"tag": "sta ge"}, "tag must be"),
        ({"truth": {"golden": "x"}}, "Did you mean gold"),
        ({"cues": {"resolved": ["a"]}}, "key must be one of"),
        ({"scheme": "rebind"}, "scheme must be 'stageif'"),
    ],
)
def test_a_faulty_protocol_is_refused_in_one_line(content, message):
    with pytest.raises(InputError, match=message) as caught:
        StageProtocol.from_dict(content)
    assert "\n" not in str(caught.value)


def test_a_protocol_survives_its_plain_data(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(
        'encoding = "json"\nfences = true\n[expected]\nstatic = "active"\n'
        '[cues]\nresolution = ["done"]\nhandoff = "transfer"\n' + MACHINE
    )
    protocol = StageProtocol.load(path)
    again = StageProtocol.from_dict(protocol.to_dict())
    assert again == protocol
    assert again.to_dict() == protocol.to_dict()
