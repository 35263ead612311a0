"""Small logs made by Inspect itself, and a zip writer that can also write zips that lie."""

from __future__ import annotations

import json
import pathlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import zstandard

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "logs"


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    return FIXTURES


@dataclass
class Entry:
    """A member of a hand-made zip; any field may be a lie."""

    name: str
    data: bytes
    method: int = 0
    size: int | None = None
    crc: int | None = None
    packed: bytes | None = None
    local_name: str | None = None
    flags: int = 0
    zip64: bool = False

    def body(self) -> bytes:
        if self.packed is not None:
            return self.packed
        if self.method == 8:
            deflate = zlib.compressobj(wbits=-15)
            return deflate.compress(self.data) + deflate.flush()
        if self.method == 93:
            return zstandard.ZstdCompressor(write_content_size=False).compress(self.data)
        return self.data


def zip_bytes(entries: list[Entry], *, zip64: bool = False, comment: bytes = b"") -> bytes:
    """Write an archive as PKWARE's APPNOTE lays it out, byte by byte."""
    out, directory = b"", b""
    for e in entries:
        body = e.body()
        size = len(e.data) if e.size is None else e.size
        crc = zlib.crc32(e.data) if e.crc is None else e.crc
        local = (e.local_name or e.name).encode()
        name = e.name.encode()
        flags = e.flags | 0x800
        head = struct.pack("<HHHHHLLL", 20, flags, e.method, 0, 0, crc, len(body), size)
        offset = len(out)
        out += b"PK\x03\x04" + head + struct.pack("<HH", len(local), 0) + local + body
        extra = struct.pack("<HHQQQ", 1, 24, size, len(body), offset) if e.zip64 else b""
        full = 0xFFFFFFFF
        sizes = (full, full) if e.zip64 else (len(body), size)
        directory += b"PK\x01\x02" + struct.pack(
            "<HHHHHHLLLHHHHHLL",
            45, 20, flags, e.method, 0, 0, crc, *sizes, len(name), len(extra), 0, 0, 0, 0,
            full if e.zip64 else offset,
        ) + name + extra  # fmt: skip
    start, count = len(out), len(entries)
    end = b""
    if zip64:
        end += b"PK\x06\x06" + struct.pack(
            "<QHHLLQQQQ", 44, 45, 45, 0, 0, count, count, len(directory), start
        )
        end += b"PK\x06\x07" + struct.pack("<LQL", 0, start + len(directory), 1)
        count, start_field, size_field = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
    else:
        start_field, size_field = start, len(directory)
    end += b"PK\x05\x06" + struct.pack(
        "<HHHHLLH", 0, 0, count, count, size_field, start_field, len(comment)
    )
    return out + directory + end + comment


def header(**changes: object) -> dict[str, object]:
    """Give the least that a finished log's header holds."""
    spec = {
        "task": "quiz",
        "model": "mockllm/model",
        "eval_id": "e1",
        "task_id": "t1",
        "dataset": {"samples": 2, "sample_ids": ["a", "b"]},
        "config": {"epochs": 1},
        "packages": {"inspect_ai": "0.3.285"},
    }
    return {"version": 2, "status": "success", "eval": spec, "plan": {}} | changes


def sample(name: object, value: object, epoch: int = 1, **more: object) -> dict[str, object]:
    return {"id": name, "epoch": epoch, "scores": {"match": {"value": value}}} | more


LogMaker = Callable[..., pathlib.Path]


@pytest.fixture
def make_log(tmp_path: pathlib.Path) -> LogMaker:
    """Write a hand-made `.eval`: a header and samples, packed by one method."""

    def make(samples: list[dict[str, object]], *, method: int = 0, **changes: object):
        entries = [Entry("_journal/start.json", json.dumps(header()).encode(), method)]
        entries += [
            Entry(f"samples/{s['id']}_epoch_{s['epoch']}.json", json.dumps(s).encode(), method)
            for s in samples
        ]
        entries.append(Entry("header.json", json.dumps(header(**changes)).encode(), method))
        path = tmp_path / "made.eval"
        path.write_bytes(zip_bytes(entries))
        return path

    return make


@pytest.fixture(scope="session")
def zips() -> tuple[type[Entry], Callable[..., bytes]]:
    """The zip writer, since test files do not import one another."""
    return Entry, zip_bytes


@pytest.fixture(scope="session")
def log_parts() -> tuple[Callable[..., dict[str, object]], Callable[..., dict[str, object]]]:
    """`header(**changes)` and `sample(id, value, epoch, **more)`."""
    return header, sample
