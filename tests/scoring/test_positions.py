"""Bins of mid-task position, trajectories all wrong, and the cue rule, worked by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.estimands import estimand
from simtrack.records import Records, Replies
from simtrack.scoring import StageProtocol, score_stageif
from simtrack.scoring.stageif.cues import CueRule
from simtrack.scoring.stageif.positions import mid_task_trajectories, trajectory_ids, with_positions

VALUE = {"NEEDS_INFO": "needs_information", "READY": "ready_for_action",
         "POST_OBS": "post_observation_continue", "COMPLETED": "completed"}  # fmt: skip


def rows(*lines):
    """Each line: trajectory, turn, duty, gold."""
    names = ("trajectory", "turn", "duty", "gold")
    return Records.from_columns({n: [line[k] for line in lines] for k, n in enumerate(names)})


def bins(records, name="bin"):
    return with_positions(records).factors[name].values()


def test_five_bins_of_equal_width():
    # Turns 10..20: (t - 10) / 10 in fifths, so 12 starts the second bin and 20 is in the last.
    turns = [10, 11, 12, 13, 14, 16, 17, 18, 19, 20]
    found = bins(rows(*[("t", t, "1", "POST_OBS") for t in turns]))
    assert found == ["1", "1", "2", "2", "3", "4", "4", "5", "5", "5"]


def test_only_mid_task_duty_checkpoints_have_a_bin_and_only_duty_ones_a_tenth():
    records = rows(
        ("t", 1, "1", "READY"), ("t", 3, "1", "POST_OBS"), ("t", 4, "0", "POST_OBS"),
        ("t", 5, "1", "POST_OBS"), ("t", 11, "1", "COMPLETED"), ("t", 12, "0", None),
    )  # fmt: skip
    assert bins(records) == [None, "1", None, "5", None, None]
    # Range of the duty checkpoints: 1 to 11; (3-1)/10 starts the third tenth, (5-1)/10 the fifth.
    assert bins(records, "bin10") == ["1", "3", None, "5", "10", None]


def test_one_checkpoint_or_several_in_one_turn_have_no_bin():
    records = rows(
        ("a", 7, "1", "POST_OBS"), ("b", 2, "1", "POST_OBS"), ("b", 2, "1", "POST_OBS"),
        (None, 1, "1", "POST_OBS"), (None, 9, "1", "POST_OBS"),
    )  # fmt: skip
    assert bins(records) == [None] * 5


def test_trajectories_of_one_name_in_two_files_or_models_are_two():
    records = rows(*[("t", t, "1", "POST_OBS") for t in (0, 4, 6, 10)])
    apart = Records.from_columns({"source": list("aabb")})
    two = records.with_factors(source=apart.factors["source"])
    assert bins(records) == ["1", "3", "4", "5"]
    assert bins(two) == ["1", "5", "1", "5"]
    assert trajectory_ids(two).tolist() == [0, 0, 1, 1]


def test_turns_are_whole_numbers_written_in_any_column():
    as_floats = rows(*[("t", float(t), "1", "POST_OBS") for t in (2, 3, 12)])
    assert bins(as_floats) == ["1", "1", "5"]
    with pytest.raises(DataError, match="turn must be a whole number"):
        bins(rows(("t", "first", "1", "POST_OBS")))
    with pytest.raises(DataError, match="turn must be a whole number"):
        bins(rows(("t", 0.5, "1", "POST_OBS")))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=12, unique=True), st.integers(1, 12))
def test_bins_are_those_of_exact_fractions(turns, count):
    records = rows(*[("t", t, "1", "POST_OBS") for t in turns])
    found = with_positions(records, bins=count).factors["bin"].values()
    low, high = min(turns), max(turns)
    for t, label in zip(turns, found, strict=True):
        share = Fraction(t - low, high - low)
        k = int(label)
        assert Fraction(k - 1, count) <= share
        assert share < Fraction(k, count) or (share == 1 and k == count)


def said(gold, kind):
    """Write a reply that is right, wrong, silent, or ill-formed where `gold` is due."""
    marker = f"<stage>{VALUE[gold]}</stage>"
    wrong = "<stage>needs_information</stage>"
    return {"right": marker, "wrong": wrong, "silent": "Hm.", "ill": f"{marker}, you see"}[kind]


def scored(trajectories, **more):
    """Score trajectories of (gold, kind) checkpoints, two turns apart."""
    columns = {"unit": [], "trajectory": [], "turn": [], "stage": [], "duty": [], "model": []}
    texts = []
    for name, checkpoints in trajectories.items():
        for k, (gold, kind) in enumerate(checkpoints):
            columns["unit"].append(name)
            columns["trajectory"].append(name)
            columns["turn"].append(str(2 * k))
            columns["stage"].append(gold)
            columns["duty"].append("1")
            columns["model"].append("m")
            texts.append(None if kind == "lost" else said(gold, kind))
    columns["status"] = ["errored" if text is None else "scored" for text in texts]
    records = Records.from_columns(columns | more)
    return score_stageif(Replies(records, texts, [()] * len(texts)), views=["strict"])


MID = "POST_OBS"
TRAJECTORIES = {
    "t1": [("READY", "right"), (MID, "wrong"), (MID, "silent"), ("COMPLETED", "right")],
    "t2": [(MID, "right"), (MID, "right"), ("COMPLETED", "wrong")],
    "t3": [(MID, "right"), (MID, "ill"), (MID, "right")],
    "t4": [("READY", "right"), (MID, "wrong")],  # one mid-task report
    "t5": [(MID, "wrong"), (MID, "lost")],  # one that is valid
    "t6": [("READY", "right"), ("COMPLETED", "right")],  # none
    "t7": [(MID, "wrong"), (MID, "wrong"), (MID, "lost")],
}


def test_one_row_a_trajectory():
    found = mid_task_trajectories(scored(TRAJECTORIES))
    table = dict(zip(found.factors["trajectory"].values(), found.factors["outcome"].values(),
                     strict=True))  # fmt: skip
    assert table == {"t1": "ALL_WRONG", "t2": "ALL_RIGHT", "t3": "MIXED", "t4": None, "t5": None,
                     "t6": None, "t7": "ALL_WRONG"}  # fmt: skip
    assert found.numbers["reports"].tolist() == [2, 2, 3, 1, 1, 0, 2]
    np.testing.assert_array_equal(found.numbers["value"][:3], [0.0, 1.0, 2 / 3])
    assert found.factors["model"].values() == ["m"] * 7
    assert "turn" not in found.factors
    assert "stage" not in found.factors


def test_the_catalogue_applies_and_nothing_is_dropped():
    counts = mid_task_trajectories(scored(TRAJECTORIES)).counts()
    wrong = estimand("all_wrong").totals(counts)
    # Of t1, t2, t3, t7, which have two reports or more, two are all wrong and one all right.
    assert wrong.rates()[0] == 2 / 4
    assert estimand("all_right").totals(counts).rates()[0] == 1 / 4
    assert counts.losses.by_kind() == {"unscored": 3}


def test_views_of_a_trajectory_are_rows_of_their_own():
    columns = {"unit": ["a"] * 2, "trajectory": ["a"] * 2, "turn": ["0", "1"], "duty": ["1"] * 2,
               "stage": [MID] * 2}  # fmt: skip
    texts = ['{"message": "<stage>post_observation_continue</stage>"}'] * 2
    found = mid_task_trajectories(
        score_stageif(Replies(Records.from_columns(columns), texts, [()] * 2))
    )
    table = dict(zip(found.factors["view"].values(), found.factors["outcome"].values(),
                     strict=True))  # fmt: skip
    assert table == {"strict": "ALL_WRONG", "stripped": "ALL_RIGHT"}


def test_a_stage_that_is_none_is_refused():
    with pytest.raises(InputError, match="stage must be one of"):
        mid_task_trajectories(scored(TRAJECTORIES), stage="MID")


def test_position_adherence_falls_where_reports_are_wrong_late():
    found = scored({"t": [(MID, "right"), (MID, "right"), (MID, "wrong")]})
    counts = found.counts(by=["duty", "stage", "bin"])
    totals = estimand("position_adherence").totals(counts, "bin")
    assert [labels[0] for labels in totals.conditions] == ["1", "3", "5"]
    assert totals.rates().tolist() == [1.0, 1.0, 0.0]


DIALOGUE = (  # trajectory, turn, role, words, gold where a report is due
    ("a", 0, "user", "My phone is slow.", None),
    ("a", 1, "assistant", "Let me see.", "NEEDS_INFO"),
    ("a", 2, "user", "It works now, thanks!", None),
    ("a", 3, "assistant", "One more step.", "POST_OBS"),  # the window opens behind this one
    ("a", 4, "user", "OK, done.", None),
    ("a", 5, "assistant", "All done.", "COMPLETED"),  # no cue in the window
    ("a", 6, "user", "Great, it WORKS.", None),
    ("a", 7, "assistant", "Bye.", "COMPLETED"),  # confirmed at turn 6
    ("a", 8, "user", "Still here?", None),
    ("a", 9, "assistant", "Yes.", "COMPLETED"),  # the window still holds turn 6
    ("b", 0, "user", "Thanks, but it is still not working.", None),
    ("b", 1, "assistant", "Done.", "COMPLETED"),  # cue and negation in one message
    ("b", 2, "user", "I am unable to call.", None),
    ("b", 2, "user", "Now it is fixed.", None),  # a message of its own, in the same turn
    ("b", 3, "assistant", "Done.", "COMPLETED"),
    ("c", 1, "assistant", "Done.", "COMPLETED"),  # no message at all
)


def dialogue(lines=DIALOGUE, **more):
    columns = {
        "unit": [line[0] for line in lines],
        "trajectory": [line[0] for line in lines],
        "turn": [line[1] for line in lines],
        "role": [line[2] for line in lines],
        "duty": ["1" if line[4] else "0" for line in lines],
        "stage": [line[4] for line in lines],
    }
    words = [line[3] for line in lines]
    return Replies(Records.from_columns(columns | more), words, [()] * len(lines))


CUES = [None, None, "unconfirmed", "confirmed", "confirmed", "unconfirmed", "confirmed",
        "unconfirmed"]  # fmt: skip


def test_the_window_opens_behind_the_last_unfinished_checkpoint():
    found = score_stageif(dialogue(), views=["strict"])
    assert found.factors["cue"].values() == CUES


def test_the_order_of_the_file_does_not_matter_beyond_ties():
    lines = sorted(DIALOGUE, key=lambda line: (-line[1], line[0]))
    found = score_stageif(dialogue(tuple(lines)), views=["strict"])
    spoken = [line[:2] for line in DIALOGUE if line[2] == "assistant"]
    wanted = dict(zip(spoken, CUES, strict=True))
    keys = zip(found.factors["trajectory"].values(), found.factors["turn"].values(), strict=True)
    assert found.factors["cue"].values() == [wanted[name, int(turn)] for name, turn in keys]


def test_cues_do_not_depend_on_replies():
    lines = [(*line[:3], "It works, thanks" if line[2] == "assistant" else line[3], line[4])
             for line in DIALOGUE]  # fmt: skip
    assert score_stageif(dialogue(lines), views=["strict"]).factors["cue"].values() == CUES


def test_word_lists_and_handoffs_are_of_the_protocol():
    protocol = StageProtocol.from_dict(
        {"cues": {"resolution": ["done"], "negation": [], "handoff": "transfer"}}
    )
    flags = ["yes" if line[0] == "b" else "no" for line in DIALOGUE]
    found = score_stageif(dialogue(transfer=flags), protocol, ["strict"])
    assert found.factors["cue"].values()[2] == "confirmed"  # "OK, done."
    assert found.factors["handoff"].values() == ["0"] * 5 + ["1"] * 2 + ["0"]
    counts = found.counts(by=["duty", "stage", "cue", "handoff"])
    totals = estimand("completion_adherence").totals(counts, ("cue", "handoff"))
    assert totals.rates().size == len(totals.conditions) > 1
    with pytest.raises(InputError, match="column must be one of"):
        score_stageif(dialogue(), protocol)


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("It works.", True),
        ("IT IS FIXED", True),
        ("Thank\n  you!", True),
        ("networks are up", False),
        ("the framework's thanksgiving", False),
        ("Thanks, I can\u2019t complain", False),
        ("It is not working", False),
        ("works, but I am unable to call", False),
        ("distillation works", True),
        ("", False),
    ],
)
def test_words_are_whole_and_their_case_is_folded(message, wanted):
    assert CueRule().confirms(message) is wanted


def test_without_messages_of_users_there_is_no_cue_and_a_note():
    found = scored({"t": [("COMPLETED", "right")]})
    assert "cue" not in found.factors
    assert any("no message of a user" in note for note in found.notes)


def test_faulty_rules_are_refused():
    with pytest.raises(InputError, match="resolution must be at least one word"):
        CueRule(resolution=())
    with pytest.raises(InputError, match="none of them blank"):
        CueRule(negation=(" ",))


def test_a_log_whose_turns_are_no_numbers_is_scored_without_places():
    columns = {"unit": ["a"], "trajectory": ["a"], "turn": ["first"], "stage": ["POST_OBS"]}
    found = score_stageif(Replies(Records.from_columns(columns), ["Hm."], [()]), views=["strict"])
    assert found.factors["outcome"].values() == ["APP_MISS"]
    assert "bin" not in found.factors
    assert any("places in a trajectory are not told" in note for note in found.notes)
