"""A folder of blocks: whole files, its own run only, one process at a time, damage seen."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from simtrack import rng
from simtrack.errors import DataError, InputError
from simtrack.runs import checkpoint_manifest
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_schedule import block_schedule
from simtrack.runs.checkpoint import (
    DamagedBlock,
    ForeignBlock,
    block_path,
    folder_lock,
    read_block,
    write_block,
)
from simtrack.runs.checkpoint_manifest import manifest_of, read_manifest

SCHEDULE = block_schedule(40, 10)
RUN, OTHER_RUN = "ab" * 32, "cd" * 32
ARRAYS = {"t": np.array([0.5, np.nan, -0.0]), "rejects": np.array([True, False, True])}


def never(self, replicates):
    raise AssertionError("a finished block was computed again")


def test_a_finished_run_computes_nothing_again(task, standin, tmp_path, monkeypatch):
    first = run_blocks(task, SCHEDULE, folder=tmp_path)
    monkeypatch.setattr(standin.PairedT, "__call__", never)
    second = run_blocks(task, SCHEDULE, folder=tmp_path, executor="threads")
    assert (second.n_resumed, second.complete, second.notes) == (4, True, ())
    assert second.sha256 == first.sha256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clusters": 8}, r"changed: design \(clusters was 6, is 8\)\. Choose another folder"),
        ({"rates": (0.9, 0.6)}, r"changed: agent \(rates was \[0.9,0.7\], is \[0.9,0.6\]\)\."),
        ({"seed": 8}, r"changed: seed \(was 7, is 8\)\."),
        ({"clusters": 8, "seed": 8}, r"changed: design \(.*\), seed \(was 7, is 8\)"),
    ],
)
def test_a_changed_task_refuses_to_resume(task, standin, tmp_path, change, message):
    run_blocks(task, SCHEDULE, folder=tmp_path, last=1)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.*")}
    with pytest.raises(DataError, match=message):
        run_blocks(standin.PairedT(**change), SCHEDULE, folder=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.*")} == before


def test_changed_analysis_schedule_code_and_scheme_refuse(task, standin, tmp_path, monkeypatch):
    run_blocks(task, SCHEDULE, folder=tmp_path, last=1)

    def refuses(message, schedule=SCHEDULE):
        with pytest.raises(DataError, match=message):
            run_blocks(task, schedule, folder=tmp_path)

    refuses(
        r"changed: schedule \(sizes was \[\[10,4\]\], is \[\[20,2\]\]\)", block_schedule(40, 20)
    )
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_manifest, "source_hash", lambda: "0" * 64)
        refuses(r"changed: code \(simtrack was [0-9a-f]{12}…, is 000000000000…\)")
    with monkeypatch.context() as patch:
        patch.setattr(rng, "SCHEME", "simtrack/2")
        refuses(r"changed: stream scheme \(was simtrack/1, is simtrack/2\)")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_manifest, "SCHEMA", "simtrack.blocks-manifest/2")
        refuses(r"changed: schema \(was .*manifest/1, is .*manifest/2\)")
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[standin.__name__], "__file__", __file__)
        refuses(r"changed: code \(task was [0-9a-f]{12}…, is [0-9a-f]{12}…\)")
    identity = task.identity() | {"analysis": "sign-flip"}
    with monkeypatch.context() as patch:
        patch.setattr(standin.PairedT, "identity", lambda self: identity)
        refuses(r"changed: analysis \(was paired cluster t, is sign-flip\)")
    assert run_blocks(task, SCHEDULE, folder=tmp_path).complete


def test_another_environment_is_a_note(task, tmp_path, monkeypatch):
    run_blocks(task, SCHEDULE, folder=tmp_path, last=1)
    other = dict(checkpoint_manifest.environment()) | {"numpy": "9.9"}
    monkeypatch.setattr(checkpoint_manifest, "environment", lambda: other)
    found = run_blocks(task, SCHEDULE, folder=tmp_path)
    assert len(found.notes) == 1
    assert f"numpy was {np.__version__}, is 9.9" in found.notes[0]


def test_resume_off_refuses_a_folder_with_blocks(task, tmp_path):
    run_blocks(task, SCHEDULE, folder=tmp_path, last=1, resume=False)
    with pytest.raises(DataError, match=r"holds 2 finished blocks\. Resume, or choose another"):
        run_blocks(task, SCHEDULE, folder=tmp_path, resume=False)


def damage(how, path, other):
    content = path.read_bytes()
    if how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "another block":
        path.write_bytes(other.read_bytes())
    elif how == "other numbers":
        with np.load(path) as opened:
            members = dict(opened)
        members["array.t"] = members["array.t"] + 1.0
        np.savez(path, **members)
    elif how == "no block":
        np.savez(path, t=np.zeros(10))
    else:
        np.savez(path, t=np.array([{"a": 1}], dtype=object))


@pytest.mark.parametrize(
    ("how", "note"),
    [
        ("empty", "cannot be read"),
        ("cut", "cannot be read"),
        ("another block", r"holds block 2 \(replicates 20 to 29\)"),
        ("other numbers", "content is not what its hash says"),
        ("no block", "lacks what a block says about itself"),
        ("pickle", "cannot be read"),
    ],
)
def test_damaged_blocks_are_computed_anew_with_a_note(task, tmp_path, how, note):
    first = run_blocks(task, SCHEDULE, folder=tmp_path)
    path = block_path(tmp_path, 1)
    before = path.read_bytes()
    damage(how, path, block_path(tmp_path, 2))
    found = run_blocks(task, SCHEDULE, folder=tmp_path)
    assert found.sha256 == first.sha256
    assert found.n_resumed == 3
    assert len(found.notes) == 1
    assert found.notes[0].startswith("block-00000001.npz was damaged and is computed anew: it")
    assert re.search(note, found.notes[0])
    assert path.read_bytes() == before


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_no_changed_or_missing_byte_gives_other_arrays(tmp_path, step):
    path = write_block(tmp_path, RUN, 0, range(3), ARRAYS)
    content = path.read_bytes()
    unseen = 0
    for place in range(0, len(content), step):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x11]) + content[place + 1 :])
        try:
            found = read_block(tmp_path, RUN, 0, range(3))
        except (DamagedBlock, ForeignBlock):
            continue
        unseen += 1  # dates and attributes of the zip carry no content
        assert {n: a.tobytes() for n, a in found.items()} == {
            n: a.tobytes() for n, a in ARRAYS.items()
        }
    assert unseen < len(content) / step / 4
    for length in range(0, len(content), step):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedBlock):
            read_block(tmp_path, RUN, 0, range(3))


@settings(max_examples=40, deadline=None)
@given(
    array=st.sampled_from(["?", "i1", "<i8", ">i4", "u2", "f4", "f8", ">f8"]).flatmap(
        lambda dtype: npst.arrays(dtype, npst.array_shapes(max_dims=3, max_side=4))
    )
)
def test_a_block_comes_back_bit_for_bit(tmp_path_factory, array):
    folder = tmp_path_factory.mktemp("block")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    write_block(folder, RUN, 3, range(30, 40), {"a": little})
    found = read_block(folder, RUN, 3, range(30, 40))["a"]
    assert (found.dtype, found.shape) == (little.dtype, little.shape)
    assert found.tobytes() == little.tobytes()


def test_a_block_of_another_run_is_neither_used_nor_overwritten(task, tmp_path):
    path = write_block(tmp_path, OTHER_RUN, 1, SCHEDULE[1], ARRAYS)
    before = path.read_bytes()
    with pytest.raises(ForeignBlock, match=r"block-00000001.npz belongs to another run"):
        run_blocks(task, SCHEDULE, folder=tmp_path)
    assert path.read_bytes() == before


def test_equal_runs_write_equal_files_and_leave_no_others(task, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".block-00000001-x1.npz").write_bytes(b"half a block")
        (tmp_path / name / ".manifest-x1.json").write_bytes(b"{")
        run_blocks(task, SCHEDULE, folder=tmp_path / name)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [*(f"block-{k:08d}.npz" for k in range(4)), "lock", "manifest.json"]
    for name in names[:-2] + names[-1:]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_manifest_says_what_decides_the_bytes(task, tmp_path):
    run_blocks(task, SCHEDULE, folder=tmp_path)
    content = json.loads((tmp_path / "manifest.json").read_text())
    parts = {"design", "agent", "analysis", "seed", "task", "schedule", "code", "stream scheme",
             "schema"}  # fmt: skip
    assert set(content["parts"]) == set(content["sha256"]) == parts
    assert content["parts"]["stream scheme"] == rng.SCHEME
    found = read_manifest(tmp_path)
    assert found.run_sha256 == content["run_sha256"] == manifest_of(task, SCHEDULE).run_sha256
    assert found.schedule == SCHEDULE


@pytest.mark.parametrize("content", ["", "{}", "[1]", "null", None])
def test_a_damaged_manifest_is_written_anew(task, tmp_path, content):
    first = run_blocks(task, SCHEDULE, folder=tmp_path)
    path = tmp_path / "manifest.json"
    before = path.read_text()
    path.write_text(before.replace('"seed": 7', '"seed": 8') if content is None else content)
    found = run_blocks(task, SCHEDULE, folder=tmp_path)
    assert (found.n_resumed, found.sha256) == (4, first.sha256)
    assert "manifest.json is damaged" in found.notes[0]
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        (None, "task must be one that says what it is, got Task"),
        ({}, r"identity\(\) must be a mapping that is not empty"),
        ({"code": 1}, r"identity\(\) must be without schema, task.*, got code"),
        ({"agent": np.float64}, r"identity\(\)\[agent\] must be plain data"),
        ({"agent": {"rate": float("nan")}}, r"identity\(\)\[agent\] must be plain data"),
    ],
)
def test_a_folder_needs_a_task_that_says_what_it_is(tmp_path, identity, message):
    class Task:
        __call__ = never

    if identity is not None:
        Task.identity = lambda self: identity
    with pytest.raises(InputError, match=message):
        run_blocks(Task(), SCHEDULE, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_refused(task, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="folder must be one that can be made"):
        run_blocks(task, SCHEDULE, folder=tmp_path / "file" / "blocks")


def test_one_run_at_a_time(task, tmp_path):
    with (
        folder_lock(tmp_path),
        pytest.raises(DataError, match=r"is in use by process \d+ on .*\. Wait for it, stop it"),
    ):
        run_blocks(task, SCHEDULE, folder=tmp_path)
    assert run_blocks(task, SCHEDULE, folder=tmp_path).complete


def test_the_lock_of_a_killed_process_is_gone(tmp_path):
    code = (
        "import sys, time; from pathlib import Path\n"
        "from simtrack.runs.checkpoint import folder_lock\n"
        "with folder_lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(DataError, match=f"in use by process {other.pid} on"),
            folder_lock(tmp_path),
        ):
            raise AssertionError("two processes hold one folder")
        other.kill()
        other.wait()
    with folder_lock(tmp_path):
        pass
