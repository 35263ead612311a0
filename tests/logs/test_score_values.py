"""Which number a score stands for, beside Inspect's own rule where the two agree."""

from __future__ import annotations

import math

import pytest

from simtrack.errors import DataError, InputError
from simtrack.logs.score_values import ScoreReader

# Inspect's value_to_float, as its documentation and source have it.
KNOWN = {
    "C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "No": 0.0, "TRUE": 1.0, "false": 0.0,
    "0.75": 0.75, " 3 ": 3.0, "-1e-3": -0.001, ".5": 0.5, "5.": 5.0, "+2": 2.0,
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), KNOWN.items())
def test_text_that_stands_for_a_number(text, number):
    assert ScoreReader().read(text) == (number, "")


@pytest.mark.parametrize("value", [True, False, 0, 1, 0.25, -3])
def test_numbers_and_booleans_are_themselves(value):
    assert ScoreReader().read(value) == (float(value), "")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "score is null"),
        (math.nan, "score is NaN"),
        ("nan", "score is NaN"),
        ("", "score is empty"),
        ("  ", "score is empty"),
        (math.inf, "score is not finite (inf)"),
        ("-Infinity", "score is not finite (-Infinity)"),
        ("1e999", "score is not finite (inf)"),
        (10**400, "score is not finite (beyond a float)"),
    ],
)
def test_what_is_no_score_has_a_reason(value, reason):
    number, why = ScoreReader().read(value)
    assert math.isnan(number)
    assert why == reason


@pytest.mark.parametrize(
    "value", ["D", "c", "NA", "None", "null", "1_000", "1,5", "0x1", "١", [1], {"a": 1}]
)
def test_what_is_not_understood_is_refused(value):
    reader = ScoreReader()
    assert math.isnan(reader.read(value, "m")[0])
    with pytest.raises(DataError, match="f: scores that stand for no number"):
        reader.refuse_unknown("f")


def test_the_users_values_come_first():
    reader = ScoreReader({"P": 1, "D": None, "true": 0.5, "2": 0})
    assert reader.read("P") == (1.0, "")
    assert reader.read("D")[1] == "score D is mapped to unscored"
    assert reader.read(True) == (0.5, "")
    assert reader.read(2) == (0.0, "")
    reader.refuse_unknown("f")


@pytest.mark.parametrize("value", ["x", math.nan, math.inf, [1]])
def test_a_map_to_something_else_is_refused(value):
    with pytest.raises(InputError, match="scores must be a mapping to finite numbers or None"):
        ScoreReader({"D": value})


def test_many_unknown_kinds_are_cut_short():
    reader = ScoreReader()
    for k in range(9):
        reader.read(f"grade {k}")
    with pytest.raises(DataError, match=r"and 3 more kinds. Say what each stands for"):
        reader.refuse_unknown("f")
