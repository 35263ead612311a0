"""Many files at once: each trial once, each file told of, whoever reads them and in what order."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from simtrack.errors import DataError, InputError
from simtrack.logs import read_log, read_logs, scan, trials_text, write_trials
from simtrack.logs.paths import expand
from simtrack.records import account


def planned(records):
    table = account(records)
    return table.planned


def noted(records, *words):
    return [note for note in records.notes if all(word in note for word in words)]


def inspect_json(path, run, scores, *, task_id="task", created="2026"):
    """Write a log of Inspect's with four planned samples, of which the first have scores."""
    ids = ["a", "b", "c", "d"]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "t", "model": "m", "run_id": run, "eval_id": run, "task_id": task_id,
            "created": created, "dataset": {"sample_ids": ids}, "config": {},
            "scorers": [{"name": "match"}],
        },
        "plan": {},
        "samples": [
            {"id": i, "epoch": 1, "scores": {"match": {"value": v}}}
            for i, v in zip(ids, scores, strict=False)
        ],
    }  # fmt: skip
    path.write_text(json.dumps(log), "utf-8")


@pytest.fixture
def folder(fixtures, tmp_path):
    """Logs of several formats, one of them cut, and what lies beside logs."""
    for name in ("failed.eval", "fates.eval", "stage_reports.eval", "stage_reports.json"):
        shutil.copy(fixtures / name, tmp_path / name)
    (tmp_path / "cut.eval").write_bytes((fixtures / "fates.eval").read_bytes()[:900])
    (tmp_path / "table.csv").write_text("item,correct\nq1,1\nq2,0\n")
    (tmp_path / "notes.md").write_text("# read me\n")
    (tmp_path / "empty.jsonl").write_text("")
    return tmp_path


def test_progress_counts_files_and_bytes_up_to_all(folder):
    heard = []
    read_logs(folder, skip_refused=True, progress=heard.append)
    last = heard[-1]
    sizes = sum(p.stat().st_size for p in folder.iterdir())
    assert (last.files_done, last.files) == (8, 8)
    assert (last.bytes_done, last.bytes_planned) == (sizes, sizes)
    done = [tally.bytes_done for tally in heard]
    assert done == sorted(done)


def test_options_that_do_not_fit_a_file_are_refused_whatever_else_is_read(folder):
    with pytest.raises(InputError, match="metric must be"):
        read_logs(folder, skip_refused=True, metric="lettre")
    with pytest.raises(InputError, match="map must be left out"):
        read_logs(folder, skip_refused=True, map={"value": "correct"})


def test_a_copy_of_a_run_counts_once_and_is_noted(fixtures, tmp_path):
    for name in ("a.eval", "b.eval"):
        shutil.copy(fixtures / "failed.eval", tmp_path / name)
    records = read_logs(tmp_path)
    assert planned(records) == planned(read_log(tmp_path / "a.eval"))
    assert noted(records, "b.eval is a copy of a.eval; it counts once")


def test_equal_tables_that_name_no_run_are_two_arms_and_both_count(tmp_path):
    for arm in ("a", "b"):
        (tmp_path / arm).mkdir()
        (tmp_path / arm / "scores.csv").write_text("item,correct\nq1,1\nq2,1\n")
    assert len(read_logs(tmp_path)) == 4


def test_the_table_made_last_time_is_not_read_with_the_logs_that_it_holds(folder, tmp_path):
    first = read_logs(folder, skip_refused=True)
    for name in ("all.csv", "all.parquet", "all.jsonl"):
        write_trials(first, folder / name)
    again = read_logs(folder, skip_refused=True)
    assert planned(again) == planned(first)
    assert len(noted(again, "a trial table of", "nothing counts twice")) == 3
    both = read_logs([folder / "all.csv", folder / "table.csv"])
    assert planned(both) == planned(first) + 2  # named: read as asked, and noted
    states = {file.file: file for file in scan(folder).files}
    assert any("all.csv" in w and "counts twice" in w for w in scan(folder).warnings)
    assert states["all.csv"].planned > 0


