"""Where do the rows of a file stand? Looked for only where it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.logs.source import Source

__all__ = ["Places", "Skipped"]


class Places:
    """Start and end of every row of a growing table, in bytes.

    Blocks in which each line is a row are taken as they are, and split only when needed.
    """

    __slots__ = ("_parts", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parts: list[NDArray[np.int64] | tuple[int, int]] = []

    def add(self, place: NDArray[np.int64] | tuple[int, int]) -> None:
        """Add the spans of some rows, shape (rows, 2), or a block of which each line is a row."""
        self._parts.append(place)

    def spans(self) -> NDArray[np.int64]:
        """Give start and end of every row: shape (rows, 2)."""
        if len(self._parts) != 1 or isinstance(self._parts[0], tuple):
            found = [p if isinstance(p, np.ndarray) else self._split(p) for p in self._parts]
            self._parts = [np.concatenate([np.zeros((0, 2), dtype=np.int64), *found])]
        only = self._parts[0]
        assert isinstance(only, np.ndarray)
        return only

    def _split(self, block: tuple[int, int]) -> NDArray[np.int64]:
        spans, _, _ = self._source.lines(*block)
        self._source.release(*block)
        return spans


# A column of texts or nested values that stays in the file until one of its cells is asked for.
class Skipped(Sequence[Any]):
    """A column that was skipped: its values are decoded when they are asked for.

    It holds a long or nested value in some row, so it is never one of labels.

    Parameters
    ----------
    source : Source
        The file.
    spans : int64 array, shape (rows, 2), or Places
        Where each row starts and ends.
    cell : callable
        Gives the value from the bytes of a row and where they are, for messages.
    """

    __slots__ = ("_cell", "_source", "_spans")

    def __init__(
        self,
        source: Source,
        spans: NDArray[np.int64] | Places,
        cell: Callable[[bytes, str], Any],
    ) -> None:
        self._source, self._spans, self._cell = source, spans, cell

    def __len__(self) -> int:
        return len(self._found())

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return Skipped(self._source, self._found()[row], self._cell)
        start, end = self._found()[row].tolist()
        return self._cell(self._source[start:end], f"the line that starts at byte {start}")

    def take(self, rows: NDArray[np.intp]) -> Skipped:
        """Keep these rows, still skipped."""
        return Skipped(self._source, self._found()[rows], self._cell)

    def _found(self) -> NDArray[np.int64]:
        if isinstance(self._spans, Places):
            self._spans = self._spans.spans()
        return self._spans
