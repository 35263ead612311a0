"""Which different texts are there, in the order in which they first stand there?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import kernel
from simtrack.kernels.json_text import are_equal

__all__ = ["intern", "rehash"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Slots = NDArray[np.int32]

_U = np.uint64
_TEXT = 5
#: The hash of Fowler, Noll and Vo (FNV-1a); its upper half is folded into the lower.
_FNV_START, _FNV_PRIME, _HALF = _U(0xCBF29CE484222325), _U(0x100000001B3), _U(32)


@kernel
def intern(
    data: Bytes,
    kinds: Bytes,
    payload: Ints,
    sizes: Ints,
    slots: Slots,
    hashes: Words,
    ends: Ints,
    texts: Bytes,
    count: int,
) -> int:
    """Put the texts of a column into a dictionary, in their order, and their places into `payload`.

    Parameters
    ----------
    slots : shape (a power of 2,)
        The table: a text's place in the dictionary, -1 where free.
    hashes, ends : shape (room,)
        The hash of each text of the dictionary, and where it ends among `texts`.
    count : int
        How many there are; their new number is given.
    """
    mask = slots.size - 1
    for row in range(kinds.size):
        if kinds[row] != _TEXT:
            continue
        start, size = payload[row], sizes[row]
        code = _FNV_START
        for k in range(start, start + size):
            code = (code ^ _U(data[k])) * _FNV_PRIME
        slot = np.int64(code ^ (code >> _HALF)) & mask
        while True:
            known = slots[slot]
            if known < 0:
                begin = ends[count - 1] if count else 0
                for k in range(size):
                    texts[begin + k] = data[start + k]
                slots[slot], hashes[count], ends[count] = count, code, begin + size
                known = count
                count += 1
                break
            if hashes[known] == code:
                begin = ends[known - 1] if known else 0
                if ends[known] - begin == size and are_equal(texts, begin, data, start, size):
                    break
            slot = (slot + 1) & mask
        payload[row] = known
    return count


@kernel
def rehash(hashes: Words, slots: Slots) -> None:
    """Fill an empty table with the texts of a dictionary, by their hashes."""
    mask = slots.size - 1
    for known in range(hashes.size):
        slot = np.int64(hashes[known] ^ (hashes[known] >> _HALF)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = known
