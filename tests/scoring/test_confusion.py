"""Gold against reported, and codes by stage: counted by hand."""

from __future__ import annotations

import json

import pytest

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring import score_stageif
from simtrack.scoring.confusion import composition, confusion

# Gold, reply, tool call: what the parser finds is in test_reply_forms.
LINES = [
    ("READY", "<stage>ready_for_action</stage>", False),
    ("READY", "<stage>ready_for_action</stage>", False),
    ("READY", "<stage>completed</stage>", False),
    ("READY", "<stage>nearly</stage>", False),
    ("READY", "I say <stage>ready_for_action</stage>, you see", False),  # malformed
    ("READY", "Hm.", False),
    ("READY", "", True),  # a call without a report
    ("READY", "<stage>ready_for_action</stage>", True),  # a call with one
    ("READY", None, False),  # no valid reply
    ("POST_OBS", "<stage>needs_information</stage>", False),
    ("POST_OBS", "<stage>post_observation_continue</stage>", False),
    (None, "<stage>completed</stage>", False),  # no duty
    (None, "Thanks.", False),
]


def scored(views=("strict",)):
    rows = Records.from_columns({
        "unit": [str(k) for k in range(len(LINES))],
        "duty": ["1" if line[0] else "0" for line in LINES],
        "stage": [line[0] for line in LINES],
        "status": ["errored" if line[1] is None else "scored" for line in LINES],
    })  # fmt: skip
    calls = [("go",) if line[2] else () for line in LINES]
    return score_stageif(Replies(rows, [line[1] for line in LINES], calls), views=views)


def test_every_valid_reply_with_a_duty_is_in_one_cell():
    table = confusion(scored())
    assert table.row_labels == ("READY", "POST_OBS")
    assert table.column_labels == ("NEEDS_INFO", "READY", "POST_OBS", "COMPLETED",
                                   "out_of_vocabulary", "malformed", "none")  # fmt: skip
    assert table.counts == ((0, 3, 0, 1, 1, 1, 2), (1, 0, 1, 0, 0, 0, 0))
    assert table.totals == (8, 2)
    assert table.transport == 1
    assert table.count("READY", "malformed") == 1
    assert table.count("READY", "nowhere") == 0
    assert table.notes == ("1 of the replies without a report call a tool",)


def test_percentages_are_of_rows():
    table = confusion(scored())
    assert table.percentages[0] == (0.0, 37.5, 0.0, 12.5, 12.5, 12.5, 25.0)
    assert [sum(row) for row in table.percentages] == [100.0, 100.0]


def test_composition_counts_codes_by_stage_duty_or_not():
    table = composition(scored())
    assert table.column_labels == ("APP_MISS", "APP_DIVERGENCE", "APP_FALSE_ALARM", "MALFORMED",
                                   "STATE_WRONG", "CLEAN")  # fmt: skip
    assert dict(zip(table.row_labels, table.counts, strict=True)) == {
        "READY": (1, 2, 0, 1, 2, 2),
        "POST_OBS": (0, 0, 0, 0, 1, 1),
        "(none)": (0, 0, 1, 0, 0, 1),
    }
    assert table.transport == 1
    assert sum(table.totals) + table.transport == len(LINES)


def test_plain_data():
    plain = json.loads(json.dumps(confusion(scored()).to_dict()))
    assert plain["schema"] == "simtrack.confusion/1"
    assert plain["counts"][0] == [0, 3, 0, 1, 1, 1, 2]
    assert composition(scored()).to_dict()["schema"] == "simtrack.composition/1"
    assert repr(confusion(scored())) == "CrossTable(confusion: 2 gold x 7 reported, 10 replies)"


def test_one_view_is_chosen_never_summed():
    both = scored(("strict", "stripped"))
    for table in (confusion, composition):
        with pytest.raises(InputError, match="view must be one of strict, stripped"):
            table(both)
        assert sum(table(both.select(view="strict")).totals) == sum(table(scored()).totals)


def test_unscored_replies_and_tables_without_codes():
    with pytest.raises(DataError, match="holds no outcome codes"):
        confusion(Records.from_columns({"unit": ["a"]}))
    nothing = confusion(scored().select(duty="0"))
    assert nothing.counts == ()
    assert nothing.transport == 0
