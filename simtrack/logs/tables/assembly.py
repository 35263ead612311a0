"""How the rows of JSON lines, whoever decoded them, become columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError
from simtrack.logs.columns import LABEL_COLUMNS_MAX
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.source import Source
from simtrack.logs.tables.cells import Cells, Column, Kinds
from simtrack.logs.tables.roles import MARKER
from simtrack.logs.tables.skipped import Places, Skipped
from simtrack.logs.tables.skipping import heavy_keys, is_used

__all__ = ["Assembly", "LineReader", "Sparse"]

Record = dict[str, Any]
Place = NDArray[np.int64] | tuple[int, int]


class LineReader:
    """Decodes lines one by one, forgivingly, and knows what is to be done with damaged ones.

    A damaged line is refused, but for the last line of a file, which a crash leaves torn, and
    with `salvage`.
    """

    def __init__(self, label: str, *, salvage: bool) -> None:
        self._label, self._salvage = label, salvage
        self._torn: DataError | None = None
        self._any = False
        self.seen = Decoded()
        self.damaged: list[int] = []

    def record(self, text: bytes, line: int) -> Record | None:
        """Give the object of a line, None for a damaged one that is passed over."""
        self.go_on()
        try:
            found = decode_record(text, f"{self._label}: line {line}", self.seen)
        except DataError as error:
            refusal = DataError(f"{error} Mend or remove the line.")
            if not self._salvage and not self._any:
                raise refusal from None
            self._torn = None if self._salvage else refusal
            self.damaged.append(line)
            return None
        if not isinstance(found, dict):
            raise DataError(
                f"{self._label}: line {line} must be a JSON object, got {type(found).__name__}."
            )
        self._any = True
        return found

    def go_on(self) -> None:
        """Refuse a damaged line that another line follows."""
        if self._torn is not None:
            raise self._torn


class Assembly:
    """The columns of JSON lines as they grow.

    Parameters
    ----------
    source : Source
        The file.
    head : sequence of dict
        The first records, decoded whole.
    wanted : collection of str
        The keys that are asked for.

    Attributes
    ----------
    order, names, heavy : list of str
        The keys of the first records, those whose values are kept, and those that are skipped.
    """

    def __init__(self, source: Source, head: Sequence[Record], wanted: Collection[str]) -> None:
        self._source, self._wanted = source, wanted
        self.order = list(dict.fromkeys(name for record in head for name in record))
        self._marked = MARKER in self.order
        heavy = heavy_keys(head, wanted)
        wide = len(self.order) > LABEL_COLUMNS_MAX and not self._marked
        self.heavy = [name for name in self.order if name in heavy]
        self.names = [] if wide else [name for name in self.order if name not in heavy]
        self.is_wide = wide
        self._heavy_times = {name: sum(name in r for r in head) for name in self.heavy}
        self._columns: dict[str, Column | None] = {name: Column() for name in self.names}
        self._sparse: dict[str, Sparse] = {}
        self._places = Places(source)
        self._lines: list[NDArray[np.int64]] = []
        self.rows = 0

    def add(self, columns: Sequence[Sequence[Any]], place: Place, lines: NDArray[np.int64]) -> None:
        """Add rows by their values, UNSET where a key is absent, in the order of `names`.

        `place` is as in `Places.add`, `lines` the line of each row.
        """
        for name, values in zip(self.names, columns, strict=True):
            column = self._columns[name]
            if column is not None:
                column.add(values)
                self._let_go(name, column.is_heavy)
        self.add_rows(place, lines)

    def add_arrays(
        self, name: str, kinds: Kinds, payload: NDArray[np.int64], *, is_heavy: bool
    ) -> None:
        """Add coded rows of one column; `is_heavy` says that it is none of labels."""
        column = self._columns[name]
        if column is not None:
            column.add_arrays(kinds, payload)
            self._let_go(name, is_heavy or column.is_heavy)

    def add_rows(self, place: Place, lines: NDArray[np.int64]) -> None:
        """Say where rows stand whose cells are added."""
        self._places.add(place)
        self._lines.append(lines)
        self.rows += len(lines)
        for name, sparse in self._sparse.items():
            sparse.flush(keep=self._keeps(name))

    def column(self, name: str) -> Column | None:
        """Give the column of a key; None once it turned out to be no column of labels."""
        return self._columns[name]

    def light(self, record: Mapping[str, Any], row: int) -> list[Any]:
        """Give the values of a record in the order of `names`, and keep those of other keys."""
        if len(record) > len(self.names) or not record.keys() <= self._columns.keys():
            for name, value in record.items():
                if name not in self._columns and name not in self._heavy_times:
                    self._sparse.setdefault(name, Sparse()).add(row, value)
        return [record.get(name, msgspec.UNSET) for name in self.names]

    def times(self) -> dict[str, int]:
        """Count the rows that have each key, in the order of the file.

        A key that is skipped counts as often as in the first records, or as in every row.
        """
        found: dict[str, int] = {}
        for name in dict.fromkeys([*self.order, *self._sparse]):
            column, sparse = self._columns.get(name), self._sparse.get(name)
            if sparse is not None:
                found[name] = sparse.times
            else:
                known = self._heavy_times.get(name, self.rows)
                found[name] = known if column is None else column.present()
        return found

    def values(
        self, name: str, dictionary: Sequence[str] = (), *, repeats: bool = False
    ) -> Cells | Skipped:
        """Give one column, and forget it; the dictionary is as in `Column.cells`."""
        column, sparse = self._columns.get(name), self._sparse.get(name)
        if column is not None:
            return column.cells(dictionary, repeats=repeats)
        if sparse is not None and not sparse.is_gone:
            return sparse.cells(self.rows)
        return Skipped(self._source, self._places, _cell_of(name))

    def row_bytes(self) -> float:
        """Give the mean length of the rows so far."""
        spans = self._places.spans()
        return float(np.diff(spans).mean()) + 1 if len(spans) else 1.0

    def lines(self) -> NDArray[np.int64]:
        """Give the line that each row starts on, from 1."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self._lines])

    def _keeps(self, name: str) -> bool:
        return self._marked or is_used(name, self._wanted)

    def _let_go(self, name: str, heavy: bool) -> None:
        """Give up a column with a long or nested value that nobody asked for."""
        if heavy and not self._keeps(name):
            self._columns[name] = None


