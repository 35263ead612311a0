"""A folder of finished blocks: one process at a time, and only for the run that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from simtrack.errors import DataError, InputError
from simtrack.runs.blocks_result import Arrays
from simtrack.runs.checkpoint_block import DamagedBlock, block_path, read_block, write_block
from simtrack.runs.checkpoint_lock import folder_lock
from simtrack.runs.checkpoint_manifest import NO_FILE, Manifest, read_manifest

__all__ = ["Checkpoint", "open_checkpoint"]


class Checkpoint:
    """The blocks that a folder holds, for one manifest.

    Attributes
    ----------
    folder : Path
    manifest : Manifest
    notes : list of str
        Damaged files, other library versions.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.notes: list[str] = []

    def load(self, number: int) -> dict[str, NDArray[Any]] | None:
        """Read a block; None if it is absent, or damaged, which is noted."""
        try:
            return read_block(
                self.folder, self.manifest.run_sha256, number, self.manifest.schedule[number]
            )
        except FileNotFoundError:
            return None
        except DamagedBlock as reason:
            name = block_path(self.folder, number).name
            self.notes.append(f"{name} was damaged and is computed anew: {reason}")
            return None

    def save(self, number: int, arrays: Arrays) -> None:
        """Write a block, whole or not at all."""
        run, block = self.manifest.run_sha256, self.manifest.schedule[number]
        write_block(self.folder, run, number, block, arrays)


@contextmanager
def open_checkpoint(
    folder: str | Path, manifest: Manifest, *, resume: bool = True
) -> Iterator[Checkpoint]:
    """Hold a folder for this run, made if absent.

    Raises
    ------
    DataError
        If another process is in it, if it belongs to another run (what changed is named), or if
        it holds blocks and `resume` is off.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "folder", "one that can be made", path, where=error.strerror or str(error)
        ) from None
    with folder_lock(path):
        yield _opened(path, manifest, resume)


def _opened(path: Path, manifest: Manifest, resume: bool) -> Checkpoint:
    found = Checkpoint(path, manifest)
    try:
        old = read_manifest(path)
    except DataError as error:  # each block says itself which run it belongs to
        old = None
        found.notes.append(f"{error} It is written anew.")
    n_files = sum(1 for _ in path.glob("block-*.npz"))
    if n_files and not resume:
        raise DataError(
            f"{path} holds {n_files} finished blocks. Resume, or choose another folder."
        )
    if old is None:
        manifest.write(path)
    elif changes := old.changes(manifest):
        raise DataError(
            f"{path} belongs to another run; changed: {changes}. Choose another folder, or go "
            "back to what it was."
        )
    else:
        found.notes += _other_environment(old, manifest)
    if manifest.parts["code"].get("task") == NO_FILE:
        found.notes.append("the task's code is in no file, so a change of it goes unseen")
    for left in (*path.glob(".block-*.npz"), *path.glob(".manifest-*.json")):
        left.unlink(missing_ok=True)  # half written when its process was killed
    return found


def _other_environment(old: Manifest, new: Manifest) -> list[str]:
    """Note where floats may differ in their last digits."""
    names = sorted({*old.environment, *new.environment})
    differ = [
        f"{n} was {old.environment.get(n)}, is {new.environment.get(n)}"
        for n in names
        if old.environment.get(n) != new.environment.get(n)
    ]
    if not differ:
        return []
    return [f"blocks of two environments, so floats may differ by 1e-12: {'; '.join(differ)}"]
