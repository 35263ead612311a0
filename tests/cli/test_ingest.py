"""`simtrack ingest`: many logs become one table, and what it says of them is what they said."""

from __future__ import annotations

import re

import pytest

from simtrack.logs import read_log, read_logs
from simtrack.records import account

SUFFIXES = [".csv", ".jsonl", ".parquet"]
HEAD_OF_ZIP = b"PK\x03\x04 and no more"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_table_is_what_the_logs_are(simtrack, logs, tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    done = simtrack("ingest", str(logs / "fates.eval"), str(logs / "failed.eval"),
                    "-o", f"t{suffix}")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    wanted = read_logs([logs / "fates.eval", logs / "failed.eval"])
    found = read_log(tmp_path / f"t{suffix}")
    assert found.losses == wanted.losses
    assert found.notes == wanted.notes
    assert account(found, by=["metric", "source"]) == account(wanted, by=["metric", "source"])
    for name, factor in wanted.factors.items():
        assert found.factors[name].values() == factor.values()
    for name, numbers in wanted.numbers.items():
        assert str(found.numbers[name].tolist()) == str(numbers.tolist())


def test_scoring_the_table_gives_what_scoring_the_log_gives(simtrack, logs):
    log = str(logs / "fates.eval")
    simtrack("ingest", log, "-o", "t.csv")
    wanted, found = simtrack("score", log, "--json").json, simtrack("score", "t.csv", "--json").json
    for report in (wanted, found):  # a table keeps the codes of notes, not the file each is of
        report["notes"] = [{**note, "where": ""} for note in report["notes"]]
    assert found == wanted


def test_planned_is_printed_as_scored_plus_every_loss(simtrack, logs):
    done = simtrack("ingest", str(logs / "fates.eval"), "-o", "t.csv")
    rows = [line.split() for line in done.out.splitlines() if re.fullmatch(r"\S+( +\d+)+", line)]
    assert rows
    for _, planned, *parts in rows:
        assert int(planned) == sum(map(int, parts))


def test_a_damaged_file_is_refused_noted_or_salvaged(simtrack, logs, tmp_path):
    whole = (logs / "stage_reports.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) * 7 // 10])
    (tmp_path / "bad.eval").write_bytes(HEAD_OF_ZIP)
    done = simtrack("ingest", "cut.eval", "bad.eval", "-o", "t.csv")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "2 of 2 files are refused. cut.eval, bad.eval: truncated" in done.err
    assert "--salvage" in done.err
    assert not (tmp_path / "t.csv").exists()
    done = simtrack("ingest", "cut.eval", "bad.eval", "-o", "t.csv", "--salvage", "--skip-refused")
    assert done.code == 0
    assert "skipped, with all trials in it: bad.eval" in done.out
    metric = account(read_log(tmp_path / "t.csv"), by=["metric"]).rows[0]
    assert metric.planned == 12
    assert 0 < metric.n("missing") < 12


def test_every_verb_that_reads_can_salvage(simtrack, logs, tmp_path):
    whole = (logs / "stage_reports.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) * 7 // 10])
    refused = simtrack("score", "cut.eval")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    found = simtrack("score", "cut.eval", "--salvage", "--json").json["metrics"][0]
    (row,) = found["accounting"]
    assert (row["planned"], row["scored"], row["missing"]) == (12, 10, 2)
    assert "--salvage" in simtrack("test", "--help").out


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("t.xlsx", "output must be a name ending in .csv, .jsonl, .parquet, got 't.xlsx'."),
        ("no/t.csv", "output must be in a folder that exists, got no. Make the folder first."),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(simtrack, output, message):
    done = simtrack("ingest", "absent.eval", "-o", output)
    assert (done.code, done.err) == (2, f"simtrack: {message}\n")


def test_without_pyarrow_the_extra_is_named(simtrack, logs, monkeypatch, tmp_path):
    monkeypatch.setattr("simtrack.cli.table_parts.find_spec", lambda name: None)
    done = simtrack("ingest", str(logs / "fates.eval"), "-o", "t.parquet")
    assert done.code == 2
    assert done.err == (
        "simtrack: pyarrow is not installed. Run: python -m pip install 'simtrack[parquet]'\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.shared
def test_all_public_logs_become_one_table_that_loses_no_trial(simtrack, shared, tmp_path):
    folder = str(shared / "logs" / "public")
    done = simtrack("ingest", folder, "--salvage", "--skip-refused", "-o", "t.csv")
    assert done.code == 0
    wanted = read_logs(folder, salvage=True, skip_refused=True)
    found = read_log(tmp_path / "t.csv")
    assert account(found) == account(wanted)
    assert found.notes == wanted.notes


def test_logs_are_not_written_over_and_the_table_of_last_time_is_replaced(simtrack, logs, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "failed.eval").write_bytes((logs / "failed.eval").read_bytes())
    table = "item,correct\nq1,1\nq2,0\n"
    (tmp_path / "runs" / "scores.csv").write_text(table, "utf-8")
    for given in (["runs"], ["runs/scores.csv"], ["runs/*.csv"], ["runs/../runs/scores.csv"]):
        for verb in ("ingest", "export"):
            done = simtrack(verb, *given, "-o", "runs/scores.csv")
            assert (done.code, done.out) == (2, "")
            assert "output must be another file than those that are read" in done.err
    assert (tmp_path / "runs" / "scores.csv").read_text("utf-8") == table
    first = simtrack("ingest", "runs", "-o", "runs/all.csv")
    assert "6 rows of 2 sources" in first.out
    again = simtrack("ingest", "runs", "-o", "runs/all.csv")
    assert "6 rows of 2 sources" in again.out
    assert "runs/all.csv is left out of what is read" in again.out
    assert read_log(tmp_path / "runs" / "all.csv").numbers["value"].size == 6
    assert first.out in again.out.replace("Note: runs/all.csv is left out of what is read\n", "")
    assert simtrack("ingest", "runs/all.csv", "-o", "runs/all.csv").code == 2


def test_latest_is_an_option_of_every_verb_that_reads(simtrack, logs, tmp_path):
    for name in ("failed.eval", "stage_reports.eval"):
        (tmp_path / name).write_bytes((logs / name).read_bytes())
    (tmp_path / "cut.eval").write_bytes((logs / "stage_reports.eval").read_bytes()[:9000])
    for verb in (("ingest", "-o", "t.csv"), ("export", "-o", "t.csv"), ("score",)):
        plain = simtrack(verb[0], *verb[1:], "--salvage", "cut.eval", "stage_reports.eval")
        kept = simtrack(verb[0], *verb[1:], "--salvage", "--latest", "cut.eval",
                        "stage_reports.eval")  # fmt: skip
        assert (plain.code, kept.code) == (0, 0)
        if verb[0] != "export":
            assert "count 2 times" in plain.out
            assert "cut.eval: left out, scores " in kept.out
            assert "count 2 times" not in kept.out
    assert simtrack("score", "failed.eval", "--scheme", "stageif", "--latest").code == 2


def test_one_row_is_one_row(simtrack, tmp_path):
    (tmp_path / "t.csv").write_text("id,score\nq1,1\n", "utf-8")
    assert simtrack("ingest", "t.csv", "-o", "a.csv").out.startswith("a.csv: 1 row of 1 source\n")
    assert simtrack("export", "a.csv", "-o", "b.csv").out == "b.csv: 1 row\n"
