"""Arrays, Parquet, Arrow and frames: the same table, whatever it is written in."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

from simtrack.errors import DataError, InputError, MissingExtra
from simtrack.logs import from_frame, read_log
from simtrack.records import account

ROWS = [
    {"item": "q1", "model": "NA", "score": 1.0, "big": 9007199254740993},
    {"item": "q2", "model": "None", "score": 0.0, "big": 9007199254740992},
    {"item": "ｑ3\u2028", "model": None, "score": None, "big": 1},
]


def same(records):
    assert records.factor("unit").values() == ["q1", "q2", "ｑ3\u2028"]
    assert records.factor("model").values() == ["NA", "None", None]
    np.testing.assert_array_equal(records.numbers["value"], [1.0, 0.0, math.nan])
    assert records.factor("status").values() == ["scored", "scored", "unscored"]
    assert records.factor("big").values() == ["9007199254740993", "9007199254740992", "1"]


def test_an_array_of_objects_is_a_table(tmp_path):
    path = tmp_path / "a"
    path.write_text(json.dumps(ROWS, indent=1))
    same(read_log(path))
    path.write_text("[]")
    with pytest.raises(DataError, match="the array holds no object"):
        read_log(path)
    path.write_text('[{"a": 1}, 2]')
    with pytest.raises(DataError, match="element 2 must be an object, got int"):
        read_log(path)


def test_parquet_and_arrow_are_the_same_table(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    table = arrow.Table.from_pylist(ROWS)
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path)
    same(read_log(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="is not a whole Parquet file"):
        read_log(path)
    path = tmp_path / "t.arrow"
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    same(read_log(path))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match="is not a whole Arrow file"):
        read_log(path)
    same(from_frame(table))


def test_without_the_library_the_cure_is_said(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match=r"simtrack\[parquet\]"):
        read_log(path)


def test_a_pandas_frame_is_a_table():
    import pandas as pd

    frame = pd.DataFrame(ROWS)
    same(from_frame(frame))
    frame["item"] = frame["item"].astype("category")
    same(from_frame(frame.set_index("item", drop=False)))
    assert from_frame(frame, map={"value": "score", "cluster": "item"}).factor("cluster")
    with pytest.raises(InputError, match="different names"):
        from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="the frame holds no row"):
        from_frame(pd.DataFrame({"score": []}))
    with pytest.raises(InputError, match="frame must be a pandas, polars or pyarrow table"):
        from_frame(7)


def inspect_frame():
    import pandas as pd

    return pd.DataFrame(
        {
            "sample_id": ["u1", "u2", "u3", "u4"],
            "eval_id": ["e"] * 4,
            "log": ["x.eval"] * 4,
            "id": ["a", "a", "b", "b"],
            "epoch": [1, 2, 1, 2],
            "error": [None, None, "boom\nlong", None],
            "limit": [None, None, None, "token"],
            "score_letter": ["C", "I", "C", None],
            "score_stage": ['{"clean":1,"emitted":0}', '{"clean":0,"emitted":1}', None, None],
            "metadata_duty": [1, 2, 1, 2],
            "total_time": [0.5, 1.5, 2.5, 3.5],
        }
    )


def test_a_frame_of_inspect_is_recognised():
    records = from_frame(inspect_frame())
    assert records.factor("metric").levels == ("letter", "stage.clean", "stage.emitted")
    letter = records.select(metric="letter")
    assert letter.factor("status").values() == ["scored", "scored", "errored", "unscored"]
    assert letter.numbers["value"].tolist()[:2] == [1.0, 0.0]
    assert letter.factor("duty").values() == ["1", "2", "1", "2"]
    assert letter.factor("repetition").values() == ["1", "2", "1", "2"]
    assert letter.numbers["duration_s"].tolist() == [0.5, 1.5, 2.5, 3.5]
    clean = from_frame(inspect_frame(), metric="stage.clean")
    assert clean.numbers["value"].tolist()[:2] == [1.0, 0.0]
    with pytest.raises(InputError, match=r"metric must be one of letter, stage\.clean"):
        from_frame(inspect_frame(), metric="none")


@pytest.mark.shared
def test_inspects_own_frame_gives_what_the_log_gives(shared):
    """Where inspect_ai is installed: its frame of a log, and the log read without it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = pytest.importorskip("inspect_ai.analysis")
    path = next((shared / "logs").rglob("2025-03-18T14-21-24*theory-of-mind*.eval"))
    ours = read_log(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Inspect's own use of pandas
        frame = analysis.samples_df(str(path), quiet=True)
    theirs = from_frame(frame)
    keys = ("unit", "repetition", "metric", "status")

    def rows(records):
        labels = zip(*(records.factor(n).values() for n in keys), strict=True)
        return dict(zip(labels, records.numbers["value"].tolist(), strict=True))

    assert rows(ours) == rows(theirs)
    assert account(ours).planned == account(theirs).planned == 30


@pytest.mark.shared
def test_gpqa_has_its_golden_numbers(shared):
    """Clustered by question, and the paired difference of the two models."""
    records = read_log(next((shared / "logs").rglob("gpqa_diamond_scores.csv")))
    means = {}
    errors = {}
    for model in records.factor("model").levels:
        mine = records.select(model=model)
        values, units = mine.numbers["value"], mine.factor("unit").codes
        sums = np.bincount(units, values - values.mean())
        groups = np.unique(units).size
        assert groups == 198
        errors[model] = math.sqrt((sums**2).sum() * groups / (groups - 1)) / values.size
        means[model] = np.bincount(units, values) / np.bincount(units)
    assert sorted(round(e, 4) for e in errors.values()) == [0.0276, 0.0296]
    first, second = means.values()
    difference = first - second
    paired = difference.std(ddof=1) / math.sqrt(difference.size)
    assert abs(difference.mean()) == pytest.approx(0.0586, abs=5e-5)
    assert paired == pytest.approx(0.02779, abs=5e-6)


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_flipped_bits_are_refused_in_one_line_or_leave_a_table(tmp_path, suffix):
    import random

    arrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    rows = {"id": [f"q{k}" for k in range(40)], "score": [float(k % 2) for k in range(40)]}
    table, path = arrow.table(rows), tmp_path / f"m.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path, write_page_checksum=True)
    else:
        with arrow.OSFile(str(path), "wb") as file, ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    raw, rng, refused = path.read_bytes(), random.Random(5), []
    for _ in range(300):
        damaged = bytearray(raw)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            read_log(path)
        except (DataError, InputError) as error:
            refused.append(str(error))
    assert len(refused) > 30
    assert [told for told in refused if "\n" in told] == []
