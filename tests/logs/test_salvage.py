"""Broken archives: what is whole is read as it was, what is lost is named and counted."""

from __future__ import annotations

import io
import json
import math
import zipfile

import pytest

from simtrack.errors import DataError
from simtrack.logs import read_log, read_logs
from simtrack.records import account

IDS = ("a", "b", "c", "d", "e")


def entries(zips, log_parts, method=0, **changes):
    entry, _ = zips
    header, sample = log_parts
    spec = header()
    spec["eval"]["dataset"] = {"samples": len(IDS), "sample_ids": list(IDS)}
    made = [entry("_journal/start.json", json.dumps(spec).encode(), method)]
    made += [
        entry(f"samples/{i}_epoch_1.json", json.dumps(sample(i, "CI"[k % 2])).encode(), method)
        for k, i in enumerate(IDS)
    ]
    made.append(entry("header.json", json.dumps(spec | changes).encode(), method))
    return made


@pytest.fixture
def whole(zips, log_parts):
    return zips[1](entries(zips, log_parts, 8))


@pytest.fixture
def write(tmp_path):
    def made(data):
        path = tmp_path / "cut.eval"
        path.write_bytes(data)
        return path

    return made


def values(records):
    return dict(
        zip(records.factor("unit").values(), records.numbers["value"].tolist(), strict=True)
    )


RIGHT = {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0, "e": 1.0}


def test_a_whole_archive_reads_alike_with_salvage(whole, write):
    path = write(whole)
    plain, salvaged = read_log(path), read_log(path, salvage=True)
    assert values(plain) == values(salvaged) == RIGHT
    assert plain.losses == salvaged.losses
    assert plain.notes == salvaged.notes


def test_wherever_it_is_cut_what_is_left_is_right(whole, write):
    """Every cut: a refusal, or each surviving row as it was and the plan adds up."""
    read = 0
    for length in range(5, len(whole), 3):
        path = write(whole[:length])
        with pytest.raises(DataError, match=r"truncated: the zip has no directory.*--salvage"):
            read_log(path)
        try:
            records = read_log(path, salvage=True)
        except DataError as error:
            assert "salvage found no whole member" in str(error)  # noqa: PT017
            continue
        read += 1
        left = values(records) if len(records) else {}
        assert left.items() <= RIGHT.items()
        table = account(records)
        assert table.planned == len(IDS)
        assert table.total("missing") == len(IDS) - len(left)
    assert read > 50


