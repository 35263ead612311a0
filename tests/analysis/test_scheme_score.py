"""Replies scored by StageIF's scheme: every number here is worked by hand in the comments."""

from __future__ import annotations

import pytest

from simtrack.analysis.rescore import rescore
from simtrack.analysis.scheme_score import score_replies
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies

TAG = {"N": "needs_information", "R": "ready_for_action", "P": "post_observation_continue",
       "C": "completed"}  # fmt: skip
STAGE = {"N": "NEEDS_INFO", "R": "READY", "P": "POST_OBS", "C": "COMPLETED", "-": "READY"}


def said(letter: str) -> str:
    return f"Well.\n<stage>{TAG[letter]}</stage>"


#: scenario, gold (- is a turn without a duty), text, calls
ROWS = [
    ("s1", "N", said("N"), ()),  # CLEAN
    ("s1", "R", said("N"), ()),  # STATE_WRONG, stale
    ("s1", "P", "Well.", ()),  # APP_MISS
    ("s1", "C", said("C"), ()),  # CLEAN
    ("s1", "-", "", ("book",)),  # CLEAN: withheld
    ("s2", "N", said("C"), ()),  # STATE_WRONG, premature; false completion
    ("s2", "R", said("R"), ("book",)),  # APP_DIVERGENCE that carries a report
    ("s2", "P", '{"message": "Well.\\n<stage>post_observation_continue</stage>"}', ()),  # MALFORMED
    ("s2", "C", None, None),  # TRANSPORT
    ("s2", "-", said("R"), ("book",)),  # APP_FALSE_ALARM
]
OLD = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, float("nan"), 0.0]


def made() -> Replies:
    columns = {
        "unit": [f"u{k}" for k in range(len(ROWS))],
        "scenario": [r[0] for r in ROWS],
        "duty": ["0" if r[1] == "-" else "1" for r in ROWS],
        "stage": [STAGE[r[1]] for r in ROWS],
        "status": ["errored" if r[2] is None else "scored" for r in ROWS],
    }
    import numpy as np

    return Replies(Records.from_columns(columns), [r[2] for r in ROWS], [r[3] for r in ROWS],
                   {"old": np.array(OLD)})  # fmt: skip


def table(view: str) -> dict[str, tuple[int | None, int | None]]:
    found, _ = score_replies(made(), "stageif")
    return {
        r.estimand: (r.numerator, r.denominator)
        for r in found.rows
        if dict(zip(found.by, r.labels, strict=True)) == {"view": view}
    }


def test_a_contrast_says_when_its_p_is_of_another_quantity() -> None:
    # Intermediate 1 of 3 and 0 of 3, terminal 1 of 1 and none: pooled 1/6 - 1, complete 1/3 - 1.
    found, _ = score_replies(made(), "stageif")
    row = next(r for r in found.rows if r.estimand == "stage_gap" and r.labels == ("strict",))
    assert row.estimate == pytest.approx(1 / 6 - 1)
    assert any("p is of another quantity: -0.6667" in note for note in row.notes)


def test_every_rate_of_the_strict_reading() -> None:
    found = table("strict")
    assert found["adherence"] == (2, 7)  # 8 due rows, of which one was lost in transport
    assert found["intermediate_adherence"] == (1, 6)
    assert found["terminal_adherence"] == (1, 1)
    assert found["report_validity"] == (2, 6)  # without the divergence
    assert found["emission"] == (6, 7)  # all but the one that said nothing; the divergence too
    assert found["speech"] == (6, 7)
    assert found["withholding"] == (1, 2)
    assert found["false_alarm"] == (1, 2)
    assert found["false_completion"] == (1, 9)  # of all valid replies
    assert found["false_completion_reported"] == (1, 7)  # 6 due and the false alarm
    assert found["broad_adherence"] == (3, 9)
    assert found["stale_share"] == (1, 2)
    assert found["premature_share"] == (1, 2)


def test_the_stripped_reading_takes_the_envelope_off() -> None:
    found = table("stripped")
    assert found["adherence"] == (3, 7)
    assert found["intermediate_adherence"] == (2, 6)


