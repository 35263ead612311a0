"""A trial table written as a file is the same table when it is read."""

from __future__ import annotations

import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.agents import PairedAgent
from simtrack.counts import Factor, Loss, Losses
from simtrack.design import Design
from simtrack.errors import DataError, InputError
from simtrack.logs import read_log, read_logs, trials_text, write_trials
from simtrack.options import Status
from simtrack.records import Records, account

LABEL = st.one_of(st.none(), st.sampled_from(["a", "b", "NA", "None", "=1+1", "x,y", 'q"r', "é"]))
ROWS = st.lists(
    st.tuples(
        LABEL,
        LABEL,
        st.sampled_from([0, 1, 0.5]),
        st.sampled_from(["scored", "errored", "limited"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@given(rows=ROWS)
def test_there_and_back(tmp_path_factory, suffix, rows):
    unit, model, value, status = zip(*rows, strict=True)
    values = [v if s == "scored" else None for v, s in zip(value, status, strict=True)]
    records = Records.from_columns(
        {"unit": unit, "model": model, "value": values, "status": status}
    )
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    path.write_text(trials_text(records, suffix), encoding="utf-8", newline="")
    back = read_log(path)
    for name in ("unit", "model", "status"):
        assert back.factors[name].values() == records.factors[name].values()
    assert str(back.numbers["value"].tolist()) == str(records.numbers["value"].tolist())
    assert account(back).rows == account(records).rows


def test_a_simulated_study_is_scored_as_it_was_drawn(tmp_path):
    design = Design(5, 4, {"arm": ("new", "old")})
    agent = PairedAgent(0.7, icc=0.2, effect=1.0)
    path = tmp_path / "rehearsal.csv"
    path.write_text(trials_text(agent.records(design, 3)), encoding="utf-8")
    counts = read_log(path).counts(cluster="scenario", by=["arm"])
    assert counts.cells.tolist() == agent.counts(design, 1, 3).counts(0).cells.tolist()


def test_another_ending_is_refused():
    with pytest.raises(InputError, match=r"ending in \.csv, \.jsonl or \.parquet"):
        trials_text(Records.from_columns({"unit": ["a"], "value": [1]}), ".xlsx")


ODD = [
    "", " ", "=1+1", "+cmd", "-1", "-1+2", "@x", "\t=1", "\r", "\n", "a\r\nb", "'", "''", "'=1",
    "'\"", '"', 'q"r', "a,b", "a;b", "\u2028", "\u0085", "\ufeff", "\x00", "\ud800", "e\u0301",
    "\u00e9", "NA", "None", "null", "1", "1.0", "true", "q2", "q10", "\uff1d1", "<b>", "\u6f22",
    "\U0001f600", '{"table": 1}', "trial", "x" * 300,
]  # fmt: skip
ANY_LABEL = st.one_of(st.none(), st.sampled_from(ODD), st.text(max_size=4))
NAMES = st.lists(
    st.one_of(
        st.sampled_from(["unit", "repetition", "model", "metric", "reason", "source", "spec", "id",
                         "score", "outcome", "=2", "", " a", "a", "a,b", "x\ny", "simtrack_trials",
                         "doc_id", "resps", "column.2", "e\u0301", "\ud800", "cluster", "trial"]),
        st.text(max_size=3),
    ),
    unique=True, max_size=6,
)  # fmt: skip
NUMBER = st.one_of(st.just(float("nan")), st.floats(), st.sampled_from([0.0, -0.0, 0.1, 2.0**53]))
STATUS = st.sampled_from(["scored", "unscored", "errored", "early-stopped", "invalidated"])
LOSS = st.builds(
    Loss,
    st.sampled_from(["missing", "errored", "unpaired"]),
    st.integers(1, 10**9),
    st.sampled_from(ODD),
    st.dictionaries(st.sampled_from(["metric", "unit", "b"]), st.sampled_from(ODD)).map(
        lambda found: tuple(found.items())
    ),
    st.lists(st.sampled_from(ODD), max_size=5).map(tuple),
)  # fmt: skip


@st.composite
def tables(draw):
    """Draw a trial table such as nobody would make."""
    rows = draw(st.integers(0, 5))
    names = draw(NAMES)
    split = draw(st.integers(0, len(names)))

    def column(values):
        return draw(st.lists(values, min_size=rows, max_size=rows))

    factors = {}
    for name in names[:split]:
        labels = column(ANY_LABEL)
        extra = draw(st.lists(st.sampled_from(ODD), max_size=2))
        levels = draw(st.permutations(sorted({*extra, *(v for v in labels if v is not None)})))
        natural = draw(st.booleans())
        factors[name] = Factor.from_values(labels, None if natural else levels)
    factors["status"] = Factor.from_values(column(STATUS))
    numbers = {n: np.array(column(NUMBER), dtype=float) for n in names[split:]}
    numbers["value"] = np.array(column(NUMBER), dtype=float)
    return Records(
        factors,
        numbers,
        Losses(tuple(draw(st.lists(LOSS, max_size=3)))),
        draw(st.sampled_from([{}, {"cluster": "family"}])),
        draw(st.sampled_from(["trial", "aggregate"])),
        tuple(draw(st.lists(st.sampled_from(["a note", "=note", "\u00e9"]), max_size=2))),
    )


def the_same(found, wanted):
    assert list(found.factors) == list(wanted.factors)
    assert list(found.numbers) == list(wanted.numbers)
    for name, factor in wanted.factors.items():
        assert found.factors[name].levels == factor.levels
        assert found.factors[name].codes.tolist() == factor.codes.tolist()
    for name, column in wanted.numbers.items():
        assert list(map(str, found.numbers[name])) == list(map(str, column))
    for part in ("losses", "parents", "kind", "notes"):
        assert getattr(found, part) == getattr(wanted, part)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@settings(deadline=None)
@given(records=tables())
def test_writing_and_reading_is_the_identity(tmp_path_factory, suffix, records):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    write_trials(records, path)
    the_same(read_log(path), records)


@settings(deadline=None)
@given(records=tables())
def test_no_cell_of_a_csv_acts_in_a_spreadsheet(records):
    import csv
    import io

    text = trials_text(records, ".csv")
    labels = len(records.factors)
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row[: labels + 1]:
            acts = cell[:1] in set("=+-@\t\r\n")
            assert not acts or cell.lstrip("+-").replace(".", "", 1).isdigit()


LOST = Losses((Loss("missing", 3, "cut", (("metric", "m"),), ("q9",)),))
SMALL = Records.from_columns({"unit": ["a", "b"], "metric": ["m", "m"], "value": [1, 0]})


def test_losses_without_rows_keep_their_place_in_the_accounting(tmp_path):
    records = Records(SMALL.factors, SMALL.numbers, LOST)
    path = write_trials(records, tmp_path / "t.csv")
    back = account(read_log(path), by=["metric"])
    assert (back.planned, back.total("missing"), back.unplaced) == (5, 3, ())


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (3, "the last row, which describes the table, is missing"),
        (1, "1 trials in 3 columns, where its last row states 2 in 3"),
    ],
)
def test_a_table_that_was_cut_is_refused(tmp_path, drop, message):
    path = write_trials(SMALL, tmp_path / "t.jsonl")
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for k, line in enumerate(lines, 1) if k != drop), "utf-8")
    with pytest.raises(DataError, match=message):
        read_log(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@settings(deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_table_is_refused_in_one_line_or_adds_up(
    tmp_path_factory, suffix, where, byte, cut
):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("d")
    path = write_trials(Records(SMALL.factors, SMALL.numbers, LOST), folder / f"t{suffix}")
    data = bytearray(path.read_bytes())
    at = int(where * len(data))
    data[at:] = data[at + 1 :] if cut else bytes([byte]) + data[at + 1 :]
    path.write_bytes(data)
    try:
        found = account(read_log(path))
    except (DataError, InputError) as error:
        told = str(error)
    else:
        told = ""
        assert found.planned == sum(found.total(s) for s in get_args(Status)) + sum(
            loss.n for loss in found.unplaced if loss.kind not in get_args(Status)
        )
    assert "\n" not in told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('""rows"": 2', '""rows"": true'),
        ('""rows"": 2', '""rows"": 3'),
        ('""labels"": [""unit""', '""labels"": [1'),
        ('""numbers"": [""value""]', '""numbers"": [""unit""]'),
        ('{""loss""', '{""losq""'),
        ('""losses"": 1', '""losses"": 2'),
        ('""n"": 3', '""n"": -3'),
        ('""n"": 3', '""n"": 3.5'),
        ('""where"": {', '""where"": {""a"": [], '),
        ('"{""loss""', '"{""loss"":{""loss""'),
    ],
)
def test_damaged_words_about_the_table_are_refused(tmp_path, old, new):
    path = write_trials(Records(SMALL.factors, SMALL.numbers, LOST), tmp_path / "t.csv")
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(DataError, match=r"t\.csv: .*Write it anew with simtrack ingest"):
        read_log(path)


