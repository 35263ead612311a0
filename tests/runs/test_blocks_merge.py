"""Parts of one run, from several machines, put together."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.errors import DataError, InputError
from simtrack.runs import checkpoint_manifest
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_merge import merge_blocks
from simtrack.runs.blocks_schedule import block_schedule
from simtrack.runs.checkpoint import block_path, write_block
from simtrack.runs.checkpoint_manifest import manifest_of

SCHEDULE = block_schedule(57, 10)


@pytest.fixture
def parts(task, tmp_path):
    """The first four blocks in one folder, the last three in another: one in both."""
    folders = [tmp_path / "a", tmp_path / "b"]
    run_blocks(task, SCHEDULE, folder=folders[0], last=3)
    run_blocks(task, SCHEDULE, folder=folders[1], first=3, executor="threads")
    return folders


def test_a_range_split_in_two_and_merged_is_one_run(task, parts, tmp_path):
    whole = run_blocks(task, block_schedule(57, 1))
    for order in (parts, parts[::-1]):
        found = merge_blocks(order)
        assert found.sha256 == whole.sha256
        assert (found.n_done, found.complete, found.notes) == (57, True, ())
    into = merge_blocks(parts, into=tmp_path / "all")
    again = run_blocks(task, SCHEDULE, folder=tmp_path / "all")
    assert (again.n_resumed, again.sha256, into.sha256) == (6, whole.sha256, whole.sha256)
    assert merge_blocks([tmp_path / "all"]).sha256 == whole.sha256


def test_gaps_are_refused_by_name(task, parts, tmp_path):
    block_path(parts[0], 1).unlink()
    block_path(parts[0], 2).unlink()
    block_path(parts[1], 5).unlink()
    message = (
        r"^missing: blocks 1 to 2 \(replicates 10 to 29\), block 5 \(replicates 50 to 56\)\. Run "
        "these blocks, then merge again"
    )
    with pytest.raises(DataError, match=message):
        merge_blocks(parts)
    run_blocks(task, SCHEDULE, folder=tmp_path / "c", first=1, last=2)
    run_blocks(task, SCHEDULE, folder=tmp_path / "d", first=5)
    found = merge_blocks([*parts, tmp_path / "c", tmp_path / "d"])
    assert found.sha256 == run_blocks(task, SCHEDULE).sha256


def test_a_damaged_block_is_a_gap_unless_another_folder_has_it(task, parts):
    block_path(parts[0], 3).write_bytes(b"")
    found = merge_blocks(parts)
    assert found.sha256 == run_blocks(task, SCHEDULE).sha256
    assert "block-00000003.npz was damaged" in found.notes[0]
    block_path(parts[1], 3).write_bytes(b"")
    with pytest.raises(DataError, match=r"missing: block 3 \(replicates 30 to 39\); .*damaged"):
        merge_blocks(parts)


def test_overlapping_blocks_must_agree_to_the_bit(task, parts):
    run = manifest_of(task, SCHEDULE).run_sha256
    arrays = task(SCHEDULE[3])
    arrays["t"] = np.nextafter(arrays["t"], np.inf)
    write_block(parts[1], run, 3, SCHEDULE[3], arrays)
    message = r"block 3 \(replicates 30 to 39\) differs between .*a and .*b in t\. Find out"
    with pytest.raises(DataError, match=message):
        merge_blocks(parts)
    write_block(parts[1], run, 3, SCHEDULE[3], {"t": arrays["t"]})
    with pytest.raises(DataError, match=r"differs .* in names, types or shapes"):
        merge_blocks(parts)


def test_parts_of_other_runs_are_refused(standin, parts, tmp_path):
    run_blocks(standin.PairedT(seed=8), SCHEDULE, folder=tmp_path / "c", first=4)
    message = r"c belongs to another run than .*a; different: seed \(was 7, is 8\)\. Merge"
    with pytest.raises(DataError, match=message):
        merge_blocks([*parts, tmp_path / "c"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no blocks: it has no manifest"):
        merge_blocks([*parts, tmp_path / "empty"])
    with pytest.raises(InputError, match="folders must be at least one folder of blocks"):
        merge_blocks([])
    with pytest.raises(DataError, match="belongs to another run; changed: seed"):
        merge_blocks(parts, into=tmp_path / "c")


def test_parts_of_two_environments_are_noted(task, tmp_path, monkeypatch):
    run_blocks(task, SCHEDULE, folder=tmp_path / "a", last=3)
    other = dict(checkpoint_manifest.environment()) | {"machine": "linux sparc64"}
    monkeypatch.setattr(checkpoint_manifest, "environment", lambda: other)
    run_blocks(task, SCHEDULE, folder=tmp_path / "b", first=4)
    notes = merge_blocks([tmp_path / "a", tmp_path / "b"]).notes
    assert len(notes) == 1
    assert "linux sparc64" in notes[0]
    assert "floats may differ by 1e-12" in notes[0]
