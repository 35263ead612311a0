"""Random words: Philox4x32-10, a counter-based generator, in one source for every use.

The 32-bit words are held in uint64 so that no product overflows and no type widens by surprise.
The same functions take NumPy uint64 scalars, NumPy uint64 arrays (through `.py_func`), or run
inlined in a compiled kernel.

How a kernel takes its words
----------------------------
A stream has a 64-bit key (`simtrack.rng.stream_key`) of two words, low word first: k0 = key & MASK,
k1 = key >> SHIFT (`Stream.words` holds them). A counter is four words: (block, index, replicate
low, replicate high), where index is the cluster or unit. One call gives four independent 32-bit
words, uniform on 0 .. 2^32 - 1::

    a, b, c, d = philox4x32(block, index, replicate & MASK, replicate >> SHIFT, k0, k1)

All arguments are uint64 (`np.uint64(...)` around every literal and every loop variable: in Numba
``uint64 + 1`` is int64). Never give the same (key, block, index, replicate) to two quantities; take
another block, or better another key. A Bernoulli draw compares a word with `threshold_words(p)`; on
a tie of the first words the second decides, which makes p exact to 64 bits:
``succeeds(high_word, low_word, high_threshold, low_threshold)``.

References
----------
J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
SC'11 (2011), section 3.3 (Philox, 10 rounds).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simtrack._jit import inline

__all__ = ["MASK", "SHIFT", "number64", "philox4x32", "succeeds", "threshold_words"]

MASK = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_ROUNDS = 10
_TWO_32 = 4294967296.0


@inline
def philox4x32(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Which four random words belong to this counter and key?

    Parameters
    ----------
    c0, c1, c2, c3 : uint64 scalars or arrays that broadcast, below 2^32
        The counter: block, index, replicate low, replicate high.
    k0, k1 : uint64, below 2^32
        The key, low word first.

    Returns
    -------
    tuple of four uint64, each below 2^32
    """
    for _ in range(_ROUNDS):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (p1 >> SHIFT) ^ c1 ^ k0,
            p1 & MASK,
            (p0 >> SHIFT) ^ c3 ^ k1,
            p0 & MASK,
        )
        k0 = (k0 + _WEYL_0) & MASK
        k1 = (k1 + _WEYL_1) & MASK
    return c0, c1, c2, c3


@inline
def number64(high: Any, low: Any) -> Any:
    """Join two 32-bit words into one 64-bit number, the first word on top."""
    return (high << SHIFT) | low


@inline
def threshold_words(p: float) -> Any:
    """Split floor(p 2^64) into its two words, for 0 <= p <= 1; the high one is 2^32 at p = 1."""
    scaled = p * _TWO_32  # exact: a power of two
    high = np.uint64(scaled)
    return high, np.uint64((scaled - np.float64(high)) * _TWO_32)


@inline
def succeeds(high: Any, low: Any, high_threshold: Any, low_threshold: Any) -> Any:
    """Whether the 64-bit number (high, low) lies below the threshold: a Bernoulli success.

    The low word matters only when the high words tie, so a kernel may draw it then and not before.
    """
    return (high < high_threshold) | ((high == high_threshold) & (low < low_threshold))
