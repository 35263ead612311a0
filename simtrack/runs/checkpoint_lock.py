"""One process at a time in a folder: a lock that ends with its process, however it ends."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simtrack.errors import DataError

__all__ = ["LOCK_NAME", "folder_lock"]

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
