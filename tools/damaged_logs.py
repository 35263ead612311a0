"""How may a log be damaged? Bytes flipped, cut out, put in, files spliced, zip members swapped.

Every way gives the damaged bytes and which bytes of the original it touched, so that a judge knows
which records may differ. All is drawn from the `random.Random` that is handed in.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable
from random import Random  # noqa: TID251 - files are damaged, nothing is simulated
from typing import NamedTuple

import zstandard

__all__ = ["Damage", "damaged", "draws", "with_older_members"]

TOKENS = (b"null", b"[]", b"{}", b"NaN", b"-1", b"1e999", b'"x"', b"true", b"9" * 30, b"0.5")
VALUE = re.compile(rb'(?<=[:\[, ])(-?\d+(?:\.\d+)?|"[^"\n]*"|null|true|false)(?=[,\]}])')
#: Bytes that mean something to the formats, put in more often than chance would.
MARKS = b'{}[]",:\\\n\r\x00\xff\xef\xc3;\t 0N-.'
_ZIP = b"PK\x03\x04"
_PEEK = 4096


class Damage(NamedTuple):
    """What was done: its name, the bytes, where the original was touched, and what was mixed in.

    `touched` are (start, end) in the original; `donor` says that parts of the second file may be in
    it, `copied` that some bytes are there twice.
    """

    way: str
    data: bytes
    touched: tuple[tuple[int, int], ...]
    donor: bool = False
    copied: bool = False


def damaged(data: bytes, other: bytes, rng: Random) -> Damage:
    """Damage a file in one way; `other` is another file of the same kind, or the same one."""
    zipped = zipfile.is_zipfile(io.BytesIO(data))
    if zipped and not zipfile.is_zipfile(io.BytesIO(other)):
        other = data
    ways: list[Callable[[bytes, bytes, Random], Damage]] = [flipped, cut, dropped, copied, spliced]
    ways += [members_mixed, records_swapped, members_renamed] if zipped else [tokens, marked]
    return rng.choice(ways)(data, other, rng)


def draws(seed: int, k: int) -> Random:
    """Give what mutant k is drawn from."""
    return Random(f"{seed}/{k}")


def flipped(data: bytes, other: bytes, rng: Random) -> Damage:
    """Change one to four bytes, anywhere; of a zip as often in what is no member's content."""
    out = bytearray(data)
    places = [_place(data, rng) for _ in range(rng.randint(1, 4))]
    for at in places:
        out[at] ^= rng.choice((1 << rng.randrange(8), rng.randint(1, 255)))
    return Damage("flipped", bytes(out), tuple((at, at + 1) for at in places))


def cut(data: bytes, other: bytes, rng: Random) -> Damage:
    """End the file too early."""
    at = _place(data, rng)
    return Damage("cut", data[:at], ((at, len(data)),))


def dropped(data: bytes, other: bytes, rng: Random) -> Damage:
    """Take some bytes out."""
    at = _place(data, rng)
    end = min(at + rng.choice((1, 2, rng.randint(1, 40), rng.randint(1, _PEEK))), len(data))
    return Damage("dropped", data[:at] + data[end:], ((at, end),))


def copied(data: bytes, other: bytes, rng: Random) -> Damage:
    """Write some bytes twice."""
    at = _place(data, rng)
    end = min(at + rng.choice((1, rng.randint(1, 80), rng.randint(1, _PEEK))), len(data))
    return Damage("copied", data[:end] + data[at:end] + data[end:], ((at, end),), copied=True)


def spliced(data: bytes, other: bytes, rng: Random) -> Damage:
    """Go on with the rest of another file of the kind, from about as far or from anywhere."""
    at = _place(data, rng)
    share = at / len(data)
    start = rng.choice((int(share * len(other)), rng.randrange(len(other))))
    return Damage("spliced", data[:at] + other[start:], ((at, len(data)),), donor=True)


def tokens(data: bytes, other: bytes, rng: Random) -> Damage:
    """Put another JSON value in the place of one to three."""
    edits: dict[int, tuple[int, bytes]] = {}
    for _ in range(rng.randint(1, 3)):
        found = VALUE.search(data, rng.randrange(len(data)))
        if found:
            edits[found.start()] = (found.end(), rng.choice(TOKENS))
    out = data
    for at in sorted(edits, reverse=True):
        out = out[:at] + edits[at][1] + out[edits[at][0] :]
    return Damage("tokens", out, tuple((at, end) for at, (end, _) in edits.items()))