def test_a_map_names_a_column_of_a_trial_table_anew(tmp_path):
    path = write_trials(SMALL, tmp_path / "t.csv")
    assert read_log(path, map={"cluster": "unit"}).factors["cluster"].values() == ["a", "b"]
    with pytest.raises(InputError, match="from a part to one of unit, metric"):
        read_log(path, map={"cluster": "task"})


def test_trial_tables_without_a_source_are_told_apart_by_their_files(tmp_path):
    paths = [write_trials(SMALL, tmp_path / name) for name in ("a.csv", "b.csv")]
    assert read_logs(paths).factors["source"].values() == ["a.csv"] * 2 + ["b.csv"] * 2


def test_what_stands_in_a_line_is_plain_json(tmp_path):
    path = write_trials(SMALL, tmp_path / "t.jsonl")
    first = json.loads(path.read_text("utf-8").splitlines()[0])
    assert first == {"simtrack_trials": "trial", "unit": "a", "metric": "m", "value": 1}


def test_a_metric_is_chosen_from_a_trial_table_as_from_any_log(tmp_path):
    path = write_trials(Records(SMALL.factors, SMALL.numbers, LOST), tmp_path / "t.csv")
    other = write_trials(Records.from_columns({"unit": ["a"], "value": [1]}), tmp_path / "u.csv")
    assert account(read_log(path, metric="m")).planned == 5
    with pytest.raises(InputError, match="metric must be one of m, got 'n'"):
        read_log(path, metric="n")
    found = read_logs([path, other], metric="m")
    assert len(found) == 2
    assert "1 file has no metric m: u.csv" in found.notes


def test_tables_of_the_first_version_are_read_still(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("simtrack_trials,unit,value,status\n1,a,1,scored\n1,b,,errored\n", "utf-8")
    found = read_log(path)
    assert found.factors["status"].values() == ["scored", "errored"]
    assert found.numbers["value"][0] == 1


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_long_labels_and_very_many_columns_survive(tmp_path, suffix):
    rows = 100
    columns = {f"c{k}": [str(k)] * rows for k in range(300)}
    records = Records.from_columns(
        {"unit": [f"{'long ' * 80}{k}" for k in range(rows)], "value": [1] * rows, **columns}
    )
    the_same(read_log(write_trials(records, tmp_path / f"t{suffix}")), records)
