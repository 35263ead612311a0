"""The bytes of a file, of which only pieces need be in memory at a time."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK_BYTES", "MAPPED_BYTES", "Source"]

#: From this size on a file is mapped rather than read.
MAPPED_BYTES = 1 << 20
#: What is in memory at a time: some blocks of about this size.
BLOCK_BYTES = 8 << 20
_BOM = b"\xef\xbb\xbf"
_FEED = 10
_PIECE_BYTES = 1 << 18
#: What the system maps around a byte that is asked for, and how much of that may stay.
_AROUND_BYTES, _TOUCHED_MAX_BYTES = 1 << 16, 1 << 27


class Source:
    r"""The bytes of one file; positions count from the first byte, a byte-order mark included.

    Parameters
    ----------
    data : bytes or mmap
        All of it.
    start : int
        Where the content begins.

    Examples
    --------
    >>> source = Source.of(b"\xef\xbb\xbf[1]")
    >>> source.start, source.end, source[3:6]
    (3, 6, b'[1]')
    """

    __slots__ = ("_data", "_touched", "end", "start")

    def __init__(self, data: bytes | mmap.mmap, start: int = 0) -> None:
        self._data, self.start, self.end = data, start, len(data)
        self._touched = 0

    @staticmethod
    def of(data: bytes | Source) -> Source:
        """Take bytes, or what is a source already, without a byte-order mark before them."""
        source = data if isinstance(data, Source) else Source(data)
        marked = source[source.start : source.start + 3] == _BOM
        return Source(source._data, source.start + 3) if marked else source

    @staticmethod
    def open(path: Path) -> Source:
        """Read a small file, map a large one."""
        with path.open("rb") as file:
            if path.stat().st_size < MAPPED_BYTES:
                return Source.of(file.read())
            return Source.of(Source(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, piece: slice) -> bytes:
        """Give some bytes; of a mapped file, pages touched in passing are let go now and then."""
        found = self._data[piece]
        self._touched += len(found) + _AROUND_BYTES
        if self._touched > _TOUCHED_MAX_BYTES:
            self._touched = 0
            self.release(0, self.end)
        return found

    def whole(self) -> bytes:
        """Give everything at once, for readers that need it."""
        return self._data[self.start :]

    def find(self, sub: bytes, start: int, end: int | None = None) -> int:
        """Give the first position of `sub` from `start` on, -1 if there is none."""
        return self._data.find(sub, start, self.end if end is None else end)

    def first_visible(self, start: int) -> int:
        """Give the position of the first byte from `start` on that is no white space, or `end`."""
        while start < self.end:
            piece = self._data[start : start + 65536]
            rest = piece.lstrip()
            if rest:
                return start + len(piece) - len(rest)
            start += len(piece)
        return self.end

    def array(self) -> NDArray[np.uint8]:
        """Give all bytes as an array that copies nothing."""
        return np.frombuffer(self._data, dtype=np.uint8)

    def view(self, start: int, end: int) -> memoryview:
        """Give some bytes without a copy."""
        return memoryview(self._data)[start:end]

    def blocks(self, start: int, size: int = BLOCK_BYTES) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of pieces from `start` on that end behind a line feed or at the end.

        A line that is longer than `size` makes a longer piece.
        """
        while start < self.end:
            end = min(start + size, self.end)
            if end < self.end:
                feed = self._data.rfind(b"\n", start, end)
                feed = feed if feed >= 0 else self._data.find(b"\n", end)
                end = feed + 1 if feed >= 0 else self.end
            yield start, end
            start = end

    def lines(self, start: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Find the lines of a block that are not blank.

        Returns
        -------
        int64 array of shape (lines, 2), int64 array of shape (lines,), int
            Start and end of each, its number in the block from 0, and how many lines there are.
        """
        feeds = _feeds(self.array(), start, end)
        if end > start and (not feeds.size or feeds[-1] != end - 1):
            feeds = np.append(feeds, end)
        spans = np.empty((feeds.size, 2), dtype=np.int64)
        spans[:, 1] = feeds
        spans[1:, 0] = feeds[:-1] + 1
        spans[:1, 0] = start
        filled = spans[:, 0] < spans[:, 1]
        first = self.array()[np.where(filled, spans[:, 0], start)]
        for row in np.flatnonzero(filled & ((first <= 13) | (first == 32))).tolist():
            filled[row] = bool(self._data[spans[row, 0] : spans[row, 1]].strip())
        return spans[filled], np.flatnonzero(filled), int(feeds.size)

    def count_lines(self, start: int, end: int) -> int:
        """Count the lines of a block, blank ones included."""
        data = self.array()
        found = int(end > start and data[end - 1] != _FEED)
        for begin in range(start, end, _PIECE_BYTES):
            found += int(np.count_nonzero(data[begin : min(begin + _PIECE_BYTES, end)] == _FEED))
        return found

    def release(self, start: int, end: int) -> None:
        """Let go of the memory of a mapped piece: it is read again if it is asked for again."""
        page = mmap.PAGESIZE
        start, end = -(-start // page) * page, end // page * page
        advice = getattr(mmap, "MADV_DONTNEED", None)
        if advice is not None and isinstance(self._data, mmap.mmap) and start < end:
            self._data.madvise(advice, start, end - start)


def _feeds(data: NDArray[np.uint8], start: int, end: int) -> NDArray[np.int64]:
    """Find the line feeds of a block, in pieces that the processor's cache holds."""
    found = [np.zeros(0, dtype=np.int64)]
    size = min(_PIECE_BYTES, end - start)
    room = np.zeros(-(-size // 8) * 8, dtype=np.bool_)
    for begin in range(start, end, _PIECE_BYTES):
        piece = data[begin : min(begin + _PIECE_BYTES, end)]
        room[piece.size :] = False
        np.equal(piece, _FEED, out=room[: piece.size])
        words = np.flatnonzero(room.view(np.uint64))
        row, byte = np.nonzero(room.reshape(-1, 8)[words])
        found.append(words[row] * 8 + byte + begin)
    return np.concatenate(found)
