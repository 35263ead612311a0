"""Write files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from simtrack.errors import DataError, InputError

__all__ = ["write_bytes", "write_text", "write_with"]


def write_with(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary file beside `path`, then put it in place in one step.

    Nothing is left behind, and an old file stays as it was, when `write` fails.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(
            "output", "in a folder that exists", str(target.parent), cure="Make the folder first."
        )
    if target.is_dir():
        raise InputError("output", "a file, not a folder", str(target))
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent
        )
        os.close(handle)
        temporary = Path(name)
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"{target} cannot be written: {reason}. Choose another place.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return target


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Put `content` at `path`, whole or not at all."""
    return write_with(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: str | Path, content: str) -> Path:
    """Put `content` at `path` as UTF-8 with plain line ends, whole or not at all."""
    return write_bytes(path, content.encode("utf-8"))
