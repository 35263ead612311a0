"""Where do the parts of JSON text end? Pieces of a scanner that takes strict JSON alone.

Each gives the position behind a part, or -1 for what is no strict JSON. Every block of text ends
with a line feed, which is valid nowhere inside a line: it stops each loop without a check of
bounds. Positions are signed, words unsigned: Numba makes floats of the two together.
"""

# ruff: noqa: PLR0911, PLR0912, PLR1714, SIM110 (a scanner is branches; Numba inlines no sets)
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel

__all__ = ["DEPTH_MAX", "are_equal", "is_blank", "is_utf8", "line_end", "literal_end",
           "mark_stops", "number_end", "past_space", "string_end", "value_end"]  # fmt: skip

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

#: Deeper nesting is left to a slower reader.
DEPTH_MAX = 64
_U = np.uint64
_HIGH, _ALL = _U(0x8080808080808080), _U(0xFFFFFFFFFFFFFFFF)
_REST, _FROM_SPACE = _U(0x7F7F7F7F7F7F7F7F), _U(0x6060606060606060)
_QUOTES, _BACKSLASHES = _U(0x2222222222222222), _U(0x5C5C5C5C5C5C5C5C)
_NONE, _ONE, _SIX, _FIFTY_EIGHT = _U(0), _U(1), _U(6), _U(58)
#: Its upper six bits are different after each of 64 shifts.
_DE_BRUIJN = _U(0x03F79D71B4CB0A89)


def _hex_values() -> Ints:
    values = np.full(256, -1, dtype=np.int64)
    for k, digit in enumerate(b"0123456789abcdef"):
        values[digit] = k
    for k, digit in enumerate(b"ABCDEF"):
        values[digit] = 10 + k
    return values


def _places() -> Ints:
    places = np.zeros(64, dtype=np.int64)
    for k in range(64):
        places[((int(_DE_BRUIJN) << k) & int(_ALL)) >> 58] = k
    return places


_HEX, _PLACES = _hex_values(), _places()


@kernel
def mark_stops(words: Words, stops: Words) -> None:
    """Mark the bytes at which a string may end or break: one bit a byte, 64 to a word.

    These are quotes, backslashes and control characters. Of eight words the marks of each byte,
    its highest bit, are put beside one another; the 8 by 8 bits are then turned, so that they
    stand in the order of the bytes (Warren, Hacker's Delight, 7-3).
    """
    for group in range(stops.size):
        bits = _NONE
        for k in range(8):
            eight = words[8 * group + k]
            quote, backslash = eight ^ _QUOTES, eight ^ _BACKSLASHES
            other = ((quote & _REST) + _REST) | quote
            other &= ((backslash & _REST) + _REST) | backslash
            other &= ((eight & _REST) + _FROM_SPACE) | eight
            bits |= (~other & _HIGH) >> _U(7 - k)
        turn = (bits ^ (bits >> _U(7))) & _U(0x00AA00AA00AA00AA)
        bits = bits ^ turn ^ (turn << _U(7))
        turn = (bits ^ (bits >> _U(14))) & _U(0x0000CCCC0000CCCC)
        bits = bits ^ turn ^ (turn << _U(14))
        turn = (bits ^ (bits >> _U(28))) & _U(0x00000000F0F0F0F0)
        stops[group] = bits ^ turn ^ (turn << _U(28))


@inline
def value_end(data: Bytes, stops: Words, at: int, stack: Bytes) -> int:
    """Skip a value of any shape: where it ends, -1 if it is no strict JSON or too deep."""
    depth = 0
    while True:
        byte = data[at]
        opened = False
        if byte == 34:
            at = string_end(data, stops, at + 1)
            at += 1 if at >= 0 else 0
        elif byte == 123 or byte == 91:
            at = past_space(data, at + 1)
            if data[at] == byte + 2:
                at += 1
            else:
                if depth == DEPTH_MAX:
                    return -1
                stack[depth] = byte
                depth += 1
                opened = True
        elif byte == 45 or (48 <= byte <= 57):
            at = number_end(data, at)
        else:
            at = literal_end(data, at)
        if at < 0:
            return -1
        while not opened:
            if depth == 0:
                return at
            at = past_space(data, at)
            if data[at] == 44:
                at = past_space(data, at + 1)
                opened = True
            elif data[at] == stack[depth - 1] + 2:
                depth -= 1
                at += 1
            else:
                return -1
        if stack[depth - 1] == 123:
            if data[at] != 34:
                return -1
            at = string_end(data, stops, at + 1)
            if at < 0:
                return -1
            at = past_space(data, at + 1)
            if data[at] != 58:
                return -1
            at = past_space(data, at + 1)


@inline
def string_end(data: Bytes, stops: Words, at: int) -> int:
    """Find the closing quote of a string, -1 if it is broken."""
    while True:
        at = _next_stop(stops, at)
        byte = data[_U(at)]
        if byte == 34:
            return at
        if byte != 92:
            return -1
        at = _escape_end(data, at + 1)
        if at < 0:
            return -1


