"""Plain data: what is written is JSON, what is read is what was written, and faults are named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.plain import Document, Plain, plain


@dataclass(frozen=True, slots=True)
class Part(Document):
    name: str
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Whole(Document, schema="simtrack.whole/1", kind="whole"):
    parts: tuple[Part, ...]
    first: Part | None = None
    by_name: Mapping[str, str] = field(default_factory=dict)
    _hidden: int = field(default=0, init=False)


@dataclass(frozen=True, slots=True)
class Result(Plain, schema="simtrack.result/1", names="notes p=pvalue double"):
    pvalue: float
    notes: tuple[str, ...] = ()

    def double(self) -> float:
        return 2 * self.pvalue


def test_what_is_written_is_json_and_reads_back_equal():
    whole = Whole((Part("a", (0.5, 1.0)), Part("b")), Part("c"), {"x": "y"})
    written = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
    assert written == {
        "schema": "simtrack.whole/1", "kind": "whole",
        "parts": [{"name": "a", "weights": [0.5, 1.0]}, {"name": "b", "weights": []}],
        "first": {"name": "c", "weights": []}, "by_name": {"x": "y"},
    }  # fmt: skip
    assert list(written) == ["schema", "kind", "parts", "first", "by_name"]
    assert Whole.from_dict(written) == whole
    assert isinstance(Whole.from_dict(written).parts[0].weights, tuple)


def test_names_choose_the_order_and_the_keys_of_a_result():
    note = Note("few", "only 3 clusters", n=3)
    assert list(Result(0.25, (note,)).to_dict().items()) == [
        ("schema", "simtrack.result/1"), ("notes", ["only 3 clusters"]), ("p", 0.25),
        ("double", 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(3, 8), "0.375"),
        (Fraction(-1, 3), "-1/3"),
        (np.array([[1.5, np.nan]]), [[1.5, None]]),
        (np.float64("inf"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (True, True),
        ({"a": (1, None)}, {"a": [1, None]}),
    ],
)
def test_values_become_what_json_holds(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_a_value_without_plain_data_is_no_silent_text():
    with pytest.raises(TypeError, match="no plain data for object"):
        plain({"a": object()})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"parts": [], "frist": None}, r"key must be one of schema, kind, parts, first, by_name, "
         r"got 'frist' \(f.toml\). Did you mean first\?"),
        ({}, r"parts must be given \(f.toml\)"),
        ({"parts": [], "schema": "simtrack.other/1"}, r"schema must be 'simtrack.whole/1', got"),
        ({"parts": [], "kind": "other"}, r"kind must be 'whole', got 'other' \(f.toml\)"),
        ({"parts": {"name": "a"}}, r"f.toml.parts must be a list, got \{.name.: .a.\}"),
        ({"parts": [{"nam": "a"}]}, r"key must be one of name, weights, got 'nam' "
         r"\(f.toml.parts\[0\]\). Did you mean name\?"),
        ({"parts": [], "first": 3}, r"f.toml.first must be a table, got 3"),
        ([], r"f.toml must be a table, got \[\]"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_place(data, message):
    with pytest.raises(InputError, match=message):
        Whole.from_dict(data, "f.toml")
