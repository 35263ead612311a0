"""A column of texts or nested values that stays in the file until one of its cells is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.logs.source import Source
from simtrack.logs.tables.places import Places

__all__ = ["Skipped"]


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
