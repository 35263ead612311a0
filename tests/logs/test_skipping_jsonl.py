"""Keys that are skipped change nothing: the table is that of a file decoded whole."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.logs import read_log
from simtrack.logs.lines import spans
from simtrack.logs.tables import read_json_lines
from simtrack.logs.tables.skipping import HEAD_RECORDS, Skipped

LONG = "text “quoted” \n" * 40


def record(k, **more):
    return {
        "id": f"q{k}",
        "score": k % 2,
        "messages": [{"content": LONG + str(k)}],
        "output": LONG,
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
    skipped = {n for n, c in table.columns.items() if isinstance(c, Skipped)}
    assert skipped == {"messages", "output"}


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
    rows[70]["output"] = LONG + "different"
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines(rows))
    notes = read_log(path).notes
    assert any("78 rows repeat another in every column" in note for note in notes)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20),
    st.just(LONG), st.lists(st.integers(), max_size=2),
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
