"""One finished block, one file: whole or not there, and proof against silent damage."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError
from simtrack.files import write_with
from simtrack.runs.blocks_result import Arrays, digest_arrays

__all__ = ["DamagedBlock", "ForeignBlock", "block_path", "read_block", "write_block"]

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


def read_block(folder: Path, run: str, number: int, block: range) -> dict[str, NDArray[Any]]:
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


def _members(path: Path) -> dict[str, NDArray[Any]]:
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