def marked(data: bytes, other: bytes, rng: Random) -> Damage:
    """Put a byte that means something to the format in the place of another."""
    at = rng.randrange(len(data))
    out = data[:at] + bytes([rng.choice(MARKS)]) + data[at + 1 :]
    return Damage("marked", out, ((at, at + 1),))


def members_mixed(data: bytes, other: bytes, rng: Random) -> Damage:
    """Write the zip anew, whole, with members swapped, left out, doubled or foreign."""
    members, theirs = _members(data), _members(other)
    names = [name for name, _ in members]
    donor = False
    for _ in range(rng.randint(1, 2)):
        k, j = rng.randrange(len(members)), rng.randrange(len(members))
        act = rng.randrange(5)
        if act == 0:  # the contents under one another's names
            members[k], members[j] = (members[k][0], members[j][1]), (members[j][0], members[k][1])
        elif act == 1 and len(members) > 1:
            del members[k]
        elif act == 2:  # the same name again, with what another member holds
            members.append((members[k][0], members[j][1]))
        elif act == 3:
            members.append((rng.choice(names), rng.choice(theirs)[1]))
            donor = True
        else:
            members[k], members[j] = members[j], members[k]
    return Damage("members mixed", _zipped(members, rng), (), donor)


def records_swapped(data: bytes, other: bytes, rng: Random) -> Damage:
    """Exchange two entries' fields in the directory: names, offsets, checksums or sizes."""
    at = [found.start() for found in re.finditer(b"PK\x01\x02", data)]
    out = bytearray(data)
    if len(at) > 1:
        one, two = rng.sample(at, 2)
        for start, length in rng.sample(((42, 4), (16, 4), (20, 4), (24, 4), (10, 2)), 1):
            a, b = one + start, two + start
            out[a : a + length], out[b : b + length] = out[b : b + length], out[a : a + length]
    return Damage("directory swapped", bytes(out), ())


def members_renamed(data: bytes, other: bytes, rng: Random) -> Damage:
    """Change a byte of a member's name, in the directory, its local header, or both."""
    out = bytearray(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = rng.choice(archive.namelist()).encode()
    places = [found.start() for found in re.finditer(re.escape(name), data)]
    k, byte = rng.randrange(len(name)), rng.randint(33, 126)
    for place in places if rng.random() < 0.5 else [rng.choice(places)]:
        out[place + k] = byte
    return Damage("member renamed", bytes(out), ())


def with_older_members(data: bytes) -> bytes | None:
    """Write a zip with its superseded members last, which makes them count; None without any."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return None
    members = _members(data)
    if len({name for name, _ in members}) == len(members):
        return None
    return _zipped(members[::-1], Random(0))


def _place(data: bytes, rng: Random) -> int:
    """Draw a byte; of a zip, every other time one of a header or of the directory."""
    if data.startswith(_ZIP) and rng.random() < 0.5:
        heads = [found.start() for found in re.finditer(b"PK\x03\x04|PK\x01\x02|PK\x05\x06", data)]
        return min(rng.choice(heads) + rng.randrange(60), len(data) - 1)
    return rng.randrange(len(data))


def _members(data: bytes) -> list[tuple[str, bytes]]:
    """Give names and contents, also of those packed by zstd, which zipfile does not read."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            start = info.header_offset
            lengths = int.from_bytes(data[start + 26 : start + 28], "little")
            lengths += int.from_bytes(data[start + 28 : start + 30], "little")
            packed = data[start + 30 + lengths : start + 30 + lengths + info.compress_size]
            found.append((info.filename, _unpacked(packed, info.compress_type)))
    return found


def _unpacked(packed: bytes, method: int) -> bytes:
    if method == zipfile.ZIP_STORED:
        return packed
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompress(packed, -zlib.MAX_WBITS)
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as frames:
        return bytes(frames.read())


def _zipped(members: list[tuple[str, bytes]], rng: Random) -> bytes:
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", method) as archive:
        warnings.simplefilter("ignore")  # of equal names
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return made.getvalue()
