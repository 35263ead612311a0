"""Logs that lie or are damaged: a table that adds up, or one line; no hang, nothing merged."""

from __future__ import annotations

import json
import math
import os
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError, SimtrackError
from simtrack.logs import read_log, read_logs
from simtrack.logs.columns import LABEL_COLUMNS_MAX, METRICS_MAX
from simtrack.records import account

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "logs"
ORIGINALS = [
    *((FIXTURES / name).read_bytes() for name in ("failed.eval", "fates.eval")),
    (FIXTURES / "stage_reports.json").read_bytes()[:200_000],
    b"unit,epoch,model,score\n" + b"".join(b"q%d,1,m,%d\n" % (k, k % 2) for k in range(30)),
    b"".join(b'{"id": "q%d", "epoch": 1, "score": %d}\n' % (k, k % 2) for k in range(30)),
]


@st.composite
def mutated(draw):
    """Flip bytes, cut, or splice two logs."""
    data = bytearray(draw(st.sampled_from(ORIGINALS)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data) - 1))
        data[at] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    if draw(st.booleans()):
        other = draw(st.sampled_from(ORIGINALS))
        data += other[draw(st.integers(0, len(other))) :]
    return bytes(data)


def attempt(path):
    """Give the table, or the refusal, which must be of bad input and one line."""
    try:
        return read_log(path), ""
    except SimtrackError as error:
        refused = error
    assert refused.exit_code == 2
    assert "\n" not in str(refused)
    return None, str(refused)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_a_damaged_log_adds_up_or_is_refused_in_one_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("mutated") / "x.log"
    path.write_bytes(data)
    records, refusal = attempt(path)
    if records is None:
        assert refusal
        return
    table = account(records, by=["metric"] if "metric" in records.factors else [])
    lost = sum(x.n for x in records.losses.entries)
    assert table.planned == len(records) + lost
    assert all(min(row.counts) >= 0 for row in table.rows)
    assert all(math.isfinite(v) or math.isnan(v) for v in records.numbers["value"])


