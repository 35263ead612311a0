"""CSV and JSON lines: every cell as it stands, beside the csv and json modules; broken ones out."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.logs import read_log
from simtrack.logs.source import Source
from simtrack.logs.tables import from_csv
from simtrack.logs.tables.from_csv import parse_rows, read_csv
from simtrack.logs.tables.from_json import read_json_lines
from simtrack.logs.tables.roles import LongColumn


@pytest.fixture
def write(tmp_path):
    def made(content: str | bytes, name: str = "table"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return made


def test_na_none_and_null_are_labels(write):
    """Case H31."""
    path = write("model,answer,ok\nNA,None,1\nNA,B,0\nbase,null,1\n")
    records = read_log(path, map={"value": "ok"})
    assert records.factor("answer").values() == ["None", "B", "null"]
    sums = {m: records.select(model=m).numbers["value"].tolist() for m in ("NA", "base")}
    assert sums == {"NA": [1.0, 0.0], "base": [1.0]}


def test_bom_and_crlf(write):
    """Case H39."""
    records = read_log(write(b"\xef\xbb\xbfitem,score\r\nq1,1\r\nq2,0\r\n"))
    assert records.factor("item").values() == ["q1", "q2"]
    assert records.numbers["value"].mean() == 0.5
    lines = b'\xef\xbb\xbf{"item":"q1","score":1}\r\n{"item":"q2","score":0}\r\n'
    again = read_log(write(lines))
    assert again.factor("unit").values() == ["q1", "q2"]
    assert again.numbers["value"].mean() == 0.5


def test_unicode_line_separators_end_no_line(write):
    """Case H27."""
    text = '{"id":"a\u2028","text":"x\u0085y","score":1}\n{"id":"b\u2029","text":"","score":0}\n'
    records = read_log(write(text))
    assert records.factor("unit").values() == ["a\u2028", "b\u2029"]
    assert records.numbers["value"].mean() == 0.5
    table = read_log(write("id,score\na\u2028b,1\nc\u0085d,0\n"))
    assert table.factor("unit").values() == ["a\u2028b", "c\u0085d"]


def test_a_torn_last_line_is_a_loss_and_a_bad_middle_an_error(write):
    """Case H28."""
    torn = '{"id":1,"s":1}\n{"id":2,"s":0}\n{"id":3,"s"\n\n'
    records = read_log(write(torn), map={"value": "s"})
    assert len(records) == 2
    assert records.losses.by_kind() == {"missing": 1}
    assert "line 3 is torn" in records.notes[0]
    with pytest.raises(DataError, match=r"table: line 3 is not valid JSON: .* Mend or remove"):
        read_log(write(torn.rstrip() + '\n{"id":4,"s":1}\n'), map={"value": "s"})


def test_integers_beyond_a_float_stay_apart(write):
    """Case H29."""
    ids = [9007199254740993, 9007199254740992, 2**70]
    path = write("".join(f'{{"id":{i},"score":1}}\n' for i in ids))
    assert read_log(path).factor("unit").values() == [str(i) for i in ids]
    path = write("id,score\n" + "".join(f"{i},1\n" for i in ids))
    assert read_log(path).factor("unit").values() == [str(i) for i in ids]


def test_nan_and_infinity_are_unscored(write):
    """Case H30."""
    text = (
        '{"id":"a","score":NaN}\n{"id":"b","score":1}\n'
        '{"id":"c","score":-Infinity}\n{"id":"d","score":null}\n'
    )
    records = read_log(write(text))
    assert records.factor("status").values() == ["unscored", "scored", "unscored", "unscored"]
    assert records.factor("reason").values() == [
        "score is NaN",
        None,
        "score is not finite (-inf)",
        "score is null",
    ]
    assert np.nanmean(records.numbers["value"]) == 1.0


def test_lone_surrogates_are_written_out(write):
    """Case H32."""
    records = read_log(write('{"id":"a","text":"ok \\ud83d end","score":1}\n{"id":"b","score":1}'))
    assert records.factor("text").values() == ["ok \\ud83d end", None]
    assert "1 halves of surrogate pairs are written out" in " ".join(records.notes)


def test_a_cluster_that_is_missing_is_not_a_cluster(write):
    """Case H18: refuse, or make each row a cluster of its own."""
    cells = ["a,1", "a,1", "b,0", "b,0", ",1", ",1", ",1", ",1"]
    records = read_log(write("cluster,score\n" + "\n".join(cells) + "\n"))
    with pytest.raises(DataError, match="4 scored rows have no cluster label"):
        records.counts()
    assert len(records.counts(missing_cluster="own").cluster.levels) == 6


def test_filters_are_readings_of_the_same_trials(write):
    """Case H21: two metrics with 3 rows each, never 6 trials."""
    rows = [("strict", 1), ("strict", 0), ("strict", 0), ("flex", 1), ("flex", 1), ("flex", 0)]
    lines = [
        json.dumps({"doc_id": k % 3, "filter": name, "exact_match": v})
        for k, (name, v) in enumerate(rows)
    ]
    records = read_log(write("\n".join(lines)), map={"value": "exact_match"})
    with pytest.raises(InputError, match="filter must be selected"):
        records.counts()
    assert records.select(filter="strict").counts().cells.sum(axis=0).tolist() == [2, 1]
    assert records.select(filter="flex").counts().cells.sum(axis=0).tolist() == [1, 2]


def test_a_map_and_the_guesses_are_told(write):
    path = write("task_id,name,correct,epoch,extra\nt1,m1,yes,1,x\nt2,m1,no,1,y\n")
    records = read_log(path, map={"cluster": "task_id", "value": "correct", "model": "name"})
    assert records.factor("cluster").values() == ["t1", "t2"]
    assert records.factor("model").values() == ["m1", "m1"]
    assert records.factor("repetition").values() == ["1", "1"]
    assert records.factor("extra").values() == ["x", "y"]
    assert records.notes == ("table: columns taken by their names: repetition = epoch",)


def test_an_unclear_guess_is_not_made(write):
    records = read_log(write("id,item,score\n1,a,1\n"))
    assert "unit" not in records.factors
    assert "table: not guessed: unit could be item or id" in records.notes
    with pytest.raises(DataError) as caught:
        read_log(write("id,score,correct\n1,1,0\n"))
    assert str(caught.value) == (
        "table: several columns may be the score: score, correct. "
        "Name one: --map value=score (in Python map={'value': 'score'})."
    )


def test_the_words_of_the_accounting_are_not_taken_by_accident(write):
    text = "unit,value,status,outcome,score,source\na,1,ok,win,0.5,web\n"
    records = read_log(write(text))
    assert records.factor("status").values() == ["scored"]
    assert records.factor("column.status").values() == ["ok"]
    assert records.factor("column.outcome").values() == ["win"]
    assert records.factor("column.score").values() == ["0.5"]
    assert records.factor("source").values() == ["table"]
    assert records.counts().n == 1
    with pytest.raises(InputError, match="status must be one of scored, unscored"):
        read_log(write(text), map={"status": "status"})


def test_a_status_of_the_file_counts_where_it_is_mapped(write):
    text = "unit,score,state,why\na,1,scored,\nb,0,errored,502\nc,,,\nd,,scored,\n"
    records = read_log(write(text), map={"status": "state", "reason": "why"})
    assert records.factor("status").values() == ["scored", "errored", "unscored", "unscored"]
    assert records.factor("reason").values() == [None, "502", None, None]
    assert np.isnan(records.numbers["value"]).tolist() == [False, True, True, True]


def test_outcomes_may_take_the_place_of_scores(write):
    path = write("unit,result\na,CLEAN\nb,MISS\nc,\n")
    records = read_log(path, map={"outcome": "result"})
    assert records.counts().outcomes == ("CLEAN", "MISS")
    assert records.factor("status").values() == ["scored", "scored", "unscored"]
    with pytest.raises(InputError, match="a value or an outcome, not both"):
        read_log(path, map={"outcome": "result", "value": "unit"})


def test_an_empty_cell_is_missing_and_unscored(write):
    records = read_log(write("unit,model,score\na,,1\nb,m,\n"))
    assert records.factor("model").values() == [None, "m"]
    assert records.factor("status").values() == ["scored", "unscored"]
    assert math.isnan(records.numbers["value"][1])


def test_numeric_columns_are_numbers_or_refused(write):
    records = read_log(write("unit,score,cost_usd\na,1,0.25\nb,1,\n"))
    assert records.numbers["cost_usd"][0] == 0.25
    with pytest.raises(DataError, match=r"line 3: column 'cost_usd' must be a number, got '\?'"):
        read_log(write("unit,score,cost_usd\na,1,0.25\nb,1,?\n"), map={"cost_usd": "cost_usd"})


def test_an_unmapped_column_of_a_number_s_name_may_hold_text(write):
    records = read_log(write("unit,score,duration_s\na,1,12s\nb,1,7s\n"))
    assert records.factor("column.duration_s").values() == ["12s", "7s"]
    assert "duration_s" not in records.numbers
    assert "kept as labels, column.duration_s: " in records.notes[-1]


def test_metric_columns_can_be_chosen(write):
    path = write("unit,metric,score\na,x,what\na,y,0\n")
    assert read_log(path, metric="y").numbers["value"].tolist() == [0.0]
    with pytest.raises(InputError, match="metric must be one of x, y, got 'z'"):
        read_log(path, metric="z")
    with pytest.raises(InputError, match="no metric column, got 'y'"):
        read_log(write("unit,score\na,1\n"), metric="y")


def test_nested_columns_are_named_and_refused_where_they_matter(write):
    path = write('{"id":"a","doc":{"x":1},"score":1}\n')
    assert "columns left out (nested or long): doc" in " ".join(read_log(path).notes)
    with pytest.raises(DataError, match="line 1: column 'doc' must hold text or numbers, got an o"):
        read_log(path, map={"cluster": "doc"})
    with pytest.raises(DataError, match="an object with keys x"):
        read_log(path, map={"value": "doc"})


REFUSED = {
    "no score": ("a,b\n1,2\n", {}, r"no column holds a score \(there are: a, b\). Name it"),
    "mapped": (
        "task,correct\n1,1\n",
        {"value": "corect"},
        r"no column 'corect' for value. The columns are: task, correct. Did you mean 'correct'\?",
    ),
    "ragged": ("a,score\n1,2\n\n3,4,5\n", {}, "line 4 has 3 cells where the header has 2"),
    "open quote": ('a,score\n"x,1\n', {}, "line 2: a quoted cell is not closed"),
    "after quote": ('a,score\n"x"y,1\n', {}, "line 2: a quoted cell is not closed, or text"),
    "twice": ("score,score\n1,1\n", {}, "two columns are named 'score'"),
    "latin": (b"a,score\n\xff,1\n", {}, "line 2 is not UTF-8"),
    "array": ("[1, 2]", {}, "element 1 must be an object, got int"),
    "other json": ('{"results":\n {}}', {}, "a JSON object with the keys results, which no"),
    "list line": ('{"a":1}\n[1]\n{"a":1}', {}, "line 2 must be a JSON object, got list"),
    "cut json": ('{"version": 2,\n "eval": {"task"', {}, "seems truncated"),
    "bad json": ('{"version": 2,\n nope }', {}, "neither one JSON object nor JSON lines"),
    "empty": ("", {}, "empty: there is nothing to read"),
    "blank": (" \n\n", {}, "empty: there is nothing to read"),
    "parquet": (b"PAR1\x00\x00", {}, "is not a whole Parquet file"),
    "gzip": (b"\x1f\x8b\x08\x00", {}, "a gzip file"),
    "utf-16": ("a,score\n1,1\n".encode("utf-16"), {}, "UTF-16 text"),
    "binary": (b"\x01\x02\x00\x03", {}, "binary data of an unknown kind"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_broken_table_is_refused_in_one_line(write, case):
    content, columns, words = REFUSED[case]
    with pytest.raises(DataError, match=words) as caught:
        read_log(write(content), map=columns)
    assert str(caught.value).startswith("table")
    assert "\n" not in str(caught.value)


def test_one_record_alone_is_a_table(write):
    assert read_log(write('{"id":"a","score":1}')).numbers["value"].tolist() == [1.0]


def test_tabs_and_semicolons(write):
    assert read_log(write("id\tscore\na,b\t1\n")).factor("unit").values() == ["a,b"]
    assert read_log(write("id;score\na;1\n")).factor("unit").values() == ["a"]


def test_lines_are_counted_through_quoted_breaks():
    text = 'a,b\r\n"x\ny",1\n\n"z\r\n",2\n'
    assert list(parse_rows(text, ",", "t")) == [
        (1, ["a", "b"]),
        (2, ["x\ny", "1"]),
        (5, ["z\r\n", "2"]),
    ]


CELLS = st.text(alphabet=st.sampled_from(list('ab ,";\n\r\u2028\u0085é1\t')), max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=6))
def test_what_the_csv_module_writes_is_read_back(rows):
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    assert [row for _, row in parse_rows(out.getvalue(), ",", "t")] == rows


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from(list('ab",\n\r')), max_size=30))
def test_any_text_is_read_as_the_csv_module_does_or_refused(text):
    try:
        ours = [row for _, row in parse_rows(text, ",", "t")]
    except DataError:
        return
    # csv's strict mode also refuses text behind a closing quote; newline='' keeps breaks as is.
    peer = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert ours == [row for row in peer if row]


def test_a_cell_wider_than_the_csv_module_allows():
    wide = "x" * 200_000
    table = read_csv(f'a,b\n"{wide}",1\n', "t", ["a"])
    assert list(table.columns["a"]) == [wide]


def csv_outcome(data):
    try:
        table = read_csv(Source(data), "t")
    except DataError as error:
        return type(error), str(error)
    return {n: list(c) for n, c in table.columns.items()}, list(table.lines)


@settings(max_examples=400, deadline=None)
@given(
    st.text(alphabet=st.sampled_from(list('ab,,""\n\n\ré\u2028')), max_size=60),
    st.integers(1, 12),
    st.sampled_from([b"", b"", b"\xff", b'"x', b"\xef\xbb\xbf"]),
    st.integers(0, 60),
)
def test_csv_in_blocks_is_csv_read_at_once(text, size, odd, at):
    data = b"a,b\n" + text.encode()
    data = data[:at] + odd + data[at:]
    at_once = csv_outcome(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_csv, "_BLOCK_BYTES", size)
        assert csv_outcome(data) == at_once


def test_a_long_text_of_csv_is_kept_as_a_digest_unless_it_is_asked_for():
    wide = "é, " * 200
    data = "".join(f'q{k},"{wide}{k % 40}",1\r\n' for k in range(50)).encode()
    table = read_csv(Source(b"id,reply,score\r\n" + data), "t")
    reply = table.columns["reply"]
    assert isinstance(reply, LongColumn)
    assert len(set(reply)) == 40
    assert reply[7] == reply[47] == hashlib.blake2b(f"{wide}7".encode(), digest_size=16).digest()
    wanted = read_csv(Source(b"id,reply,score\r\n" + data), "t", ["reply"])
    assert list(wanted.columns["reply"]) == [f"{wide}{k % 40}" for k in range(50)]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from("abcd"), SCALARS, min_size=1), min_size=1),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_json_lines_are_read_as_the_json_module_does(records, ascii_only, end):
    text = end.join(json.dumps(r, ensure_ascii=ascii_only) for r in records)
    table = read_json_lines(text.encode(), "t")
    peer = [json.loads(json.dumps(r)) for r in records]
    for name, column in table.columns.items():
        assert list(column) == [r.get(name) for r in peer]
    assert len(table.lines) == len(records)
