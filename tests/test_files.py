"""Whole or not at all."""

from __future__ import annotations

import pytest

from simtrack.errors import InputError
from simtrack.files import write_text, write_with


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old\n")

    def fails(path):
        path.write_text("half")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_with(target, fails)
    assert target.read_bytes() == b"old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_folders_are_not_files(tmp_path):
    with pytest.raises(InputError, match="a file, not a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match="in a folder that exists"):
        write_text(tmp_path / "no" / "a.txt", "x")
