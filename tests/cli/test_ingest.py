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
