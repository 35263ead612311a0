"""Algorithm 1: every combination of what a reply can be, against the order written out again."""

from __future__ import annotations

import itertools

import pytest

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring import StageProtocol, score_stageif
from simtrack.taxonomy import STAGEIF

RIGHT, WRONG = "ready_for_action", "completed"


def restated(valid, duty, speaks, emits, formed, right):
    """The algorithm's lines, in their order, each with the number it has in the paper."""
    if not valid:  # 2
        return "TRANSPORT"
    if not duty:  # 5
        return "APP_FALSE_ALARM" if emits else "CLEAN"
    if not speaks:  # 6, 7
        return "APP_DIVERGENCE"
    if not emits:  # 8
        return "APP_MISS"
    if not formed:  # 9
        return "MALFORMED"
    return "CLEAN" if right else "STATE_WRONG"  # 10 to 12


def reply(emits, formed, right):
    marker = f"<stage>{RIGHT if right else WRONG}</stage>"
    if not emits:
        return "Shall I go on?"
    return f"Shall I go on?\n{marker}" if formed else f"{marker}\nShall I go on?"


CASES = list(itertools.product((True, False), repeat=6))


def made(cases):
    texts = [reply(*case[3:]) for case in cases]
    calls = [() if case[2] else ("create_event",) for case in cases]
    columns = {
        "unit": [str(k) for k in range(len(cases))],
        "duty": ["1" if case[1] else "0" for case in cases],
        "stage": ["READY"] * len(cases),
        "status": ["scored" if case[0] else "errored" for case in cases],
    }
    return Replies(Records.from_columns(columns), texts, calls)


def test_all_combinations_end_as_the_algorithm_says():
    found = score_stageif(made(CASES), views=["strict"])
    wanted = [restated(*case) for case in CASES]
    assert found.factors["outcome"].values() == wanted
    assert set(wanted) == set(STAGEIF.codes)  # nothing is left untested
    is_clean = [1.0 if code == "CLEAN" else 0.0 for code in wanted]
    lost = [code == "TRANSPORT" for code in wanted]
    for value, clean, gone in zip(found.numbers["value"], is_clean, lost, strict=True):
        assert (value != value) if gone else value == clean  # noqa: PLR0124 - NaN


def test_flags_are_kept_apart_from_the_code_and_missing_where_undefined():
    found = score_stageif(made(CASES), views=["strict"])
    columns = {n: found.factors[n].values()
               for n in ("spoke", "emitted", "well_formed", "correct", "error")}  # fmt: skip
    for k, (valid, duty, speaks, emits, formed, right) in enumerate(CASES):
        row = {name: column[k] for name, column in columns.items()}
        assert row["error"] == (None if valid else "transport")
        assert row["spoke"] == (str(int(speaks)) if valid else None)
        assert row["emitted"] == (str(int(emits)) if valid else None)
        assert row["well_formed"] == (str(int(formed)) if valid and emits else None)
        assert row["correct"] == (str(int(right)) if valid and emits and duty else None)


def test_each_reply_has_one_row_a_view_and_truth_is_the_same_in_both():
    found = score_stageif(made(CASES))
    assert len(found) == 2 * len(CASES)
    strict, bare = (found.select(view=v) for v in ("strict", "stripped"))
    for name in ("duty", "gold", "expected", "spoke"):
        assert strict.factors[name].values() == bare.factors[name].values()


def test_the_order_of_rows_does_not_matter():
    backwards = score_stageif(made(CASES[::-1]), views=["strict"])
    forwards = score_stageif(made(CASES), views=["strict"])
    assert backwards.factors["outcome"].values() == forwards.factors["outcome"].values()[::-1]


def test_a_row_without_truth_is_unscored_and_says_why():
    rows = Records.from_columns({"unit": ["a", "b"], "duty": ["1", None], "stage": ["READY"] * 2})
    found = score_stageif(Replies(rows, ["x", "x"], [(), ()]), views=["strict"])
    assert found.factors["status"].values() == ["scored", "unscored"]
    assert found.factors["outcome"].values() == ["APP_MISS", None]
    assert found.factors["reason"].values()[1] == "the oracle has no truth for this row"
    counts = found.counts(by=["duty"])
    assert counts.losses.by_kind() == {"unscored": 1}