def test_a_damaged_member_is_named_and_the_others_read(whole, write):
    """Every byte between two headers flipped in turn: never a wrong score."""
    second = whole.index(b"samples/b_epoch_1.json")
    third = whole.index(b"PK\x03\x04", second)
    for at in range(second - 30, third):
        path = write(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        records = read_log(path, salvage=True)
        left = values(records)
        assert left.items() <= RIGHT.items()
        assert {"a", "c", "d", "e"} <= set(left)
        assert account(records).planned == len(IDS)
    named = read_log(write(whole[: third - 9] + b"\0" + whole[third - 8 :]), salvage=True)
    assert any("1 lost (samples/b_epoch_1.json: is damaged" in n for n in named.notes)


def test_of_equal_names_the_last_whole_one_counts(zips, log_parts, write):
    entry, zip_bytes = zips
    _, sample = log_parts
    made = entries(zips, log_parts)
    made.append(entry("samples/a_epoch_1.json", json.dumps(sample("a", "I")).encode()))
    data = zip_bytes(made)
    cut = data[: data.index(b"PK\x01\x02")]
    assert values(read_log(write(cut), salvage=True))["a"] == 0.0
    broken = read_log(write(cut[:-5]), salvage=True)
    assert values(broken)["a"] == 1.0


def test_an_older_copy_is_told_where_the_newest_is_damaged(zips, log_parts, write):
    entry, zip_bytes = zips
    header, sample = log_parts
    name = "samples/a_epoch_1.json"
    newest = json.dumps(sample("a", 1)).encode()
    data = zip_bytes([
        entry("header.json", json.dumps(header()).encode()),
        entry(name, json.dumps(sample("a", 0)).encode()),
        entry(name, newest),
        entry("samples/b_epoch_1.json", json.dumps(sample("b", 1)).encode()),
    ])  # fmt: skip
    at = data.rindex(newest)
    records = read_log(write(data[:at] + b"[" + data[at + 1 :]), salvage=True)
    assert records.numbers["value"].tolist() == [0, 1]
    assert any(f"older one is read ({name})" in note for note in records.notes)


def test_samples_that_only_summaries_hold_may_have_been_invalidated(zips, log_parts, write):
    entry, zip_bytes = zips
    header, sample = log_parts
    data = zip_bytes([
        entry("header.json", json.dumps(header(invalidated=True)).encode()),
        entry("samples/a_epoch_1.json", json.dumps(sample("a", 1)).encode(), crc=1),
        entry("summaries.json", json.dumps([sample("a", 1)]).encode()),
    ])  # fmt: skip
    notes = read_log(write(data), salvage=True).notes
    assert any("do not say which samples were invalidated" in note for note in notes)


@pytest.mark.parametrize("salvage", [False, True])
def test_names_of_members_cannot_fill_or_steer_a_terminal(zips, log_parts, write, salvage):
    entry, zip_bytes = zips
    header, sample = log_parts
    name = "samples/\x1b[2J\n" + "x" * 60_000 + ".json"
    data = zip_bytes([
        entry("header.json", json.dumps(header()).encode()),
        entry(name, json.dumps(sample("a", 1)).encode(), crc=1),
        entry("samples/b.json", b'{"id": 1}'),
    ])  # fmt: skip
    with pytest.raises(DataError) as caught:
        read_log(write(data), salvage=salvage)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    damaged = zip_bytes([
        entry(name, json.dumps(sample("a", 1)).encode(), crc=1), entry("x", b"{}")
    ])  # fmt: skip
    with pytest.raises(DataError) as caught:
        read_log(write(damaged), salvage=salvage)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_streamed_members_are_found_by_their_descriptors(zips, log_parts, write):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def tell(self):
            raise OSError

        def seek(self, *where):
            raise OSError

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for made in entries(zips, log_parts):
            archive.writestr(made.name, made.data)
    data = pipe.getvalue()
    assert data[6] & 8
    cut = data[: data.index(b"PK\x01\x02")]
    assert values(read_log(write(cut), salvage=True)) == RIGHT
    shorter = read_log(write(cut[: cut.index(b"samples/e")]), salvage=True)
    assert len(shorter) == 4


def test_samples_that_are_gone_are_taken_from_the_summaries(zips, log_parts, write):
    entry, zip_bytes = zips
    _, sample = log_parts
    made = entries(zips, log_parts)
    summaries = json.dumps([sample(i, "CI"[k % 2]) for k, i in enumerate(IDS)]).encode()
    made.insert(-1, entry("summaries.json", summaries))
    made[2].crc = 1
    data = zip_bytes(made)
    with pytest.raises(DataError, match="CRC-32 does not match"):
        read_log(write(data))
    records = read_log(write(data), salvage=True)
    assert values(records) == RIGHT
    assert any("1 samples are known from the summaries alone" in n for n in records.notes)


def test_bombs_and_rubbish_are_refused(zips, write):
    entry, zip_bytes = zips
    with pytest.raises(DataError, match="salvage found no whole member"):
        read_log(write(b"PK\x03\x04" + b"rubbish" * 50), salvage=True)
    nested = [entry("notes.txt", b"nothing of a log")]
    cut = zip_bytes(nested)[:-30]
    with pytest.raises(DataError, match="not an Inspect log"):
        read_log(write(cut), salvage=True)
    lies = entry("samples/x.json", b"0" * 1000, 8, size=10)
    with pytest.raises(DataError, match="salvage found no whole member"):
        read_log(write(zip_bytes([lies])), salvage=True)


def test_read_logs_takes_the_option_too(whole, write):
    path = write(whole[:-22])
    assert math.isclose(read_logs([path], salvage=True).numbers["value"].mean(), 0.6)


@pytest.mark.shared
def test_the_two_truncated_public_logs(shared):
    folder = shared / "logs" / "public"
    source = next(folder.rglob("2025-02-11T15-18-04-05-00_popularity_*.eval"))
    right = values(read_log(source))
    cut = read_log(folder / "derived" / "truncated_70pct.eval", salvage=True)
    assert len(values(cut)) == 8
    assert values(cut).items() <= right.items()
    assert (account(cut).planned, account(cut).total("missing")) == (10, 2)
    assert any("1 lost (samples/1_epoch_1.json: the file ends inside it)" in n for n in cut.notes)
    almost = read_log(folder / "derived" / "truncated_no_eocd.eval", salvage=True)
    assert values(almost) == right
    assert "run status" not in " ".join(almost.notes)


def test_damaged_lines_are_passed_over_and_counted(tmp_path):
    """Case H28, the explicit choice: line 3 of 4 is broken in the middle of the file."""
    path = tmp_path / "t.jsonl"
    text = '{"id":1,"s":1}\n{"id":2,"s":0}\n{"id":3,"s"\n{"id":4,"s":1}\n{"id":5,"s'
    path.write_text(text)
    with pytest.raises(DataError, match="line 3 is not valid JSON"):
        read_log(path, map={"value": "s"})
    records = read_log(path, map={"value": "s"}, salvage=True)
    assert records.factor("unit").values() == ["1", "2", "4"]
    assert account(records).total("missing") == 2
    assert any("2 damaged lines were passed over (3, 5)" in note for note in records.notes)
    rows = [{"doc_id": k, "resps": [], "metrics": ["acc"], "acc": k % 2} for k in range(3)]
    lines = [json.dumps(row) for row in rows]
    lines.insert(1, lines[0][:-9])
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="line 2 is not valid JSON"):
        read_log(path)
    salvaged = read_log(path, salvage=True)
    assert (len(salvaged), account(salvaged).total("missing")) == (3, 1)