def test_tables_of_the_same_sources_beside_each_other_count_once(folder, tmp_path):
    first = read_logs(folder, skip_refused=True)
    (tmp_path / "tables").mkdir()
    write_trials(first, tmp_path / "tables" / "a.csv")
    write_trials(first, tmp_path / "tables" / "b.jsonl")
    half = first.select(source="failed.eval")
    write_trials(half, tmp_path / "tables" / "half.csv")
    found = read_logs(tmp_path / "tables")
    assert planned(found) == planned(first) + planned(half)
    assert noted(found, "b.jsonl: a trial table of")


def test_latest_keeps_the_fullest_file_of_a_run_and_the_last_try_of_a_task(tmp_path):
    inspect_json(tmp_path / "1.json", "x", ["C", "I"], task_id="one")
    inspect_json(tmp_path / "2.json", "x", ["C", "I", "C"], task_id="one")
    inspect_json(tmp_path / "3.json", "y", ["C"], task_id="two")
    inspect_json(tmp_path / "4.json", "z", ["I"], task_id="two")
    kept = read_logs(tmp_path)
    assert planned(kept) == 16
    assert noted(kept, "run x is in 2 files (1.json, 2.json)", "--latest")
    assert noted(kept, "task_id two was run 2 times (3.json, 4.json)", "--latest")
    records = read_logs(tmp_path, latest=True)
    assert planned(records) == 8
    assert records.factor("source").compact().levels == ("2.json", "4.json")
    assert noted(records, "1.json: left out, scores 2, since 2.json has 3 and is of the same run x")
    assert noted(records, "3.json: left out, scores 1", "4.json", "task_id two")
    assert not noted(records, "--latest")


