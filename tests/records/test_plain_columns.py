"""Columns from Python: what is missing, what is refused, and that nothing is split or made up."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pytest

from simtrack.counts import NO_LABEL, Factor, Loss, Losses
from simtrack.errors import InputError
from simtrack.records import Records, account


@pytest.mark.parametrize("gap", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT,
                                 np.datetime64("NaT"), decimal.Decimal("NaN")])  # fmt: skip
def test_what_stands_for_no_value_is_no_label_and_no_number(gap):
    records = Records.from_columns({"unit": ["a", gap, "b"], "value": [1, gap, 0]})
    assert records.factors["unit"].values() == ["a", None, "b"]
    assert records.factors["unit"].levels == ("a", "b")
    assert np.isnan(records.numbers["value"]).tolist() == [False, True, False]


def test_a_gap_does_not_make_a_column_of_numbers_one_of_labels():
    records = Records.from_columns({"x": [0.5, pd.NA], "y": [float("nan")] * 2, "z": [1, pd.NA]})
    assert set(records.numbers) == {"x", "y"}
    assert records.factors["z"].values() == ["1", None]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (None, "columns must be a mapping from names to lists, got NoneType"),
        ({"unit": "abc"}, "got 'abc' (column unit)"),
        ({"unit": 3}, "got 3 (column unit)"),
        ({"unit": {"a", "b"}}, "(column unit)"),
        ({"value": ["C", "I"]}, "value must be a column of numbers, got 'C' (row 1)"),
        ({"value": [1, [0]]}, "value must be a column of numbers, got [0] (row 2)"),
        ({"value": [10**5000]}, "value must be a column of numbers, got a int too long"),
        ({"unit": [["a"], ["b"]]}, "unit must be a column of text or numbers, got ['a'] (row 1)"),
        ({"unit": [b"a"]}, "unit must be a column of text or numbers, got b'a' (row 1)"),
        ({"unit": ["a"], "status": ["fine"]}, "status must be one of scored, unscored"),
        ({"unit": ["a"], "value": [1, 0]}, "columns must be of one length"),
    ],
)
def test_what_is_no_column_is_refused_in_one_line(columns, words):
    with pytest.raises(InputError) as caught:
        Records.from_columns(columns)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_losses_of_another_level_leave_with_its_rows():
    losses = Losses((
        Loss("missing", 3, "cut", (("model", "A"),)),
        Loss("missing", 5, "cut", (("model", "B"),)),
        Loss("missing", 7, "cut"),
    ))  # fmt: skip
    records = Records.from_columns({"unit": ["p", "q"], "model": ["A", "B"], "value": [1, 0]})
    records = Records(records.factors, records.numbers, losses)
    kept = records.select(model="A")
    # One row, three losses of A, seven that do not say.
    assert account(kept).planned == 1 + 3 + 7
    assert account(records.select(model=["A", "B"])).planned == 2 + 15


def test_a_real_label_is_never_taken_for_a_missing_one():
    factor = Factor.from_values([NO_LABEL, None, "a"])
    named = factor.with_missing_named()
    assert len(set(named.codes.tolist())) == 3
    assert named.values()[:1] == [NO_LABEL]
    records = Records.from_columns({"unit": ["(row 2)", None, "b"], "value": [1, 0, 1]})
    assert len(records.counts(missing_cluster="own").cluster.levels) == 3


def test_a_note_that_quotes_a_label_is_one_line():
    records = Records.from_columns({"unit": ["a"]})
    assert Records(records.factors, notes=("seen a\nb\r\n c",)).notes == ("seen a b c",)
