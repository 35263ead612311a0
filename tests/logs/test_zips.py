"""Zips made by hand, byte by byte: what is read, and what is refused with which words."""

from __future__ import annotations

import concurrent.futures
import hashlib
import io
import tracemalloc
import zipfile
import zlib

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError
from simtrack.logs.zips import Archive

TEXT = b'{"id": "a"}' * 40


def opened(data: bytes) -> Archive:
    return Archive(io.BytesIO(data), "x.eval")


@pytest.mark.parametrize("method", [0, 8, 93])
@pytest.mark.parametrize("zip64", [False, True])
def test_every_method_gives_the_bytes_back(zips, method, zip64):
    entry, write = zips
    archive = opened(write([entry("a.json", TEXT, method, zip64=zip64)], zip64=zip64))
    assert archive.read("a.json") == TEXT
    assert archive.repeated == 0


def test_zipfile_and_we_read_the_same_members():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.comment = b"a comment behind the end record"
        for k, method in enumerate((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
            made.writestr(f"samples/ü{k}.json", TEXT * (k + 1), method)
    with zipfile.ZipFile(buffer) as peer:
        wanted = {name: peer.read(name) for name in peer.namelist()}
    archive = opened(buffer.getvalue())
    assert {name: archive.read(name) for name in archive.members} == wanted


def test_zstd_frames_after_one_another_are_one_member(zips):
    entry, write = zips
    compress = zstandard.ZstdCompressor(write_content_size=False).compress
    packed = compress(TEXT[:100]) + compress(TEXT[100:])
    archive = opened(write([entry("a", TEXT, 93, packed=packed)]))
    assert archive.read("a") == TEXT


def test_the_last_of_equal_names_counts(zips):
    entry, write = zips
    archive = opened(write([entry("a", b"old", 8), entry("b", b"b"), entry("a", b"new", 93)]))
    assert archive.read("a") == b"new"
    assert list(archive.members) == ["b", "a"]
    assert archive.repeated == 1


def lies(entry):
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    return {
        "crc": (entry("a", TEXT, 8, crc=1), "damaged: its CRC-32 does not match"),
        "longer": (entry("a", TEXT, 8, size=10), "not the 10 bytes declared"),
        "shorter": (entry("a", TEXT, 8, size=5000), "not the 5000 bytes declared"),
        "stored": (entry("a", TEXT, 0, size=10), "not the 10 bytes declared"),
        "zstd longer": (entry("a", TEXT, 93, size=10), "damaged"),
        "zstd shorter": (entry("a", TEXT, 93, size=5000), "not the 5000 bytes declared"),
        "zstd frame": (entry("a", TEXT, 93, packed=bomb), "not the 440 bytes declared"),
        "zstd junk": (entry("a", TEXT, 93, packed=b"junk" * 9), "damaged"),
        "deflate junk": (entry("a", TEXT, 8, packed=b"\xff" * 9), "damaged"),
        "method": (entry("a", TEXT, 12), r"method 12 \(bzip2\), which is not read"),
        "encrypted": (entry("a", TEXT, 0, flags=1), "encrypted"),
        "name": (entry("a", TEXT, 0, local_name="b"), "local header has another name"),
        "ratio": (entry("a", TEXT, 8, size=1 << 27), "as a zip bomb does"),
        "zstd ratio": (entry("a", TEXT, 93, size=9 << 20), "as a zip bomb does"),
    }


@pytest.mark.parametrize(
    "lie",
    [
        *("crc", "longer", "shorter", "stored", "zstd longer", "zstd shorter", "zstd frame"),
        *("zstd junk", "deflate junk", "method", "encrypted", "name", "ratio", "zstd ratio"),
    ],
)
def test_a_member_that_lies_is_refused_in_one_line(zips, lie):
    entry, write = zips
    made, words = lies(entry)[lie]
    with pytest.raises(DataError, match=words) as caught:
        opened(write([made])).read("a")
    assert str(caught.value).startswith("x.eval: member 'a'")
    assert "\n" not in str(caught.value)


def test_a_bomb_of_overlapping_members_is_refused(zips):
    entry, write = zips
    data = write([entry("a", TEXT)])
    start = data.index(b"PK\x01\x02")
    directory = data[start : data.index(b"PK\x05\x06")]
    end = bytearray(data[data.index(b"PK\x05\x06") :])
    end[8:12] = (3).to_bytes(2, "little") * 2
    end[12:16] = (3 * len(directory)).to_bytes(4, "little")
    with pytest.raises(DataError, match="members overlap, as in a zip bomb"):
        opened(data[:start] + directory * 3 + bytes(end))


def test_an_archive_that_declares_terabytes_is_refused(zips):
    entry, write = zips
    many = [entry(f"s{k}", TEXT, 8, size=(1 << 30)) for k in range(5)]
    with pytest.raises(DataError, match="would unpack to 5369 MB, as a zip bomb does"):
        opened(write(many))


def test_a_cut_zip_is_refused_with_the_cure(zips):
    entry, write = zips
    whole = write([entry("a", TEXT)])
    for length in (len(whole) - 1, len(whole) - 22, 60):
        with pytest.raises(DataError, match=r"truncated: .* --salvage"):
            opened(whole[:length])


@pytest.mark.parametrize("field", [12, 16])
def test_a_directory_that_is_not_where_it_should_be_is_refused(zips, field):
    entry, write = zips
    data = bytearray(write([entry("a", TEXT)]))
    end = data.rindex(b"PK\x05\x06")
    data[end + field : end + field + 4] = (5000).to_bytes(4, "little")
    with pytest.raises(DataError, match="cannot be trusted"):
        opened(bytes(data))


def test_a_broken_directory_or_zip64_record_is_refused(zips):
    entry, write = zips
    data = bytearray(write([entry("a", TEXT, zip64=True)], zip64=True))
    for signature in (b"PK\x01\x02", b"PK\x06\x06", b"\x01\x00\x18\x00"):
        broken = bytes(data).replace(signature, b"XXXX")
        with pytest.raises(DataError, match="cannot be trusted"):
            opened(broken)


def test_threads_do_not_share_a_decompressor(zips):
    entry, write = zips
    data = write([entry(f"m{k}", TEXT + bytes([k]), 93) for k in range(50)])

    def read_all(_: int) -> bool:
        archive = opened(data)
        return all(archive.read(f"m{k}") == TEXT + bytes([k]) for k in range(50))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read_all, range(20)))