def test_only_turns_of_the_assistant_count_and_lost_trials_stay():
    rows = Records.from_columns({
        "unit": ["a"] * 3 + ["b"], "trajectory": ["a"] * 3 + ["b"], "turn": ["0", "1", "2", "0"],
        "role": ["user", "assistant", "tool", None], "stage": ["READY"] * 4,
        "status": ["scored"] * 3 + ["errored"],
    })  # fmt: skip
    texts = ["<stage>completed</stage>", f"<stage>{RIGHT}</stage>", "ok", None]
    found = score_stageif(Replies(rows, texts, [()] * 4), views=["strict"])
    assert found.factors["unit"].values() == ["a", "b"]
    assert found.factors["outcome"].values() == ["CLEAN", "TRANSPORT"]
    assert found.factors["status"].values() == ["scored", "errored"]
    with pytest.raises(DataError, match="no message of an assistant"):
        score_stageif(Replies(rows, texts, [()] * 4).select(role="user"))


def test_a_tool_call_whose_words_are_null_is_a_reply_even_if_the_table_calls_it_missing():
    rows = Records.from_columns({
        "unit": ["a", "b", "c"], "stage": ["READY"] * 3, "status": ["missing"] * 2 + ["errored"],
        "reason": ["the row holds no reply"] * 2 + ["502"],
    })  # fmt: skip
    found = score_stageif(Replies(rows, [None] * 3, [("go",), (), ("go",)]), views=["strict"])
    assert found.factors["outcome"].values() == ["APP_DIVERGENCE", "TRANSPORT", "TRANSPORT"]
    assert found.factors["status"].values() == ["scored", "missing", "errored"]
    assert found.factors["reason"].values() == [None, "the row holds no reply", "502"]


def test_where_calls_are_not_told_replies_are_speech_and_a_note_says_so():
    rows = Records.from_columns({"unit": ["a"], "stage": ["READY"], "duty": ["1"]})
    found = score_stageif(Replies(rows, ["Hello"], [None]))
    assert set(found.factors["outcome"].values()) == {"APP_MISS"}
    assert any("whether they call a tool" in note for note in found.notes)


@pytest.mark.parametrize("views", [[], ["strict", "strict"], ["loose"]])
def test_views_are_checked(views):
    with pytest.raises(InputError, match="view"):
        score_stageif(made(CASES[:1]), views=views)


def test_arms_that_ask_for_a_constant_are_right_with_it_alone():
    protocol = StageProtocol.from_dict({"expected": {"static": "active", "inert": "qzx"}})
    rows = Records.from_columns({
        "unit": list("abcd"), "stage": ["READY"] * 4, "duty": ["1"] * 4,
        "arm": ["static", "inert", "static", "baseline"],
    })  # fmt: skip
    said = ["active", "active", RIGHT, RIGHT]
    texts = [f"<stage>{value}</stage>" for value in said]
    found = score_stageif(Replies(rows, texts, [()] * 4), protocol, ["strict"])
    assert found.factors["outcome"].values() == ["CLEAN", "STATE_WRONG", "STATE_WRONG", "CLEAN"]
    assert found.factors["expected"].values() == ["active", "qzx", "active", RIGHT]
    assert found.factors["reported"].values() == ["active", "active", "READY", "READY"]
    assert found.factors["gold"].values() == ["READY"] * 4


def test_a_gold_set_accepts_each_of_its_stages():
    rows = Records.from_columns({"unit": list("abc"), "duty": ["1"] * 3,
                                 "stage": ["READY | NEEDS_INFO"] * 3})  # fmt: skip
    said = ["needs_information", "ready_for_action", "completed"]
    texts = [f"<stage>{value}</stage>" for value in said]
    found = score_stageif(Replies(rows, texts, [()] * 3), views=["strict"])
    assert found.factors["outcome"].values() == ["CLEAN", "CLEAN", "STATE_WRONG"]
    assert found.factors["gold"].values() == ["NEEDS_INFO|READY"] * 3
    assert found.factors["expected"].values() == ["needs_information|ready_for_action"] * 3


@pytest.mark.shared
def test_the_recorded_log_has_the_verdicts_that_were_written_into_it(shared):
    from simtrack.logs import read_replies

    folder = shared / "logs" / "inspect_mock"
    tables = []
    for name in ("stage_reports.eval", "stage_reports.json"):
        replies = read_replies(folder / name)
        found = score_stageif(replies, views=["strict"])
        tables.append(found.factors["outcome"].values())
        emitted = [1.0 if e == "1" else 0.0 for e in found.factors["emitted"].values()]
        told = replies.verdicts["stage.emitted"].tolist()
        kept = [k for k, v in enumerate(told) if v == v]  # noqa: PLR0124
        assert [emitted[k] for k in kept] == [told[k] for k in kept]
    assert len(tables[0]) == len(tables[1])
