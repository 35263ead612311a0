"""What is in a compressed zip member? Bounded: never more bytes than the directory declares."""

from __future__ import annotations

import threading
import zlib
from typing import TYPE_CHECKING

from simtrack.errors import DataError

if TYPE_CHECKING:
    import zstandard

__all__ = ["MEMBER_MAX_BYTES", "RATIO_MAX", "inflate"]

#: The largest member that is unpacked: one is in memory at a time.
MEMBER_MAX_BYTES = 400 << 20
#: Above this size a member may not be more than `RATIO_MAX` times its packed bytes. Transcripts
#: pack 3 to 16 times.
_RATIO_FLOOR_BYTES = 8 << 20
RATIO_MAX = 200
_PIECE_BYTES = 1 << 18
_STORED, _DEFLATE, _ZSTD = 0, 8, 93
_THREAD = threading.local()
_METHODS = {12: "bzip2", 14: "LZMA", 95: "XZ", 9: "deflate64", 1: "shrink", 6: "implode"}


def inflate(packed: bytes | memoryview, method: int, size: int, label: str) -> bytes | bytearray:
    """Unpack a member that must come out as exactly `size` bytes.

    Parameters
    ----------
    packed : bytes
        What stands in the file.
    method : int
        The zip method: 0 stored, 8 deflate, 93 Zstandard (one frame or several).
    size : int
        The length that the directory declares, which is also the bound on what is unpacked.
    label : str
        The name used in messages.

    Raises
    ------
    DataError
        A member above the caps, damaged, of another length, or of another method.
    """
    if size > MEMBER_MAX_BYTES:
        raise DataError(
            f"{label} would unpack to {size / 1e6:.0f} MB; the cap is "
            f"{MEMBER_MAX_BYTES / 1e6:.0f} MB. Read the summaries (detail='summaries') instead."
        )
    if size > _RATIO_FLOOR_BYTES and size > RATIO_MAX * max(len(packed), 1):
        raise DataError(
            f"{label} would unpack to {size} bytes from {len(packed)}, as a zip bomb does, so it "
            "was not unpacked."
        )
    if method == _STORED:
        data: bytes | bytearray = bytes(packed)
    elif method == _DEFLATE:
        data = _deflated(packed, size, label)
    elif method == _ZSTD:
        data = _zstd(packed, size, label)
    else:
        shown = _METHODS.get(method, "unknown")
        raise DataError(
            f"{label} is packed by method {method} ({shown}), which is not read. "
            "Pack the log again with deflate or zstd."
        )
    if len(data) != size:
        raise DataError(f"{label} is damaged: its length is not the {size} bytes declared.")
    return data


def _deflated(packed: bytes | memoryview, size: int, label: str) -> bytearray:
    """Unpack piece by piece into place: the pieces of one long call would lie there twice."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    out = bytearray()
    try:
        for start in range(0, len(packed), _PIECE_BYTES):
            rest = bytes(packed[start : start + _PIECE_BYTES])
            while rest and not stream.eof:
                out += stream.decompress(rest, _PIECE_BYTES)
                rest = stream.unconsumed_tail
                if len(out) > size:
                    return out
        out += stream.flush(1)
    except zlib.error as error:
        raise DataError(f"{label} is damaged: {error}.") from None
    return out


def _zstd(packed: bytes | memoryview, size: int, label: str) -> bytes:
    import zstandard

    if not size:
        return b""
    try:
        declared = zstandard.frame_content_size(packed)
        if declared > size:
            raise DataError(f"{label} is damaged: its length is not the {size} bytes declared.")
        data = _decompressor().decompress(packed, max_output_size=size)
        if len(data) < size:
            with _decompressor().stream_reader(packed, read_across_frames=True) as frames:
                data = frames.read(size + 1)
    except zstandard.ZstdError as error:
        raise DataError(f"{label} is damaged: {error}.") from None
    return data


def _decompressor() -> zstandard.ZstdDecompressor:
    """Give this thread's decompressor: one may not serve two threads at a time."""
    import zstandard

    found: zstandard.ZstdDecompressor | None = getattr(_THREAD, "decompressor", None)
    if found is None:
        found = _THREAD.decompressor = zstandard.ZstdDecompressor()
    return found
