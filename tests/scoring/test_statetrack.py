"""Forked probes: how branches are joined, judged and counted, by hand and against a plain loop."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.estimands.catalogue import estimand
from simtrack.logs import read_log, read_replies, write_trials
from simtrack.records import Records, Replies
from simtrack.scoring import StateTrackProtocol, score_statetrack
from simtrack.taxonomy import RECALL

# The paper's illustrative case: every answer ends in its own word count, in brackets.
COUNTED = {
    "rule": [
        {"when": {"unit": ["counted"]},
         "constraint": {"kind": "stated_words"},
         "recall": {"kind": "required", "words": ["word count", "brackets"]},
         "task": {"kind": "required", "words": ["rain"]}},
    ]
}  # fmt: skip
RESTATES = "End with the word count in brackets."
KEEPS, BREAKS, OTHER_TASK = "It may rain. [3]", "It may rain.", "Hello you. [2]"


def log(*rows: tuple[object, ...], names: str = "unit branch text", **more: object) -> Replies:
    columns = {n: [row[k] for row in rows] for k, n in enumerate(names.split())}
    texts = columns.pop("text")
    columns |= {name: [value] * len(rows) for name, value in more.items()}
    return Replies(Records.from_columns(columns), texts, [None] * len(rows))


def flags(found: Records, *names: str) -> list[tuple[str | None, ...]]:
    columns = [found.factors[name].values() for name in names]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    ("answer", "restated", "wanted"),
    [
        # r, b, task, joint, outcome; the value is the joint
        (KEEPS, RESTATES, ("1", "1", "1", "1", "R1B1")),
        (BREAKS, RESTATES, ("1", "0", "1", "0", "R1B0")),  # drift: recalled and violated
        (KEEPS, "I cannot say.", ("0", "1", "1", "1", "R0B1")),  # fade: kept and not recalled
        (BREAKS, "I cannot say.", ("0", "0", "1", "0", "R0B0")),
        (OTHER_TASK, RESTATES, ("1", "1", "0", "0", "R1B1")),  # rule kept, task not: joint fails
    ],
)
def test_the_four_cells_by_checkers(answer: str, restated: str, wanted: tuple[str, ...]) -> None:
    replies = log(("counted", "compliance", answer), ("counted", "recall", restated))
    found = score_statetrack(replies, StateTrackProtocol.from_dict(COUNTED))
    assert flags(found, "r", "b", "task", "joint", "outcome") == [wanted]
    assert found.numbers["value"].tolist() == [float(wanted[3])]
    assert flags(found, "r_by", "b_by", "task_by") == [("checker",) * 3]
    assert found.factors["outcome"].levels == RECALL.codes
    assert "branch" not in found.factors
    assert found.kind == "probe"


@pytest.mark.parametrize("gone", ["compliance", "recall"])
def test_a_branch_without_a_reply_makes_transport(gone: str) -> None:
    rows = [("counted", b, None if b == gone else KEEPS) for b in ("compliance", "recall")]
    found = score_statetrack(log(*rows), StateTrackProtocol.from_dict(COUNTED))
    assert flags(found, "outcome", "error", "r", "b", "joint") == [
        ("TRANSPORT", "transport", None, None, None)
    ]
    assert math.isnan(found.numbers["value"][0])


def test_that_a_failed_branch_keeps_its_status_and_reason() -> None:
    replies = log(
        ("a", "compliance", KEEPS, "scored", None),
        ("a", "recall", None, "errored", "timeout"),
        ("b", "compliance", None, "limited", "tokens"),
        ("b", "recall", None, "errored", "timeout"),
        names="unit branch text status reason",
    )
    protocol = StateTrackProtocol.from_dict({"rule": [dict(COUNTED["rule"][0], when={})]})
    found = score_statetrack(replies, protocol)
    assert flags(found, "outcome", "status", "reason") == [
        ("TRANSPORT", "errored", "recall branch: timeout"),
        ("TRANSPORT", "limited", "tokens"),
    ]
    assert found.counts(cluster="unit").losses.by_kind() == {"errored": 1, "limited": 1}


def test_one_branch_only_is_a_loss_with_its_labels() -> None:
    replies = log(
        ("a", "compliance", KEEPS, "format", 3),
        ("a", "recall", RESTATES, "format", 3),
        ("b", "compliance", KEEPS, "format", 5),
        ("c", "recall", RESTATES, "logical", 3),
        ("c", "Recall", RESTATES, "logical", 3),  # no branch of that name
        (None, "recall", RESTATES, "logical", 3),
        names="unit branch text category depth",
    )
    protocol = StateTrackProtocol.from_dict({"rule": [dict(COUNTED["rule"][0], when={})]})
    found = score_statetrack(replies, protocol)
    assert len(found) == 1
    entries = [(x.kind, x.n, dict(x.where), x.examples) for x in found.losses.entries]
    assert entries == [
        ("unlabelled", 1, {}, ("row 6",)),
        ("unlabelled", 1, {}, ("c",)),
        ("unpaired", 1, {"category": "format", "depth": "5"}, ("b",)),
        ("unpaired", 1, {"category": "logical", "depth": "3"}, ("c",)),
    ]
    assert found.select(depth="3").losses.by_kind() == {"unlabelled": 2, "unpaired": 1}


def test_what_joins_and_what_does_not() -> None:
    rows = [
        ("a", model, arm, rep, branch, KEEPS if branch == "compliance" else RESTATES)
        for model, arm, rep in itertools.product("mn", ("base", "ssa"), "12")
        for branch in ("compliance", "recall")
    ]
    names = "unit model arm repetition branch text"
    protocol = StateTrackProtocol.from_dict({"rule": [dict(COUNTED["rule"][0], when={})]})
    assert len(score_statetrack(log(*rows, names=names), protocol)) == 8
    # Recall asked in the base arm alone, and declared to be one probe over arms: not one.
    some = [row for row in rows if row[4] == "compliance" or row[2] == "base"]
    found = score_statetrack(log(*some, names=names), protocol)
    assert len(found) == 4
    assert found.losses.by_kind() == {"unpaired": 4}
    fewer = StateTrackProtocol.from_dict({**protocol.to_dict(), "join": ["unit", "model"]})
    with pytest.raises(DataError, match=r"4 compliance replies share unit=a, model=m, .* join ="):
        score_statetrack(log(*rows, names=names), fewer)
    with pytest.raises(InputError, match="column must be one of"):
        score_statetrack(log(*rows, names=names), StateTrackProtocol.from_dict(
            {**protocol.to_dict(), "join": ["unit", "seed"]}))  # fmt: skip


def test_that_the_probe_with_two_replies_is_named() -> None:
    rows = [("a", "compliance", KEEPS), ("b", "compliance", KEEPS), ("b", "compliance", BREAKS)]
    with pytest.raises(DataError, match="2 compliance replies share unit=b"):
        score_statetrack(log(*rows), StateTrackProtocol.from_dict(COUNTED))
    rows = [("a", "recall", KEEPS), ("b", "recall", KEEPS), ("b", "recall", BREAKS)]
    with pytest.raises(DataError, match="2 recall replies share unit=b"):
        score_statetrack(log(*rows), StateTrackProtocol.from_dict(COUNTED))


def test_branches_that_contradict_each_other() -> None:
    rows = [("a", "compliance", KEEPS, "format"), ("a", "recall", RESTATES, "logical")]
    protocol = StateTrackProtocol.from_dict({"rule": [dict(COUNTED["rule"][0], when={})]})
    with pytest.raises(DataError, match="probe a have the categories format and logical"):
        score_statetrack(log(*rows, names="unit branch text category"), protocol)


def test_no_probe_at_all() -> None:
    protocol = StateTrackProtocol.from_dict(COUNTED)
    with pytest.raises(DataError, match="1 compliance and 1 recall replies, joined by unit"):
        score_statetrack(log(("a", "compliance", "x"), ("b", "recall", "y")), protocol)
    with pytest.raises(InputError, match="'branch'"):
        score_statetrack(log(("a", "x"), names="unit text"), protocol)


def test_checkers_first_and_the_column_for_the_rest() -> None:
    rule = {"when": {"category": "format"}, "constraint": {"kind": "items", "exactly": 2}}
    protocol = StateTrackProtocol.from_dict(
        {"columns": {"constraint": "judge", "recall": "judge"}, "rule": [rule],
         "words": {"pass": ["COMPLIANT"], "fail": ["non_compliant", "0"]}}
    )  # fmt: skip
    replies = log(
        ("a", "compliance", "- x\n- y", "format", "NON_COMPLIANT"),  # the checker has the word
        ("b", "compliance", "- x", "persona", "Compliant"),
        ("c", "compliance", "- x", "persona", "PARTIAL"),  # neither: no verdict
        ("d", "compliance", "- x", "persona", None),
        *((unit, "recall", "said", category, "COMPLIANT")
          for unit, category in zip("abcd", ("format", *["persona"] * 3), strict=True)),
        names="unit branch text category judge",
    )  # fmt: skip
    found = score_statetrack(replies, protocol)
    assert flags(found, "b", "b_by", "outcome", "status") == [
        ("1", "checker", "R1B1", "scored"),
        ("1", "column", "R1B1", "scored"),
        (None, None, None, "unscored"),
        (None, None, None, "unscored"),
    ]
    assert "verdicts on constraint: 1 by checkers, 1 by column judge" in found.notes
    assert any("'PARTIAL' (1) (declare [words])" in note for note in found.notes)
    assert "joint" not in found.factors  # no task is judged: nothing that could be taken for one
    with pytest.raises(InputError, match="grouped by joint"):
        estimand("strict_retention").totals(found.counts(cluster="unit"))


def test_a_rule_does_not_name_replies_without_its_label() -> None:
    rule = {"when": {"category": "format"}, "constraint": {"kind": "items", "exactly": 2}}
    protocol = StateTrackProtocol.from_dict({"columns": {"recall": "r"}, "rule": [rule]})
    replies = log(
        ("a", "compliance", "- x\n- y", "format", None), ("a", "recall", "x", "format", "1"),
        ("b", "compliance", "- x\n- y", None, None), ("b", "recall", "x", None, "1"),
        names="unit branch text category r",
    )  # fmt: skip
    found = score_statetrack(replies, protocol)
    assert flags(found, "unit", "outcome", "status", "reason") == [
        ("a", "R1B1", "scored", None),
        ("b", None, "unscored", "the protocol has no verdict for this probe"),
    ]


def test_recall_of_failures_only() -> None:
    rows = [
        ("kept", "compliance", KEEPS),
        ("drift", "compliance", BREAKS),
        ("drift", "recall", RESTATES),
        ("task", "compliance", OTHER_TASK),  # keeps the rule, fails the task: it was asked
        ("task", "recall", "no idea"),
        ("lost", "compliance", BREAKS),  # failed and was not asked
        ("none", "compliance", None),
    ]
    plain = {"rule": [dict(COUNTED["rule"][0], when={})], "recall_asked": "failures"}
    found = score_statetrack(log(*rows), StateTrackProtocol.from_dict(plain))
    assert flags(found, "unit", "outcome", "joint", "r") == [
        ("kept", "KEPT", "1", None),
        ("drift", "R1B0", "0", "1"),
        ("task", "R0B1", "0", "0"),
        ("none", "TRANSPORT", None, None),
    ]
    assert [(x.kind, x.n, x.examples) for x in found.losses.entries] == [("unpaired", 1, ("lost",))]
    counts = found.counts(cluster="unit", by=["joint"])
    rates = {name: float(estimand(name).totals(counts).rates()[0])
             for name in ("behavioural_drift", "joint_drift", "integrity_failure_share",
                          "constraint_compliance")}  # fmt: skip
    assert rates == pytest.approx(
        {"behavioural_drift": 1 / 3, "joint_drift": 1 / 3, "integrity_failure_share": 1 / 2,
         "constraint_compliance": 2 / 3}
    )  # fmt: skip
    with pytest.raises(DataError, match="nobody knows how often a rule that was kept is not"):
        estimand("declarative_fade").totals(counts)


def test_no_failures_leave_the_integrity_share_undefined() -> None:
    plain = {"rule": [dict(COUNTED["rule"][0], when={})], "recall_asked": "failures"}
    replies = log(("a", "compliance", KEEPS), ("b", "compliance", KEEPS))
    found = score_statetrack(replies, StateTrackProtocol.from_dict(plain))
    counts = found.counts(cluster="unit", by=["joint"])
    assert np.isnan(estimand("integrity_failure_share").totals(counts).rates()).all()
    assert float(estimand("joint_drift").totals(counts).rates()[0]) == 0.0


def test_a_recorded_joint_that_contradicts_the_rule_is_told() -> None:
    columns = {"joint": "j", "constraint": "b", "recall": "j"}
    replies = log(
        ("a", "compliance", "x", "1", "0"), ("a", "recall", "x", "1", None),
        names="unit branch text j b",
    )  # fmt: skip
    found = score_statetrack(replies, StateTrackProtocol(columns=columns))
    assert "1 probes pass the joint and break the constraint" in found.notes


def test_numbers_and_labels_of_the_answer_stay() -> None:
    rows = Records.from_columns(
        {"unit": ["a", "a"], "branch": ["compliance", "recall"], "seconds": [1.5, 9.0],
         "language": ["ja", "ja"]}
    )  # fmt: skip
    plain = {"rule": [dict(COUNTED["rule"][0], when={})]}
    found = score_statetrack(
        Replies(rows, [KEEPS, RESTATES], [None] * 2), StateTrackProtocol.from_dict(plain)
    )
    assert found.numbers["seconds"].tolist() == [1.5]
    assert flags(found, "language") == [("ja",)]


def test_a_column_that_is_called_as_a_verdict_is_none() -> None:
    # "task" is often the task's name, and nobody has declared "joint".
    rows = [("a", "compliance", KEEPS, "weather", "1"), ("a", "recall", RESTATES, "weather", "0")]
    rule = {k: v for k, v in COUNTED["rule"][0].items() if k in ("constraint", "recall")}
    found = score_statetrack(
        log(*rows, names="unit branch text task joint"),
        StateTrackProtocol.from_dict({"rule": [rule]}),
    )
    assert flags(found, "column.task", "column.joint") == [("weather", "1")]
    assert "task" not in found.factors
    assert "joint" not in found.factors


def test_that_a_scored_table_can_be_written_and_read(tmp_path) -> None:
    replies = log(
        ("a", "compliance", KEEPS, "format"), ("a", "recall", RESTATES, "format"),
        ("b", "compliance", None, "format"), ("b", "recall", RESTATES, "format"),
        ("c", "compliance", KEEPS, "format"), names="unit branch text category",
    )  # fmt: skip
    plain = {"rule": [dict(COUNTED["rule"][0], when={})]}
    found = score_statetrack(replies, StateTrackProtocol.from_dict(plain))
    path = write_trials(found, tmp_path / "probes.jsonl")
    again = read_log(path)
    names = ("unit", "r", "b", "task", "joint", "category", "outcome", "b_by")
    assert flags(again, *names) == flags(found, *names)
    assert again.losses.by_kind() == found.losses.by_kind() == {"unpaired": 1}
    assert again.notes[: len(found.notes)] == found.notes
    assert again.kind == "probe"


def test_messages_of_several_turns_count_the_assistant_s() -> None:
    replies = log(
        ("a", "compliance", "user", "Next?"), ("a", "compliance", "assistant", KEEPS),
        ("a", "recall", "user", "Which?"), ("a", "recall", "assistant", RESTATES),
        names="unit branch role text",
    )  # fmt: skip
    protocol = StateTrackProtocol.from_dict({"rule": [dict(COUNTED["rule"][0], when={})]})
    assert flags(score_statetrack(replies, protocol), "outcome") == [("R1B1",)]


def test_from_a_file_to_an_estimand(tmp_path) -> None:
    lines = [
        {"id": f"s{k}", "model": "m", "category": "format", "depth": depth, "branch": branch,
         "reply": (RESTATES if k else "What rule?") if branch == "recall" else BREAKS,
         "task_ok": None if branch == "recall" else 1}
        for k in range(3) for depth in (3, 12) for branch in ("recall", "compliance")
    ]  # fmt: skip
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rule = {k: v for k, v in COUNTED["rule"][0].items() if k in ("constraint", "recall")}
    protocol = tmp_path / "protocol.json"
    made = StateTrackProtocol.from_dict({"columns": {"task": "task_ok"}, "rule": [rule]})
    protocol.write_text(json.dumps(made.to_dict()), encoding="utf-8")
    found = score_statetrack(read_replies(path), StateTrackProtocol.load(protocol))
    assert len(found) == 6
    totals = estimand("behavioural_drift").totals(found.counts(by=["depth"]), "depth")
    assert totals.rates().tolist() == pytest.approx([2 / 3, 2 / 3])
    assert any("one row a probe, joined by unit, model, depth" in note for note in found.notes)


PROBES = st.lists(
    st.tuples(
        st.sampled_from([None, "0", "1"]),  # constraint; None is a reply without a verdict
        st.sampled_from(["0", "1"]),  # task
        st.sampled_from([None, "0", "1", "no branch", "no reply"]),  # recall
        st.sampled_from(["m", "n"]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(PROBES, st.randoms(use_true_random=False), st.sampled_from(["all", "failures"]))
def test_against_a_plain_loop_in_any_order(probes, random, asked) -> None:
    rows, wanted, lost = [], Counter(), 0
    for k, (b, t, r, model) in enumerate(probes):
        rows.append((f"p{k}", model, "compliance", "said", b, t, None))
        if r != "no branch":
            text = None if r == "no reply" else "said"
            rows.append((f"p{k}", model, "recall", text, None, None, r))
        fails = b == "0" or t == "0"
        if r == "no branch":
            if asked == "all" or fails:
                lost += 1
            else:
                wanted["KEPT" if b == "1" else None] += 1
        elif r == "no reply":
            wanted["TRANSPORT"] += 1
        else:
            wanted[f"R{r}B{b}" if r and b else None] += 1
    if not wanted:
        return
    random.shuffle(rows)
    replies = log(*rows, names="unit model branch text b_ok t_ok r_ok")
    columns = {"constraint": "b_ok", "task": "t_ok", "recall": "r_ok"}
    found = score_statetrack(replies, StateTrackProtocol(columns=columns, recall_asked=asked))
    assert Counter(found.factors["outcome"].values()) == wanted
    assert found.losses.total("unpaired") == lost
    assert len(found) + lost == len(probes)
    for b, t, joint in flags(found, "b", "task", "joint"):
        if b is not None and t is not None:
            assert joint == str(int(b == t == "1"))
