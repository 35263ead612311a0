"""Recovery after a restated rule, and rules that were changed or revoked, by hand."""

from __future__ import annotations

import pytest

from simtrack.errors import DataError, InputError
from simtrack.estimands.catalogue import estimand
from simtrack.records import Records, Replies
from simtrack.scoring import StateTrackProtocol, score_changed_rule, score_recovery

THREE = {"kind": "items", "exactly": 3}
ITEMS = {n: "\n".join(["- x"] * n) for n in range(5)}


def log(*rows: tuple[object, ...], names: str = "unit branch text") -> Replies:
    columns = {n: [row[k] for row in rows] for k, n in enumerate(names.split())}
    texts = columns.pop("text")
    return Replies(Records.from_columns(columns), texts, [None] * len(rows))


def outcomes(found: Records) -> dict[str | None, str | None]:
    units, said = found.factors["unit"].values(), found.factors["outcome"].values()
    return dict(zip(units, said, strict=True))


def test_full_partial_and_none_over_follow_ups() -> None:
    rows = [
        *((unit, "compliance", ITEMS[4]) for unit in ("full", "some", "none", "half", "mute")),
        ("well", "compliance", ITEMS[3]),  # did not collapse
        ("left", "compliance", ITEMS[2]),  # collapsed, and nobody asked again
        ("full", "restated", ITEMS[3]), ("full", "restated", ITEMS[3]),
        ("some", "restated", ITEMS[3]), ("some", "restated", ITEMS[4]),
        ("none", "restated", ITEMS[4]), ("none", "restated", ITEMS[1]),
        ("half", "restated", ITEMS[2]),  # the partial checker: two items or more, but not four
        ("mute", "restated", None), ("mute", "restated", ITEMS[3]),
        ("well", "restated", ITEMS[3]), ("lone", "restated", ITEMS[3]),
    ]  # fmt: skip
    plain = {"rule": [{"constraint": THREE,
                       "partial": {"kind": "items", "at_least": 2, "at_most": 3}}]}  # fmt: skip
    found = score_recovery(log(*rows), StateTrackProtocol.from_dict(plain))
    assert outcomes(found) == {
        "full": "FULL", "some": "PARTIAL", "none": "NONE", "half": "PARTIAL", "mute": None
    }  # fmt: skip
    assert found.factors["followups"].values() == ["2", "2", "2", "1", "2"]
    assert found.factors["status"].values()[-1] == "missing"
    assert [(x.kind, x.n, x.examples) for x in found.losses.entries] == [
        ("unpaired", 1, ("left",)),
        ("undefined", 1, ("well",)),
        ("unpaired", 1, ("lone",)),
    ]
    counts = found.counts(cluster="unit")
    # Over the four that are known: 1 full; 3 at least in part; 1 not at all.
    for name, n in (("full_recovery", 1), ("partial_recovery", 3), ("no_recovery", 1)):
        totals = estimand(name).totals(counts)
        assert (totals.numerator.sum(), totals.denominator.sum()) == (n, 4)
    without = {"rule": [{"constraint": THREE}]}
    again = score_recovery(log(*rows), StateTrackProtocol.from_dict(without))
    assert outcomes(again)["half"] == "NONE"
    assert any("no checker for partial recovery" in note for note in again.notes)


def test_collapse_is_failure_of_the_strict_joint_where_a_task_is_judged() -> None:
    rows = [("a", "compliance", ITEMS[3], "0"), ("a", "restated", ITEMS[3], "1"),
            ("b", "compliance", ITEMS[3], "1"), ("b", "restated", ITEMS[4], "1")]  # fmt: skip
    plain = {"rule": [{"constraint": THREE}], "columns": {"task": "done"}}
    replies = log(*rows, names="unit branch text done")
    found = score_recovery(replies, StateTrackProtocol.from_dict(plain))
    assert outcomes(found) == {"a": "FULL"}
    assert found.losses.by_kind() == {"undefined": 1}


