"""One JSON object a line, of a known format: which fields are wanted, and is the end torn?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from simtrack.counts import Loss
from simtrack.errors import DataError

__all__ = ["read_lines", "split_lines"]

T = TypeVar("T")


def split_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield (line, text) of every line that is not blank, split at line feeds and nowhere else.

    Examples
    --------
    >>> list(split_lines(b'{"a": 1}\n\n{"a": "\xe2\x80\xa8"}\n'))
    [(1, b'{"a": 1}'), (3, b'{"a": "\xe2\x80\xa8"}')]
    """
    start, line = 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line += 1
        text = data[start:end]
        if text and not text.isspace():
            yield line, text
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
    for line, text in split_lines(data):
        if failed is not None:
            break
        try:
            found.append((line, decode_line(text, f"{label}: line {line}")))
        except DataError as error:
            failed = line, error
    else:
        if failed is None:
            return found, [], []
        if found:
            torn = f"line {failed[0]} is torn (the file ends inside a record)"
            return found, [Loss("missing", 1, torn)], [f"{torn}: its record is counted as missing"]
    raise DataError(f"{failed[1]} Mend or remove the line.") from None
