"""`simtrack export`: the same table in another file, and logs that Inspect itself opens."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.counts import Loss, Losses
from simtrack.errors import DataError
from simtrack.logs import read_log, write_inspect, write_trials
from simtrack.records import Records, account

# Four standard errors: one fixed seed, and a wrong rate would lie ten and more away.
SAMPLING_SE = 4
FATES = ("scored", "unscored", "errored", "limited", "invalidated", "missing", "early-stopped")


def opened_by_inspect(path):
    """Read a log with Inspect's own reader; skipped where it is not installed."""
    log = pytest.importorskip("inspect_ai.log")
    return log.read_eval_log(str(path))


def cells(records, *names):
    """Give (unit, epoch, metric, status, value, ...) of every row, in order of the labels."""
    columns = ("unit", "repetition", "metric", "status", *names)
    labels = [records.factors[name].values() if len(records) else [] for name in columns]
    return sorted(zip(*labels, map(str, records.numbers["value"]), strict=True))


def test_records_exported_and_ingested_are_the_same(simtrack, logs, tmp_path):
    simtrack("ingest", str(logs / "fates.eval"), "-o", "a.jsonl")
    for source, target in (("a.jsonl", "b.csv"), ("b.csv", "c.jsonl")):
        assert simtrack("export", source, "-o", target).code == 0
    simtrack("ingest", "c.jsonl", "-o", "d.jsonl")
    assert (tmp_path / "d.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


@pytest.mark.parametrize(
    "name", ["fates.eval", "failed.eval", "stage_reports.eval", "left_out.eval"]
)
def test_a_log_written_anew_holds_what_the_log_held(simtrack, logs, tmp_path, name):
    done = simtrack("export", str(logs / name), "-o", "anew.json")
    assert (done.code, done.err) == (0, "")
    wanted, found = read_log(logs / name), read_log(tmp_path / "anew.json")
    assert cells(found) == cells(wanted)
    assert account(found, by=["metric"]) == account(wanted, by=["metric"])
    assert whys(found) == whys(wanted)
    extra = set(wanted.factors) - {"source", "reason"}
    for column in extra:
        assert sorted(map(str, found.factors[column].values())) == sorted(
            map(str, wanted.factors[column].values())
        )
    for column in wanted.numbers:
        assert sorted(map(str, found.numbers[column])) == sorted(map(str, wanted.numbers[column]))


@pytest.mark.parametrize("name", ["fates.eval", "failed.eval", "stage_reports.eval"])
def test_inspect_opens_what_is_written(simtrack, logs, tmp_path, name):
    simtrack("export", str(logs / name), "-o", "anew.json")
    log = opened_by_inspect(tmp_path / "anew.json")
    wanted = read_log(logs / name)
    scored = wanted.factors["status"].values()
    first = wanted.factors["metric"].levels[0]
    values = {
        (sample.id, str(sample.epoch)): sample.scores[first].value
        for sample in log.samples
        if first in (sample.scores or {})
    }
    rows = zip(wanted.factors["unit"].values(), wanted.factors["repetition"].values(),
               wanted.factors["metric"].values(), scored, wanted.numbers["value"],
               strict=True)  # fmt: skip
    assert values == {(u, r): v for u, r, m, s, v in rows if s == "scored" and m == first}
    errored = {s.id for s in log.samples if s.error is not None}
    units = wanted.factors["unit"].values()
    assert errored == {u for u, s in zip(units, scored, strict=True) if s == "errored"}


def whys(records):
    """Give (status, unit, epoch, reason) of what was errored."""
    names = ("status", "unit", "repetition", "reason")
    rows = zip(*(records.factors[name].values() for name in names), strict=True)
    return sorted(row for row in rows if row[0] == "errored")


@st.composite
def trial_tables(draw):
    """Draw a table of units, epochs and metrics in which whole trials meet every fate."""
    units = draw(st.lists(st.sampled_from(["q1", "q2", "=1+1", "é", "a,b", "x\ny", "<b>", "0"]),
                          min_size=1, max_size=4, unique=True))  # fmt: skip
    epochs, metrics = draw(st.integers(1, 3)), draw(st.sampled_from([["m"], ["m", "n.k"]]))
    rows = []
    for unit in units:
        cluster = draw(st.sampled_from(["c1", "c 2", "漢", ""]))
        for epoch in range(1, epochs + 1):
            fate = draw(st.sampled_from(FATES))
            rows += [(unit, str(epoch), cluster, m, fate, draw(st.sampled_from([0.0, 1.0, 0.25])))
                     for m in metrics]  # fmt: skip
    unit, epoch, cluster, metric, status, value = zip(*rows, strict=True)
    value = [v if s == "scored" else None for v, s in zip(value, status, strict=True)]
    made = Records.from_columns(
        {"unit": unit, "repetition": epoch, "cluster": cluster, "metric": metric,
         "status": status, "value": value, "tokens_in": [7.0] * len(rows),
         "weight": [0.5] * len(rows)},
        levels={"metric": metrics},
    )  # fmt: skip
    lost = draw(st.integers(0, 3))
    losses = Losses.of(Loss("missing", lost, "cut", (("metric", m),)) for m in metrics)
    return Records(made.factors, made.numbers, losses)


@settings(deadline=None)
@given(records=trial_tables())
def test_any_table_of_trials_is_read_back_from_a_log(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("e") / "log.json"
    assert write_inspect(records, path) == ()
    found = read_log(path)
    left = np.isin(records.factors["status"].values(), ["missing", "early-stopped"])
    assert cells(found, "cluster") == cells(records.take(~left), "cluster")
    assert account(found, by=["metric"]).rows == account(records, by=["metric"]).rows
    assert set(found.numbers["tokens_in"]) <= {7.0}
    assert set(found.numbers["weight"]) <= {0.5} if len(found) else True


ARMS = Records.from_columns(
    {"scenario": ["s"] * 4, "arm": ["x", "x", "y", "y"], "repetition": ["1", "2"] * 2,
     "outcome": ["PASS", "FAIL", "PASS", "PASS"]}
)  # fmt: skip


def test_repetitions_that_number_no_epochs_come_back_from_metadata(tmp_path):
    (note,) = write_inspect(ARMS, tmp_path / "log.json")
    assert "epochs are counted" in note
    found = read_log(tmp_path / "log.json")
    for name in ("scenario", "arm", "repetition"):
        assert found.factors[name].values() == ARMS.factors[name].values()
    assert found.numbers["value"].tolist() == [1, 0, 1, 1]
    assert [s.epoch for s in opened_by_inspect(tmp_path / "log.json").samples] == [1, 2, 3, 4]


def test_outcomes_of_several_kinds_become_one_score_each(tmp_path):
    records = Records.from_columns({"unit": ["a", "b"], "outcome": ["CLEAN", "MISS"]})
    write_inspect(records, tmp_path / "log.json")
    found = read_log(tmp_path / "log.json", metric="score.CLEAN")
    assert found.numbers["value"].tolist() == [1, 0]


def test_a_run_that_left_no_row_is_a_plan_without_samples(tmp_path):
    lost = Losses((Loss("missing", 20, "cut", (("metric", "m"),)),))
    write_inspect(Records({}, {"value": np.empty(0)}, lost), tmp_path / "log.json")
    found = account(read_log(tmp_path / "log.json"), by=["metric"])
    assert [(row.labels, row.planned, row.n("missing")) for row in found.rows] == [(("m",), 20, 20)]
    assert opened_by_inspect(tmp_path / "log.json").results.total_samples == 20


def test_what_a_log_cannot_hold_is_told(tmp_path):
    records = Records.from_columns(
        {"unit": ["a", "a", "b"], "metric": ["m", "n", "m"], "value": [1, None, None],
         "status": ["scored", "errored", "infrastructure"]}
    )  # fmt: skip
    with pytest.raises(DataError, match="1 of 2 trials have no row for some of the 2 metrics"):
        write_inspect(records, tmp_path / "log.json")
    assert write_inspect(records.select(unit="a"), tmp_path / "log.json") == ()
    assert read_log(tmp_path / "log.json").factors["status"].values() == ["scored", "errored"]
    lost = Losses((Loss("unpaired", 3, "in one arm only"),))
    odd = Records(ARMS.factors, ARMS.numbers, lost)
    told = write_inspect(odd, tmp_path / "log.json")
    assert told[0] == "3 unpaired rows, which are no trials, are left out"
    assert account(read_log(tmp_path / "log.json")).planned == len(ARMS)


def test_a_log_that_claims_the_columns_of_another_is_read_all_the_same(tmp_path):
    write_inspect(ARMS, tmp_path / "log.json")
    log = json.loads((tmp_path / "log.json").read_text("utf-8"))
    hostile = {"labels": ["status", "value", "tokens_in", 3, "arm"], "numbers": ["arm", "unit"]}
    for claim in (hostile, [], "x", {"labels": "arm", "numbers": None}):
        log["eval"]["metadata"]["simtrack_columns"] = claim
        (tmp_path / "log.json").write_text(json.dumps(log), "utf-8")
        assert read_log(tmp_path / "log.json").numbers["value"].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("seed", ["0", "7"])
def test_a_simulated_log_opens_in_inspect_and_scores_as_the_table_does(simtrack, tmp_path, seed):
    for name in ("log.json", "table.csv"):
        assert simtrack("simulate", "--clusters", "9", "--seed", seed, "-o", name).code == 0
    ask = ("--by", "arm", "--cluster", "scenario", "--json")
    log, table = (simtrack("score", name, *ask).json for name in ("log.json", "table.csv"))
    assert log["metrics"][0]["estimates"]["rows"] == table["metrics"][0]["estimates"]["rows"]
    ask = ("--compare", "first", "second", "--cluster", "scenario", "--json")
    log, table = (simtrack("test", name, *ask).json for name in ("log.json", "table.csv"))
    assert log["rows"] == table["rows"]
    assert len(opened_by_inspect(tmp_path / "log.json").samples) == 90


def test_a_simulated_log_scores_as_the_truth_it_was_drawn_from(simtrack):
    arguments = ("--clusters", "300", "--rate", "0.8", "--drop", "0.2", "-o", "log.json")
    assert simtrack("simulate", *arguments).code == 0
    found = simtrack("score", "log.json", "--by", "arm", "--cluster", "scenario", "--json").json
    rows = {row["labels"]["arm"]: row for row in found["metrics"][0]["estimates"]["rows"]}
    for arm, truth in (("first", 0.8), ("second", 0.6)):
        assert abs(rows[arm]["rate"] - truth) < SAMPLING_SE * rows[arm]["clustered_se"]


def test_counts_are_netcdf_with_their_losses(simtrack, logs, tmp_path):
    import xarray as xr

    done = simtrack("export", str(logs / "fates.eval"), "--by", "metric", "-o", "counts.nc")
    assert (done.code, done.err) == (0, "")
    wanted = read_log(logs / "fates.eval").counts(by=["metric"])
    with xr.open_dataset(tmp_path / "counts.nc", engine="h5netcdf") as found:
        assert int(found["counts"].sum()) == wanted.n
        assert found["counts"].sel(outcome="PASS").sum() == wanted.cells[:, 1].sum()
        assert sum(x["n"] for x in json.loads(found.attrs["losses"])) == wanted.losses.total()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "-o", "t.xlsx"],
         "output must be a name ending in .csv, .jsonl, .parquet, .json, .nc, got 't.xlsx'."),
        (["t.csv", "-o", "no/t.csv"],
         "output must be in a folder that exists, got no. Make the folder first."),
        (["t.csv", "-o", "u.csv", "--by", "unit"],
         "--by and --cluster must be left out but for .nc, which holds counts."),
        (["cut.jsonl", "-o", "u.csv"],
         "cut.jsonl: the last row, which describes the table, is missing. Write it anew with "
         "simtrack ingest, or drop the column simtrack_trials to read what is left."),
        (["plain.csv", "-o", "u.json"],
         "no column names the samples of a log (one of unit, cluster, scenario, item, task_id). "
         "Write .csv, .jsonl or .parquet, or name one: simtrack ingest --map unit=COLUMN."),
    ],
)  # fmt: skip
def test_refusals_are_one_line_and_write_nothing(simtrack, tmp_path, arguments, message):
    table = Records.from_columns({"unit": ["a"], "value": [1]})
    write_trials(table, tmp_path / "t.csv")
    path = write_trials(table, tmp_path / "cut.jsonl")
    path.write_text(path.read_text("utf-8").splitlines(keepends=True)[0] * 2, "utf-8")
    (tmp_path / "plain.csv").write_text("value,colour\n1,red\n", "utf-8")
    before = sorted(tmp_path.iterdir())
    done = simtrack("export", *arguments)
    assert (done.code, done.out, done.err) == (2, "", f"simtrack: {message}\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.shared
def test_public_logs_written_anew_account_for_the_same_trials(shared, tmp_path):
    folder = shared / "logs" / "public" / "sierra-research__tau-bench"
    wanted = read_log(folder / "gpt-4o-airline.json")
    write_inspect(wanted, tmp_path / "log.json")
    found = read_log(tmp_path / "log.json")
    assert found.factors["unit"].values() == wanted.factors["unit"].values()
    assert found.factors["repetition"].values() == wanted.factors["repetition"].values()
    assert found.numbers["value"].tolist() == wanted.numbers["value"].tolist()
    assert len(opened_by_inspect(tmp_path / "log.json").samples) == 200


def test_counts_of_several_metrics_name_the_option_that_chooses(simtrack, tmp_path):
    (tmp_path / "t.csv").write_text("id,metric,score\nq1,m,1\nq1,n,0\nq2,m,1\n", "utf-8")
    done = simtrack("export", "t.csv", "-o", "c.nc")
    assert done.code == 2
    assert "Choose one with --metric, or add --by metric." in done.err
    assert "select(" not in done.err
    assert simtrack("export", "t.csv", "-o", "c.nc", "--metric", "m").code == 0
    assert simtrack("export", "t.csv", "-o", "c.nc", "--by", "metric").code == 0


def test_what_was_skipped_or_left_out_is_told_where_logs_are_exported(simtrack, logs, tmp_path):
    (tmp_path / "a.eval").write_bytes((logs / "failed.eval").read_bytes())
    (tmp_path / "empty.eval").write_bytes(b"")
    done = simtrack("export", ".", "--skip-refused", "-o", "t.csv")
    assert "Note: skipped, with all trials in it: empty.eval: empty" in done.out
    assert simtrack("export", "t.csv", "-o", "u.csv").out.count("\n") == 1
