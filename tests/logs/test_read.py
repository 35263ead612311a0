"""Files, folders and globs: told by content, stacked in order, refused together."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError, SimtrackError
from simtrack.logs import inventory, read_log, read_logs
from simtrack.records import account


@pytest.mark.parametrize(
    "name", ["stage_reports.eval", "stage_reports.json", "fates.eval", "failed.eval"]
)
def test_the_name_of_a_file_is_no_matter(fixtures, tmp_path, name):
    renamed = tmp_path / "export (1).txt"
    shutil.copy(fixtures / name, renamed)
    ours, theirs = read_log(renamed), read_log(fixtures / name)
    assert ours.factor("unit").values() == theirs.factor("unit").values()
    assert ours.factor("source").levels == ("export (1).txt",)


def test_a_folder_is_read_whole_and_other_files_are_noted(fixtures, tmp_path):
    for name in ("failed.eval", "left_out.eval"):
        shutil.copy(fixtures / name, tmp_path / name)
    (tmp_path / "notes.json").write_text('{"a":\n 1}')
    (tmp_path / "logs.json").write_text("{}")
    (tmp_path / ".hidden").write_text("x")
    records = read_logs(tmp_path)
    assert records.factor("source").levels == ("failed.eval", "left_out.eval")
    assert len(records) == 4 + 10
    table = account(records, by=["source", "metric"])
    assert [row.planned for row in table.rows] == [6, 10]
    assert table.unplaced == ()
    assert "notes.json: a JSON object with the keys a" in records.notes[-1]
    assert read_logs(str(tmp_path / "*.eval")).factor("source").levels == (
        "failed.eval",
        "left_out.eval",
    )


def test_files_of_one_name_are_told_apart(fixtures, tmp_path):
    for folder, name in (("a", "failed.eval"), ("b", "fates.eval")):
        (tmp_path / folder).mkdir()
        shutil.copy(fixtures / name, tmp_path / folder / "run.eval")
    records = read_logs(tmp_path)
    assert records.factor("source").levels == ("a/run.eval", "b/run.eval")


def test_files_that_cannot_be_read_are_refused_together(fixtures, tmp_path):
    shutil.copy(fixtures / "failed.eval", tmp_path / "good.eval")
    (tmp_path / "cut.eval").write_bytes((fixtures / "failed.eval").read_bytes()[:500])
    (tmp_path / "empty.eval").write_bytes(b"")
    with pytest.raises(DataError) as caught:
        read_logs(tmp_path)
    message = str(caught.value)
    assert message.startswith("2 of 3 files are refused. cut.eval: truncated: ")
    assert " | empty.eval: empty: " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("absent.eval", "absent.eval: does not exist"),
        ("*.nothing", "no file matches"),
        ("folder", "the folder holds no file"),
    ],
)
def test_nothing_to_read_is_refused(tmp_path, given, words):
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=words):
        read_logs([tmp_path / given])


def test_a_folder_given_as_a_file_says_so(tmp_path):
    with pytest.raises(DataError, match="is a folder: use read_logs"):
        read_log(tmp_path)


def test_a_folder_without_a_log_says_what_it_holds(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(
        DataError, match=r"no log among 1 files: table.csv: no column holds a score"
    ):
        read_logs(tmp_path)


def test_reading_imports_neither_inspect_nor_pandas_nor_scipy(fixtures):
    code = (
        "import sys; from simtrack.logs import read_log; "
        f"read_log({str(fixtures / 'stage_reports.eval')!r}); "
        "print([m for m in ('inspect_ai', 'pandas', 'scipy', 'xarray') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_inventory_counts_and_refuses(fixtures, tmp_path):
    shutil.copytree(
        fixtures, tmp_path / "logs", ignore=shutil.ignore_patterns("*.py*", "stage_replies*")
    )
    (tmp_path / "logs" / "cut.eval").write_bytes((fixtures / "fates.eval").read_bytes()[:900])
    (tmp_path / "other.json").write_text('{"simulations":\n []}')
    rows = {row.file: row for row in inventory([tmp_path])}
    assert sorted(rows) == [
        "logs/cut.eval",
        "logs/failed.eval",
        "logs/fates.eval",
        "logs/left_out.eval",
        "logs/stage_reports.eval",
        "logs/stage_reports.json",
    ]
    assert rows["logs/cut.eval"].refusal.startswith("truncated: ")
    fates = rows["logs/fates.eval"]
    assert (fates.planned, fates.rows, fates.scored, fates.early_stopped) == (18, 17, 8, 1)
    assert rows["logs/left_out.eval"].rate == pytest.approx(4 / 6)
    # Ours: 4 of the 8 scored rows. Inspect 0.3.285 takes the mean of 6 ids, with the errored id
    # (scored on error, 1) and the invalidated sample (1) among them: 4 of 6.
    assert (fates.rate, fates.header_rate) == (0.5, pytest.approx(4 / 6))
    assert [name for name, row in rows.items() if row.disagrees] == ["logs/fates.eval"]
    assert rows["logs/failed.eval"].to_dict()["header_rate"] is None


def test_a_named_file_that_is_no_inspect_log_has_a_row(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,score\n1,1\n")
    assert inventory([path])[0].refusal == "not an Inspect log"


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_damaged_log_is_refused_or_adds_up(fixtures, tmp_path_factory, data):
    """Flip bytes of a real log and cut it: one line of refusal, or all rows as they were."""
    whole = bytearray((fixtures / "left_out.eval").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    path = tmp_path_factory.mktemp("mutant") / "left_out.eval"
    path.write_bytes(bytes(whole[:cut]))
    try:
        records = read_log(path)
    except SimtrackError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert "\n" not in refusal
    if refusal:
        return
    wanted = read_log(fixtures / "left_out.eval")
    have = dict(zip(wanted.factor("unit").values(), wanted.numbers["value"].tolist(), strict=True))
    for unit, value in zip(
        records.factor("unit").values(), records.numbers["value"].tolist(), strict=True
    ):
        assert value == have[unit] or math.isnan(value)
    assert account(records).planned == 10


def test_a_metric_may_be_absent_from_some_files(fixtures):
    logs = [fixtures / "failed.eval", fixtures / "stage_reports.eval"]
    records = read_logs(logs, metric="letter")
    assert records.factor("source").compact().levels == ("stage_reports.eval",)
    assert "1 file has no metric letter: failed.eval" in records.notes
    with pytest.raises(InputError, match="metric must be one of"):
        read_logs(logs, metric="lettre")


def test_refused_files_can_be_skipped_and_are_noted(fixtures, tmp_path):
    (tmp_path / "torn.eval").write_bytes((fixtures / "failed.eval").read_bytes()[:900])
    shutil.copy(fixtures / "failed.eval", tmp_path / "whole.eval")
    with pytest.raises(DataError, match=r"torn\.eval: truncated"):
        read_logs(tmp_path)
    records = read_logs(tmp_path, skip_refused=True)
    assert any(n.startswith("skipped, with all trials in it: torn.eval") for n in records.notes)


def test_a_repeated_trial_in_a_table_is_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("unit,epoch,value\na,1,1\na,1,1\nb,1,0\n")
    notes = read_logs(path).notes
    assert any("1 trial repeats another in unit, repetition" in note for note in notes)


@pytest.mark.parametrize("column", ["scenario", "dataset", "prompt", "seed"])
def test_trials_that_a_column_tells_apart_are_no_repeats(tmp_path, column):
    rows = [f"{level},{q},1,{k % 2}" for level in ("s0", "s1") for k, q in enumerate("abc")]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"{column},unit,epoch,value", *rows]) + "\n")
    assert not any("repeat" in note for note in read_logs(path).notes)
    path.write_text("\n".join([f"{column},unit,epoch,value", *rows, rows[4]]) + "\n")
    told = f"1 trial repeats another in {column}, unit, repetition and counts again"
    assert any(f"{told} (first: {column}=s1" in note for note in read_logs(path).notes)


def test_settings_beside_logs_are_no_tables_and_are_told(tmp_path):
    (tmp_path / "a.csv").write_text("task,passed\na,1\nb,0\n", encoding="utf-8")
    (tmp_path / "p.toml").write_text("# a, comment\nencoding = 1\n", encoding="utf-8")
    records = read_logs(tmp_path)
    assert len(records) == 2
    assert any(note.startswith("p.toml: no table of scores: line 2") for note in records.notes)
    with pytest.raises(DataError, match=r"p\.toml: no table of scores: line 2 has 1 cells"):
        read_logs(tmp_path / "p.toml")
    (tmp_path / "b.csv").write_text("task,passed\na,1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.csv: line 2 .*The other files alone: --skip-refused"):
        read_logs(tmp_path)
