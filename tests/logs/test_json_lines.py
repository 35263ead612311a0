"""JSON lines are what the standard module reads in them, however they are cut into blocks."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError
from simtrack.logs import read_log
from simtrack.logs import source as sources
from simtrack.logs.lines import spans
from simtrack.logs.source import Source
from simtrack.logs.tables import from_json, read_json_lines
from simtrack.logs.tables.from_json import HEAD_RECORDS
from simtrack.logs.tables.roles import LongColumn

TEXT = "text “quoted” \n" * 40


def record(k, **more):
    return {
        "id": f"q{k}",
        "score": k % 2,
        "messages": [{"content": TEXT + str(k)}],
        "output": TEXT,
        "tag": None if k % 5 else "t",
        "cost": k / 7,
    } | more


def lines(records, ascii_only=True):
    return "".join(json.dumps(r, ensure_ascii=ascii_only) + "\n" for r in records).encode()


def whole(data):
    """The columns by the standard module alone."""
    found = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    names = dict.fromkeys(name for r in found for name in r)
    return {name: [r.get(name) for r in found] for name in names}


def same(data):
    table = read_json_lines(data, "t")
    expected = whole(data)
    assert {name: list(column) for name, column in table.columns.items()} == expected
    return table


@pytest.mark.parametrize("n", [1, HEAD_RECORDS - 1, HEAD_RECORDS, HEAD_RECORDS + 1, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_columns_are_those_of_a_file_decoded_whole(n, ascii_only):
    table = same(lines([record(k) for k in range(n)], ascii_only))
    long = {n for n, c in table.columns.items() if isinstance(c, LongColumn)}
    assert long == {"messages", "output"}


def test_lines_unlike_the_first_are_decoded_whole():
    n = HEAD_RECORDS
    odd = [
        record(n, new="late"),
        {"id": "few"},
        record(n + 1, score=float("inf")),
        record(n + 2, messages="short"),
        record(n + 3, tag={"now": "nested"}),
        record(n + 4, output=None, new=7),
        record(n + 5, id=2**70),
    ]
    table = same(lines([*(record(k) for k in range(n)), *odd, record(n + 9)]))
    assert table.columns["new"][n] == "late"
    assert table.columns["messages"][n + 3] == "short"


def test_a_torn_end_a_broken_middle_and_blank_lines():
    data = lines([record(k) for k in range(100)])
    table = read_json_lines(data[:-30], "t")
    assert len(table.lines) == 99
    assert len(table.columns["messages"]) == 99
    assert table.losses.by_kind() == {"missing": 1}
    blank = data.replace(b"\n", b"\n  \n", 3)
    assert list(read_json_lines(blank, "t").lines)[:4] == [1, 3, 5, 7]
    with pytest.raises(ValueError, match="line 80 is not valid JSON"):
        read_json_lines(data.replace(b'"id": "q79"', b'"id": q79'), "t")


def test_a_key_that_the_map_names_is_not_skipped(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines([record(k) for k in range(100)]))
    records = read_log(path, map={"value": "score", "cluster": "output"})
    assert len(records.factor("cluster").levels) == 1
    plain = read_log(path)
    assert plain.numbers["value"].sum() == 50
    assert any("left out (nested or long): messages, output" in note for note in plain.notes)


def test_choosing_a_metric_keeps_rows_and_skipped_values_together(tmp_path):
    rows = [record(k, metric="ab"[k % 2], id=k // 2) for k in range(100)]
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines(rows))
    records = read_log(path, metric="b")
    assert len(records) == 50
    assert records.numbers["value"].tolist() == [1.0] * 50


def test_copies_are_found_by_what_was_skipped(tmp_path):
    rows = [record(0, tag="t", cost=0.5, score=1) for _ in range(80)]
    rows[70]["output"] = TEXT + "different"
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines(rows))
    notes = read_log(path).notes
    assert any("78 rows repeat another in every column" in note for note in notes)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20),
    st.just(TEXT), st.lists(st.integers(), max_size=2),
)  # fmt: skip
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["id", "a", "b", "ключ", "with space", "f0"]), VALUES),
    min_size=HEAD_RECORDS,
    max_size=HEAD_RECORDS + 12,
)


@settings(max_examples=40, deadline=None)
@given(RECORDS)
def test_any_records(records):
    same(lines(records))


def test_lines_are_split_at_line_feeds_alone():
    data = "a\u2028b\n\n  \nc\r\nd".encode()
    assert [(line, data[s:e]) for line, s, e in spans(data)] == [
        (1, "a\u2028b".encode()),
        (4, b"c\r"),
        (5, b"d"),
    ]
    assert np.all([e > s for _, s, e in spans(data)])


LONG = "text “quoted” \\ \n \U0001f600" * 20
#: What a mutation puts into a line.
PIECES = [
    b"NaN", b"-Infinity", b"\\u", b"\\ud800", b"\\ud83d\\ude00", b"\\udc00", b"\\u00e9", b"\\/",
    b"\\x", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"\r", b"\n", b"\x0b",
    b"\x0c", b"\x00", b"\x7f", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf", b"0", b"-", b"-0", b"1e999", b"1e5", b"1E-400",
    b"0.1", b"12345678901234567890", b"9223372036854775807", b"-9223372036854775808", b"1.5.5",
    b"0.1000000000000000055511151231257827", b"123456789012345678", b"9007199254740993.0", b".5",
    b"true", b"null", b"nul", b'"id": 1, ', b'"new": [1], ', b"[" * 70 + b"]" * 70,
    b'{"a": {}}', b'"\\u0069d": 3,', b"01", b"1.", b"+1", b"//",
]  # fmt: skip


def ordinary(rng, k):
    record = {
        "id": f"q{k % 9}",
        "score": rng.choice([0, 1, 0.5, 1.0, k / 7, -0.0, 1e22, 5e-324, 10**18, 2**63, "C"]),
        "messages": [{"content": LONG}, {"n": [1, 2.5, None, True, {}], "": []}],
        "note": rng.choice(["plain", 'a"b', "é", "x\u2028y", "\U0001f600", "a\\b", "", "z" * 300]),
        "flag": rng.choice([True, False, None]),
        "task": rng.choice(["t", ["nested"], {"k": 1}, None, 3]),
        "ключ": k % 3,
    }
    if rng.random() < 0.2:
        del record[rng.choice(list(record))]
    if rng.random() < 0.03:
        record["late"] = rng.choice([1, "x", [2], "y" * 300])
    if rng.random() < 0.1:
        record = dict(rng.sample(list(record.items()), len(record)))
    spaced = rng.choice([(", ", ": "), (",", ":"), (" , ", "\t:  ")])
    return json.dumps(record, ensure_ascii=rng.random() < 0.5, separators=spaced).encode()


def mutated(rng, line):
    kind = rng.randrange(5)
    at = rng.randrange(len(line) + 1)
    if kind == 0:
        return line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :]
    if kind == 1:
        return line[:at]
    if kind == 2:
        return line[:at] + rng.choice(PIECES) + line[at + rng.randrange(3) :]
    if kind == 3:
        return line[:at] + line[rng.randrange(len(line) + 1) :]
    parts = line.split(b", ")
    rng.shuffle(parts)
    return b", ".join(parts)


def document(rng, *, broken):
    n = rng.choice([HEAD_RECORDS + 1, HEAD_RECORDS + 8, 160])
    lines = [ordinary(rng, k) for k in range(n)]
    for _ in range(rng.randrange(6) if broken else 0):
        k = rng.randrange(HEAD_RECORDS - 2, n)
        lines[k] = mutated(rng, lines[k])
    if rng.random() < 0.3:
        lines.insert(rng.randrange(n), rng.choice([b"", b"  ", b"\x0b", b"\r", b"\t \x0c"]))
    end = rng.choice([b"\n", b"\r\n"])
    data = end.join(lines) + rng.choice([b"", end, end + b" "])
    return (
        rng.choice([b"", b"", b"\xef\xbb\xbf"])
        + data[: -rng.randrange(1, 99)] * (rng.random() < 0.2)
        or data
    )


def outcome(data, salvage):
    """Everything that a caller can see of a reading."""
    try:
        table = read_json_lines(data, "t", ["note"], salvage=salvage)
    except DataError as error:
        return str(error)
    columns = {name: [repr(v) for v in values] for name, values in table.columns.items()}
    return columns, list(table.lines), table.losses, table.notes


@pytest.fixture
def compare(monkeypatch):
    """Read in blocks of a line, in other blocks, and without the typed decoder."""

    def run(data, salvage=False, block=2048):
        monkeypatch.setattr(from_json, "BLOCK_BYTES", 1)
        singly = outcome(data, salvage)
        monkeypatch.setattr(from_json, "BLOCK_BYTES", block)
        assert outcome(data, salvage) == singly
        try:
            data.decode() if isinstance(data, bytes) else None
        except UnicodeDecodeError:  # which nobody looks for in long texts
            return singly
        with monkeypatch.context() as patch:
            patch.setattr(from_json._RecordDecoder, "of", lambda rows: None)
            assert outcome(data, salvage) == singly
        return singly

    return run


@pytest.mark.parametrize("seed", range(8))
def test_ordinary_lines(compare, seed):
    rng = random.Random(seed)
    assert not isinstance(compare(document(rng, broken=False), block=rng.choice([1, 5000])), str)


@pytest.mark.parametrize("seed", range(30))
def test_mutated_lines(compare, seed):
    rng = random.Random(1000 + seed)
    for _ in range(4):
        compare(document(rng, broken=True), rng.random() < 0.5, rng.choice([1, 700, 1 << 20]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_more_mutated_lines(compare, seed):
    rng = random.Random(50_000 + seed)
    for _ in range(60):
        compare(document(rng, broken=True), rng.random() < 0.5, rng.choice([1, 700, 1 << 20]))


@pytest.mark.parametrize("piece", PIECES)
def test_each_piece_as_a_value_and_within_a_text(compare, piece):
    rng = random.Random(0)
    head = [ordinary(rng, k) for k in range(HEAD_RECORDS)]
    odd = [
        b'{"id": %s, "score": 1}' % piece,
        b'{"id": "%s", "score": 1}' % piece,
        b'{"messages": %s, "score": 1}' % piece,
        b'{"messages": "%s", "score": 1}' % piece,
        b'{"%s": 1, "score": 1}' % piece,
        b'%s{"id": 1}%s' % (piece, piece),
    ]
    for k, line in enumerate(odd):
        last = b"\n".join([*head, line])
        compare(last)
        middle = b"\n".join([*head, line, *head[:3], *odd[k:], b""])
        compare(middle)
        compare(middle, salvage=True)


def test_numbers_are_those_of_python(compare):
    rng = random.Random(5)
    texts = [
        f"{rng.choice(['', '-'])}{rng.randrange(10 ** rng.randrange(1, 20))}"
        + (
            f".{rng.randrange(10 ** (d := rng.randrange(1, 20))):0{d}d}"
            if rng.random() < 0.7
            else ""
        )
        + (
            f"{rng.choice('eE')}{rng.choice(['', '+', '-'])}{rng.randrange(330)}"
            * (rng.random() < 0.3)
        )
        for _ in range(3000)
    ]
    head = b'{"score": 1}\n' * HEAD_RECORDS
    data = head + b"".join(b'{"score": %s}\n' % text.encode() for text in texts)
    columns = compare(data)[0]
    assert columns["score"][HEAD_RECORDS:] == [repr(json.loads(text)) for text in texts]


def test_a_mapped_file_reads_as_its_bytes(compare, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAPPED_BYTES", 1)
    for seed in range(4):
        data = document(random.Random(seed), broken=False)
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(data)
        plain = compare(data)
        assert compare(Source.open(path)) == plain
