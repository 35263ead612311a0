"""One JSON object a line, of a known format: which fields are wanted, and is the end torn?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from simtrack.counts import Loss
from simtrack.errors import DataError

__all__ = ["Span", "read_lines", "spans"]

T = TypeVar("T")
#: A line's number from 1, and where it starts and ends.
Span = tuple[int, int, int]


def spans(data: bytes) -> Iterator[Span]:
    r"""Yield (line, start, end) of every line that is not blank, split at line feeds alone.

    Examples
    --------
    >>> list(spans(b'{"a": 1}\n\n{"a": "\xe2\x80\xa8"}\n'))
    [(1, 0, 8), (3, 10, 22)]
    """
    start, line = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line += 1
        first = data[start : min(end, start + 64)]
        if first and (not first.isspace() or data[start:end].strip()):
            yield line, start, end
        start = end + 1


def read_lines(
    data: bytes, decode_line: Callable[[bytes, str], T], label: str
) -> tuple[list[tuple[int, T]], list[Loss], list[str]]:
    """Decode every line; a last one that is torn, as a crash leaves it, is a loss and a note.

    Returns
    -------
    list of (line, record), list of Loss, list of str
        The losses and notes are empty where the file is whole.

    Raises
    ------
    DataError
        A line before the last that cannot be decoded; the message gives the line.
    """
    found: list[tuple[int, T]] = []
    failed: tuple[int, DataError] | None = None
    for line, start, end in spans(data):
        if failed is not None:
            break
        try:
            found.append((line, decode_line(data[start:end], f"{label}: line {line}")))
        except DataError as error:
            failed = line, error
    else:
        if failed is None:
            return found, [], []
        if found:
            torn = f"line {failed[0]} is torn (the file ends inside a record)"
            return found, [Loss("missing", 1, torn)], [f"{torn}: its record is counted as missing"]
    raise DataError(f"{failed[1]} Mend or remove the line.") from None
