"""Members of a zip archive, found and inflated within bounds."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from simtrack.errors import DataError

if TYPE_CHECKING:
    import zstandard

__all__ = ["MEMBER_MAX_BYTES", "RATIO_MAX", "Archive", "Member", "inflate", "shown"]


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


# Which members does a zip archive hold, and what is in one of them? Read-only, one at a time.
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
#: Signature, flags, method, CRC-32, both sizes, three lengths, offset; the rest is padding.
_CENTRAL = struct.Struct("<4s4x2H4x3L3H8xL")
_LOCAL = struct.Struct("<4s5H3L2H")
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_COMMENT_MAX = 0xFFFF
#: More members than any log has; a directory that claims more is not believed.
MEMBERS_MAX = 4_000_000
#: An archive may declare this many bytes in all, or this many times its own length.
TOTAL_FLOOR_BYTES = 256 << 20
#: Longer names are cut in messages.
_SHOWN = 80
#: The slack read behind a local header, so that most members take one read.
_EXTRA_GUESS = 64


class Member(NamedTuple):
    """Where does one member lie, and how large is it?

    `packed` and `size` are bytes in the file and after decompression; `offset` is that of the
    local header; `crc` is the CRC-32 of the content.
    """

    name: str
    raw_name: bytes
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    offset: int


def shown(name: str) -> str:
    r"""Give a name that a file holds as a message may: short, without what a terminal would obey.

    Examples
    --------
    >>> print(shown("samples/q1_epoch_1.json"), shown("a" + chr(27) + "[2J" + chr(10) + "b"))
    samples/q1_epoch_1.json a\x1b[2J\nb
    """
    short = name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…"
    return short if short.isprintable() else repr(short)[1:-1]


class Archive:
    """What does a zip file hold, by its central directory?

    Nothing is ever extracted to disk: names are labels, not paths. Where a name occurs twice the
    last one counts, as in Inspect, which appends the newer one.

    Parameters
    ----------
    file : binary file
        Open for reading and seekable.
    label : str
        The name used in messages.

    Attributes
    ----------
    members : dict of name to Member
        In the order of the directory.
    repeated : int
        How many older members were superseded by a later one of the same name.
    """

    def __init__(self, file: BinaryIO, label: str) -> None:
        self._file = file
        self._label = label
        self._length = file.seek(0, 2)
        listed = list(self._directory())
        self.members: dict[str, Member] = {}
        for member in listed:
            self.members.pop(member.name, None)
            self.members[member.name] = member
        self.repeated = len(listed) - len(self.members)
        if sum(member.packed for member in listed) > self._length:
            raise self._refusal("its members overlap, as in a zip bomb, so nothing was unpacked")
        declared = sum(member.size for member in listed)
        if declared > max(TOTAL_FLOOR_BYTES, RATIO_MAX * self._length):
            raise self._refusal(
                f"it would unpack to {declared / 1e6:.0f} MB, as a zip bomb does, so nothing was "
                "unpacked"
            )

    def read(self, name: str) -> bytes | bytearray:
        """Give the content of a member, its length and CRC-32 checked.

        Raises
        ------
        DataError
            A member that is damaged, encrypted, larger than the directory says or than the cap,
            or packed by a method that is not read.
        """
        member = self.members[name]
        data = inflate(self._packed(member), member.method, member.size, self._named(member))
        if zlib.crc32(data) != member.crc:
            raise DataError(f"{self._named(member)} is damaged: its CRC-32 does not match.")
        return data

    def _packed(self, member: Member) -> bytes | memoryview:
        guess = _LOCAL.size + len(member.raw_name) + _EXTRA_GUESS + member.packed
        block = self._block(member.offset, guess)
        if len(block) < _LOCAL.size or block[:4] != b"PK\x03\x04":
            raise DataError(f"{self._named(member)} is damaged: its local header is missing.")
        header = _LOCAL.unpack_from(block)
        if header[2] & 1 or member.flags & 1:
            raise DataError(f"{self._named(member)} is encrypted. Decrypt the archive first.")
        start = _LOCAL.size + header[-2] + header[-1]
        if bytes(block[_LOCAL.size : _LOCAL.size + header[-2]]) != member.raw_name:
            raise DataError(f"{self._named(member)} is damaged: its local header has another name.")
        if start + member.packed > len(block):
            block = self._block(member.offset, start + member.packed)
        if start + member.packed > len(block):
            raise DataError(f"{self._named(member)} is damaged: the file ends inside it.")
        return memoryview(block)[start : start + member.packed]

    def _block(self, offset: int, length: int) -> bytes:
        if offset > self._length:  # beyond what a file system can seek to, too
            return b""
        self._file.seek(offset)
        return self._file.read(length)

    def _directory(self) -> Iterator[Member]:
        count, size, offset = self._end()
        if count > MEMBERS_MAX:
            raise self._refusal(f"its directory claims {count} members")
        block = self._block(offset, size)
        if len(block) != size:
            raise self._refusal("its directory lies outside the file")
        position = 0
        for _ in range(count):
            if position + _CENTRAL.size > len(block):
                raise self._refusal("its directory is damaged")
            member, position = self._entry(block, position)
            yield member

    def _entry(self, block: bytes, position: int) -> tuple[Member, int]:
        (signature, flags, method, crc, packed, size, name_size, extra_size, comment_size,
         offset) = _CENTRAL.unpack_from(block, position)  # fmt: skip
        if signature != b"PK\x01\x02":
            raise self._refusal("its directory is damaged")
        start = position + _CENTRAL.size
        end = start + name_size
        raw = block[start:end]
        if _FULL32 in (packed, size, offset):
            extra = block[end : end + extra_size]
            size, packed, offset = self._wide(extra, (size, packed, offset))
        if offset + packed > self._length:
            raise self._refusal("its directory points outside the file")
        name = raw.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        member = Member(name, raw, method, flags, crc, packed, size, offset)
        return member, end + extra_size + comment_size

    def _wide(self, extra: bytes, narrow: tuple[int, ...]) -> tuple[int, ...]:
        """Replace the fields that are full by the 64-bit ones of the zip64 extra field."""
        position = 0
        while position + 4 <= len(extra):
            kind, length = struct.unpack_from("<HH", extra, position)
            if kind == 1:
                body = extra[position + 4 : position + 4 + length]
                wide = iter(struct.unpack(f"<{len(body) // 8}Q", body[: len(body) // 8 * 8]))
                try:
                    return tuple(next(wide) if v == _FULL32 else v for v in narrow)
                except (StopIteration, RuntimeError):
                    break
            position += 4 + length
        raise self._refusal("its zip64 fields are damaged")

    def _end(self) -> tuple[int, int, int]:
        """Find the end record: (number of members, size and offset of the directory)."""
        start = max(0, self._length - _END.size - _COMMENT_MAX)
        tail = self._block(start, self._length - start)
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or found + _END.size > len(tail):
            raise DataError(
                f"{self._label}: truncated: the zip has no directory at its end. Copy it again "
                "from where it was written, or read what is whole: --salvage (in Python "
                "salvage=True)."
            )
        end = _END.unpack_from(tail, found)
        count, size, offset = end[4], end[5], end[6]
        if count == _FULL16 or _FULL32 in (size, offset):
            count, size, offset = self._end64(start + found, (count, size, offset))
        if offset + size > start + found:
            raise self._refusal("its directory is not where the end of the file says")
        return count, size, offset

    def _end64(self, end: int, narrow: tuple[int, int, int]) -> tuple[int, int, int]:
        at = end - _LOCATOR64.size
        locator = self._block(at, _LOCATOR64.size) if at >= 0 else b""
        if locator[:4] != b"PK\x06\x07":
            return narrow
        where = _LOCATOR64.unpack(locator)[2]
        record = self._block(where, _END64.size)
        if record[:4] != b"PK\x06\x06" or len(record) < _END64.size:
            raise self._refusal("its zip64 end record is damaged")
        wide = _END64.unpack(record)
        return int(wide[7]), int(wide[8]), int(wide[9])

    def _named(self, member: Member) -> str:
        return f"{self._label}: member '{shown(member.name)}'"

    def _refusal(self, why: str) -> DataError:
        return DataError(f"{self._label}: this zip cannot be trusted: {why}. Copy it again.")
