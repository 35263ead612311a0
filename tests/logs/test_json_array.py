"""A JSON array is what the standard module reads in it, whichever decoder takes its elements."""

from __future__ import annotations

import json
import random

import msgspec
import pytest

from simtrack.errors import DataError
from simtrack.logs.source import Source
from simtrack.logs.tables import from_json, read_json_array
from simtrack.logs.tables.roles import LongColumn

LONG = "text “quoted” \\ \n }, {" * 20


def record(rng, k):
    found = {
        "id": f"q{k}",
        "score": rng.choice([0, 1.5, 2**70, None, float("nan") if rng.random() < 0.1 else 1]),
        "messages": [{"id": 1, "content": LONG}, {"id": "é"}, []],
        "note": rng.choice(["plain", "}, {", 'a"b', "\ud83d" if rng.random() < 0.05 else "é"]),
    }
    if rng.random() < 0.05:
        found["late"] = rng.choice([1, [2]])
    return found


def document(rng):
    n = rng.choice([1, 3, 63, 64, 65, 150])
    indent = rng.choice([None, None, 1])
    ascii_only = rng.random() < 0.5
    text = json.dumps([record(rng, k) for k in range(n)], indent=indent, ensure_ascii=ascii_only)
    return rng.choice(["", "\n "]) + text + rng.choice(["", "\n", " \r\n"])


def outcome(data):
    try:
        table = read_json_array(Source(data), "t", ["note"])
    except DataError as error:
        return str(error)
    columns = {name: [repr(v) for v in values] for name, values in table.columns.items()}
    return columns, list(table.lines), table.notes


class Nothing:
    """A decoder that takes nothing, so that the standard module has to."""

    def decode(self, text):
        raise msgspec.DecodeError


@pytest.fixture
def compare(monkeypatch):
    def run(data):
        found = outcome(data)
        try:
            data.decode()
        except UnicodeDecodeError:  # which nobody looks for in long texts
            return found
        with monkeypatch.context() as patch:
            patch.setattr(from_json._RecordDecoder, "of", lambda rows: None)
            assert outcome(data) == found
            patch.setattr(from_json, "_ELEMENTS", Nothing())
            assert outcome(data) == found
        return found

    return run


@pytest.mark.parametrize("seed", range(40))
def test_whole_arrays(compare, seed):
    rng = random.Random(seed)
    text = document(rng).encode("utf-8", "surrogatepass").replace(b"\xed\xa0\xbd", b"\\ud83d")
    assert not isinstance(compare(text), str)


@pytest.mark.parametrize("seed", range(60))
def test_broken_arrays(compare, seed):
    rng = random.Random(500 + seed)
    data = document(rng).encode("utf-8", "surrogatepass")
    for _ in range(3):
        at = rng.randrange(len(data))
        odd = rng.choice([b"", b"\xff", b"]", b"}", b",", b'"', b"1", b"null,", b"{}", b"[", b"x"])
        compare(data[:at] + odd + data[at + rng.randrange(2) :])
        compare(data[:at])


def test_elements_that_are_no_objects(compare):
    for text in (b"[]", b"[ ]", b"[1, 2]", b'[{"a": 1}, 12]', b'[{"a": 1}, "x"]', b"[{}]", b"[{}"):
        compare(text)


def test_long_texts_are_decoded_where_they_are_asked_for():
    data = json.dumps([{"id": k, "score": 1, "reply": f"{LONG}{k}"} for k in range(99)]).encode()
    table = read_json_array(data, "t")
    assert isinstance(table.columns["reply"], LongColumn)
    assert table.columns["reply"][80] == f"{LONG}80"
