"""One finished block, one file: whole or not there, and proof against silent damage."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError, InputError
from simtrack.files import write_with
from simtrack.runs.blocks_schedule import Arrays, Columns, digest_arrays
from simtrack.runs.checkpoint_manifest import NO_FILE, Manifest, read_manifest

__all__ = [
    "LOCK_NAME",
    "Checkpoint",
    "DamagedBlock",
    "ForeignBlock",
    "block_path",
    "folder_lock",
    "open_checkpoint",
    "read_block",
    "write_block",
]


_ARRAY = "array."
_RUN, _BLOCK, _SHA256 = "about.run", "about.block", "about.sha256"


class DamagedBlock(Exception):
    """The file is cut, changed or no block at all; the message says how it was noticed."""


class ForeignBlock(DataError):
    """The file is a sound block of another run, so it must not be overwritten."""


def block_path(folder: Path, number: int) -> Path:
    """Say where a block is kept."""
    return folder / f"block-{number:08d}.npz"


def write_block(folder: Path, run: str, number: int, block: range, arrays: Arrays) -> Path:
    """Write a block with its content hash in one step; equal blocks give equal bytes.

    Parameters
    ----------
    folder : Path
    run : str
        SHA-256 of the manifest, 64 hexadecimal digits.
    number : int
    block : range
    arrays : mapping of name to array
    """
    place = [number, block.start, block.stop]
    members: dict[str, Any] = {
        _RUN: _as_bytes(run),
        _BLOCK: np.array(place, dtype="<i8"),
        _SHA256: _as_bytes(_content_sha256(run, place, arrays)),
        **{_ARRAY + name: arrays[name] for name in sorted(arrays)},
    }
    return write_with(block_path(folder, number), lambda path: np.savez(path, **members))


def read_block(folder: Path, run: str, number: int, block: range) -> Columns:
    """Read a block back, exactly as it was written.

    Raises
    ------
    FileNotFoundError
    DamagedBlock
        Unless every byte of content is what the hash inside says.
    ForeignBlock
        For a sound block of another run.
    """
    path = block_path(folder, number)
    members = _members(path)
    try:
        own = members.pop(_RUN).tobytes().hex()
        place = [int(value) for value in members.pop(_BLOCK)]
        sha256 = members.pop(_SHA256).tobytes().hex()
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DamagedBlock("it lacks what a block says about itself") from None
    arrays = {name.removeprefix(_ARRAY): array for name, array in members.items()}
    if sha256 != _content_sha256(own, place, arrays):
        raise DamagedBlock("its content is not what its hash says")
    if own != run:
        raise ForeignBlock(
            f"{path} belongs to another run. Choose another folder, or take the file away."
        )
    if place != [number, block.start, block.stop]:
        raise DamagedBlock(f"it holds block {place[0]} (replicates {place[1]} to {place[2] - 1})")
    return arrays


def _members(path: Path) -> Columns:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as opened:
            return {name: opened[name] for name in opened.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # zip, npy and zlib raise whatever they meet in a damaged file
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DamagedBlock(f"it cannot be read ({reason[:120]})") from None


def _content_sha256(run: str, place: list[int], arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(["simtrack.block/1", run, place]).encode())
    digest_arrays(digest, arrays)
    return digest.hexdigest()


def _as_bytes(sha256: str) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(sha256), np.uint8)


# One process at a time in a folder: a lock that ends with its process, however it ends.
LOCK_NAME = "lock"


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the folder for this process, or refuse and name who holds it.

    The operating system holds the lock, not the file: a killed process leaves the file behind and
    no lock. Over a network drive it works where the drive passes locks on (NFS 4 does).

    Raises
    ------
    DataError
        If another process, or another run of this one, is in the folder.
    """
    path = folder / LOCK_NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written: {error.strerror or error}. Choose another place."
        ) from None
    try:
        if not _try_lock(handle):
            # The first byte is the locked one where locks are mandatory, so it is skipped.
            holder = os.pread(handle, 200, 1).decode("utf-8", "replace") if _POSIX else ""
            who = holder.strip() or "another process"
            raise DataError(
                f"{folder} is in use by {who}. Wait for it, stop it, or choose another folder."
            )
        os.ftruncate(handle, 0)
        os.write(handle, f" process {os.getpid()} on {platform.node()}\n".encode())
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    _POSIX = False

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    _POSIX = True

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


# A folder of finished blocks: one process at a time, and only for the run that it belongs to.
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

    def load(self, number: int) -> Columns | None:
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
