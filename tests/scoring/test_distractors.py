"""Jaccard similarity of distractors by hand, by scikit-like set arithmetic, and as printed."""

from __future__ import annotations

import csv
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.constraints.distractors import (
    FUNCTION_WORDS,
    SIMILARITY_CEILING,
    SIMILARITY_PRINTED,
    jaccard,
    score_distractors,
    token_set,
)

RULE = "All responses must be exactly three bullet points."  # 8 words


def test_tokens() -> None:
    assert token_set("It’s RED, red-ish; caf\u00e9 cafe\u0301 ﬁn") == {
        "it’s", "red", "red-ish", "café", "fin"
    }  # fmt: skip
    assert token_set("1,234.5 km/h") == {"1,234.5", "km", "h"}
    assert token_set("the rule", ignoring=FUNCTION_WORDS) == {"rule"}
    assert token_set("—!") == frozenset()
    assert token_set("a bc def", "pairs") == {"a", "bc", "de", "ef"}
    with pytest.raises(InputError, match="one of words, pairs"):
        token_set("a", "letters")  # type: ignore[arg-type]


def test_by_hand() -> None:
    # Shared: "three", "points". Union: 8 of the rule and 4 others.
    turn = "Explain three strong points and compare"
    assert len(token_set(RULE) | token_set(turn)) == 12
    assert jaccard(token_set(RULE), token_set(turn)) == 2 / 12
    assert math.isnan(jaccard([], []))
    assert jaccard([], ["a"]) == 0.0


SETS = st.frozensets(st.integers(0, 12).map(str), max_size=10)


@given(SETS, SETS, SETS)
def test_one_minus_it_is_a_distance(a, b, c) -> None:
    def apart(x: frozenset[str], y: frozenset[str]) -> Fraction:
        return 1 - (Fraction(len(x & y), len(x | y)) if x | y else Fraction(1))

    for x, y in ((a, b), (b, a)):
        found = jaccard(x, y)
        assert found == pytest.approx(float(1 - apart(x, y))) if x | y else math.isnan(found)
    assert apart(a, c) <= apart(a, b) + apart(b, c)


def turns_of(*rows: tuple[str, str, int, str, str]) -> Replies:
    names = ("unit", "trajectory", "turn", "role")
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return Replies(Records.from_columns(columns), [row[4] for row in rows], [None] * len(rows))


def test_that_the_rule_s_own_turn_and_the_test_are_no_distractors() -> None:
    turns = turns_of(
        ("q1", "t1", 0, "user", RULE),
        ("q1", "t1", 1, "assistant", RULE),
        ("q1", "t1", 10, "user", "Last question?"),  # turn 10 comes after turn 2
        ("q1", "t1", 2, "user", "What of hotels?"),
        ("q1", "t1", 4, "user", "Explain three strong points and compare"),
    )
    found = score_distractors(turns, {"q1": RULE})
    assert found.factors["turn"].values() == ["2", "4"]
    assert found.numbers["value"].tolist() == [0.0, 2 / 12]
    assert found.factors["below"].values() == ["1", "0"]
    sums = found.sums(cluster="unit")
    assert sums.totals().rates().tolist() == pytest.approx([1 / 12])
    assert any("1 of 2 turns reach 0.05" in note for note in found.notes)
    everything = score_distractors(turns, {"q1": RULE}, skip_first=0, skip_last=0)
    assert everything.numbers["value"].tolist()[0] == 1.0
    with pytest.raises(DataError, match="no distractor turn is left"):
        score_distractors(turns, {"q1": RULE}, skip_first=9)


def test_turns_without_a_rule_are_unscored() -> None:
    rows = Records.from_columns({"unit": ["a", "b", "a"], "category": ["x", "y", "x"]})
    turns = Replies(rows, ["hotels", "hotels", None], [None] * 3)
    found = score_distractors(turns, {"a": RULE})
    assert found.factors["status"].values() == ["scored", "unscored", "unscored"]
    assert found.sums(by=["category"]).losses.by_kind() == {"unscored": 2}
    with pytest.raises(InputError, match="rules must be of the labels in unit"):
        score_distractors(turns, {"z": RULE})


def test_the_printed_mean_is_that_of_the_printed_categories() -> None:
    assert round(sum(SIMILARITY_PRINTED.values()) / 5, 3) == 0.040
    assert max(SIMILARITY_PRINTED.values()) < SIMILARITY_CEILING


@pytest.mark.shared
def test_that_the_printed_figures_are_those(shared) -> None:
    path = shared / "reference" / "statetrack" / "table8_dataset.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    column = next(name for name in rows[0] if "jaccard" in name.lower())
    printed = [float(row[column]) for row in rows if row[column]]
    assert sorted(printed) == sorted([*SIMILARITY_PRINTED.values(), 0.040])