@inline
def number_end(data: Bytes, at: int) -> int:
    """Give where a number ends."""
    if data[at] == 45:
        at += 1
    if data[at] == 48:
        at += 1
    elif 49 <= data[at] <= 57:
        at = _past_digits(data, at)
    else:
        return -1
    if data[at] == 46:
        if not 48 <= data[at + 1] <= 57:
            return -1
        at = _past_digits(data, at + 1)
    if data[at] == 101 or data[at] == 69:
        at += 1
        if data[at] == 43 or data[at] == 45:
            at += 1
        if not 48 <= data[at] <= 57:
            return -1
        at = _past_digits(data, at)
    return at


@inline
def literal_end(data: Bytes, at: int) -> int:
    """Give where null, true or false ends, -1 for anything else."""
    if data[at] == 110:
        right = data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108
        return at + 4 if right else -1
    if data[at] == 116:
        right = data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101
        return at + 4 if right else -1
    if data[at] == 102:
        right = data[at + 1] == 97 and data[at + 2] == 108 and data[at + 3] == 115
        return at + 5 if right and data[at + 4] == 101 else -1
    return -1


@inline
def is_utf8(data: Bytes, at: int, end: int) -> bool:
    """Say whether bytes are UTF-8 as RFC 3629 has it; what stands behind `end` is a quote."""
    while at < end:
        byte = data[at]
        at += 1
        if byte < 0x80:
            continue
        if 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
        elif 0xF0 <= byte <= 0xF4:
            more = 3
        else:
            return False
        then = data[at]
        low, top = 0x80, 0xBF
        if byte == 0xE0:
            low = 0xA0
        elif byte == 0xED:
            top = 0x9F
        elif byte == 0xF0:
            low = 0x90
        elif byte == 0xF4:
            top = 0x8F
        if then < low or then > top:
            return False
        for k in range(1, more):
            if data[at + k] & 0xC0 != 0x80:
                return False
        at += more
    return True


@inline
def past_space(data: Bytes, at: int) -> int:
    """Give where white space ends that may stand between tokens."""
    while data[at] == 32 or data[at] == 9 or data[at] == 13:
        at += 1
    return at


@inline
def is_blank(data: Bytes, at: int) -> bool:
    """Say whether nothing but white space of any kind is left of the line."""
    while data[at] == 32 or (9 <= data[at] <= 13 and data[at] != 10):
        at += 1
    return bool(data[at] == 10)


@inline
def line_end(data: Bytes, stops: Words, at: int) -> int:
    """Find the line feed from here on."""
    at = _next_stop(stops, at)
    while data[at] != 10:
        at = _next_stop(stops, at + 1)
    return at


@inline
def are_equal(one: Bytes, at: int, other: Bytes, there: int, size: int) -> bool:
    """Say whether so many bytes are the same in both places."""
    for k in range(size):
        if one[at + k] != other[there + k]:
            return False
    return True


@inline
def _past_digits(data: Bytes, at: int) -> int:
    while 48 <= data[at] <= 57:
        at += 1
    return at


@inline
def _next_stop(stops: Words, at: int) -> int:
    """Find the first marked byte from here on."""
    group = _U(at) >> _SIX
    marks = stops[group] & (_ALL << _U(at & 63))
    while marks == _NONE:
        group += _ONE
        marks = stops[group]
    return int(group << _SIX) + _lowest(marks)


@inline
def _lowest(marks: np.uint64) -> int:
    """Give the place of the lowest bit, by a product that is different for each (de Bruijn)."""
    return int(_PLACES[((marks & (~marks + _ONE)) * _DE_BRUIJN) >> _FIFTY_EIGHT])


@inline
def _escape_end(data: Bytes, at: int) -> int:
    """Give what follows the escape whose letter is here, -1 for a wrong one or half a pair."""
    byte = data[at]
    if byte != 117:
        plain = byte == 34 or byte == 92 or byte == 47 or byte == 110 or byte == 116
        return at + 1 if plain or byte == 114 or byte == 98 or byte == 102 else -1
    code = _hex4(data, at + 1)
    if code < 0xD800 or code > 0xDFFF:
        return at + 5 if code >= 0 else -1
    if code > 0xDBFF or data[at + 5] != 92 or data[at + 6] != 117:
        return -1
    other = _hex4(data, at + 7)
    return at + 11 if 0xDC00 <= other <= 0xDFFF else -1


@inline
def _hex4(data: Bytes, at: int) -> int:
    """Give the value of four hexadecimal digits, negative if one is none."""
    high = (_HEX[data[at]] << 12) | (_HEX[data[at + 1]] << 8)
    return int(high | (_HEX[data[at + 2]] << 4) | _HEX[data[at + 3]])
