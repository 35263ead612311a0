"""A large JSON array read piece by piece is the array decoded at once."""

from __future__ import annotations

import json
import random

import pytest

from simtrack.errors import DataError
from simtrack.logs.source import Source
from simtrack.logs.tables import array_blocks, json_array, read_json_array
from simtrack.logs.tables.skipping import Skipped

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


@pytest.fixture
def compare(monkeypatch):
    def run(data, piece=3000):
        monkeypatch.setattr(json_array, "_LARGE_BYTES", 1 << 40)
        at_once = outcome(data)
        monkeypatch.setattr(json_array, "_LARGE_BYTES", 0)
        monkeypatch.setattr(array_blocks, "_PIECE_BYTES", piece)
        assert outcome(data) == at_once
        return at_once

    return run


@pytest.mark.parametrize("seed", range(40))
def test_whole_arrays(compare, seed):
    rng = random.Random(seed)
    text = document(rng).encode("utf-8", "surrogatepass").replace(b"\xed\xa0\xbd", b"\\ud83d")
    assert not isinstance(compare(text, rng.choice([50, 3000, 1 << 20])), str)


@pytest.mark.parametrize("seed", range(60))
def test_broken_arrays(compare, seed):
    rng = random.Random(500 + seed)
    data = document(rng).encode("utf-8", "surrogatepass")
    for _ in range(3):
        at = rng.randrange(len(data))
        odd = rng.choice([b"", b"\xff", b"]", b"}", b",", b'"', b"1", b"null,", b"{}", b"[", b"x"])
        compare(data[:at] + odd + data[at + rng.randrange(2) :], rng.choice([50, 3000]))
        compare(data[:at], rng.choice([50, 3000]))


def test_elements_that_are_no_objects(compare):
    for text in (b"[]", b"[ ]", b"[1, 2]", b'[{"a": 1}, 12]', b'[{"a": 1}, "x"]', b"[{}]", b"[{}"):
        compare(text, 4)


def test_the_pieces_are_cut_where_elements_begin(monkeypatch):
    monkeypatch.setattr(array_blocks, "_PIECE_BYTES", 4000)
    monkeypatch.setattr(array_blocks, "_forgivingly", once(array_blocks._forgivingly))
    records = [{"id": k, "reply": LONG} for k in range(300)]
    data = json.dumps(records).encode()
    found = [span for piece in array_blocks.elements(Source(data)) for span in piece]
    assert [json.loads(data[a:b]) for a, b in found] == records


def test_long_texts_stay_in_the_file(monkeypatch):
    monkeypatch.setattr(json_array, "_LARGE_BYTES", 0)
    data = json.dumps([{"id": k, "score": 1, "reply": f"{LONG}{k}"} for k in range(99)]).encode()
    table = read_json_array(data, "t")
    assert isinstance(table.columns["reply"], Skipped)
    assert table.columns["reply"][80] == f"{LONG}80"


def once(call):
    """The standard module is needed for the first piece alone, and the last."""
    calls = []

    def counted(source, at, size):
        calls.append(at)
        assert len(calls) <= 3
        return call(source, at, size)

    return counted