def test_recovery_needs_restated_replies_and_a_collapse() -> None:
    protocol = StateTrackProtocol.from_dict({"rule": [{"constraint": THREE}]})
    with pytest.raises(DataError, match=r"none of the labels restated"):
        score_recovery(log(("a", "compliance", ITEMS[3])), protocol)
    with pytest.raises(DataError, match="none of 1 compliance replies failed"):
        score_recovery(log(("a", "compliance", ITEMS[3]), ("a", "restated", "x")), protocol)
    said = StateTrackProtocol.from_dict(
        {"rule": [{"constraint": THREE}], "columns": {"recovery": "mended"}}
    )
    rows = [("a", "compliance", "x", None), ("a", "restated", "x", "mostly")]
    with pytest.raises(InputError, match="one of FULL, PARTIAL, NONE, got 'mostly'"):
        score_recovery(log(*rows, names="unit branch text mended"), said)


ENDS = [{"old": {"kind": "ends_with", "text": "END"}, "new": {"kind": "ends_with", "text": "DONE"}}]


def test_which_rule_an_answer_follows() -> None:
    rows = [("old", "So. END"), ("new", "So. DONE"), ("none", "So."), ("lost", None)]
    found = score_changed_rule(log(*rows, names="unit text"),
                               StateTrackProtocol.from_dict({"rule": ENDS}))  # fmt: skip
    assert outcomes(found) == {
        "old": "STALE", "new": "UPDATED_CLEAN", "none": "OTHER", "lost": None
    }  # fmt: skip
    assert found.numbers["value"][:3].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("both", ["UPDATED_CLEAN", "STALE", "OTHER"])
def test_an_answer_that_both_rules_allow(both: str) -> None:
    rule = {"old": {"kind": "words", "at_most": 20}, "new": {"kind": "words", "at_most": 10}}
    protocol = StateTrackProtocol.from_dict({"rule": [rule], "both_rules": both})
    found = score_changed_rule(log(("a", "short"), names="unit text"), protocol)
    assert outcomes(found) == {"a": both}
    assert f"1 answers that both rules allow count as {both}, as declared" in found.notes


def test_a_rule_that_was_revoked_and_one_that_nobody_names() -> None:
    rules = [{"when": {"unit": ["revoked", "clean"]}, "old": ENDS[0]["old"]}]
    rows = [("revoked", "So. END"), ("clean", "So."), ("other", "So.")]
    found = score_changed_rule(log(*rows, names="unit text"),
                               StateTrackProtocol.from_dict({"rule": rules}))  # fmt: skip
    assert outcomes(found) == {"revoked": "STALE", "clean": "UPDATED_CLEAN", "other": None}
    assert found.factors["status"].values() == ["scored", "scored", "unscored"]
    assert any(note.startswith("2 answers to a rule that was revoked") for note in found.notes)


def test_a_recorded_verdict_that_is_missing_is_no_revocation() -> None:
    protocol = StateTrackProtocol(columns={"old": "o", "new": "n"})
    rows = [("a", "x", "0", None), ("b", "x", "1", "0"), ("c", "x", "0", "1")]
    found = score_changed_rule(log(*rows, names="unit text o n"), protocol)
    assert outcomes(found) == {"a": None, "b": "STALE", "c": "UPDATED_CLEAN"}


def test_numbers_of_an_answer_stay() -> None:
    rows = Records.from_columns({"unit": ["a"], "seconds": [1.5]})
    protocol = StateTrackProtocol.from_dict({"rule": ENDS})
    found = score_changed_rule(Replies(rows, ["So. END"], [None]), protocol)
    assert found.numbers["seconds"].tolist() == [1.5]
    assert found.numbers["value"].tolist() == [0.0]


def test_recorded_codes_and_branches() -> None:
    rows = [("a", "compliance", "x", "updated_clean"), ("b", "compliance", "x", "Stale"),
            ("a", "recall", "x", None), ("c", "else", "x", "other")]  # fmt: skip
    replies = log(*rows, names="unit branch text said")
    found = score_changed_rule(replies, StateTrackProtocol(columns={"followed": "said"}))
    assert outcomes(found) == {"a": "UPDATED_CLEAN", "b": "STALE"}
    assert found.losses.by_kind() == {"unlabelled": 1}
    with pytest.raises(InputError, match="about old and new rules"):
        score_changed_rule(replies, StateTrackProtocol(columns={"constraint": "said"}))