class Sparse:
    """The values of a key that the first records do not have, in the rows that have it."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.int64]] = []
        self._column = Column()
        self._new: tuple[list[int], list[Any]] = ([], [])
        #: In how many rows the key stands, and whether its values were given up.
        self.times, self.is_gone = 0, False

    def add(self, row: int, value: Any) -> None:
        """Add a value; rows come in order."""
        self.times += 1
        if not self.is_gone:
            self._new[0].append(row)
            self._new[1].append(value)

    def flush(self, *, keep: bool) -> None:
        """Code what is new; give all up where a value is too long or nested for a label."""
        rows, values = self._new
        if rows:
            self._rows.append(np.array(rows, dtype=np.int64))
            self._column.add(values)
            self._new = ([], [])
        if self._column.is_heavy and not keep:
            self.is_gone, self._rows, self._column = True, [], Column()

    def cells(self, rows: int) -> Cells:
        """Give the column over all rows."""
        found = np.concatenate([np.zeros(0, dtype=np.int64), *self._rows])
        return self._column.cells().spread(found, rows)


def _cell_of(name: str) -> Callable[[bytes, str], Any]:
    """Give what decodes one value of a row; skipped bytes that are no UTF-8 become U+FFFD."""

    def cell(row: bytes, where: str) -> Any:
        text = row.decode("utf-8", "replace").encode()
        return decode_record(text, where, Decoded()).get(name)

    return cell