@pytest.fixture
def write(tmp_path):
    def made(content: str | bytes, name: str = "table"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return made


def test_columns_that_differ_in_case_alone_are_no_guess(write):
    with pytest.raises(DataError, match="several columns may be the score: Correct, correct"):
        read_log(write("unit,Correct,correct\na,1,0\nb,1,0\n"))
    with pytest.raises(DataError, match="several columns may be the score: Value, value"):
        read_log(write("unit,Value,value\na,1,0\nb,1,0\n"))
    records = read_log(write("unit,Unit,score\na,x,1\nb,y,0\n"))
    assert records.factor("unit").values() == ["a", "b"]
    assert records.factor("Unit").values() == ["x", "y"]
    assert "unit = unit (not Unit)" in records.notes[0]


def test_two_scores_of_one_name_are_refused(make_log, log_parts):
    _, sample = log_parts
    both = sample("a", 1) | {"scores": {"a": {"value": {"b": 1}}, "a.b": {"value": 0}}}
    with pytest.raises(DataError, match=r"two scores are both named 'a\.b'"):
        read_log(make_log([both]))


def test_a_file_counts_once_however_it_is_spelt(write, tmp_path):
    path = write("unit,score\na,1\nb,0\n", "x.csv")
    (tmp_path / "d").mkdir()
    (tmp_path / "link.csv").symlink_to(path)
    crooked = os.path.join(tmp_path, "d", "..", "x.csv")
    for again in (path, crooked, tmp_path / "link.csv"):
        records = read_logs([path, again])
        assert len(records) == 2
        assert any("was given before" in note and "counts once" in note for note in records.notes)
    assert len(read_logs([tmp_path])) == 2


@pytest.mark.parametrize("path", ["", None, 3, b"x", "a\0b"])
def test_what_is_no_path_is_refused(path):
    for read in (read_log, lambda p: read_logs([p])):
        with pytest.raises(InputError, match="path must be the path of a file"):
            read(path)


def test_rows_that_are_wholly_equal_are_noted(write):
    notes = read_log(write("unit,model,score\na,x,1\nb,x,1\na,x,1\na,x,1\na,y,1\n")).notes
    assert any("2 rows repeat another in every column" in n and "line 4" in n for n in notes)
    told = read_log(write("unit,text,score\na,x,1\na,y,1\n")).notes
    assert not any("repeat another" in n for n in told)


def test_ids_listed_twice_plan_nothing_more(make_log, log_parts):
    header, sample = log_parts
    spec = header()["eval"] | {"dataset": {"samples": 2, "sample_ids": ["a", "b", "a"]}}
    records = read_log(make_log([sample("a", 1), sample("b", 0)], eval=spec))
    assert account(records, by=["metric"]).planned == 2
    assert any("1 sample ids occur more than once in the header" in n for n in records.notes)


def test_composed_and_decomposed_ids_pair(write, make_log, log_parts):
    composed, apart = "caf\u00e9", "cafe\u0301"
    text = f"unit,model,score\n{composed},x,1\n{apart},y,0\nq,x,0\nq,y,1\n"
    records = read_log(write(text))
    pairs = records.counts(pair="model", on=["unit"])
    assert pairs.n == 2
    assert "1 labels of unit were put into Unicode's NFC, which made 1" in records.notes[-1]
    assert len(records.select(unit=apart)) == 2
    _, sample = log_parts
    logged = read_log(make_log([sample(composed, 1), sample(apart, 0), sample("q", 1)]))
    # Two samples are two rows, under one label, and a note says so.
    assert logged.factor("unit").values() == [composed, composed, "q"]
    assert any("NFC, which made 1 of them equal" in n for n in logged.notes)


def test_lone_surrogates_keep_ids_apart(write):
    text = '{"id":"a\\ud83d","score":1}\n{"id":"a\\ud83e","score":0}\n'
    assert len(read_log(write(text)).factor("unit").levels) == 2


@pytest.mark.parametrize("epochs", [10**7, 10**9, 2**38])
def test_a_plan_of_many_epochs_is_counted_and_not_listed(make_log, log_parts, epochs):
    header, sample = log_parts
    spec = header()["eval"] | {"config": {"epochs": epochs}}
    records = read_log(make_log([sample("a", 1), sample("b", 1), sample("a", 1, 3)], eval=spec))
    assert account(records, by=["metric"]).planned == 2 * epochs
    (loss,) = records.losses.entries
    assert (loss.n, loss.examples[:3]) == (2 * epochs - 3, ("a epoch 2", "b epoch 2", "b epoch 3"))


@pytest.mark.parametrize(
    "changes",
    [{"config": {"epochs": 2**40}}, {"config": {"epochs": 10**30}},
     {"dataset": {"samples": 2**63 - 1}}],
)  # fmt: skip
def test_an_absurd_plan_is_refused(make_log, log_parts, changes):
    header, sample = log_parts
    with pytest.raises(DataError, match=r"made\.eval: the header plans more than 1e\+12 trials"):
        read_log(make_log([sample("a", 1)], eval=header()["eval"] | changes))
    total = {"total_samples": 2**63 - 1, "scores": []}
    with pytest.raises(DataError, match=r"more than 1e\+12 trials"):
        read_log(make_log([sample("a", 1)], results=total))


def test_sparse_keys_become_no_columns(write, make_log, log_parts):
    rows = [{"id": f"q{k}", "score": 1, "arm": "x", "rare": "y"} if k == 9 else
            {"id": f"q{k}", "score": 1, "arm": "x"} | {f"k{k}.{j}": j for j in range(6)}
            for k in range(4_000)]  # fmt: skip
    path = write("\n".join(map(json.dumps, rows)))
    records = read_log(path)
    assert len(records.factors) < LABEL_COLUMNS_MAX + 20
    assert "arm" in records.factors
    assert any("of 23998 keys left out" in note for note in records.notes)
    assert read_log(path, map={"rare": "rare"}).factor("rare").levels == ("y",)
    _, sample = log_parts
    noisy = [sample(k, 1, metadata={"arm": "x"} | {f"k{k}.{j}": j for j in range(6)})
             for k in range(1_000)]  # fmt: skip
    records = read_log(make_log(noisy))
    assert records.factor("arm").levels == ("x",)
    assert len(records.factors) < LABEL_COLUMNS_MAX + 20
    assert any("metadata left out beyond the 200 commonest keys" in n for n in records.notes)


def test_more_metrics_than_can_be_meant_are_refused(write, make_log, log_parts):
    _, sample = log_parts
    path = make_log([sample(k, {f"m{k}.{j}": 1 for j in range(5)}) for k in range(600)])
    with pytest.raises(DataError, match=f"3000 metrics, more than the {METRICS_MAX}") as caught:
        read_log(path)
    assert len(str(caught.value)) < 1_000
    assert len(read_log(path, metric="match.m7.2").factor("metric").levels) == 1
    table = write("unit,metric,score\n" + "".join(f"q,m{k},1\n" for k in range(300)))
    with pytest.raises(DataError, match="column 'metric' has 300 levels"):
        read_log(table)


def test_a_table_of_very_many_columns_is_read_and_capped(write):
    names = [f"c{k}" for k in range(50_000)]
    cells = ["1"] * len(names)
    text = f"unit,score,{','.join(names)}\n" + "".join(
        f"q{k},1,{','.join(cells)}\n" for k in range(3)
    )
    records = read_log(write(text), map={"c49999": "c49999"})
    assert LABEL_COLUMNS_MAX <= len(records.factors) < LABEL_COLUMNS_MAX + 10
    assert "c49999" in records.factors
    assert any("columns left out after the first 200" in note for note in records.notes)


def test_a_mapped_source_of_several_files_is_no_fault(write):
    one = write("src,run,unit,score\na,r,q1,1\nb,r,q2,0\n", "1.csv")
    two = write("src,run,unit,score\nc,r,q1,1\nd,r,q2,0\n", "2.csv")
    records = read_logs([one, two], map={"source": "src"})
    assert records.factor("source").levels == ("a", "b", "c", "d")


@pytest.mark.parametrize("depth", [300, 600, 900, 5_000])
def test_deep_nesting_beside_a_nan_is_one_line(write, make_log, log_parts, depth):
    nest = "[" * depth + "]" * depth
    path = write('{"id":"a","score":1,"x":NaN,"y":' + nest + '}\n{"id":"b","score":0}\n')
    log = write('{"eval":{"task":"t","model":"m","task_args":{"x":NaN,"y":' + nest + "}},"
                '"status":"success","samples":[]}', "log")  # fmt: skip
    for file in (path, log):
        records, refusal = attempt(file)
        assert records is not None or "nested too deeply" in refusal


def test_odd_numbers_in_a_log_are_no_fault(make_log, log_parts):
    header, sample = log_parts
    spec = header()["eval"] | {"packages": {"inspect_ai": "\u00b2.3.1"}}
    assert len(read_log(make_log([sample("a", {"x": None})], eval=spec))) == 1
    usage = {"m": {"input_tokens": 10**400}}
    with pytest.raises(DataError, match="tokens_in holds a number beyond 1e308"):
        read_log(make_log([sample("a", 1, model_usage=usage)]))


def test_journal_members_of_endless_numbers_are_read_in_order(zips, log_parts, tmp_path):
    entry, write_zip = zips
    header, sample = log_parts
    start = json.dumps({"eval": header()["eval"]}).encode()
    names = ["9" * 5_000, "1" + "0" * 5_000, "2"]
    parts = [json.dumps([sample("a", value)]).encode() for value in (0, 1, 0)]
    path = tmp_path / "x.eval"
    path.write_bytes(write_zip([
        entry("_journal/start.json", start),
        *(entry(f"_journal/summaries/{n}.json", p) for n, p in zip(names, parts, strict=True)),
    ]))  # fmt: skip
    records = read_log(path)
    assert records.select(unit="a").numbers["value"].tolist() == [1.0]


def test_ids_of_thousands_of_digits_are_labels(write):
    long = "7" * 200
    records = read_log(write(f"id,score\nq{long},1\nq{long}1,0\n"))
    assert records.factor("id").levels == (f"q{long}", f"q{long}1")
