"""The compiled scanner gives the table, notes, losses and refusals of the plain reader."""

from __future__ import annotations

import json
import random

import pytest

from simtrack._jit import enabled
from simtrack.errors import DataError
from simtrack.logs import source as sources
from simtrack.logs.source import Source
from simtrack.logs.tables import json_lines, read_json_lines, scanned
from simtrack.logs.tables import json_lines as pays
from simtrack.logs.tables.skipping import HEAD_RECORDS, Skipped

pytestmark = pytest.mark.skipif(not enabled(), reason="the scanner is compiled code")

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
    def run(data, salvage=False, block=2048):
        monkeypatch.setattr(json_lines, "pays", lambda *_: False)
        plain = outcome(data, salvage)
        monkeypatch.setattr(json_lines, "pays", lambda *_: True)
        monkeypatch.setattr(scanned, "BLOCK_BYTES", block)
        assert outcome(data, salvage) == plain
        return plain

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


def test_a_column_with_late_long_texts_stays_in_the_file(compare):
    lines = [{"id": f"q{k}", "score": 1, "reply": "short"} for k in range(100)]
    lines += [{"id": f"q{k}", "score": 1, "reply": "long" * 500, "late": [k]} for k in range(100)]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    compare(data)
    table = read_json_lines(data, "t")
    assert {n for n, c in table.columns.items() if isinstance(c, Skipped)} == {"reply", "late"}
    assert table.columns["reply"][150] == "long" * 500


def test_the_answer_does_not_depend_on_the_number_of_threads(compare, monkeypatch):
    data = document(random.Random(9), broken=False)
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(scanned, "_THREADS", threads)
        found.append(compare(data, block=600))
    assert found[0] == found[1] == found[2]


def test_a_mapped_file_reads_as_its_bytes(compare, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAPPED_BYTES", 1)
    for seed in range(4):
        data = document(random.Random(seed), broken=False)
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(data)
        plain = compare(data)
        assert compare(Source.open(path)) == plain


def test_compiled_code_is_loaded_only_where_it_pays(monkeypatch):
    monkeypatch.setattr(pays, "_spent", {"plain_s": 0.0})
    monkeypatch.setattr(pays, "_least_s", lambda: 0.8)
    assert not pays.pays(1 << 20, 100, 5)
    assert not pays.pays(200_000_000, 4000, 5)
    assert pays.pays(200_000_000, 100, 5)  # many rows
    assert pays._spent["plain_s"] == pytest.approx(0.2875, abs=1e-4)  # the first was too small
    assert not pays.pays(200_000_000, 4000, 5)
    assert pays.pays(300_000_000, 4000, 5)  # files pay together
    monkeypatch.setattr(pays, "_least_s", lambda: 0.02)
    assert pays.pays(20_000_000, 4000, 5)
    assert not pays.pays(1 << 20, 100, 2)
