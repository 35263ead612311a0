"""One JSON object a line, of a known format: which fields are wanted, and is the end torn?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.note import Note

__all__ = ["Span", "damage", "read_lines", "spans"]

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
    data: bytes, decode_line: Callable[[bytes, str], T], label: str, *, salvage: bool = False
) -> tuple[list[tuple[int, T]], list[Loss], list[str]]:
    """Decode every line; a last one that is torn, as a crash leaves it, is a loss and a note.

    With `salvage`, every line that cannot be decoded is one.

    Returns
    -------
    list of (line, record), list of Loss, list of str
        The losses and notes are empty where the file is whole.

    Raises
    ------
    DataError
        Without `salvage`, a line before the last that cannot be decoded; or none that can.
    """
    found: list[tuple[int, T]] = []
    damaged: list[tuple[int, DataError]] = []
    last = 0
    for last, start, end in spans(data):
        if damaged and not salvage:
            break
        try:
            found.append((last, decode_line(data[start:end], f"{label}: line {last}")))
        except DataError as error:
            damaged.append((last, error))
    losses, notes = damage([line for line, _ in damaged], last, ())
    if damaged and (not found or (not salvage and damaged[0][0] != last)):
        raise DataError(f"{damaged[0][1]} Mend or remove the line.") from None
    return found, losses, notes


def damage(
    lines: Sequence[int], last: int, where: tuple[tuple[str, str], ...]
) -> tuple[list[Loss], list[str]]:
    """Say which lines could not be decoded, as a loss and a note; nothing where there is none.

    Examples
    --------
    >>> damage([3], 3, ())[1]
    ['line 3 is torn (the file ends inside a record): its record is counted as missing']
    """
    if not lines:
        return [], []
    if list(lines) == [last]:
        torn = f"line {last} is torn (the file ends inside a record)"
        return [Loss("missing", 1, torn, where)], [f"{torn}: its record is counted as missing"]
    names = [str(line) for line in lines]
    what = f"{len(lines)} damaged lines were passed over ({listed(names, 5)})"
    loss = Loss("missing", len(lines), "damaged lines, passed over by salvage", where,
                tuple(f"line {line}" for line in names))  # fmt: skip
    return [loss], [Note("salvaged", f"salvaged: {what}: their records are counted as missing")]