def test_names_are_labels_and_nothing_is_written(zips, tmp_path, monkeypatch):
    entry, write = zips
    monkeypatch.chdir(tmp_path)
    trick = "../../samples/../etc/passwd"
    archive = opened(write([entry(trick, TEXT, 8), entry("/abs", TEXT)]))
    assert archive.read(trick) == archive.read("/abs") == TEXT
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_mutation_is_read_as_it_was_or_refused(zips, data):
    """Flipped bytes and cuts: the CRC protects the content, the checks the directory."""
    entry, write = zips
    contents = {f"m{k}": TEXT[: 30 * (k + 1)] for k in range(4)}
    whole = bytearray(
        write([entry(n, c, m) for (n, c), m in zip(contents.items(), (0, 8, 93, 8), strict=True)])
    )
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(whole) - 1))
        whole[position] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    try:
        archive = opened(bytes(whole[:cut]))
    except DataError:
        return
    for name in archive.members:
        try:
            found = archive.read(name)
        except DataError:
            continue
        # A changed name or CRC field cannot make other content pass: it is one of ours, or empty.
        assert found in contents.values() or not found


def test_a_real_bomb_is_refused_before_it_is_unpacked(zips):
    """600 MB of zeros in 600 kB: by its total; and in a file padded so that the total passes."""
    entry, write = zips
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(600)) + packer.flush()
    bomb = entry("header.json", b"", 8, size=600 << 20, packed=packed)
    with pytest.raises(DataError, match="would unpack to 629 MB, as a zip bomb does"):
        opened(write([bomb]))
    padded = opened(write([bomb, entry("pad", bytes(4 << 20))]))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"header\.json' would unpack to 629 MB; the cap is 419 MB"):
        padded.read("header.json")
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_a_long_transcript_is_read_without_lying_in_memory_twice(zips):
    entry, write = zips
    # Packs about 60 times: random lines of 32 bytes, each a hundred times.
    lines = (hashlib.sha256(k.to_bytes(4, "big")).digest() for k in range(6_000))
    text = b"".join(line * 100 for line in lines)
    for method in (8, 93):
        archive = opened(write([entry("a", text, method)]))
        tracemalloc.start()
        assert archive.read("a") == text
        assert tracemalloc.get_traced_memory()[1] < 1.5 * len(text)
        tracemalloc.stop()


def test_offsets_beyond_any_file_are_damage_and_not_a_fault(zips):
    entry, write = zips
    data = bytearray(write([entry("a", TEXT)], zip64=True))
    at = data.rindex(b"PK\x06\x07") + 8
    data[at : at + 8] = b"\xff" * 8
    with pytest.raises(DataError, match="zip64 end record is damaged"):
        opened(bytes(data))
