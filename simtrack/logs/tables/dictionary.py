"""The different texts of a column, each once, in the order in which they first stand there."""

from __future__ import annotations

from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simtrack.kernels.dictionary import intern, rehash
from simtrack.logs.tables.cells import LABEL_MAX_CHARACTERS, TEXT

__all__ = ["Dictionary"]

Scalar = TypeVar("Scalar", bound=np.generic)
_BYTES_A_CHARACTER = 4
_ROOM = 1 << 10
_BACKSLASH = 92


class Dictionary:
    """Texts as the bytes that stand between their quotes, and a table that finds them again.

    Attributes
    ----------
    is_long : bool
        Whether a text is certainly longer than a label.
    """

    def __init__(self) -> None:
        self.is_long = False
        self._count = 0
        self._slots = np.full(2 * _ROOM, -1, dtype=np.int32)
        self._hashes = np.zeros(_ROOM, dtype=np.uint64)
        self._ends = np.zeros(_ROOM, dtype=np.int64)
        self._bytes = np.zeros(_ROOM, dtype=np.uint8)

    def intern(
        self,
        data: NDArray[np.uint8],
        kinds: NDArray[np.uint8],
        payload: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> None:
        """Add the texts of some cells, whose payload becomes their places here."""
        texts = kinds == TEXT
        times = int(np.count_nonzero(texts))
        if not times:
            return
        lengths = sizes[texts]
        longest = int(lengths.max())
        self.is_long = self.is_long or longest > LABEL_MAX_CHARACTERS * _BYTES_A_CHARACTER
        self._make_room(times, int(lengths.sum()))
        self._count = intern(
            data, kinds, payload, sizes, self._slots, self._hashes, self._ends, self._bytes,
            self._count,
        )  # fmt: skip

    def texts(self) -> list[str]:
        """Give the texts, decoded; two of them may be equal where one has escapes."""
        ends = self._ends[: self._count].tolist()
        starts = [0, *ends][:-1]
        whole = self._bytes[: ends[-1] if ends else 0].tobytes()
        if whole.isascii() and b"\\" not in whole:
            text = whole.decode("ascii")
            return [text[a:b] for a, b in zip(starts, ends, strict=True)]
        pieces = (whole[a:b] for a, b in zip(starts, ends, strict=True))
        return [_DECODE(b'"' + p + b'"') if b"\\" in p else p.decode() for p in pieces]

    def repeats(self) -> bool:
        """Say whether a text may stand twice, as one with escapes may."""
        return bool((self._bytes == _BACKSLASH).any())

    def _make_room(self, times: int, size: int) -> None:
        """Grow so that as many new texts, of so many bytes in all, fit in."""
        used = int(self._ends[self._count - 1]) if self._count else 0
        if used + size > self._bytes.size:
            self._bytes = _grown(self._bytes, used + size)
        if self._count + times <= self._hashes.size:
            return
        self._hashes = _grown(self._hashes, self._count + times)
        self._ends = _grown(self._ends, self._hashes.size)
        self._slots = np.full(2 * self._hashes.size, -1, dtype=np.int32)
        rehash(self._hashes[: self._count], self._slots)


def _grown(array: NDArray[Scalar], size: int) -> NDArray[Scalar]:
    room = 1 << max(size - 1, 1).bit_length()
    found = np.zeros(room, dtype=array.dtype)
    found[: array.size] = array
    return found


_DECODE = msgspec.json.Decoder(str).decode
