"""Which cells do JSON lines hold? Strict JSON is scanned; what is out of the ordinary is flagged.

The scanner accepts fewer lines than a decoder would and takes no value that a decoder would read
otherwise: a line is either read exactly or left, flagged, to a slower reader. Every block ends with
a line feed, which is valid nowhere inside a line: it stops each loop without a check of bounds.
"""

# ruff: noqa: PLR0911, PLR0912, PLR1714 (a scanner is branches; Numba inlines no sets)
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack._jit import inline, kernel
from simtrack.kernels.json_text import (
    DEPTH_MAX,
    are_equal,
    is_blank,
    is_utf8,
    line_end,
    literal_end,
    number_end,
    past_space,
    string_end,
    value_end,
)

__all__ = ["RAW", "scan_lines"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_NULL, _BOOL, _INT, _FLOAT, _TEXT = 1, 2, 3, 4, 5
#: A value whose span is given, to be decoded: nested, a long number, a decimal of many digits.
RAW = 7

_U = np.uint64
_NONE, _TEN = _U(0), _U(10)
_EXACT = _U(1 << 53)
#: Ten to the power of 0 to 22, each exactly a double.
_POWERS = np.array([float(10**k) for k in range(23)])
_POWER_MAX, _POWER_CAP = 22, 10_000
#: An integer of so many digits is within 64 bits.
_DIGITS_MAX = 18


@kernel
def scan_lines(
    data: Bytes,
    stops: Words,
    at: int,
    end: int,
    row: int,
    line: int,
    names: Bytes,
    name_at: Ints,
    place: Ints,
    spans: Ints,
    numbers: Ints,
    flagged: Bytes,
    kinds: Bytes,
    payload: Ints,
    floats: Floats,
    sizes: Ints,
) -> tuple[int, int, int]:
    """Scan lines until the block ends or no room is left, and give (at, row, line) to go on with.

    Rows are the lines that are not blank.

    Parameters
    ----------
    data : `data[end - 1]` is a line feed
    stops : the marks of `mark_stops`
    at, row, line : where to begin, and how many rows and lines there are before that
    names, name_at
        The known keys one after another, and where each starts; the last entry is the end.
    place : shape (keys,)
        The column of each key, -1 for one whose values are skipped.
    spans, numbers, flagged : shapes (rows, 2), (rows,), (rows,)
        Out: where a row stands, its line in the block from 0, and whether it is left undone.
    kinds, payload, floats, sizes : shape (columns, rows)
        Out, zero before: kind and value of each cell; of texts and RAW the start and the length.
        `floats` is the memory of `payload`.
    """
    stack = np.zeros(DEPTH_MAX, dtype=np.uint8)
    latest = np.full(place.size, -1, dtype=np.int64)
    while at < end and row < flagged.size:
        stop = _object_end(
            data,
            stops,
            at,
            names,
            name_at,
            place,
            latest,
            row,
            kinds,
            payload,
            floats,
            sizes,
            stack,
        )
        is_row = stop >= 0
        if not is_row:
            stop = line_end(data, stops, at)
            is_row = not is_blank(data, at)
            for column in range(kinds.shape[0]):
                kinds[column, row] = 0
                payload[column, row] = 0
            flagged[row] = is_row
        if is_row:
            spans[row, 0], spans[row, 1] = at, stop
            numbers[row] = line
            row += 1
        line += 1
        at = stop + 1
    return at, row, line


@inline
def _object_end(
    data: Bytes,
    stops: Words,
    at: int,
    names: Bytes,
    name_at: Ints,
    place: Ints,
    latest: Ints,
    row: int,
    kinds: Bytes,
    payload: Ints,
    floats: Floats,
    sizes: Ints,
    stack: Bytes,
) -> int:
    """Read the object of one line: where its line feed is, -1 for what is out of the ordinary."""
    at = past_space(data, at)
    if data[at] != 123:
        return -1
    at = past_space(data, at + 1)
    guess = 0
    if data[at] == 125:
        at += 1
    else:
        while True:
            if data[at] != 34:
                return -1
            at += 1
            key = _key(data, stops, at, names, name_at, guess)
            if key < 0 or latest[key] == row:
                return -1
            latest[key] = row
            guess = key + 1 if key + 1 < place.size else 0
            at = past_space(data, at + name_at[key + 1] - name_at[key] + 1)
            if data[at] != 58:
                return -1
            at = past_space(data, at + 1)
            if place[key] < 0:
                at = value_end(data, stops, at, stack)
            else:
                column = place[key]
                at = _cell(data, stops, at, column, row, kinds, payload, floats, sizes, stack)
            if at < 0:
                return -1
            at = past_space(data, at)
            if data[at] == 44:
                at = past_space(data, at + 1)
            elif data[at] == 125:
                at += 1
                break
            else:
                return -1
    at = past_space(data, at)
    return at if data[at] == 10 else -1


@inline
def _key(data: Bytes, stops: Words, at: int, names: Bytes, name_at: Ints, guess: int) -> int:
    """Tell which known key starts here, the expected one first; -1 if none."""
    for turn in range(-1, name_at.size - 1):
        key = guess if turn < 0 else turn
        start = name_at[key]
        size = name_at[key + 1] - start
        if are_equal(names, start, data, at, size) and data[at + size] == 34:
            return key
    return -1


@inline
def _cell(
    data: Bytes,
    stops: Words,
    at: int,
    column: int,
    row: int,
    kinds: Bytes,
    payload: Ints,
    floats: Floats,
    sizes: Ints,
    stack: Bytes,
) -> int:
    """Read a value that is kept: where it ends, or -1."""
    first = data[at]
    if first == 34:
        start = at + 1
        stop = string_end(data, stops, start)
        if stop < 0 or not is_utf8(data, start, stop):
            return -1
        kinds[column, row] = _TEXT
        payload[column, row], sizes[column, row] = start, stop - start
        return stop + 1
    if first == 123 or first == 91:
        stop = value_end(data, stops, at, stack)
        kinds[column, row] = RAW
        payload[column, row], sizes[column, row] = at, stop - at
        return stop
    if first == 45 or (48 <= first <= 57):
        return _number(data, at, column, row, kinds, payload, floats, sizes)
    stop = literal_end(data, at)
    if stop > 0:
        kinds[column, row] = _NULL if first == 110 else _BOOL
        payload[column, row] = first == 116
    return stop


@inline
def _number(
    data: Bytes,
    at: int,
    column: int,
    row: int,
    kinds: Bytes,
    payload: Ints,
    floats: Floats,
    sizes: Ints,
) -> int:
    """Read a number that is exact in 64 bits; leave the span of any other."""
    stop = number_end(data, at)
    if stop < 0:
        return -1
    k = at + 1 if data[at] == 45 else at
    digits, behind, power = 0, 0, 0
    value = _NONE
    is_float = False
    while k < stop:
        byte = data[k]
        if byte == 46:
            is_float = True
        elif byte == 69 or byte == 101:
            break
        else:
            if digits < _DIGITS_MAX:
                value = value * _TEN + _U(byte - 48)
            if digits > 0 or byte != 48:
                digits += 1
            behind += is_float
        k += 1
    if k < stop:
        is_float = True
        k += 1
        sign = -1 if data[k] == 45 else 1
        if data[k] == 45 or data[k] == 43:
            k += 1
        while k < stop:
            power = power * 10 + int(data[k]) - 48 if power < _POWER_CAP else power
            k += 1
        power *= sign
    power -= behind
    is_sure = digits <= _DIGITS_MAX
    if not is_float and is_sure:
        kinds[column, row] = _INT
        payload[column, row] = -np.int64(value) if data[at] == 45 else np.int64(value)
    elif is_sure and value <= _EXACT and -_POWER_MAX <= power <= _POWER_MAX:
        number = np.float64(value)
        number = number * _POWERS[power] if power >= 0 else number / _POWERS[-power]
        kinds[column, row] = _FLOAT
        floats[column, row] = -number if data[at] == 45 else number
    else:
        kinds[column, row] = RAW
        payload[column, row], sizes[column, row] = at, stop - at
    return stop
