"""What was reported where another stage was right, and what do replies end in, stage by stage?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import NO_LABEL, Factor
from simtrack.errors import DataError, InputError
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.records import Records
from simtrack.taxonomy import NO_REPORT, STAGEIF

__all__ = ["CrossTable", "composition", "confusion"]

#: The column of replies whose report is ill-formed, whatever value it may hold.
MALFORMED = "malformed"
_TRANSPORT = "TRANSPORT"

_WRITTEN = (
    "rows columns row_labels column_labels counts totals percentages transport computation "
    "guarantee notes"
)


@dataclass(frozen=True, slots=True)
class CrossTable(Plain, names=_WRITTEN):
    """How many replies have each pair of labels?

    Attributes
    ----------
    what : {"confusion", "composition"}
    rows, columns : str
        What the rows and columns are.
    row_labels, column_labels : tuple of str
    counts : tuple of tuples of int
        One tuple a row.
    transport : int
        Replies that are in no row: there was no valid one.
    notes : tuple of str
    """

    what: str
    rows: str
    columns: str
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    transport: int = 0
    notes: tuple[str, ...] = ()
    computation: Computation = "enumeration"
    guarantee: Guarantee = "descriptive"

    @property
    def totals(self) -> tuple[int, ...]:
        """The number of replies in each row."""
        return tuple(map(sum, self.counts))

    @property
    def percentages(self) -> tuple[tuple[float | None, ...], ...]:
        """Shares of each row in percent; None in a row without replies."""
        return tuple(
            tuple(100.0 * n / total if total else None for n in row)
            for row, total in zip(self.counts, self.totals, strict=True)
        )

    def count(self, row: str, column: str) -> int:
        """Give one cell; 0 where the table has no such row or column."""
        if row not in self.row_labels or column not in self.column_labels:
            return 0
        return self.counts[self.row_labels.index(row)][self.column_labels.index(column)]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id, which says what the table is."""
        return {"schema": f"simtrack.{self.what}/1"} | Plain.to_dict(self)

    def __repr__(self) -> str:
        shape = f"{len(self.row_labels)} {self.rows} x {len(self.column_labels)} {self.columns}"
        return f"CrossTable({self.what}: {shape}, {sum(self.totals)} replies)"


def confusion(records: Records) -> CrossTable:
    """What did replies report, by the stage that was right?

    Every valid reply with a duty counts. Besides the stages, out_of_vocabulary, malformed (an
    ill-formed report, whatever it names) and none (no report, spoken or in a tool call's place)
    are columns. A gold set such as NEEDS_INFO|READY is a row of its own.

    Parameters
    ----------
    records : Records
        Scored checkpoints, of one view.

    Examples
    --------
    >>> rows = Records.from_columns(
    ...     {
    ...         "duty": ["1"] * 3,
    ...         "gold": ["READY"] * 3,
    ...         "reported": ["READY", "COMPLETED", "none"],
    ...         "emitted": ["1", "1", "0"],
    ...         "well_formed": ["1", "0", None],
    ...         "outcome": ["CLEAN", "MALFORMED", "APP_MISS"],
    ...     }
    ... )
    >>> table = confusion(rows)
    >>> table.column_labels, table.counts
    (('READY', 'malformed', 'none'), ((1, 1, 1),))

    Source: StageIF Figure 6.
    """
    outcome = _one_view(records)
    due = _is(records.factor("duty"), "1") & (outcome.codes >= 0)
    valid = due & ~_is(outcome, _TRANSPORT)
    reported, emitted = records.factor("reported"), _is(records.factor("emitted"), "1")
    known = [level for level in reported.levels if level != NO_REPORT]
    labels = (*known, MALFORMED, NO_REPORT)
    index = {label: k for k, label in enumerate(labels)}
    column = np.array([*(index[level] for level in reported.levels), index[NO_REPORT]])
    cells = column[reported.codes]
    cells[~_is(records.factor("well_formed"), "1")] = index[MALFORMED]
    cells[~emitted] = index[NO_REPORT]
    calls = int((valid & ~emitted & _is(outcome, "APP_DIVERGENCE")).sum())
    told = (f"{calls} of the replies without a report call a tool",) if calls else ()
    lost = int((due & ~valid).sum())
    says = Factor(labels, cells.astype(np.int32))
    rows = ("gold", records.factor("gold"))
    return _table("confusion", rows, ("reported", says), valid, lost, told)


def composition(records: Records, by: str = "stage") -> CrossTable:
    """What do valid replies end in, stage by stage?

    Parameters
    ----------
    records : Records
        Scored checkpoints, of one view.
    by : str
        The column whose levels are rows; replies without a label are a row of their own.

    Source: StageIF Figure 5.
    """
    outcome = _one_view(records)
    told = outcome.codes >= 0
    valid = told & ~_is(outcome, _TRANSPORT)
    order = {code: k - 1 for k, code in enumerate(STAGEIF.codes)}
    strange = [level for level in outcome.levels if level not in order]
    if strange:
        STAGEIF.check(strange)
    cells = np.array([*(order[level] for level in outcome.levels), -1])[outcome.codes]
    codes = Factor(STAGEIF.codes[1:], np.where(valid, cells, -1).astype(np.int32))
    lost = int((told & ~valid).sum())
    return _table("composition", (by, records.factor(by)), ("outcome", codes), valid, lost, ())


def _one_view(records: Records) -> Factor:
    view = records.factors.get("view")
    levels = view.compact().levels if view is not None else ()
    if len(levels) > 1:
        cure = "Use records.select(view=...)."
        raise InputError("view", "one of " + ", ".join(levels), "all of them", cure=cure)
    if "outcome" not in records.factors:
        raise DataError("the table holds no outcome codes. Score its replies first.")
    return records.factors["outcome"]


def _table(
    what: str,
    rows: tuple[str, Factor],
    columns: tuple[str, Factor],
    kept: NDArray[np.bool_],
    transport: int,
    notes: tuple[str, ...],
) -> CrossTable:
    """Count pairs, leaving out rows and columns that no reply has (codes keep their column)."""
    down = rows[1].take(kept).with_missing_named(NO_LABEL).compact()
    across = columns[1].take(kept)
    across = across if what == "composition" else across.compact()
    width = max(len(across.levels), 1)
    cells = np.bincount(
        down.codes * width + across.codes, minlength=len(down.levels) * width
    ).reshape(-1, width)
    counts = tuple(tuple(int(n) for n in row) for row in cells[: len(down.levels)])
    return CrossTable(what, rows[0], columns[0], down.levels, across.levels, counts, transport,
                      notes)  # fmt: skip


def _is(factor: Factor, level: str) -> NDArray[np.bool_]:
    return np.array([found == level for found in factor.levels] + [False])[factor.codes]