def test_account_composition_and_what_is_left_out() -> None:
    found, tables = score_replies(made(), "stageif")
    assert found.cluster == "scenario"
    strict = next(r for r in found.accounting.rows if r.labels == ("strict",))
    assert (strict.planned, strict.n("scored"), strict.n("errored")) == (10, 9, 1)
    codes = dict(zip(found.composition.codes, zip(*found.composition.counts, strict=True),
                     strict=True))  # fmt: skip
    assert sum(codes["TRANSPORT"]) == 2  # one a view
    assert sum(map(sum, found.composition.counts)) == 20
    assert len(tables["checkpoint"]) == 20
    only_due = made().select(duty="1")
    without, _ = score_replies(only_due, "stageif")
    assert without.left_out["withholding"] == "has no reply in its denominator"
    gap = next(r for r in found.rows if r.estimand == "stage_gap")
    assert gap.estimate == pytest.approx(1 / 6 - 1)


def test_a_table_without_stages_is_refused_by_name() -> None:
    bare = Records.from_columns({"unit": ["a"], "status": ["scored"]})
    with pytest.raises(InputError, match="column must be one of unit"):
        score_replies(Replies(bare, ["x"], [()]), "stageif")


def test_no_valid_reply_is_refused() -> None:
    lost = made().select(unit="u8")
    with pytest.raises(DataError, match="no reply can be scored: 2 planned, none valid"):
        score_replies(lost, "stageif")


def test_old_verdicts_are_held_against_new_ones() -> None:
    found = rescore(made(), "stageif")
    strict, stripped = found.rows
    # Old passes: u0 u3 u4 u7. New strict: u0 u3 u4. New stripped: those and u7.
    assert (strict.both, strict.only_old, strict.only_new, strict.neither) == (3, 1, 0, 5)
    assert (stripped.both, stripped.only_old, stripped.only_new, stripped.neither) == (4, 0, 0, 5)
    assert [c.labels["unit"] for c in strict.changes] == ["u7"]
    assert strict.changes[0].outcome == "MALFORMED"
    assert (strict.changes[0].old, strict.changes[0].new) == (1, 0)
    assert strict.mcnemar.pvalue == 1.0
    # s1: 0; s2: 3 of 4 fell to... one of its four judged replies lost its pass: -1/4.
    assert strict.comparison is not None
    assert strict.comparison.answer.estimate == pytest.approx(-1 / 8)


def test_two_protocols_are_compared_view_by_view() -> None:
    found = rescore(made(), "stageif", old_protocol={}, protocol={"placement": "line"})
    assert [row.only_old + row.only_new for row in found.rows] == [0, 0]
    values = {"NEEDS_INFO": "needs", "READY": "ready", "POST_OBS": "post", "COMPLETED": "completed"}
    loose = rescore(made(), "stageif", old_protocol={}, protocol={"values": values})
    assert loose.rows[0].only_old == 1


def test_a_verdict_must_be_named_where_there_are_several() -> None:
    from dataclasses import replace

    replies = made()
    two = replace(replies, verdicts={**replies.verdicts, "other": replies.verdicts["old"]})
    with pytest.raises(InputError, match=r"against must be named.*old, other"):
        rescore(two, "stageif")
    with pytest.raises(InputError, match="one of the log's metrics"):
        rescore(two, "stageif", against="none")


def test_trajectories_and_positions_are_reported_where_turns_are_told_apart() -> None:
    stages = ["NEEDS_INFO", "POST_OBS", "POST_OBS", "COMPLETED"]
    columns: dict[str, list[str]] = {"unit": [], "trajectory": [], "turn": [], "stage": []}
    texts = []
    # t0 says the right stage at both mid-task turns, t1 at neither, t2 at the first alone.
    for t, wrong in enumerate([(), (1, 2), (2,)]):
        for k, stage in enumerate(stages):
            for name, value in (("unit", f"t{t}"), ("trajectory", f"t{t}"), ("turn", str(k))):
                columns[name].append(value)
            columns["stage"].append(stage)
            texts.append(said("N" if k in wrong else "NPPC"[k]))
    replies = Replies(Records.from_columns(columns), texts, [()] * len(texts))
    found, tables = score_replies(replies, "stageif", cluster="unit")
    assert set(tables) == {"checkpoint", "trajectory"}
    rows = {(r.estimand, r.labels[0]): (r.numerator, r.denominator) for r in found.rows}
    assert rows["all_right", "strict"] == (1, 3)
    assert rows["all_wrong", "strict"] == (1, 3)
    assert ("position_adherence", "strict") not in rows
    by_bin, _ = score_replies(replies, "stageif", cluster="unit", by=["bin"])
    ends = {r.labels: (r.numerator, r.denominator) for r in by_bin.rows
            if r.estimand == "position_adherence"}  # fmt: skip
    assert ends["strict", "1"] == (2, 3)
    assert ends["strict", "5"] == (1, 3)
    assert all(len(r.labels) == 2 for r in by_bin.rows)
