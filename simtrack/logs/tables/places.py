"""Where do the rows of a file stand? Looked for only where it is asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.logs.source import Source

__all__ = ["Places"]


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