def test_links_are_told_and_rings_of_them_are_not_walked(fixtures, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(fixtures / "failed.eval", tmp_path / "runs" / "z.eval")
    shutil.copy(fixtures / "fates.eval", tmp_path / "elsewhere" / "more.eval")
    runs = tmp_path / "runs"
    (runs / "a.eval").symlink_to("z.eval")
    (runs / "loop").symlink_to(".")
    (runs / "more").symlink_to(tmp_path / "elsewhere")
    files, notes = expand(runs)
    assert [file.name for file, _ in files] == ["z.eval"]
    assert any("a.eval was given before, as" in note and "z.eval" in note for note in notes)
    assert [
        n for n in notes if "being links to folders" in n and "more ->" in n and "loop ->" not in n
    ]
    files, notes = expand(str(runs / "**" / "*.eval"))
    assert [file.relative_to(runs).as_posix() for file, _ in files] == ["more/more.eval", "z.eval"]
    assert len(notes) == 1  # dozens of other names in one line
    assert "each counts once" in notes[0]


def test_hidden_logs_are_told_and_hidden_tools_are_not(fixtures, tmp_path):
    for folder in (".git", ".runs", "open"):
        (tmp_path / folder).mkdir()
        shutil.copy(fixtures / "failed.eval", tmp_path / folder / "z.eval")
    (tmp_path / "open" / ".half.eval").write_bytes(b"PK")
    (tmp_path / ".DS_Store").write_bytes(b"x")
    files, notes = expand(tmp_path)
    assert [file.name for file, _ in files] == ["z.eval"]
    (note,) = notes
    assert note.startswith("not read, being hidden: ")
    assert ".runs" in note
    assert ".half.eval" in note
    assert ".git" not in note
    (tmp_path / "open" / "z.eval").unlink()
    with pytest.raises(DataError, match=r"no file that is not hidden \(.half.eval\)"):
        expand(tmp_path / "open")


def test_a_pattern_that_matches_folders_reads_what_is_in_them(fixtures, tmp_path):
    for folder in ("run1", "run2"):
        (tmp_path / folder / "deep").mkdir(parents=True)
        shutil.copy(fixtures / "failed.eval", tmp_path / folder / "deep" / "z.eval")
    shutil.copy(fixtures / "fates.eval", tmp_path / "run.eval")
    files, notes = expand(str(tmp_path / "run*"))
    named = {f.relative_to(tmp_path).as_posix(): named for f, named in files}
    assert named == {"run.eval": True, "run1/deep/z.eval": False, "run2/deep/z.eval": False}
    assert notes == []
    assert len(expand(str(tmp_path / "**"))[0]) == 3


def test_of_equal_files_of_a_run_the_whole_one_is_kept(fixtures, tmp_path):
    whole = (fixtures / "failed.eval").read_bytes()
    (tmp_path / "a.eval").write_bytes(whole)
    (tmp_path / "b.eval").write_bytes(whole[:-22])
    records = read_logs(tmp_path, latest=True, salvage=True)
    assert records.factor("source").compact().levels == ("a.eval",)
    assert noted(records, "b.eval: left out")


def test_a_link_to_nothing_is_a_file_that_cannot_be_read(fixtures, tmp_path):
    shutil.copy(fixtures / "failed.eval", tmp_path / "a.eval")
    (tmp_path / "gone.eval").symlink_to("nowhere.eval")
    with pytest.raises(DataError, match=r"gone\.eval: a link to nowhere\.eval, which is not"):
        read_logs(tmp_path)
    assert noted(read_logs(tmp_path, skip_refused=True), "skipped", "gone.eval")
    assert {f.file: f.state for f in scan(tmp_path).files}["gone.eval"] == "refused"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_cannot_be_opened_is_refused(fixtures, tmp_path):
    shutil.copy(fixtures / "failed.eval", tmp_path / "a.eval")
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0)
    try:
        with pytest.raises(DataError, match="shut: a folder that cannot be opened"):
            read_logs(tmp_path)
    finally:
        shut.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "content", "refused"),
    [
        ("run.json.gz", b"\x1f\x8b\x08 a log", True),
        ("run.eval", b"\x1f\x8b\x08 a tar", True),
        ("none.eval", b"PK\x05\x06" + bytes(18), True),
        ("code.tar.gz", b"\x1f\x8b\x08 code", False),
        ("wide.csv", "id,score\nq,1\n".encode("utf-16"), True),
        ("latin.csv", "id,score\nqé,1\n".encode("latin-1"), True),
        ("latin.md", "# café\n".encode("latin-1"), False),
        ("list.json", b"[1, 2, 3]", False),
        ("package.json", b'{"name": "x"}', False),
    ],
)
def test_a_file_called_a_log_that_is_none_is_refused_and_others_are_noted(
    fixtures, tmp_path, name, content, refused
):
    shutil.copy(fixtures / "failed.eval", tmp_path / "a.eval")
    (tmp_path / name).write_bytes(content)
    states = {f.file: f.state for f in scan(tmp_path).files}
    assert states[name] == ("refused" if refused else "no log")
    if refused:
        with pytest.raises(DataError, match=name):
            read_logs(tmp_path)
    assert noted(read_logs(tmp_path, skip_refused=True), name)


def test_equal_reasons_are_one_note(fixtures, tmp_path):
    shutil.copy(fixtures / "failed.eval", tmp_path / "a.eval")
    for k in range(30):
        (tmp_path / f"{k:02}.yaml").write_text(f"seed: {k}\n")
    notes = noted(read_logs(tmp_path), "00.yaml, 01.yaml, 02.yaml, 03.yaml and 26 more: ")
    assert len(notes) == 1


def test_salvage_leaves_whole_files_as_they_are(fixtures, tmp_path):
    for name in ("failed.eval", "fates.eval"):
        plain, salvaged = read_log(fixtures / name), read_log(fixtures / name, salvage=True)
        assert trials_text(plain) == trials_text(salvaged)