def test_json_that_ends_too_early_gives_its_whole_samples(log_parts, tmp_path):
    """An Inspect .json cut anywhere: a refusal, or whole samples and the rest missing."""
    header, sample = log_parts
    log = header()
    log["eval"]["dataset"] = {"samples": len(IDS), "sample_ids": list(IDS)}
    log["samples"] = [sample(i, "CI"[k % 2]) for k, i in enumerate(IDS)]
    path = tmp_path / "log.json"
    for indent in (None, 1):
        text = json.dumps(log, indent=indent)
        for length in range(text.index("samples", text.index("plan")) + 12, len(text) - 3, 17):
            path.write_text(text[:length])
            with pytest.raises(DataError, match=r"seems truncated\. .*--salvage"):
                read_log(path)
            records = read_log(path, salvage=True)
            left = values(records) if len(records) else {}
            assert left.items() <= RIGHT.items()
            table = account(records)
            assert (table.planned, table.total("missing")) == (5, 5 - len(left))
            assert any("salvaged: the JSON breaks within" in note for note in records.notes)
        assert len(left) == 4
    path.write_text("{")
    with pytest.raises(DataError, match="nothing whole"):
        read_log(path, salvage=True)


def test_what_closed_too_early_spills_no_keys_over_those_of_the_log(log_parts, tmp_path):
    header, sample = log_parts
    text = json.dumps(header() | {"samples": [sample("a", 1), sample("b", 0)]})
    text = text.replace('"value": 0}}', '"value": 0}}}], "status": "error", "x": {')
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        read_log(path)
    records = read_log(path, salvage=True)
    assert records.numbers["value"].tolist() == [1, 0]
    assert any("breaks within a second status" in note for note in records.notes)
    assert not any("run status is error" in note for note in records.notes)


def test_a_cut_array_gives_its_whole_elements(tmp_path):
    path = tmp_path / "list.json"
    rows = [{"task_id": k, "trial": 0, "reward": 1.0, "info": {}, "traj": []} for k in range(4)]
    text = json.dumps(rows)
    path.write_text(text[:-20])
    with pytest.raises(DataError, match="is not valid JSON"):
        read_log(path)
    records = read_log(path, salvage=True)
    assert len(records) == 3
    assert any("element 4" in note for note in records.notes)
    path.write_text(text)
    assert len(read_log(path, salvage=True)) == 4
